"""Random configurations with called modules, and random edits of calls, of modules and of everything around them."""

from __future__ import annotations

import random
import re

import random_edits
from random_edits import Files

_IN_MODULES = [
    ("[var.v]", "[var.v, 1]"),
    ('"fixed"', '"other"'),
    ("input = 1", "input = 2"),
    ('default = "d"', 'default = "e"'),
    ("count = 2", "count = 1"),
    ("v = 3", "v = 4"),
    ("\nlocals", '\noutput "q" {\n  value = 1\n}\nlocals'),
    ("l = 2", "l = var.v"),
    ('"x" {', '"x" {\n  lifecycle {\n    create_before_destroy = true\n  }'),
]
_LITERALS = ['"a1"', '"b2"', "7", '"c"']


def configuration(r: random.Random) -> Files:
    """Some files of a root module, and two modules; one may call the other."""
    files = random_edits.configuration(r, 6)
    names = re.findall(r'resource "terraform_data" "(\w+)" \{\n  input', "".join(files.values()))
    known = [f"terraform_data.{name}.{r.choice(['id', 'input'])}" for name in names]
    for i in range(r.randint(1, 5)):
        kind = r.choice(["none", "none", "none", "count", "for_each"])
        extra = {
            "none": "",
            "count": f"  count = {r.randint(0, 2)}\n",
            "for_each": '  for_each = toset(["a", "b.c"])\n',
        }
        lines = f'module "c{i}" {{\n  source = "./m{r.randint(0, 1)}"\n{extra[kind]}'
        if r.random() < 0.8:
            lines += f"  v = {_value(r, known)}\n"
        if known and r.random() < 0.15:
            before = f"terraform_data.{names[0]}" if i == 0 and names else "module.c0"
            lines += f"  depends_on = [{before}]\n" if i or names else ""
        _append(r, files, f"{lines}}}\n")
        one = {"none": f"module.c{i}.o", "count": f"module.c{i}[*].o", "for_each": f'module.c{i}["a"].o'}[kind]
        known += [one, one.replace(".o", ".p"), f"jsonencode(module.c{i})"]
        if r.random() < 0.5:
            _append(r, files, f'resource "terraform_data" "u{i}" {{\n  input = {_value(r, known)}\n}}\n')
            known.append(f"terraform_data.u{i}.{r.choice(['id', 'output'])}")
        if r.random() < 0.4:
            _append(r, files, f'output "u{i}" {{\n  value = {_value(r, known)}\n}}\n')
        if r.random() < 0.2:
            _append(r, files, f"locals {{\n  u{i} = {_value(r, known)}\n}}\n")
            known.append(f"local.u{i}")
    files["m0/main.tf"] = _module(r, "")
    files["m1/main.tf"] = _module(r, r.choice(["", "../m0"]))
    return files


def _append(r: random.Random, files: Files, block: str) -> None:
    name = r.choice([name for name in sorted(files) if "/" not in name])
    files[name] += block


def _value(r: random.Random, known: list[str]) -> str:
    return r.choice([*_LITERALS, *known, *known])


def _module(r: random.Random, inner: str) -> str:
    text = 'variable "v" {\n  default = "d"\n}\nresource "terraform_data" "x" {\n'
    text += r.choice(["", "", "  count = 2\n"]) + "  input = [var.v]\n"
    text += r.choice(["", "", "  triggers_replace = var.v\n"]) + "}\n"
    text += f'resource "terraform_data" "y" {{\n  input = {r.choice(["1", "var.v", "path.module"])}\n}}\n'
    results = ["terraform_data.x", "terraform_data.y.id", "var.v", "local.l", '"fixed"']
    text += f"locals {{\n  l = {r.choice(['terraform_data.y.input', 'var.v', '2'])}\n}}\n"
    if inner:
        text += f'module "inner" {{\n  source = "{inner}"\n  v = {r.choice(["var.v", "3"])}\n}}\n'
        results.append("module.inner.o")
    for name in "op":
        text += f'output "{name}" {{\n  value = {r.choice(results)}\n}}\n'
    return text


def edited(r: random.Random, files: Files) -> Files:
    """The files after one edit or two."""
    for _ in range(r.choice([1, 1, 1, 2])):
        files = _edited(r, files)
    return files


def _edited(r: random.Random, files: Files) -> Files:
    root = {name: text for name, text in files.items() if "/" not in name}
    name = r.choice(sorted(files))
    text, kind = files[name], r.randint(0, 11)
    calls = list(re.finditer(r'^module "\w+" .*?^\}\n', text, re.M | re.S))
    if kind <= 2 and calls:  # an argument of a call
        call = r.choice(calls)
        known = re.findall(r'^resource "terraform_data" "(r\d+)" \{\n  input', "".join(root.values()), re.M)
        value = _value(r, [f"terraform_data.{one}.id" for one in known] + ["module.c0.o", "module.c1.o"])
        new = re.sub(r"  v = .*\n", f"  v = {value}\n", call[0])
        count = re.sub(r"count = \d", f"count = {r.randint(0, 3)}", call[0])
        new = r.choice([new, count, call[0].replace('"b.c"', '"d"')])
        text = text[: call.start()] + new + text[call.end() :]
    elif kind == 3 and calls:  # a call goes, or changes its name
        call = r.choice(calls)
        text = text[: call.start()] + r.choice(["", call[0].replace('"c', '"x')]) + text[call.end() :]
    elif kind <= 6:  # in a module
        name = r.choice(["m0/main.tf", "m1/main.tf"])
        old, new = r.choice(_IN_MODULES)
        text = files[name].replace(old, new, 1)
    elif kind == 7:  # something refers to the result of a call
        text = re.sub(r"input = \S+\n", f"input = module.c{r.randint(0, 2)}.{r.choice('opq')}\n", text, count=1)
    elif kind == 8:  # another module
        text = text.replace('source = "./m0"', 'source = "./m1"', 1)
    else:
        return {**files, **random_edits.edited(r, root)}
    return {**files, name: text}
