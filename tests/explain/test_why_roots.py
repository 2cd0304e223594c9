"""`why` about a change of several causes, and about one behind a replacement: each cause has its own chain."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFIGURATION = """variable "engine" { default = "15" }
variable "major" { default = "15" }
variable "release" { default = "1" }
variable "a" { default = "1" }
variable "b" { default = "1" }
variable "c" { default = "1" }
variable "d" { default = "1" }
resource "terraform_data" "database" {
  input            = { engine = var.engine }
  triggers_replace = { engine = var.engine, major = var.major }
}
resource "terraform_data" "server" {
  input = {
    database = terraform_data.database.id
    release  = var.release
    both     = "${var.release}-${var.engine}"
    a        = var.a
    b        = var.b
    c        = var.c
    d        = var.d
  }
}
resource "terraform_data" "page" {
  triggers_replace = <<-EOT
    name ${var.a}
    same
    size ${var.b} and ${var.c}
    zone ${var.b}
  EOT
}
resource "terraform_data" "job" {
  count = 3
  input = var.d
}
resource "terraform_data" "all" {
  triggers_replace = [for job in terraform_data.job : job.output]
  input            = { page = terraform_data.page.id, a = var.a }
  lifecycle {
    replace_triggered_by = [terraform_data.page]
  }
}
"""
UPDATED = "terraform_data.server is updated in place: "
MANY = "terraform_data.server is updated in place: {} parts of input differ"
BY_MAJOR = [
    "  <- terraform_data.database is replaced, so its id is known after apply: triggers_replace.major "
    '"15" -> "16" (main.tf:10)',
    '  <- var.major "15" -> "16" (-var=major)',
]


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        pytest.param(
            "major=16",
            [f"{UPDATED}input.database will be known after the apply (main.tf:14)", *BY_MAJOR],
            id="what-forces",
        ),
        pytest.param(
            "major=16 a=2",
            [
                f'{UPDATED}input.a "1" -> "2" (main.tf:17)',
                '  <- var.a "1" -> "2" (-var=a)',
                "  and input.database will be known after the apply (main.tf:14)",
                *BY_MAJOR,
            ],
            id="two",
        ),
        pytest.param(
            "engine=16 release=2",
            [
                MANY.format(3),
                '  input.both "1-15" -> "2-16" (main.tf:16)',
                '  <- var.engine "15" -> "16" (-var=engine)',
                '  and because of var.release "1" -> "2" (-var=release)',
                '  also input.release "1" -> "2" (main.tf:15)',
                "  and input.database (known after apply), through terraform_data.database (main.tf:14)",
            ],
            id="of-one-attribute",
        ),
        pytest.param(
            "engine=16 major=16 release=2 a=2 b=2 c=2 d=2",
            [
                MANY.format(7),
                '  input.a "1" -> "2" (main.tf:17)',
                '  <- var.a "1" -> "2" (-var=a)',
                '  and input.b "1" -> "2" (main.tf:18)',
                '  <- var.b "1" -> "2" (-var=b)',
                '  and input.c "1" -> "2" (main.tf:19)',
                '  <- var.c "1" -> "2" (-var=c)',
                '  and input.d "1" -> "2" because of var.d "1" -> "2" (-var=d)',
                '  and input.both "1-15" -> "2-16" because of var.engine "15" -> "16" (-var=engine)',
                '  and input.database will be known after the apply because of var.major "15" -> "16" (-var=major)',
                '  and input.both "1-15" -> "2-16" because of var.release "1" -> "2" (-var=release)',
                '  also input.release "1" -> "2" (main.tf:15)',
            ],
            id="many",
        ),
    ],
)
def test_each_cause_has_its_chain(
    changed: str, lines: list[str], tmp_path: Path, planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(CONFIGURATION)
    assert planner("apply", "-auto-approve").code == 0
    ran = planner("why", *(f"-var={one}" for one in changed.split()), "terraform_data.server")
    assert ran.out.splitlines() == lines


PAGE = "terraform_data.page is replaced: triggers_replace, "
NAME, SIZE = 'line 1: "name 1" -> "name 2"', 'line 3: "size 1 and 1" -> "size 2 and 1"'
ZONE = 'line 4: "zone 1" -> "zone 2"'
PLACE = "(main.tf:24)"
ALL = "terraform_data.all is replaced: "


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("applied")


@pytest.mark.parametrize(
    ("changed", "address", "lines"),
    [
        pytest.param(
            "b=2",
            "terraform_data.page",
            [
                f"{PAGE}{SIZE} forces replacement {PLACE}",
                '  <- var.b "1" -> "2" (-var=b)',
                f"  also triggers_replace, {ZONE} {PLACE}",
            ],
            id="lines-of-one-cause",
        ),
        pytest.param(
            "a=2 b=2",
            "terraform_data.page",
            [
                f"{PAGE}{NAME} forces replacement {PLACE}",
                '  <- var.a "1" -> "2" (-var=a)',
                f"  and triggers_replace, {SIZE} {PLACE}",
                '  <- var.b "1" -> "2" (-var=b)',
                f"  also triggers_replace, {ZONE} {PLACE}",
            ],
            id="each-line-has-its-chain",
        ),
        pytest.param(
            "d=2",
            "terraform_data.all",
            [
                f"{ALL}triggers_replace[0] (known after apply) forces replacement (main.tf:36)",
                "  <- terraform_data.job[0].output (main.tf:31)",
                '  <- terraform_data.job[0].input "1" -> "2" (main.tf:33)',
                '  <- var.d "1" -> "2" (-var=d)',
                "  and triggers_replace[1, 2] (known after apply), through terraform_data.job[1, 2] (main.tf:36)",
            ],
            id="all-instances",
        ),
        pytest.param(
            "a=2",
            "terraform_data.all",
            [
                f"{ALL}its replace_triggered_by names terraform_data.page (main.tf:39)",
                f"  <- terraform_data.page.triggers_replace, {NAME} {PLACE}",
                '  <- var.a "1" -> "2" (-var=a)',
            ],
            id="by-a-trigger",
        ),
    ],
)
def test_all_lines_and_ways_are_shown(
    changed: str, address: str, lines: list[str], once: Path, planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(once)
    if not Path("main.tf").exists():
        Path("main.tf").write_text(CONFIGURATION)
        assert planner("apply", "-auto-approve").code == 0
    assert planner("why", *(f"-var={one}" for one in changed.split()), address).out.splitlines() == lines


USED = """variable "a" { default = "1" }
variable "b" { default = "1" }
resource "terraform_data" "two" {
  input = { a = var.a, b = var.b }
}
resource "terraform_data" "uses" {
  input = "${var.a}-${terraform_data.two.input.b}"
}
resource "terraform_data" "id" {
  input            = "x-${var.b}"
  triggers_replace = var.a
}
resource "terraform_data" "of" {
  input = "${var.b}-${terraform_data.id.id}"
}
output "id" { value = terraform_data.id.output }
"""


def test_causes_come_through_objects_of_which_they_change_what_is_used(
    tmp_path: Path, planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(USED)
    assert planner("apply", "-auto-approve").code == 0
    shown = planner("plan", "-explain=line", "-var=a=2", "-var=b=2").out
    assert "  # because [2] var.b, [1] var.a through terraform_data.id\n" in shown
    assert "  # because [1] var.a, [2] var.b through terraform_data.two\n" in shown
    _, _, causes = planner("why", "-var=a=2", "-var=b=2").out.partition("[1] ")
    assert causes.splitlines() == [
        'var.a "1" -> "2" (-var=a)',
        "      -> terraform_data.id (main.tf:11, replaced)",
        "        -> output.id (main.tf:16, updated), terraform_data.of (main.tf:14, updated)",
        "      -> terraform_data.two (main.tf:4, updated), terraform_data.uses (main.tf:7, updated)",
        "    causes all 4 changes and 1 output (also by [2])",
        "",
        '[2] var.b "1" -> "2" (-var=b)',
        "      -> terraform_data.id (main.tf:10, replaced)",
        "        -> output.id (main.tf:16, updated)",
        "      -> terraform_data.two (main.tf:4, updated)",
        "        -> terraform_data.uses (main.tf:7, updated)",
        "      -> terraform_data.of (main.tf:14, updated)",
        "    causes all 4 changes and 1 output (also by [1])",
    ]


def test_a_replacement_is_of_the_causes_that_force_it(tmp_path: Path, planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("main.tf").write_text(
        'variable "suffix" { default = "a" }\nvariable "owner" { default = "ann" }\n'
        'resource "terraform_data" "db" {\n  triggers_replace = var.suffix\n  input            = var.owner\n}\n'
    )
    assert planner("apply", "-auto-approve").code == 0
    changed = ("-var=suffix=b", "-var=owner=bob")
    assert planner("why", *changed).out.partition("\n\n")[2].splitlines() == [
        '[1] var.suffix "a" -> "b" (-var=suffix)',
        "    causes the only change: replace terraform_data.db (also by [2])",
        "",
        '[2] var.owner "ann" -> "bob" (-var=owner)',
        "    causes the only change: update terraform_data.db (also by [1])",
    ]
    asked = planner("why", "-var=owner=bob", "-replace=terraform_data.db").out
    assert "    replace  terraform_data.db\n" in asked
    assert "    causes the only change: update terraform_data.db" in asked


GROUP = """
variable "az" { default = "a" }
variable "image" { default = "1" }
resource "terraform_data" "group" {
  input = { az = var.az, template = { image = var.image } }
}
resource "terraform_data" "job" {
  input = terraform_data.group.output.template
}
resource "terraform_data" "zone" {
  input = terraform_data.group.output.az
}
"""
BY_IMAGE = ['terraform_data.group.input.template.image "1" -> "2" (main.tf:5)', 'var.image "1" -> "2" (-var=image)']
BY_AZ = ['terraform_data.group.input.az "a" -> "b" (main.tf:5)', 'var.az "a" -> "b" (-var=az)']


@pytest.mark.parametrize(
    ("reader", "part", "first", "further"),
    [("job", "template", BY_IMAGE, BY_AZ), ("zone", "az", BY_AZ, BY_IMAGE)],
)
def test_the_first_cause_is_that_of_the_part_that_is_read(
    tmp_path: Path,
    planner,
    monkeypatch: pytest.MonkeyPatch,
    reader: str,
    part: str,
    first: list[str],
    further: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.tf").write_text(GROUP)
    assert planner("apply", "-auto-approve").code == 0
    lines = planner("why", "-var=az=b", "-var=image=2", f"terraform_data.{reader}").out.splitlines()
    assert lines[1:] == [
        f"  <- terraform_data.group.output.{part} (main.tf:4)",
        *(f"  <- {step}" for step in first),
        f"  and {further[0]}",
        f"  <- {further[1]}",
    ]
