"""What names mean: in the console (from the state), while planning, while validating."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan.planning import recorded, write_files, write_state

from planner.engine.evaluation.context import EvaluationContext
from planner.engine.evaluation.eval_walk import eval_walk
from planner.engine.evaluation.repetition import SINGLE, Repetition
from planner.engine.evaluation.schemas import Schemas
from planner.foundation.values.value import Marked, Unknown
from planner.foundation.vocabulary.span import Source
from planner.language.config.load import load_config
from planner.language.config.module_installer import install_modules
from planner.language.config.variables import collect_variables, root_variables
from planner.language.expressions.evaluate import evaluate, try_evaluate
from planner.language.syntax.parse import parse_expression
from planner.logic.datalog.engine.fact_base import FactBuilder
from planner.logic.facts.from_config import from_command, from_config
from planner.logic.facts.from_state import from_state
from planner.logic.graph.build import build_graph
from planner.operations.graphs import SchemaTable
from planner.world.provider.registry import start_provider
from planner.world.state.file import read_state

FILES = {
    "main.tf": """
    variable "size" {
      default   = 3
      sensitive = true
    }
    locals {
      double = var.size * 2
    }
    resource "terraform_data" "one" {}
    resource "terraform_data" "many" {
      count = 2
    }
    resource "terraform_data" "keyed" {
      for_each = toset(["a"])
    }
    module "m" {
      source   = "./m"
      for_each = toset(["x", "y"])
      name     = each.key
    }
    """,
    "m/main.tf": """
    variable "name" {}
    resource "terraform_data" "r" {}
    output "o" {
      value = "${var.name}-${terraform_data.r.input}"
    }
    """,
}


@pytest.fixture
def console(tmp_path: Path) -> EvaluationContext:
    write_files(tmp_path, FILES)
    write_state(
        tmp_path,
        recorded("one", input="x"),
        recorded("many[0]", input=10),
        recorded("many[1]", input=11),
        recorded('keyed["a"]', input="k"),
        recorded('module.m["x"].r', input="in"),
    )
    install_modules(str(tmp_path), variables={})
    given, _ = collect_variables(str(tmp_path), [], {})
    config, problems = load_config(str(tmp_path), variables=given)
    assert config is not None, problems
    variables, _ = root_variables(config.root.variables, given)
    state, _ = read_state((tmp_path / "terraform.tfstate").read_bytes(), "terraform.tfstate")
    assert state is not None
    schemas = Schemas(start_provider)
    facts = FactBuilder()
    from_command(facts, "eval")
    from_config(facts, config, SchemaTable(schemas))
    from_state(facts, state)
    context, found = eval_walk(build_graph(facts.build()), config, state, variables, schemas, "blue")
    assert found == []
    return context


def parse(text: str) -> object:
    source = Source("<test>", text)
    node, problems = parse_expression(source)
    assert node is not None, problems
    return node, source


def value(context: EvaluationContext, text: str) -> object:
    node, source = parse(text)  # type: ignore[misc]
    return evaluate(node, context.root.scope, source)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("terraform_data.one.input", "x"),
        ("terraform_data.many[1].input", 11),
        ("terraform_data.many[*].input", (10, 11)),
        ("length(terraform_data.many)", 2),
        ('terraform_data.keyed["a"].input', "k"),
        ("[for k, r in terraform_data.keyed : k]", ("a",)),
        ('module.m["x"].o', "x-in"),
        ("[for k, m in module.m : k]", ("x", "y")),
        ("terraform.workspace", "blue"),
        ("tofu.workspace", "blue"),
        ("nonsensitive(local.double)", 6),
        ("issensitive(var.size)", True),
    ],
)
def test_values_from_the_state(console: EvaluationContext, text: str, wanted: object) -> None:
    assert value(console, text) == wanted


def test_declared_marks_follow_a_value(console: EvaluationContext) -> None:
    assert isinstance(value(console, "local.double"), Marked)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("var.sise", "Reference to undeclared input variable"),
        ("local.x", "Reference to undeclared local value"),
        ("module.x.o", "Reference to undeclared module"),
        ("terraform_data.two.id", "Reference to undeclared resource"),
        ("terraform_data.one[0].id", "Unexpected resource instance key"),
        ("terraform_data.many.id", "Missing resource instance key"),
        ("terraform_data.one.idd", "Unsupported attribute"),
        ("terraform_data.many[5].id", "Invalid index"),
        ("terraform_data", "Invalid reference"),
        ("count.index", 'Reference to "count" in non-counted context'),
        ("each.key", 'Reference to "each" in context without for_each'),
        ("each.other", 'Invalid "each" attribute'),
        ("self.id", 'Invalid "self" reference'),
        ("path.here", 'Invalid "path" attribute'),
        ("terraform.env", 'Invalid "terraform" attribute'),
        ("true ? 1 : var.sise", "Reference to undeclared input variable"),
    ],
)
def test_names_that_mean_nothing(console: EvaluationContext, text: str, title: str) -> None:
    node, source = parse(text)  # type: ignore[misc]
    _, problems = try_evaluate(node, console.root.scope, source)
    assert [p.summary for p in problems] == [title]


def test_repetition_and_self_belong_to_a_scope(console: EvaluationContext) -> None:
    node, source = parse('"${each.key} ${each.value} ${self}"')  # type: ignore[misc]
    scope = console.root.scope.inside(Repetition(each_key="k", each_value=1), self_value="me")
    assert evaluate(node, scope, source) == "k 1 me"


def test_whole_objects_are_built_once_until_a_value_changes(console: EvaluationContext) -> None:
    objects = console.root.resource("terraform_data.many")
    whole = objects.whole()
    assert objects.whole() is whole
    objects.set(2, {"id": "new"})
    assert len(objects.whole()) == 3
    objects.remove(2)
    objects.remove(1)
    assert objects.whole() == (whole[0],)


def test_validation_knows_types_only(console: EvaluationContext) -> None:
    context = EvaluationContext(console.config, "validate", console.schemas)
    for module in context.config.root.walk():
        for parent in context.instances(module.path):
            for name in module.children:
                context.expand_module(parent, name, SINGLE)
    assert isinstance(value(context, "terraform_data.one.id"), Unknown)
    assert isinstance(value(context, "terraform_data.many[7].id"), Unknown)
    assert isinstance(value(context, 'module.m["z"].o'), Unknown)
    node, source = parse("terraform_data.one.idd")  # type: ignore[misc]
    assert [p.summary for p in try_evaluate(node, context.root.scope, source)[1]] == ["Unsupported attribute"]
