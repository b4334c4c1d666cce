"""Names that `from keras.layers import *` brought by the way: what Keras's modules had imported for themselves."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Insert, Rank
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import dotted, import_statements, is_star_import
from tfmigrate.understand.scopes import Scopes

_IMPORTS = {
    "K": "from tensorflow.keras import backend as K",
    "np": "import numpy as np",
    **{
        module: f"import {module}"
        for module in (
            "os", "sys", "io", "re", "csv", "json", "time", "copy", "types", "random", "string", "inspect", "warnings",
            "threading", "multiprocessing", "six", "h5py",
        )
    },
}  # fmt: skip
"""Modules that star imports of Keras's own bring besides what those define, measured with 2.1.6, 2.2.4 and 2.3.1: `from
keras.callbacks import *` brings `np` and `os` in the first two, and `K` in all three."""


def check(context: Context) -> Iterator[CallChange]:
    """`K` and `np` of a script that imports neither: tensorflow.keras does not bring them, so they are imported."""
    facts, scopes = context.facts, context.scopes
    stars = [
        (statement, unit)
        for statement, unit in import_statements(facts.module)
        if isinstance(statement, cst.ImportFrom)
        and is_star_import(statement)
        and not statement.relative
        and names.flavour(dotted(statement.module)) == "keras"
        and facts.module.places[unit].owner is None
    ]
    if not stars:
        return
    missing = [name for name in _IMPORTS if _comes_by_star(name, facts, scopes)]
    if not missing:
        return
    statement, unit = stars[0]
    listed = ", ".join(missing)
    message = (
        f"tensorflow.keras does not export {listed}, which the star imports of Keras also brought in: imported here"
    )
    edit = Insert(unit, "\n".join(_IMPORTS[name] for name in missing), rank=Rank.RULE)
    yield CallChange(codes.STANDALONE_KERAS, statement, message, edit)


def _comes_by_star(name: str, facts: Facts, scopes: Scopes) -> bool:
    """Whether the module reads a name that nothing in it binds."""
    if hasattr(builtins, name):
        return False
    return any(
        scopes.owner(name, scope) is None and any(mention.node not in facts.symbols for mention in scope.mentions[name])
        for scope in scopes.by_node.values()
        if name in scope.mentions
    )
