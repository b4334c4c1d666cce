"""An old script that dies because the Keras it was run on is too new for it: which version would run it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from tfmigrate.old_names import LAST_WITH
from tfmigrate.rules import all_rules
from tfmigrate.verify.judge.plan import Plan
from tfmigrate.verify.run import runtimes
from tfmigrate.verify.run.program import last_name, program_of, tree_of
from tfmigrate.verify.run.world import Run

_ARGUMENT = re.compile(
    r"unexpected keyword argument '(\w+)'|not understood:', '(\w+)'|Unrecognized keyword arguments[^{]*\{'(\w+)'"
)
_LEFT_OUT = re.compile(r"__init__\(\) missing \d+ required positional argument")
"""What is said to `Dense(output_dim=8)` before it is looked at what it is given."""
_NAME = re.compile(r"(?:module '(?:tf_)?keras[\w.]*' has no attribute|cannot import name) '(\w+)'")
_UNDEFINED = re.compile(r"NameError: name '(\w+)' is not defined")
_LAST_WITH_ARGUMENTS = "2.3.1"


def advice(plan: Plan, run: Run) -> str:
    """Which Keras has the name, or takes the argument, that an old run died of; empty for any other error."""
    error = run.trace.error
    if error is None:
        return ""
    name = _NAME.search(error) or (_UNDEFINED.search(error) if _has_star_import(plan) else None)
    if "'module' object is not callable" in error and "merge" in (last_name(call.func) for call in _calls(plan)):
        return _older(plan, run, "merge")
    if name is not None:
        return _older(plan, run, name[1])
    argument = _argument(error, plan)
    return _of_argument(plan, run, argument) if argument else ""


def _argument(error: str, plan: Plan) -> str:
    """The argument of Keras 1 that an error is about."""
    said = _ARGUMENT.search(error)
    if said is not None:
        word = next(filter(None, said.groups()))
        return word if word in _words() else ""
    passed = {keyword for keywords in _passed(plan) for keyword in keywords} if _LEFT_OUT.search(error) else set()
    return min(passed & _words(), default="")


def _of_argument(plan: Plan, run: Run, argument: str) -> str:
    what = f"`{argument}` is an argument of Keras 1"
    if plan.flavour == "keras":
        if run.world.kind == "genuine":  # which takes them all
            return ""
        recipe = runtimes.recipe_for("keras", plan.options.written_for)
        return f"{what}, which standalone Keras takes up to {_LAST_WITH_ARGUMENTS}: {_making(recipe)}"
    if argument == "nb_epoch" and run.world.runtime.tensorflow_version >= (2, 0):
        return f"{what}, which fit() of tf.keras takes up to TensorFlow 1.15: {_making('tf1.15')}"
    return (
        f"{what}, which tf.keras takes in none of the versions that verify can run; standalone Keras (`import "
        f"keras`) takes it up to {_LAST_WITH_ARGUMENTS}"
    )


def _older(plan: Plan, run: Run, name: str) -> str:
    last = LAST_WITH.get(name)
    if last is None or plan.flavour != "keras":
        return ""
    wanted = f"keras=={last}"
    recipe = runtimes.recipe_for("keras", wanted)
    if run.world.kind == "genuine" and run.world.runtime.keras_version <= (runtimes.pinned("keras", wanted) or (0, 0)):
        return ""
    return f"`{name}` is in Keras up to {last}: {_making(recipe)}, and --from {wanted} chooses it"


def _making(recipe: str) -> str:
    return f"`tfmigrate runtimes --make {recipe}` builds a runtime for it"


@cache
def _words() -> frozenset[str]:
    """The arguments that Keras 1 took, and Keras 2 under other names."""
    renamed = (row.old for rule in all_rules() if rule.name == "keras-1-arguments" for row in rule.renames)
    return frozenset({*renamed, "nb_row", "nb_col", "dim_ordering", "samples_per_epoch"})


def _nodes(plan: Plan) -> Iterator[ast.AST]:
    """Every node of the old program."""
    source, name, home = plan.place_of(plan.options.old)
    with suppress(OSError):
        for text in program_of(source, name, home).values():
            yield from ast.walk(tree_of(text))


def _has_star_import(plan: Plan) -> bool:
    """Whether the old program has a star import of Keras, which may bring names that it does not say."""
    imports = (node for node in _nodes(plan) if isinstance(node, ast.ImportFrom))
    return any((node.module or "").startswith("keras.") and node.names[0].name == "*" for node in imports)


def _calls(plan: Plan) -> Iterator[ast.Call]:
    return (node for node in _nodes(plan) if isinstance(node, ast.Call))


def _passed(plan: Plan) -> Iterator[set[str]]:
    """The keywords of each call of the old program."""
    return ({keyword.arg for keyword in call.keywords if keyword.arg is not None} for call in _calls(plan))
