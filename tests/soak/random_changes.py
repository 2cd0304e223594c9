"""Random configurations with edits that can be made in any combination.

A text has marks where an edit changes it: `Edit.before` stands there without the edit, `Edit.after` with it. Both may
have marks themselves, so that any subset of the edits gives a working directory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from random import Random

from attrs import define, field, frozen

_MARK = re.compile("\x02(\\d+)\x03|\x04(\\d+)\x05([^\x06]*)\x06")
"""an edit; or a text that is there with an edit alone"""


@define
class Edit:
    """A change that one user makes in one place. `subjects`: the addresses, names and paths that it may be called by;
    `options` and `environment`: of the command line, before and after; `state`: (operation, address, value) on the
    state; `renames`: (new, old) address."""

    number: int
    about: str
    before: str = ""
    after: str = ""
    subjects: tuple[str, ...] = ()
    options: tuple[str, str] = ("", "")
    environment: tuple[str, str, str] | None = None
    state: tuple[str, str, str] | None = None
    renames: tuple[str, str] | None = None

    @property
    def is_block(self) -> bool:
        """Whether a whole block comes or goes with it."""
        return self.about.endswith(" without a moved block") or "resource " in self.before + self.after

    @property
    def is_text(self) -> bool:
        """Whether it puts a text into a file."""
        return bool(self.after) and not (self.state or self.environment or any(self.options))

    @property
    def is_request(self) -> bool:
        """Whether it is not about the configuration: it has no value that another edit could hide."""
        return bool(self.state and not self.after) or self.options[1].startswith("-replace")


@frozen
class Rendered:
    """A working directory: its files, with the lines that each edit stands at; options, variables of the environment
    and operations on the state."""

    files: dict[str, str]
    lines: dict[int, list[tuple[str, int, int]]]
    options: list[str]
    environment: dict[str, str]
    state: list[tuple[str, str, str]]


@define
class Changes:
    """A configuration with all its possible edits, the same for the same seed."""

    seed: int
    plugin: bool = False
    """whether it has resources of the tests' own provider"""
    data: bool = False
    """whether it reads values from a YAML file"""
    edits: dict[int, Edit] = field(factory=dict)
    files: dict[str, str] = field(factory=dict)
    target: str = ""
    """the option that limits all plans, but not the apply"""
    random: Random = field(init=False)
    _refs: dict[str, list[str]] = field(factory=lambda: {kind: [] for kind in "snblmou"})
    _main: list[str] = field(factory=list)
    _values: list[str] = field(factory=list)
    _resources: list[tuple[str, str]] = field(factory=list)
    """address, and what repeats it: "", count or for_each"""
    _words: int = 0

    def __attrs_post_init__(self) -> None:
        self.random = Random(self.seed)
        self._generate()

    # ------------------------------------------------------------ rendering

    def render(self, edits: Collection[int]) -> Rendered:
        """The working directory with these edits."""
        files, lines = {}, dict[int, list[tuple[str, int, int]]]()
        for name, text in self.files.items():
            parts: list[str] = []
            spans: list[tuple[int, int, int]] = []
            self._expand(text, edits, parts, spans)
            whole = "".join(parts)
            if "\x00" in whole:  # the file is not there
                continue
            files[name] = whole
            for number, start, end in spans:
                place = (name, whole.count("\n", 0, start) + 1, whole.count("\n", 0, end) + 1)
                lines.setdefault(number, []).append(place)
        options: list[str] = []
        environment, state = {}, []
        for number, edit in sorted(self.edits.items()):
            is_made = number in edits
            options += [option for option in [edit.options[is_made]] if option]
            if edit.environment is not None and edit.environment[1 + is_made]:
                environment[edit.environment[0]] = edit.environment[1 + is_made]
            if edit.state is not None and is_made:
                state.append(edit.state)
        return Rendered(files, lines, options, environment, state)

    def _expand(self, text: str, edits: Collection[int], parts: list[str], spans: list[tuple[int, int, int]]) -> None:
        at = 0
        for mark in _MARK.finditer(text):
            parts.append(text[at : mark.start()])
            at, start, number = mark.end(), sum(map(len, parts)), int(mark[1] or mark[2])
            if mark[1]:
                edit = self.edits[number]
                self._expand(edit.after if number in edits else edit.before, edits, parts, spans)
            elif number in edits:
                parts.append(mark[3])
            if number in edits:
                spans.append((number, start, max(start, sum(map(len, parts)) - 1)))
        parts.append(text[at:])

    # ------------------------------------------------------------ marks

    def edit(self, about: str, before: str = "", after: str = "", *subjects: str, **more: object) -> str:
        """The mark of a new edit."""
        number = len(self.edits)
        self.edits[number] = Edit(number, about, before, after, subjects, **more)  # type: ignore[arg-type]
        return f"\x02{number}\x03"

    def beside(self, text: str) -> str:
        """A text that is there with the last edit alone."""
        return f"\x04{len(self.edits) - 1}\x05{text}\x06"

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def word(self) -> str:
        """A string that no other place has."""
        self._words += 1
        return f"{self.random.choice(['red', 'blue', 'net', 'web', 'eu'])}{self._words}"

    def literal(self, about: str, *subjects: str) -> str:
        """The content of a string that may be edited."""
        before, after = self.word(), self.word()
        return self.edit(f"{about}: {before} to {after}", before, after, *subjects) if self.maybe(0.6) else before

    def number(self, about: str, *subjects: str) -> str:
        before = self.random.randint(1, 3)
        after = max(0, before + self.random.choice([-1, 1, 2]))
        return self.edit(f"{about}: {before} to {after}", str(before), str(after), *subjects)

    # ------------------------------------------------------------ the configuration

    def _generate(self) -> None:
        if self.plugin:
            self._main.append(
                'terraform {\n  required_providers {\n    test = { source = "example.com/test/test" }\n  }\n}'
            )
            self._main.append('variable "fail" {\n  type = string\n  default = null\n}')
            self._main.append(f'provider "test" {{\n  prefix = "{self.literal("provider configuration")}"\n}}')
        for number in range(self.random.randint(2, 5)):
            self._variable(f"v{number}")
        if self.maybe(0.6):
            self._services()
        if self.data:
            self._data_file()
        for number in range(self.random.randint(1, 2)):
            self._file(f"files/f{number}.txt")
        if self.maybe(0.5):
            self._file_set()
        if self.maybe(0.3):
            self._remote_state()
        for number in range(self.random.randint(1, 5)):
            self._local(f"l{number}")
        for number in range(self.random.randint(1, 3)):
            self._resource(f"r{number}")
        for number in range(self.random.randint(0, 2)):
            self._module(f"m{number}")
        for number in range(3, self.random.randint(3, 6)):
            self._resource(f"r{number}")
        if self.maybe(0.4):
            self._block_that_comes_or_goes()
        if self.maybe(0.3):
            self._switched()
        if self.plugin:
            self._of_plugin()
        for number in range(self.random.randint(0, 3)):
            self._main.append(f'output "o{number}" {{\n  value = {self.expression("s", f"output.o{number}")}\n}}')
        self.files["main.tf"] = "\n".join(self._main) + "\n"
        self.files["terraform.tfvars"] = "\n".join(self._values) + "\n"
        self._requests()

    def _variable(self, name: str) -> None:
        kind = self.random.choice("ssssnblm")
        types = {"s": "string", "n": "number", "b": "bool", "l": "list(string)", "m": "map(string)"}
        subject = f"var.{name}"
        default = self._value(kind, f"default of {subject}", subject)
        origin = self.random.choice(["default", "default", "tfvars", "auto", "-var", "environment", "added"])
        self._main.append(f'variable "{name}" {{\n  type = {types[kind]}\n  default = {default}\n}}')
        if origin == "tfvars":
            self._values.append(f"{name} = {self._value(kind, f'value of {subject}', subject)}")
        elif origin == "auto":
            self.files[f"{name}.auto.tfvars"] = f"{name} = {self._value(kind, f'value of {subject}', subject)}\n"
        elif origin == "added":
            line = f"{name} = {self._plain(kind)}\n"
            self._values.append(self.edit(f"value of {subject} added to terraform.tfvars", "", line, subject))
        elif origin == "-var":
            before = self.random.choice(["", f"-var={name}={self._plain(kind)}"])
            after = (
                self.random.choice(["", f"-var={name}={self._plain(kind)}"])
                if before
                else f"-var={name}={self._plain(kind)}"
            )
            self.edit(f"option {before} to {after}", "", "", subject, options=(before, after))
        elif origin == "environment":
            texts = (self._plain(kind).strip('"') if kind == "s" else self._plain(kind) for _ in range(2))
            self.edit(f"TF_VAR_{name}", "", "", subject, environment=(f"TF_VAR_{name}", *texts))
        self._refs[kind].append(subject)

    def _plain(self, kind: str) -> str:
        """A value of a type, without marks."""
        return {
            "s": f'"{self.word()}"',
            "n": str(self.random.randint(1, 3)),
            "b": self.random.choice(["true", "false"]),
            "l": json.dumps([self.word() for _ in range(self.random.randint(1, 3))]),
            "m": json.dumps({key: self.word() for key in self.random.sample(["a", "b", "c"], 2)}),
        }[kind]

    def _value(self, kind: str, about: str, *subjects: str) -> str:
        """A value of a type, with edits."""
        if kind == "s":
            return f'"{self.literal(about, *subjects)}"'
        if kind == "n":
            return self.number(about, *subjects)
        if kind == "b":
            before = self.random.choice(["true", "false"])
            return self.edit(f"{about}: not {before}", before, "false" if before == "true" else "true", *subjects)
        if kind == "l":
            items = [f'"{self.literal(about, *subjects)}", ' for _ in range(self.random.randint(1, 3))]
            items.append(self.edit(f"{about}: an element comes", "", f'"{self.word()}", ', *subjects))
            if self.maybe(0.4):
                items.insert(0, self.edit(f"{about}: an element goes", f'"{self.word()}", ', "", *subjects))
            return f"[{''.join(items)}]"
        lines = [f'    {key} = "{self.literal(f"{about}, {key}", *subjects)}"\n' for key in ("a", "b")]
        lines.append(self.edit(f"{about}: key c goes", f'    c = "{self.word()}"\n', "", *subjects))
        lines.append(self.edit(f"{about}: key d comes", "", f'    d = "{self.word()}"\n', *subjects))
        return "{\n" + "".join(self.random.sample(lines, self.random.randint(2, 4))) + "  }"

    def _services(self) -> None:
        """A map of objects, as a variable with values in a file, or a local."""
        name = self.random.choice(["var.services", "local.services"])
        lines = []
        for key in ("api", "web", "job"):
            image = self.literal(f"{name}, image of {key}", name)
            line = f'    {key} = {{ image = "{image}", size = {self.number(f"{name}, size of {key}", name)} }}\n'
            if self.maybe(0.3):
                line = self.edit(f"{name}: {key} goes", line, "", name)
            elif self.maybe(0.2):
                line = self.edit(f"{name}: {key} comes", "", line, name)
            lines.append(line)
        value = "{\n" + "".join(lines) + "  }"
        if name == "local.services":
            self._main.append(f"locals {{\n  services = {value}\n}}")
        else:
            self._main.append('variable "services" {\n  type = map(object({ image = string, size = number }))\n}')
            self._values.append(f"services = {value}")
        self._refs["o"].append(name)

    def _data_file(self) -> None:
        """Values of all types in a YAML file, which expressions decode directly or through a local."""
        path = "data.yaml"
        lines = [f"word: {self.literal(f'{path}, word', path)}\n", f"number: {self.number(f'{path}, number', path)}\n"]
        lines += ["names:\n", *(f"  - {self.literal(f'{path}, name', path)}\n" for _ in range(2))]
        if self.maybe(0.4):
            lines.append(self.edit(f"{path}: a name comes", "", f"  - {self.word()}\n", path))
        if self.maybe(0.3):
            lines.insert(-2, self.edit(f"{path}: a name goes", f"  - {self.word()}\n", "", path))
        labels = [f"  {key}: {self.literal(f'{path}, label {key}', path)}\n" for key in "ab"]
        if self.maybe(0.4):
            labels.append(self.edit(f"{path}: label c goes", f"  c: {self.word()}\n", "", path))
        if self.maybe(0.4):
            labels.append(self.edit(f"{path}: label d comes", "", f"  d: {self.word()}\n", path))
        lines += ["labels:\n", *labels, "services:\n"]
        for key in ("api", "web", "job"):
            image, size = self.literal(f"{path}, image of {key}", path), self.number(f"{path}, size of {key}", path)
            line = f"  {key}:\n    image: {image}\n    size: {size}\n"
            if key != "api" and self.maybe(0.3):
                line = self.edit(f"{path}: {key} goes", line, "", path)
            elif key != "api" and self.maybe(0.2):
                line = self.edit(f"{path}: {key} comes", "", line, path)
            lines.append(line)
        self.files[path] = "".join(lines)
        value = f'yamldecode(file("{path}"))'
        if self.maybe(0.6):
            self._main.append(f"locals {{\n  data = {value}\n}}")
            value = "local.data"
        for kind, text in (("s", "{}.word"), ("n", "{}.number"), ("l", "tolist({}.names)"), ("m", "tomap({}.labels)")):
            self._refs[kind] += [text.format(value)] * 2
        self._refs["o"].append(f"{value}.services")

    def _file(self, path: str) -> None:
        if self.maybe(0.5):
            self.files[path] = f"text {self.literal(f'content of {path}', path)}\n"
            self._refs["s"].append(f'file("{path}")')
        else:
            template = path.replace(".txt", ".tftpl")
            self.files[template] = f"text {self.literal(f'content of {template}', template)} ${{x}}\n"
            self._refs["s"].append(f'templatefile("{template}", {{ x = {self.expression("s", template)} }})')

    def _file_set(self) -> None:
        self.files["set/a.txt"] = f"{self.literal('content of set/a.txt', 'set/a.txt')}\n"
        self.files["set/b.txt"] = self.edit("set/b.txt comes", "\x00", "b\n", "set/b.txt", "set")
        self.files["set/c.txt"] = self.edit("set/c.txt goes", "c\n", "\x00", "set/c.txt", "set")
        self._refs["l"].append('sort(tolist(fileset("set", "*.txt")))')
        self._refs["m"].append('{ for f in fileset("set", "*.txt") : f => filemd5("set/${f}") }')

    def _remote_state(self) -> None:
        source = "data.terraform_remote_state.rs"
        value = self.edit("another state's output", self.word(), self.word(), source)
        outputs = f'{{"o": {{"value": "{value}", "type": "string"}}}}'
        head = '"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "x"'
        self.files["remote.json"] = f'{{{head}, "outputs": {outputs}, "resources": []}}'
        self._main.append(
            'data "terraform_remote_state" "rs" {\n  backend = "local"\n  config = { path = "remote.json" }\n}'
        )
        self._refs["s"].append(f"{source}.outputs.o")

    def _local(self, name: str) -> None:
        kind = self.random.choice("sssslm")
        self._main.append(f"locals {{\n  {name} = {self.expression(kind, f'local.{name}', 2)}\n}}")
        self._refs[kind].append(f"local.{name}")

    # ------------------------------------------------------------ expressions

    def expression(self, kind: str, user: str, depth: int = 1) -> str:
        """An expression of a type; now and then rewritten by an edit: into an equal one, or into another."""
        text = self._expression(kind, user, depth)
        chance = self.random.random()
        if kind == "s" and chance < 0.06:
            return self.edit(f"{user} is rewritten with equal meaning", text, f'format("%s", {text})', user)
        if kind == "s" and chance < 0.16:
            return self.edit(f"{user} is rewritten", text, f'"{self.word()}-${{{text}}}"', user)
        if kind in "lm" and chance < 0.06:
            other = f"reverse({text})" if kind == "l" else f'merge({text}, {{ z = "{self.word()}" }})'
            return self.edit(f"{user} is rewritten", text, other, user)
        return text

    def _expression(self, kind: str, user: str, depth: int) -> str:
        forms = list(_FORMS[kind])
        self.random.shuffle(forms)
        for form in forms:
            needed = re.findall(r"<([a-z])>", form)
            if all(need == "w" or self._refs[need] or (need == kind and depth > 0 and need == "s") for need in needed):
                return re.sub(r"<([a-z])>", lambda m: self._operand(m[1], user, depth), form)
        return self._plain(kind)

    def _operand(self, kind: str, user: str, depth: int) -> str:
        if kind == "w":
            return self.literal(f"text in {user}", user)
        if kind == "s" and self._refs["u"] and not user.startswith("local.") and self.maybe(0.4):
            return self.random.choice(self._refs["u"])
        if kind == "s" and depth > 0 and self.maybe(0.3):
            return f"({self._expression('s', user, depth - 1)})"
        return self.random.choice(self._refs[kind]) if self._refs[kind] else self._plain(kind)

    # ------------------------------------------------------------ resources and modules

    def _resource(self, name: str) -> None:
        type = "test_thing" if self.plugin and self.maybe(0.5) else "terraform_data"
        address = f"{type}.{name}"
        label, shown = name, address
        if self.maybe(0.15):
            label = self._renamed(name, address)
            shown = f"{type}.{label}"
        if self.maybe(0.1):
            self._main.append(self.edit(f"a comment above {address} comes", "", "# a comment\n# of two lines"))
        lines, repeated = [], self.random.choice(["", "", "count", "for_each"])
        each = ""
        if repeated == "count":
            count = self.random.choice(
                [
                    self.number(f"count of {address}", address),
                    *self._refs["n"],
                    *(f"length({ref})" for ref in self._refs["l"][:1]),
                ]
            )
            lines.append(f"count = {count}")
        elif repeated == "for_each":
            candidates = [(ref, '"${each.key}-${each.value.image}"') for ref in self._refs["o"]]
            candidates += [(ref, '"${each.key}-${each.value}"') for ref in self._refs["m"]]
            candidates += [(f"toset({ref})", "each.key") for ref in self._refs["l"]]
            collection, each = self.random.choice(candidates or [('toset(["x", "y"])', "each.key")])
            lines.append(f"for_each = {collection}")
        value = each if each and self.maybe(0.7) else self.expression("s", address)
        lines += self._thing(name, address, value, repeated) if type == "test_thing" else self._data(address, value)
        lines += self._lifecycle(address, "name" if type == "test_thing" else "input")
        self._main.append("\n".join([f'resource "{type}" "{label}" {{', *(f"  {line}" for line in lines if line), "}"]))
        self._resources.append((address, repeated))
        if not repeated:
            self._refs["u"].append(f"{shown}.{'note' if type == 'test_thing' else 'id'}")
            if type == "terraform_data":
                self._refs["u"].append(f"jsonencode({shown}.output)")
        else:
            every = f"values({shown})" if repeated == "for_each" else shown
            self._refs["u"] += [f'join(",", {every}[*].id)', f'"${{length({shown})}}"']

    def _renamed(self, name: str, address: str) -> str:
        """The label of a block that an edit renames, most often with a moved block."""
        if self.maybe(0.3):
            subjects = (address, f"{address}x")
            return self.edit(f"{address} is renamed without a moved block", name, f"{name}x", *subjects)
        label = self.edit(f"{address} is renamed", name, f"{name}x", renames=(f"{address}x", address))
        self._main.append(self.beside(f"moved {{\n  from = {address}\n  to = {address}x\n}}"))
        return label

    def _data(self, address: str, value: str) -> Iterator[str]:
        yield (
            f"input = {value}" if self.maybe(0.7) else f"input = {{ a = {value}, b = {self.expression('s', address)} }}"
        )
        if self.maybe(0.4):
            triggers = f"triggers_replace = [{self.expression('s', address)}]"
            yield (
                self.edit(f"triggers_replace of {address} comes", "", triggers, address)
                if self.maybe(0.3)
                else triggers
            )

    def _thing(self, name: str, address: str, value: str, repeated: str) -> Iterator[str]:
        key = {"": "", "count": "-${count.index}", "for_each": "-${each.key}"}[repeated]
        yield f'name = "{name}{key}"'
        yield f"note = {value}"
        yield "fail = var.fail"
        if self.maybe(0.5):
            yield f"region = {self.expression('s', address)}"
        if self.maybe(0.4) and self._refs["l"]:
            yield (
                'dynamic "label" {\n    for_each = toset('
                + self.random.choice(self._refs["l"])
                + ')\n    content {\n      key   = label.value\n      value = "x"\n    }\n  }'
            )

    def _lifecycle(self, address: str, attribute: str) -> Iterator[str]:
        others = [other for other, repeated in self._resources if other.startswith("terraform_data.") and not repeated]
        parts = []
        if others and self.maybe(0.3):
            some = self.random.sample(others, self.random.randint(1, min(2, len(others))))
            line = f"replace_triggered_by = [{', '.join(f'{o}{self.random.choice(_ATTRIBUTES)}' for o in some)}]"
            parts.append(
                self.edit(f"replace_triggered_by of {address} comes", "", line, address) if self.maybe(0.3) else line
            )
        if self.maybe(0.15):
            line = f"ignore_changes = [{attribute}]"
            chance = self.random.random()
            comes = self.edit(f"ignore_changes of {address} comes", "", line, address) if chance < 0.3 else line
            parts.append(self.edit(f"ignore_changes of {address} goes", line, "", address) if chance > 0.6 else comes)
        if self.maybe(0.1):
            parts.append("create_before_destroy = true")
        if parts:
            yield "lifecycle {"
            yield from (f"  {part}" for part in parts)
            yield "}"

    def _module(self, name: str) -> None:
        address = f"module.{name}"
        for variant in ("a", "b"):
            folder = f"modules/{name}{variant}"
            word = self.literal(f"text in {folder}", f"{address}.terraform_data.x")
            self.files[f"{folder}/t.tftpl"] = (
                f"{self.literal(f'content of {folder}/t.tftpl', f'{folder}/t.tftpl')} ${{x}}\n"
            )
            self.files[f"{folder}/main.tf"] = f"""variable "p" {{}}
variable "q" {{
  type    = map(string)
  default = {{}}
}}
locals {{
  inner = "{word if variant == "a" else self.word()}-${{var.p}}"
}}
resource "terraform_data" "x" {{
  input = local.inner
}}
resource "terraform_data" "y" {{
  for_each = var.q
  input = templatefile("${{path.module}}/t.tftpl", {{ x = each.value }})
}}
output "o" {{
  value = "{self.literal(f"text in {folder}", f"{address}.o", f"{address}.output.o")}-${{local.inner}}"
}}
output "id" {{
  value = terraform_data.x.id
}}
"""
        label, shown = name, address
        if self.maybe(0.15):
            label = self._renamed(name, address)
            shown = f"module.{label}"
        source = f"./modules/{name}a"
        if self.maybe(0.2):
            source = self.edit(f"another source of {address}", source, f"./modules/{name}b", address)
        lines = [f'source = "{source}"', f"p = {self.expression('s', f'{address}.var.p')}"]
        if self._refs["m"] and self.maybe(0.7):
            lines.append(f"q = {self.random.choice(self._refs['m'])}")
        repeated = self.random.choice(["", "", "count", "for_each"])
        if repeated == "count":
            lines.append(f"count = {self.number(f'count of {address}', address)}")
        elif repeated == "for_each":
            keys = self.random.choice(self._refs["l"] or ['["x", "y"]'])
            lines.append(f"for_each = toset({keys})")
        self._main.append("\n".join([f'module "{label}" {{', *(f"  {line}" for line in lines), "}"]))
        if not repeated:
            self._refs["u"] += [f"{shown}.o", f"{shown}.id"]

    def _block_that_comes_or_goes(self) -> None:
        address = "terraform_data.single"
        block = f'resource "terraform_data" "single" {{\n  input = {self.expression("s", address)}\n}}'
        is_new = self.maybe(0.5)
        self._main.append(
            self.edit(f"{address} {'comes' if is_new else 'goes'}", *(("", block) if is_new else (block, "")), address)
        )

    def _switched(self) -> None:
        """A resource that a condition switches on."""
        address = "terraform_data.switched"
        conditions = [*self._refs["b"], *(f"length({ref}) > 2" for ref in self._refs["l"]), "<b>"]
        condition = self.random.choice(conditions).replace("<b>", self._value("b", f"switch of {address}", address))
        lines = [f"count = {condition} ? 1 : 0", f"input = {self.expression('s', address)}"]
        self._main.append("\n".join(['resource "terraform_data" "switched" {', *(f"  {line}" for line in lines), "}"]))
        self._refs["u"].append('join(",", terraform_data.switched[*].id)')

    def _of_plugin(self) -> None:
        """A data source, and an object that is imported, of things that are there."""
        things = [
            address for address, repeated in self._resources if address.startswith("test_thing.") and not repeated
        ]
        if not things or any(edit.renames for edit in self.edits.values()):
            return
        thing = self.random.choice(things)
        self._main.append(f'data "test_thing" "d" {{\n  id = {thing}.id\n}}')
        word = self.literal("output.data", "output.data")
        self._main.append(f'output "data" {{\n  value = "${{data.test_thing.d.name}}-{word}"\n}}')
        label = thing.partition(".")[2]
        block = 'resource "test_thing" "imported" {\n  name = "imported"\n}\n'
        block += 'import {\n  to = test_thing.imported\n  id = "thing-imported"\n}'
        subject = "test_thing.imported"
        self._main.append(self.edit("an import comes", "", block, subject, state=("copy", label, "imported")))

    def _requests(self) -> None:
        """Edits of options and of the state; and the option that limits plans."""
        if self.maybe(0.1):
            address, _ = self.random.choice(self._resources)
            self.target = f"-target={address}" if not any(edit.renames for edit in self.edits.values()) else ""
        for address, repeated in self._resources:
            key = {"": "", "count": "[0]", "for_each": ""}[repeated]
            if repeated == "for_each":
                continue
            if self.maybe(0.2):
                option = f"-replace={address}{key}"
                self.edit(option, "", "", address, options=("", option))
            if self.maybe(0.1):
                operation = self.random.choice(["taint", "command"])
                self.edit(f"{address}{key} is tainted", "", "", address, state=(operation, f"{address}{key}", "taint"))
            if self.maybe(0.1) and address.startswith("terraform_data."):
                value = self.word()
                self.edit(f"input of {address}{key} drifts", "", "", address, state=("drift", f"{address}{key}", value))
            if self.maybe(0.1) and address.startswith("test_thing."):
                label = address.partition(".")[2] + ("-0" if key else "")
                self.edit(f"note of {address}{key} drifts", "", "", address, state=("world", label, self.word()))
                if self.maybe(0.3):
                    self.edit(f"{address}{key} is gone", "", "", address, state=("gone", label, ""))
            if self.maybe(0.07):
                operation = self.random.choice(["lost", "command"])
                state = (operation, f"{address}{key}", "state rm")
                self.edit(f"{address}{key} leaves the state", "", "", address, state=state)


_ATTRIBUTES = ("", "", ".output", ".id")
_FORMS: dict[str, tuple[str, ...]] = {
    "s": (
        *('"<w>-${<s>}"', '"<w>-${<s>}"', "<s>", "<s>", "upper(<s>)", 'try(<m>["a"], "none")', 'try(<m>["d"], "<w>")'),
        *('lookup(<m>, "c", "<w>")', 'join(",", <l>)', "jsonencode(<m>)", "jsonencode(<l>)", "tostring(<n>)"),
        *('<b> ? <s> : "<w>"', "<b> ? <s> : <s>", 'length(<l>) > 2 ? <s> : "<w>"', '"n${length(<l>)}"'),
        *('can(<m>["c"]) ? <s> : "<w>"', 'try(<o>["api"].image, "none")', "jsonencode(<o>)", "<l>[0]"),
        *('join(",", [for k, v in <o> : "${k}=${v.size}"])', 'join(",", [for x in <l> : upper(x)])', "md5(<s>)"),
        *('format("%s/%s", <s>, <s>)', 'replace(<s>, "e", "<w>")', "substr(<s>, 0, 2)", "coalesce(<s>, <s>)"),
        *('try(element(<l>, 1), "<w>")', 'join(",", values(<o>)[*].image)', 'try(one(<l>), "<w>")'),
        *('coalesce(one([for x in <l> : x if x == "<w>"]), "<w>")', "jsonencode({ a = <s>, b = <s> })"),
        'tostring(try(<o>["job"].size, 0))',
    ),
    "l": (
        *("[<s>, <s>]", '["<w>", <s>]', "keys(<m>)", "values(<m>)", '[for x in <l> : "${x}-<w>"]', "distinct(<l>)"),
        *("sort(keys(<o>))", "[for k, v in <o> : k if v.size > 1]", 'concat(<l>, ["<w>"])'),
        '[for i in range(<n>) : "i${i}"]',
    ),
    "m": (
        *('{ a = <s>, b = "<w>" }', "{ for k, v in <m> : k => upper(v) }", 'merge(<m>, { b = "<w>" })'),
        *("{ for k, v in <o> : k => v.image }", "{ for x in <l> : x => <s> }"),
        '{ for k, v in <m> : k => v if k != "c" }',
    ),
}
"""forms of expressions by type; <w> is a text, others are references of a type"""
