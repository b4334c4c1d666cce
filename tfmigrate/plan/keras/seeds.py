"""`tf.set_random_seed(7)`, which today's Keras does not draw its weights and dropout by."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Insert, Rank
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.names.imports import import_of_standard
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.module import names_imported
from tfmigrate.understand.purity import is_pure

_OF_TENSORFLOW = frozenset(
    {
        "tensorflow.set_random_seed", "tensorflow.random.set_random_seed", "tensorflow.random.set_seed",
        "tensorflow.compat.v1.set_random_seed", "tensorflow.compat.v1.random.set_random_seed",
        "tensorflow.compat.v2.random.set_seed",
    }
)  # fmt: skip
_OF_PYTHON = ("random.seed", "keras.utils.set_random_seed")


def check(context: Context) -> Iterator[CallChange]:
    """Python's generator gets the same seed a line above, unless something in the program seeds it."""
    facts = context.facts
    calls = [call for call in facts.module.calls if facts.called(call) in _OF_TENSORFLOW]
    if not calls or context.migration.once(_seeds_python):
        return
    bound = _name_of_random(context)
    line_of_import = import_of_standard("random", facts.module, context.scopes)
    imports = () if bound else None if line_of_import is None else (line_of_import,)
    units = {only_statement(unit): unit for unit in facts.module.places}
    for call in calls:
        unit = next(
            (unit for small, unit in units.items() if isinstance(small, cst.Expr) and small.value is call), None
        )
        if unit is None or imports is None or len(call.args) != 1 or not is_pure(call.args[0].value):
            advice = "seed that too, with random.seed()"
            yield CallChange(codes.SEEDS, call, f"{_STORY}: {advice}", action="warn")
            continue
        seeding = (f"{bound or 'random'}.seed(", call.args[0].value, ")")
        line = Insert(unit, seeding, (unit,), rank=Rank.RULE)
        yield CallChange(codes.SEEDS, call, f"{_STORY}, which gets the same seed", line, more=imports)


_STORY = "today's Keras draws the seeds of its initial weights and dropout from Python's `random`"


def _seeds_python(migration: Migration) -> bool:
    named = (facts.called(call) for facts in migration.facts.modules.values() for call in facts.module.calls)
    return any(name.endswith(_OF_PYTHON) and not name.startswith("numpy.") for name in named)


def _name_of_random(context: Context) -> str | None:
    """What the module calls Python's `random`."""
    return next((bound for bound, full in names_imported(context.facts.module) if full == "random"), None)
