"""Random configurations that use much of the language, and random edits of them: one piece of one block, whole blocks,
ends of lines, remarks, what stands in several blocks on a line."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from random_edits import Files
from random_edits import edited as roughly_edited

Names = list[str]
_BLOCK = re.compile(r"^(?:resource|output|locals|variable|terraform|check)\b.*?^\}[^\n]*\n", re.M | re.S)


def configuration(r: random.Random, most: int = 9) -> Files:
    """Some files of a root module, in which everything refers to something before it, and files that it reads."""
    blocks = [variable(r, "prefix", '"x"'), variable(r, "many", "2"), variable(r, "map", '{ a = "1", é = "2" }')]
    known: Names = ["var.prefix", "var.many", "var.map"]
    for i in range(r.randint(3, most)):
        name = r.choice(["r", "r_", "é", "R-", "count", "each"]) + str(i)
        blocks.append(resource(r, name, known))
        known.append(f"terraform_data.{name}")
        if r.random() < 0.4:
            blocks.append(locals_(r, i, known))
            known.append(f"local.l{i}")
        if r.random() < 0.4:
            blocks.append(output(r, f"o{i}", known))
        if r.random() < 0.1:
            blocks.append(f'check "c{i}" {{\n  {condition(r, "assert", known)}\n}}\n')
    if r.random() < 0.2:
        blocks.append(r.choice(['terraform {\n  required_version = ">= 1.0"\n}\n', "terraform {}\n"]))
    r.shuffle(blocks)
    names = ["main.tf", "more.tf", "z.tf"][: r.randint(1, 3)]
    files = dict.fromkeys(names, "")
    for block in blocks:
        files[r.choice(names)] += r.choice(_BEFORE) + block.rstrip("\n") + r.choice(_BEHIND) + "\n"
    if r.random() < 0.3:
        files["terraform.tfvars"] = f'prefix = "{r.choice("xyz")}"\n'
    ends = r.choice(["\n", "\n", "\n", "\r\n"])
    mark = r.choice(["", "", "", "", "\ufeff"])
    return {name: (mark if name == "main.tf" else "") + text.replace("\n", ends) for name, text in files.items()}


_BEFORE = ["", "", "", "\n", "# a remark\n", "/* a\n longer } remark { */\n", '// resource "x" {\n', "\n\n", "/* s */ "]
_BEHIND = ["", "", "", " # behind", " // behind", " /* behind */", "  ", "\n# after"]


def variable(r: random.Random, name: str, default: str) -> str:
    lines = [f'variable "{name}" {{', f"  default = {default}"]
    if r.random() < 0.2:
        lines.append('  description = "said"')
    if r.random() < 0.2:
        lines.append("  nullable = false")
    if r.random() < 0.2:
        test = r.choice([f"length(jsonencode(var.{name})) < 40", f"var.{name} != null"])
        lines.append(f'  validation {{\n    condition     = {test}\n    error_message = "no"\n  }}')
    return "\n".join((*lines, "}")) + "\n"


def locals_(r: random.Random, i: int, known: Names) -> str:
    if r.random() < 0.3:
        return f"locals {{ l{i} = {expression(r, known, lines=False)} }}\n"
    more = f"\n  m{i} = {expression(r, known)}" if r.random() < 0.4 else ""
    return f"locals {{\n  l{i} = {expression(r, known)}{more}\n}}\n"


def output(r: random.Random, name: str, known: Names) -> str:
    lines = [f'output "{name}" {{', f"  value = {expression(r, known)}"]
    resources = _resources(known)
    if r.random() < 0.15 and resources:
        lines.append(f"  depends_on = [{r.choice(resources)}]")
    if r.random() < 0.15:
        lines.append(f"  {condition(r, 'precondition', known)}")
    if r.random() < 0.05:
        lines.append("  sensitive = true")
    return "\n".join((*lines, "}")) + "\n"


def condition(r: random.Random, kind: str, known: Names) -> str:
    test = r.choice(
        ["var.many > 0", f"length(jsonencode({r.choice(known)})) > 0", f"{r.choice(known)} != null", "var.many < 9"]
    )
    test = "self.input != 77" if kind == "postcondition" and r.random() < 0.5 else test
    return f'{kind} {{\n    condition     = {test}\n    error_message = "no"\n  }}'


def resource(r: random.Random, name: str, known: Names) -> str:
    lines = [f'resource "terraform_data" "{name}" {{']
    each = ""
    if name.startswith("count"):
        lines.append(f"  count = {r.choice(['2', '1', '0', 'var.many', 'length(var.map)', '11'])}")
        each = "count.index"
    elif name.startswith("each"):
        maps = ["var.map", 'toset(["a", "b"])', "{ for k, v in var.map : upper(k) => v }", '{ "x y" = 1, "é\\"" = 2 }']
        lines.append(f"  for_each = {r.choice(maps)}")
        each = r.choice(["each.key", "each.value"])
    lines.append(f"  input = {r.choice([each, f'[{each}]']) if each and r.random() < 0.4 else expression(r, known)}")
    if r.random() < 0.1:
        lines.append(f"  triggers_replace = {expression(r, known)}")
    resources = _resources(known)
    if resources and r.random() < 0.15:
        lines.append(f"  depends_on = [{r.choice(resources)}]")
    if r.random() < 0.25:
        lines.append(f"  lifecycle {{\n    {lifecycle(r, known)}\n  }}")
    return "\n".join((*lines, "}")) + "\n"


def lifecycle(r: random.Random, known: Names) -> str:
    kinds = ["ignore_changes = [input]", "ignore_changes = all", "prevent_destroy = true"]
    kinds += [condition(r, "precondition", known), condition(r, "postcondition", known)]
    if r.random() < 0.2:
        kinds.append("create_before_destroy = true")
    resources = _resources(known)
    if resources and r.random() < 0.2:
        kinds.append(f"replace_triggered_by = [{r.choice(resources)}]")
    return r.choice(kinds)


def _resources(known: Names) -> Names:
    return [name for name in known if name.startswith("terraform_data.")]


_PLAIN: list[str] = [
    '"a"', '"é\\u0301 \\n\\"q\\""', "1", "-1.50", "12345678901234567890123", "null", "true", "[]", "{}", "[null]",
    '{ "a b" = 1, c = [1, "2"] }', "path.module", "path.root", "terraform.workspace", 'file("text")', "timestamp()",
    'fileset(path.module, "*.txt")', 'fileexists("${path.module}/text")', 'filemd5("text")', 'toset(["b", "a"])',
    'templatefile("${path.module}/text", {})', "basename(abspath(path.module))", "uuid()", '"$${x} %%{y}"',
    "[for i in range(3) : i if i != 1]", 'merge({ a = 1 }, { b = null })', "nonsensitive(sensitive(1))",
]  # fmt: skip
_OF: list[str] = [
    "{0}", "{0}", "[{0}]", "jsonencode({0})", "{{ a = {0}, (sha1(jsonencode({0}))) = 1 }}",
    "[for v in flatten([{0}]) : v]",
    '"p-${{jsonencode({0})}}-s"', '"%{{ if {0} != null }}yes%{{ else }}no%{{ endif }}"', "can({0}) ? 1 : 2",
]  # fmt: skip
_OF_KIND: dict[str, list[str]] = {
    "count": ["{0}[*].id", "try({0}[0].input, 1)", "length({0})", "[for one in {0} : one.output]"],
    "each": ["keys({0})", "values({0})[*].output", "{{ for k, v in {0} : k => v.input }}", 'try({0}["a"].id, 4)'],
    "one": ["{0}.id", "{0}.input", "{0}.output", "[{0}.input]", "{0}.input == {0}.output ? 1 : 2"],
}  # fmt: skip
_LINES: list[str] = [
    '<<E\nline ${{jsonencode({0})}}\n}}\nresource "terraform_data" "not" {{\n# no remark\nE\n',
    "<<-E\n    %{{ for x in [1, 2] ~}}\n    ${{x}} é\n    %{{ endfor ~}}\n    E\n",
    "{{\n    # inside }}\n    a = {0} // and\n    /* b = */ b = 1\n  }}",
    "[\n    {0},\n    1,\n  ]",
]


def expression(r: random.Random, known: Names, lines: bool = True) -> str:
    kind = r.random()
    if kind < 0.25:
        return r.choice(_PLAIN)
    if kind < 0.27:
        return "sensitive(1)"
    if lines and kind < 0.4:
        return r.choice(_LINES).format(r.choice(known)).rstrip("\n")
    name = r.choice(known)
    kind_of = re.match("terraform_data.(count|each|)", name)
    more = _OF_KIND[kind_of[1] or "one"] * 2 if kind_of else []
    return r.choice(_OF + more).format(name)


def edited(r: random.Random, files: Files) -> Files:
    """The files after one edit or two, the most of which leave a configuration that is right."""
    for _ in range(r.choice([1, 1, 2])):
        files = roughly_edited(r, _sources(files)) | _rest(files) if r.random() < 0.25 else _edited(r, files)
    return files


def _sources(files: Files) -> Files:
    return {name: text for name, text in files.items() if name.endswith(".tf")}


def _rest(files: Files) -> Files:
    return {name: text for name, text in files.items() if not name.endswith(".tf")}


def _edited(r: random.Random, files: Files) -> Files:
    name = r.choice(sorted(_sources(files)))
    text = files[name]
    ends = "\r\n" if "\r\n" in text else "\n"
    text = text.replace("\r\n", "\n")
    text = r.choice(_EDITS)(r, text, _known(files))
    if r.random() < 0.04:
        ends = r.choice(["\n", "\r\n"])
    if r.random() < 0.03:
        text = text.removeprefix("\ufeff") if text.startswith("\ufeff") else "\ufeff" + text
    return {**files, name: text.replace("\n", ends)}


def _known(files: Files) -> Names:
    text = "".join(files.values())
    found = [
        f"terraform_data.{name}"
        for name in re.findall(r'^(?:/\* s \*/ )?resource "terraform_data" "([^"]+)"', text, re.M)
    ]
    return found + [f"local.{name}" for name in re.findall(r"\b(l\d+) =", text)] + ["var.prefix", "var.many", "var.map"]


def _of_block(
    kinds: str, change: Callable[[random.Random, str, Names], str]
) -> Callable[[random.Random, str, Names], str]:
    def edit(r: random.Random, text: str, known: Names) -> str:
        found = [one for one in _BLOCK.finditer(text) if re.match(kinds, one[0])]
        if not found:
            return text
        one = r.choice(found)
        return text[: one.start()] + change(r, one[0], known) + text[one.end() :]

    return edit


def _value(r: random.Random, block: str, known: Names) -> str:
    """Another expression, where one is that stands on a line."""
    found = list(
        re.finditer(r"^  (input|value|l\d+|default|triggers_replace|count|for_each) = ([^\n]*[^\n{(\[,])$", block, re.M)
    )
    found = [one for one in found if "<<" not in one[2]]
    if not found:
        return block
    one = r.choice(found)
    return block[: one.start(2)] + expression(r, known) + block[one.end(2) :]


def _line(r: random.Random, block: str, known: Names) -> str:
    """One more line, at the beginning of the body."""
    resources = _resources(known)
    kinds = {
        "resource": [
            f"  lifecycle {{\n    {lifecycle(r, known)}\n  }}\n",
            "  # said\n",
            f"  depends_on = [{r.choice(resources)}]\n" if resources else "",
            "  count = 1\n",
            "  for_each = var.map\n",
            f"  triggers_replace = {expression(r, known)}\n",
            "\n",
            '  provisioner "local-exec" {\n    command = "true"\n  }\n',
            "  provider = terraform\n",
        ],
        "output": [
            "  sensitive = true\n",
            f"  {condition(r, 'precondition', known)}\n",
            '  description = "d"\n',
            "  ephemeral = true\n",
            '  deprecated = "d"\n',
        ],
        "variable": [
            "  sensitive = true\n",
            "  type = any\n",
            "  type = string\n",
            "  ephemeral = true\n",
            '  deprecated = "d"\n',
            "  nullable = false\n",
        ],
        "locals": [f"  n{r.randint(0, 9)} = {expression(r, known)}\n"],
        "terraform": ["  # none\n"],
    }
    head, brace, body = block.partition("{\n")
    return head + brace + r.choice(kinds[block.split()[0]]) + body if brace else block


def _new(r: random.Random, text: str, known: Names) -> str:
    ends = [0, *(one.end() for one in _BLOCK.finditer(text))]
    at = r.choice(ends)
    n = r.randint(0, 30)
    other = [
        resource(r, f"{r.choice(['new', 'count', 'each'])}{n}", known),
        output(r, f"new{n}", known),
        locals_(r, 50 + n, known),
        "terraform {}\n",
        "locals {}\n",
        "/* more */\n",
        'check "c" {\n  assert {\n    condition     = var.many > 0\n    error_message = "x"\n  }\n}\n',
        "moved {\n  from = terraform_data.was\n  to   = terraform_data.r0\n}\n",
        'resource "terraform_data" "one" {}\n',
        f'output "one{n}" {{ value = {expression(r, known, lines=False)} }}\n',
        'variable "more" {\n  default = 1\n}\n',
        'provider "terraform" {}\n',
        "removed {\n  from = terraform_data.was\n}\n",
    ]
    return text[:at] + r.choice(_BEFORE) + r.choice(other) + text[at:]


def _remark(r: random.Random, text: str, known: Names) -> str:
    at = r.choice([0, *(one.end() for one in _BLOCK.finditer(text))])
    return text[:at] + r.choice(_BEFORE) + text[at:]


def _gone(r: random.Random, block: str, known: Names) -> str:
    return ""


def _commented(r: random.Random, block: str, known: Names) -> str:
    return f"/*\n{block}*/\n" if r.random() < 0.5 else "".join(f"# {line}\n" for line in block.splitlines())


def _joined(r: random.Random, block: str, known: Names) -> str:
    return block.removesuffix("\n") + r.choice([" ", "", " /* x */ ", "/*\n*/"])


_ANY = "resource|output|locals|variable|terraform"
_EDITS: list[Callable[[random.Random, str, Names], str]] = [
    *[_of_block("resource", _value)] * 4,
    *[_of_block("output", _value)] * 2,
    *[_of_block("locals", _value)] * 2,
    _of_block("variable", _value),
    *[_of_block(_ANY, _line)] * 3,
    *[_new] * 3,
    _remark,
    _of_block("resource|output|locals", _gone),
    _of_block(_ANY, _commented),
    _of_block(_ANY, _joined),
]
