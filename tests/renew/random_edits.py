"""Random configurations of the builtin provider, and random edits of them: of what is right and what is wrong."""

from __future__ import annotations

import random
import re

Files = dict[str, str]


def configuration(r: random.Random, most: int = 14) -> Files:
    """Some files of a root module, in which everything refers to something before it."""
    blocks: list[str] = ['variable "prefix" {\n  default = "x"\n}\n', 'variable "many" {\n  default = 2\n}\n']
    known: list[tuple[str, str]] = []
    local: list[str] = []
    for i in range(r.randint(2, most)):
        kind = r.choice(["none", "none", "none", "count", "for_each"])
        blocks.append(resource(r, f"r{i}", kind, known, local))
        known.append((f"terraform_data.r{i}", kind))
        if r.random() < 0.2:
            blocks.append(f"locals {{\n  l{i} = {expression(r, known, local)}\n}}\n")
            local.append(f"local.l{i}")
        if r.random() < 0.2:
            blocks.append(f'output "o{i}" {{\n  value = {expression(r, known, local)}\n}}\n')
        if r.random() < 0.1:
            blocks.append(r.choice(["# a remark\n", "/* a longer\n remark */\n", "// }\n"]))
    r.shuffle(blocks)
    names = ["main.tf", "more.tf", "z.tf"][: r.randint(1, 3)]
    files = dict.fromkeys(names, "")
    for block in blocks:
        files[r.choice(names)] += block + r.choice(["", "\n", "\n\n"])
    return files


def resource(r: random.Random, name: str, kind: str, known: list[tuple[str, str]], local: list[str]) -> str:
    lines = [f'resource "terraform_data" "{name}" {{']
    if kind == "count":
        lines.append(f"  count = {r.choice(['2', '1', '0', 'var.many'])}")
    if kind == "for_each":
        lines.append('  for_each = toset(["a", "b"])')
    lines.append(f"  input = {expression(r, known, local)}")
    if r.random() < 0.15:
        lines.append(f"  triggers_replace = {expression(r, known, local)}")
    if known and r.random() < 0.2:
        lines.append(f"  depends_on = [{r.choice(known)[0]}]")
    if r.random() < 0.05:
        lines.append("  lifecycle {\n    create_before_destroy = true\n  }")
    return "\n".join((*lines, "}")) + "\n"


def expression(r: random.Random, known: list[tuple[str, str]], local: list[str]) -> str:
    choices = [f'"{r.choice("abcdef")}{r.randint(0, 99)}"', "var.prefix", '"${var.prefix}-1"', str(r.randint(0, 9))]
    if known:
        address, kind = r.choice(known)
        part = r.choice(["id", "input", "output"])
        one = {"none": address, "count": f"{address}[0]", "for_each": f'{address}["a"]'}[kind]
        all_ = {"none": f"[{address}.{part}]", "count": f"{address}[*].{part}", "for_each": f"keys({address})"}[kind]
        choices += [f"{one}.{part}" if kind != "count" else f"try({one}.{part}, 1)", all_, f"jsonencode({all_})"]
    if local:
        choices.append(r.choice(local))
    if r.random() < 0.3:
        return f"{{\n    a = {r.choice(choices)}\n    b = [{r.choice(choices)}]\n  }}"
    return r.choice(choices)


def edited(r: random.Random, files: Files) -> Files:
    """The files after one edit or two."""
    for _ in range(r.choice([1, 1, 1, 2])):
        files = _edited(r, files)
    return files


def _edited(r: random.Random, files: Files) -> Files:
    name = r.choice(sorted(files))
    text = files[name]
    names = sorted(set(re.findall(r'resource "terraform_data" "(\w+)"', "".join(files.values()))))
    kind = r.randint(0, 14)
    spans = [m.span() for m in re.finditer(r"^(resource|output|locals|variable) .*?^\}\n", text, re.M | re.S)]
    if kind <= 3 or not spans:  # another literal
        found = list(re.finditer(r'"[a-f]\d+"|\b\d\b', text))
        if found:
            one = r.choice(found)
            text = text[: one.start()] + f'"q{r.randint(0, 99)}"' + text[one.end() :]
    elif kind == 4:  # another reference
        found = list(re.finditer(r"terraform_data\.r\d+", text))
        if found and names:
            one = r.choice(found)
            text = text[: one.start()] + f"terraform_data.{r.choice(names)}" + text[one.end() :]
    elif kind == 5:  # a new block
        at = r.choice([0, *(end for _, end in spans)])
        known = [(f"terraform_data.{n}", "none") for n in names]
        new = resource(r, r.choice([f"n{r.randint(0, 9)}", *names]), "none", known, [])
        text = text[:at] + new + text[at:]
    elif kind == 6:  # one goes
        begin, end = r.choice(spans)
        text = text[:begin] + text[end:]
    elif kind == 7:  # two change places
        (a, b), (c, d) = sorted([r.choice(spans), r.choice(spans)])
        if b <= c:
            text = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
    elif kind == 8:  # one goes to another file
        begin, end = r.choice(spans)
        other = r.choice(sorted(files))
        if other != name:
            files = {**files, other: files[other] + text[begin:end]}
            text = text[:begin] + text[end:]
    elif kind == 9:  # rubbish somewhere
        at = r.randrange(len(text) + 1)
        rubbish = ["{", "}", "/*", "#", '"', "<<E\n", "\n", " ", "é", "${", "}\n", "a = 1\n", "*/", "terraform_data.r1"]
        text = text[:at] + r.choice(rubbish) + text[at:]
    elif kind == 10:  # something is cut out
        at = r.randrange(len(text) + 1)
        text = text[:at] + text[at + r.randint(1, 9) :]
    elif kind == 11:  # an output
        at = r.choice([0, *(end for _, end in spans)])
        known = [(f"terraform_data.{n}", "none") for n in names]
        new = f'output "{r.choice(["new", "o1", "o2"])}" {{\n  value = {expression(r, known, [])}\n}}\n'
        text = text[:at] + new + text[at:]
    elif kind == 12:  # how many
        text = re.sub(r"count = \S+", f"count = {r.randint(0, 3)}", text, count=1)
    elif kind == 13:  # other names
        text = text.replace("terraform_data.r1.", "terraform_data.r2.", 1)
    else:
        text = text.replace('default = "x"', 'default = "y"')
    return {**files, name: text}
