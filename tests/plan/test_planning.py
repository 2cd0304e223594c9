"""Planning, one matter a test: small configurations and states of the builtin resource."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plan.planning import Outcome, plan_folder, recorded, write_files, write_state

from planner.engine.plan.options import PlanOptions
from planner.foundation.values.value import SENSITIVE, Marked, Unknown
from planner.foundation.vocabulary.address import parse_address
from planner.foundation.vocabulary.limits import Limits


def planned(tmp_path: Path, text: str, *instances: dict[str, Any], **options: Any) -> Outcome:
    write_files(tmp_path, {"main.tf": text})
    if instances:
        write_state(tmp_path, *instances)
    return plan_folder(tmp_path, PlanOptions(**options))


# ---------------------------------------------------------------- instances


def test_count_for_each_and_enabled(tmp_path: Path) -> None:
    outcome = planned(
        tmp_path,
        """
        resource "terraform_data" "n" {
          count = 2
          input = count.index
        }
        resource "terraform_data" "e" {
          for_each = { b = 1, a = 2 }
          input    = "${each.key}${each.value}"
        }
        resource "terraform_data" "off" {
          lifecycle {
            enabled = false
          }
        }
        output "all" {
          value = [terraform_data.n[*].input, terraform_data.e["a"].input, terraform_data.off]
        }
        """,
    )
    assert list(outcome.actions) == [
        'terraform_data.e["a"]',
        'terraform_data.e["b"]',
        "terraform_data.n[0]",
        "terraform_data.n[1]",
    ]
    assert outcome.plan is not None
    first, second, third = outcome.plan.outputs[0].after
    assert (first, second, third.__class__.__name__) == ((0, 1), "a2", "Null")


@pytest.mark.parametrize(
    ("argument", "title"),
    [
        ('count = terraform_data.a.id == "" ? 1 : 2', "Invalid count argument"),
        ("count = -1", "Invalid count argument"),
        ("count = 100000000000", "Invalid count argument"),
        ("count = null", "Invalid count argument"),
        ("count = 1.5", "Invalid count argument"),
        ("for_each = toset([terraform_data.a.id])", "Invalid for_each argument"),
        ("for_each = [1]", "Invalid for_each argument"),
        ("for_each = toset([1])", "Invalid for_each argument"),
        ('for_each = sensitive(toset(["a"]))', "Invalid for_each argument"),
        ("for_each = null", "Invalid for_each argument"),
    ],
)
def test_instances_that_cannot_be_planned(tmp_path: Path, argument: str, title: str) -> None:
    outcome = planned(
        tmp_path, f'resource "terraform_data" "a" {{}}\nresource "terraform_data" "b" {{\n  {argument}\n}}\n'
    )
    assert outcome.words == [f"error main.tf:3 {title}"]
    assert outcome.plan is not None
    assert outcome.plan.errored
    assert outcome.actions == {"terraform_data.a": "create"}


def test_instances_that_are_no_longer_declared(tmp_path: Path) -> None:
    outcome = planned(
        tmp_path,
        'resource "terraform_data" "n" {\n  count = 1\n}\n',
        recorded("n[0]"),
        recorded("n[1]"),
        recorded("gone"),
    )
    assert outcome.actions == {
        "terraform_data.gone": "delete",
        "terraform_data.n[0]": "no-op",
        "terraform_data.n[1]": "delete",
    }
    assert outcome.change("terraform_data.n[1]").reason == "delete_because_count_index"


def test_module_instances_have_values_of_their_own(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "main.tf": """
            module "m" {
              source   = "./m"
              for_each = { a = 1, b = 2 }
              size     = each.value
            }
            output "sizes" {
              value = { for k, m in module.m : k => m.twice }
            }
            """,
            "m/main.tf": """
            variable "size" {
              type = number
              validation {
                condition     = var.size < 2
                error_message = "too big"
              }
            }
            locals {
              twice = var.size * 2
            }
            resource "terraform_data" "r" {
              input = local.twice
            }
            output "twice" {
              value = terraform_data.r.input
            }
            """,
        },
    )
    outcome = plan_folder(tmp_path)
    assert outcome.words == ["error main.tf:5 Invalid value for variable"]
    assert outcome.plan is not None
    assert outcome.plan.errored


# ---------------------------------------------------------------- changes


def test_a_replacement_shows_what_is_unknown_of_the_new_object(tmp_path: Path) -> None:
    outcome = planned(
        tmp_path,
        'resource "terraform_data" "a" {\n  input = "x"\n  triggers_replace = "2"\n}\n',
        recorded("a", input="x", triggers="1"),
    )
    change = outcome.change("terraform_data.a")
    assert change.action == "delete-then-create"
    assert change.before["id"] == "id-a"
    assert change.after["id"].__class__ is Unknown
    assert change.replace_paths == ((("attr", "triggers_replace"),),)
    assert ("requires_replace", "terraform_data.a", "triggers_replace") in change.facts


def test_ignore_changes_keeps_what_was_applied(tmp_path: Path) -> None:
    text = 'resource "terraform_data" "a" {\n  input = "new"\n  lifecycle {\n    ignore_changes = %s\n  }\n}\n'
    for ignored in ("[input]", "all"):
        outcome = planned(tmp_path, text % ignored, recorded("a", input="old"))
        assert outcome.actions == {"terraform_data.a": "no-op"}
        assert outcome.change("terraform_data.a").after["input"] == "old"


def test_a_change_of_sensitivity_is_an_update(tmp_path: Path) -> None:
    outcome = planned(
        tmp_path, 'resource "terraform_data" "a" {\n  input = sensitive("x")\n}\n', recorded("a", input="x")
    )
    change = outcome.change("terraform_data.a")
    assert change.action == "update"
    assert change.after["input"] == Marked("x", frozenset((SENSITIVE,)))
    assert ("sensitivity_differs", "terraform_data.a") in change.facts


def test_replace_triggered_by_an_attribute_of_an_instance(tmp_path: Path) -> None:
    text = """
    resource "terraform_data" "t" {
      count = 2
      input = count.index == 0 ? "same" : "new"
    }
    resource "terraform_data" "a" {
      count = 2
      lifecycle {
        replace_triggered_by = [terraform_data.t[count.index].input]
      }
    }
    """
    state = (recorded("t[0]", input="same"), recorded("t[1]", input="old"), recorded("a[0]"), recorded("a[1]"))
    outcome = planned(tmp_path, text, *state)
    assert outcome.change("terraform_data.a[0]").action == "no-op"
    assert outcome.change("terraform_data.a[1]").action == "delete-then-create"
    assert outcome.change("terraform_data.a[1]").reason == "replace_by_triggers"


def test_what_depends_on_a_safe_replacement_is_replaced_safely_too(tmp_path: Path) -> None:
    text = """
    resource "terraform_data" "below" {
      triggers_replace = "2"
    }
    resource "terraform_data" "above" {
      triggers_replace = terraform_data.below.id
      lifecycle {
        create_before_destroy = true
      }
    }
    """
    outcome = planned(tmp_path, text, recorded("below", triggers="1"), recorded("above", triggers="id-below"))
    assert set(outcome.actions.values()) == {"create-then-delete"}


def test_prevent_destroy_stops_the_plan_and_shows_it(tmp_path: Path) -> None:
    text = 'resource "terraform_data" "n" {\n  count = 1\n  lifecycle {\n    prevent_destroy = %s\n  }\n}\n'
    state = recorded("n[0]"), recorded("n[1]")
    outcome = planned(tmp_path, text % "true", *state)
    assert outcome.words == ["error main.tf:1 Resource instance cannot be destroyed"]
    assert outcome.actions == {"terraform_data.n[0]": "no-op", "terraform_data.n[1]": "delete"}
    assert planned(tmp_path, text % "1 == 2", *state).words == []
    assert len(planned(tmp_path, text % "count.index == 0", *state).words) == 2


def test_forgetting_instead_of_destroying(tmp_path: Path) -> None:
    text = """
    resource "terraform_data" "n" {
      count            = 1
      triggers_replace = "2"
      lifecycle {
        destroy = false
      }
    }
    """
    outcome = planned(tmp_path, text, recorded("n[0]", triggers="1"), recorded("n[1]"))
    assert outcome.actions == {"terraform_data.n[0]": "forget-then-create", "terraform_data.n[1]": "forget"}
    assert outcome.change("terraform_data.n[1]").reason == "forgot_because_lifecycle_destroy_in_config"
    assert len(outcome.words) == 1


def test_import_blocks(tmp_path: Path) -> None:
    text = """
    locals {
      ids = { a = "one", b = "two" }
    }
    import {
      for_each = local.ids
      to       = terraform_data.r[each.key]
      id       = each.value
    }
    resource "terraform_data" "r" {
      for_each = local.ids
    }
    """
    outcome = planned(tmp_path, text, recorded('r["b"]'))
    change = outcome.change('terraform_data.r["a"]')
    assert change.action == "no-op"
    assert change.importing is not None
    assert change.importing.id == "one"
    assert change.before["id"] == "one"
    assert outcome.change('terraform_data.r["b"]').importing is None


def test_an_import_into_nothing_is_an_error(tmp_path: Path) -> None:
    text = """
    import {
      to = terraform_data.r["%s"]
      id = "x"
    }
    resource "terraform_data" "r" {
      for_each = toset(["a"])
    }
    """
    assert planned(tmp_path, text % "a").words == []
    outcome = planned(tmp_path, text % "z")
    assert outcome.words == ["error Configuration for import target does not exist"]
    assert outcome.plan is None


# ---------------------------------------------------------------- conditions


def test_conditions_that_fail_hold_back_what_follows(tmp_path: Path) -> None:
    text = """
    resource "terraform_data" "a" {
      input = 1
      lifecycle {
        postcondition {
          condition     = self.input == 2
          error_message = "input is ${self.input}"
        }
      }
    }
    resource "terraform_data" "b" {
      input = terraform_data.a.input
    }
    """
    outcome = planned(tmp_path, text)
    assert [d.detail for d in outcome.diagnostics] == ["input is 1"]
    assert outcome.actions == {"terraform_data.a": "create"}
    assert outcome.plan is not None
    assert [(c.address, c.status, c.messages) for c in outcome.plan.checks] == [
        ("terraform_data.a", "fail", ("input is 1",))
    ]
    lenient = planned(tmp_path, text, recorded("a", input=1), recorded("b", input=1), mode="refresh-only")
    assert [d.severity for d in lenient.diagnostics] == ["warning"]


def test_checks_warn_and_data_sources_in_them_do_not_stop_the_plan(tmp_path: Path) -> None:
    text = """
    check "c" {
      data "terraform_remote_state" "s" {
        backend = "local"
        config  = { path = "nowhere.tfstate" }
      }
      assert {
        condition     = data.terraform_remote_state.s.outputs.x == 1
        error_message = "no"
      }
    }
    """
    outcome = planned(tmp_path, text)
    assert {d.severity for d in outcome.diagnostics} == {"warning"}
    assert outcome.change("data.terraform_remote_state.s").reason == "read_because_check_nested"
    assert outcome.plan is not None
    assert [(c.kind, c.status) for c in outcome.plan.checks] == [("check", "fail")]


# ---------------------------------------------------------------- outputs


def test_changes_of_outputs(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "main.tf": "\n".join(
                f'output "{name}" {{\n  value = {value}\n}}' for name, value in (("new", 1), ("same", 1), ("other", 2))
            )
        },
    )
    given = {name: {"value": 1, "type": "number"} for name in ("same", "other", "gone")}
    write_state(tmp_path, outputs=given)
    outcome = plan_folder(tmp_path)
    assert outcome.plan is not None
    actions = {o.name: o.action for o in outcome.plan.outputs}
    assert actions == {"gone": "delete", "new": "create", "other": "update", "same": "no-op"}


def test_sensitive_values_need_sensitive_outputs(tmp_path: Path) -> None:
    outcome = planned(tmp_path, 'output "o" {\n  value = sensitive(1)\n}\n')
    assert outcome.words == ["error main.tf:1 Output refers to sensitive values"]


# ---------------------------------------------------------------- modes


def test_destroying(tmp_path: Path) -> None:
    text = 'resource "terraform_data" "a" {\n  input = "x"\n}\noutput "o" {\n  value = terraform_data.a.input\n}\n'
    outcome = planned(tmp_path, text, recorded("a", input="x"), recorded("b"), mode="destroy")
    assert outcome.actions == {"terraform_data.a": "delete", "terraform_data.b": "delete"}
    assert outcome.change("terraform_data.b").reason == ""


def test_targets_with_keys(tmp_path: Path) -> None:
    text = """
    resource "terraform_data" "base" {
      count = 2
    }
    resource "terraform_data" "n" {
      count = 3
      input = terraform_data.base[count.index % 2].id
    }
    """
    outcome = planned(tmp_path, text, limits=Limits(targets=(parse_address("terraform_data.n[1]"),)))
    assert sorted(outcome.actions) == ["terraform_data.base[0]", "terraform_data.base[1]", "terraform_data.n[1]"]
    outcome = planned(tmp_path, text, limits=Limits(excludes=(parse_address("terraform_data.n[1]"),)))
    assert "terraform_data.n[1]" not in outcome.actions
    assert len(outcome.actions) == 4


def test_sequential_and_pooled_walks_plan_the_same(tmp_path: Path) -> None:
    text = "\n".join(
        f'resource "terraform_data" "r{i}" {{\n  input = {f"terraform_data.r{i // 2}.id" if i else 0}\n}}'
        for i in range(20)
    )
    one, many = (planned(tmp_path, text, sequential=s, timestamp="2020-01-01T00:00:00Z") for s in (True, False))
    assert one.plan is not None
    assert many.plan is not None
    assert [(c.address, c.after, c.facts) for c in one.plan.changes] == [
        (c.address, c.after, c.facts) for c in many.plan.changes
    ]
