"""No function of the package has more than LIMIT ways through it, as radon counts them.

ruff counts statements alone: a condition that asks ten things is one way for it, and a comprehension none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from radon.visitors import ComplexityVisitor

from tests.conftest import ROOT

PACKAGE = ROOT / "tfmigrate"
LIMIT = 20
STILL_OVER: tuple[str, ...] = (
    "edit/apply.py _Editor.__init__",
    "edit/blocks.py BlockInTheMaking._insert",
    "edit/width.py _Fitting._opened",
    "plan/comments.py _Going.__init__",
    "plan/comments.py _Going.at",
    "plan/comments.py _Going.of_dropped",
    "plan/data/generators.py _Body._called",
    "plan/data/loading.py _set",
    "plan/data/loading.py check",
    "plan/data/pipeline.py _Builder.pipeline",
    "plan/data/pipeline.py _Builder.structure",
    "plan/data/shapes_of_arrays.py Parts._of_name",
    "plan/data/steps.py check_last",
    "plan/estimator/calls.py plan_call",
    "plan/estimator/contrib.py _settings",
    "plan/estimator/estimators.py OfModelFunction.plan",
    "plan/estimator/exporting.py _specs",
    "plan/estimator/expressions.py _comparison",
    "plan/estimator/expressions.py _operation",
    "plan/estimator/inputs.py Inputs._one_batch",
    "plan/estimator/migration.py Migration.config",
    "plan/estimator/network.py nn_dropout",
    "plan/estimator/network.py operation",
    "plan/estimator/of_keras.py OfKerasModel._lines_of",
    "plan/estimator/of_keras.py OfKerasModel.plan",
    "plan/estimator/own_functions.py read_building",
    "plan/estimator/strategy.py _mirrored",
    "plan/estimator/strategy.py _own_strategy",
    "plan/estimator/strategy.py _returns_default",
    "plan/estimator/tensorflow_calls.py read_call",
    "plan/helpers/obtain_input_shape.py obtain_input_shape",
    "plan/keras/automatic_names.py _depended_on",
    "plan/keras/binary_accuracy.py _kinds_of",
    "plan/keras/callback_classes.py _counted_epochs",
    "plan/keras/cautions.py say_compiled_out_of_sight",
    "plan/keras/cautions.py say_trainable_toggles",
    "plan/keras/checkpoints.py _named",
    "plan/keras/companions.py plan_companions",
    "plan/keras/decays.py decays_of",
    "plan/keras/devices.py _asks_alone",
    "plan/keras/devices.py listed_by_sessions",
    "plan/keras/extra_losses.py check",
    "plan/keras/fed_operations.py _Fed._as_function",
    "plan/keras/layer_names.py _Slashes._look",
    "plan/keras/layer_names.py _Slashes.are_not_in",
    "plan/keras/layer_names.py _in_literals",
    "plan/keras/losses.py _as_rows",
    "plan/keras/losses.py batch_losses",
    "plan/keras/made_in_call.py _constant",
    "plan/keras/made_in_call.py check",
    "plan/keras/metrics_names.py _names",
    "plan/keras/monitors.py _made_of_own",
    "plan/keras/named_outputs.py _targets",
    "plan/keras/optimizers.py _optimizer_call",
    "plan/keras/outside_tensors.py layers_over_tensors",
    "plan/keras/saving.py _in_hdf5",
    "plan/keras/saving.py _mentioned",
    "plan/keras/saving.py checkpoint_files",
    "plan/keras/session_places.py _dropped_sessions",
    "plan/keras/session_reading.py Reading._bound",
    "plan/keras/session_reading.py Reading._function",
    "plan/keras/sessions.py check",
    "plan/names/import_tensorflow.py _place_for_import",
    "plan/names/imports.py plan_import",
    "plan/names/program_imports.py _plan_imports",
    "plan/names/readiness.py _Reader._keywords",
    "plan/names/tables.py Tables.of",
    "plan/on_strategy/idle.py left_idle",
    "plan/on_strategy/misuse.py _Reader._old_files",
    "plan/on_strategy/rescope.py _Scopes.edits",
    "plan/packages/pins.py mended",
    "plan/planner.py _migrate",
    "plan/planner.py _settled",
    "plan/strategy/compiles.py compiled_apart",
    "plan/strategy/eligible.py _needed_elsewhere",
    "plan/strategy/eligible.py follow",
    "plan/strategy/merge_names.py _Naming.keep_parallel",
    "plan/strategy/merge_names.py _Naming.keep_template",
    "plan/strategy/merge_names.py _Naming.until_bound_again",
    "plan/strategy/merge_names.py _Naming.without_the_parallel",
    "plan/strategy/owner.py owners_of",
    "plan/strategy/placement.py _in_methods",
    "plan/strategy/placement.py placements_of",
    "plan/strategy/remains.py _remains",
    "plan/strategy/sink.py _Proof._finds_all_the_same",
    "plan/strategy/strategy.py _condition",
    "understand/classes.py _makers_first",
    "understand/containers.py item_of",
    "understand/library.py call_library",
    "understand/methods.py call_method",
    "understand/wraps.py _inputs_of",
    "understand/wraps.py wrap",
)
"""What was over when the limit came, sorted. An entry goes when its function is shorter; none is added."""


def complexities(tree: ast.AST, within: str = "") -> Iterator[tuple[str, int]]:
    """Every function of a module, and its complexity; those in it or in its classes count for themselves."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = within + node.name
            if not isinstance(node, ast.ClassDef):
                yield name, ComplexityVisitor.from_ast(node).functions[0].complexity
            yield from complexities(node, name + ".")
        else:
            yield from complexities(node, within)


@pytest.fixture(scope="module")
def over_the_limit() -> list[str]:
    return sorted(
        f"{path.relative_to(PACKAGE).as_posix()} {name}"
        for path in PACKAGE.rglob("*.py")
        for name, complexity in complexities(ast.parse(path.read_text(encoding="utf-8")))
        if complexity > LIMIT
    )


def test_no_function_is_over_the_limit(over_the_limit: list[str]) -> None:
    new = sorted(set(over_the_limit) - set(STILL_OVER))
    assert not new, f"divide by what they do (radon cc -s -n D shows the numbers): {new}"


def test_the_table_holds_only_what_is_over_the_limit(over_the_limit: list[str]) -> None:
    assert list(STILL_OVER) == sorted(STILL_OVER)
    shorter = sorted(set(STILL_OVER) - set(over_the_limit))
    assert not shorter, f"take out of STILL_OVER: {shorter}"


def test_conditions_comprehensions_and_nested_functions_are_counted() -> None:
    source = """
class Outer:
    class Inner:
        def method(self, a, b, c):
            return a and b or c

    def maker(self, rows):
        def of(row):
            return [x for x in row if x]

        if rows:
            class Local:
                async def f(self):
                    assert self
        return of
"""
    assert dict(complexities(ast.parse(source))) == {
        "Outer.Inner.method": 3,
        "Outer.maker": 2,
        "Outer.maker.of": 3,
        "Outer.maker.Local.f": 2,
    }
