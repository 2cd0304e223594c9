"""Random configurations with data sources and provider blocks, in the root module and in a called one, and random
edits of them, of what they read and of everything around them."""

from __future__ import annotations

import json
import random
import re

import random_edits
from random_edits import Files

_KINDS = ["", "", "", "  count = 2\n", '  for_each = toset(["a"])\n']
_OUTPUTS = {"": ".outputs", "  count = 2\n": "[0].outputs", '  for_each = toset(["a"])\n': '["a"].outputs'}
_DATA = re.compile(r'^data "terraform_remote_state" "(\w+)" \{.*?^\}\n', re.M | re.S)


def configuration(r: random.Random) -> Files:
    """Some files of a root module, the states that it reads, and a module."""
    files = random_edits.configuration(r, 6)
    known = ["var.prefix", '"fixed"']
    known += [f"terraform_data.{name}.id" for name in _resources(files)]
    if r.random() < 0.5:
        _append(r, files, 'provider "terraform" {\n}\n')
    for i in range(r.randint(1, 3)):
        block, value = _data(r, f"s{i}", known)
        _append(r, files, block)
        known += [value, f"jsonencode({value})"]
        if r.random() < 0.8:
            _append(r, files, f'resource "terraform_data" "u{i}" {{\n  input = {r.choice(known)}\n}}\n')
        if r.random() < 0.3:
            _append(r, files, f"locals {{\n  d{i} = {r.choice(known)}\n}}\n")
            known.append(f"local.d{i}")
        if r.random() < 0.3:
            _append(r, files, f'output "u{i}" {{\n  value = {r.choice(known)}\n}}\n')
    for i in range(r.randint(0, 2)):
        _append(r, files, f'module "c{i}" {{\n  source = "./m{i}"\n  v = {r.choice(known)}\n}}\n')
        inner = _data(r, "s", ["var.v", '"x"'], "../")[0] if i else ""
        output = r.choice(["var.v", "terraform_data.x.id"])
        files[f"m{i}/main.tf"] = (
            f'variable "v" {{\n}}\n{inner}resource "terraform_data" "x" {{\n  input = [var.v]\n}}\n'
            f'output "o" {{\n  value = {output}\n}}\n'
        )
        if r.random() < 0.5:
            _append(r, files, f'resource "terraform_data" "m{i}" {{\n  input = module.c{i}.o\n}}\n')
    for one in _resources(files):
        if r.random() < 0.15:
            _append(r, files, f"moved {{\n  from = terraform_data.was_{one}\n  to   = terraform_data.{one}\n}}\n")
        if r.random() < 0.05:
            _append(
                r,
                files,
                f"removed {{\n  from = terraform_data.gone_{one}\n  lifecycle {{\n    destroy = true\n  }}\n}}\n",
            )
    return {**files, "s.json": _state(1), "t.json": _state("two")}


def _data(r: random.Random, name: str, known: list[str], above: str = "") -> tuple[str, str]:
    kind = r.choice(_KINDS)
    lines = f'data "terraform_remote_state" "{name}" {{\n{kind}  backend = "local"\n'
    lines += f'  config  = {{ path = "{above and "${path.root}/"}{r.choice("st")}.json" }}\n'
    lines += r.choice(["", f"  defaults = {{ d = {r.choice(known)} }}\n"])
    resources = [one.removesuffix(".id") for one in known if one.startswith("terraform_data.")]
    if resources and r.random() < 0.3:
        lines += f"  depends_on = [{r.choice(resources)}]\n"
    return f"{lines}}}\n", f"data.terraform_remote_state.{name}{_OUTPUTS[kind]}{r.choice(['', '.q'])}"


def _state(value: object) -> str:
    outputs = {"q": {"value": value, "type": "number" if type(value) is int else "string"}}
    data = {"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "x", "outputs": outputs}
    return json.dumps({**data, "resources": []})


def _append(r: random.Random, files: Files, block: str) -> None:
    files[r.choice([name for name in sorted(files) if name.endswith(".tf") and "/" not in name])] += block


def _resources(files: Files) -> list[str]:
    return re.findall(r'^resource "terraform_data" "(\w+)" \{\n  input', "".join(files.values()), re.M)


def edited(r: random.Random, files: Files) -> Files:
    """The files after one edit or two."""
    for _ in range(r.choice([1, 1, 1, 2])):
        files = _edited(r, files)
    return files


def _edited(r: random.Random, files: Files) -> Files:
    roots = [name for name in sorted(files) if name.endswith(".tf")]
    kind, name = r.randint(0, 17), r.choice(roots)
    blocks = list(_DATA.finditer(files[name]))
    known = ["var.prefix", *(f"terraform_data.{one}.id" for one in _resources(files))]
    if kind <= 1 and blocks:  # what a data source reads, or what reads it
        block = r.choice(blocks)
        new = r.choice([_data(r, block[1], known)[0], "", block[0].replace(f'"{block[1]}"', '"renamed"')])
        return {**files, name: files[name][: block.start()] + new + files[name][block.end() :]}
    if kind == 2:
        return {**files, name: files[name] + _data(r, "new", known)[0]}
    if kind == 3:
        return {**files, r.choice(["s.json", "t.json"]): _state(r.choice([1, 2, "three"]))}
    if kind == 6 and _resources(files):  # another name, with or without a moved block; or nothing but such a block
        old = r.choice(_resources(files))
        new = r.choice([f"was_{old}", f"gone_{old}", "other"])
        moved = r.choice(["", f"moved {{\n  from = terraform_data.{old}\n  to   = terraform_data.{new}\n}}\n"])
        text = files[name].replace(f'"terraform_data" "{old}"', f'"terraform_data" "{new}"')
        return {**files, name: text + moved}
    if kind == 4:
        line = r.choice(['provider "terraform" {\n}\n', "# provider\n", 'provider "terraform" {\n  alias = "x"\n}\n'])
        return {**files, name: files[name] + line}
    if kind >= 10:  # a value, which data sources may read
        lines = list(re.finditer(r"^  (input|value) = [^{\n]*$", files[name], re.M))
        if lines:
            line, value = r.choice(lines), r.choice([f'"z{r.randint(0, 9)}"', *known])
            return {**files, name: f"{files[name][: line.start()]}  {line[1]} = {value}{files[name][line.end() :]}"}
    if kind == 5:
        lines = re.sub(
            r"= (data\S+|terraform_data\.r\d\.id|\".\d+\")\n", f"= {r.choice(known)}\n", files[name], count=1
        )
        return {**files, name: lines}
    root = {one: text for one, text in files.items() if one.endswith(".tf") and "/" not in one}
    return {**files, **random_edits.edited(r, root)}
