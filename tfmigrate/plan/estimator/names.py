"""The names of TensorFlow 1 in a module whose Estimator went: what is left of them is named as TensorFlow 2 has it."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan.change.calls import quoted
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import ImportNames, ImportPart, Remove, Replace
from tfmigrate.plan.estimator.things import MODE_NAMES, MODE_VALUES
from tfmigrate.plan.names.eager_switches import turns_eager
from tfmigrate.understand.names import estimator_name
from tfmigrate.understand.syntax import dotted, root_name
from tfmigrate.walk import walk

BOTH = frozenset({"data", "distribute"})
"""Modules whose objects Keras takes in the form of TensorFlow 2."""
ONLY_1 = frozenset(
    {
        "app", "flags", "Session", "InteractiveSession", "ConfigProto", "GPUOptions", "get_default_graph",
        "reset_default_graph", "global_variables_initializer", "local_variables_initializer", "parse_example",
        "parse_single_example", "VarLenFeature", "TFRecordReader", "python_io", "string_split",
        "string_to_number", "decode_csv",
    }
)  # fmt: skip
"""Names directly under `tf` that TensorFlow 2 keeps under compat.v1 alone, and for which TFM204 has no better one."""
SAME = frozenset(
    {
        "argmax", "bool", "cast", "concat", "config", "constant", "convert_to_tensor", "device", "equal", "errors",
        "estimator", "expand_dims", "float16", "float32", "float64", "function", "identity", "image", "int32", "int64",
        "int8", "io", "keras", "math", "nest", "nn", "one_hot", "ones", "range", "reduce_max", "reduce_mean",
        "reduce_min", "reduce_sum", "reshape", "shape", "squeeze", "stack", "string", "strings", "tile", "transpose",
        "uint8", "zeros",
    }
)  # fmt: skip
"""Names directly under `tf.compat.v1` that may be taken from TensorFlow 2 itself; any other stays what it was."""


def modernised(draft: Draft) -> None:
    """Plan the renames of one module."""
    gone = draft.vanishing()
    old = only_compat_import(draft)
    if old is not None:
        statement, bound = old
        draft.tf = bound
        name = "tensorflow" if bound == "tensorflow" else f"tensorflow as {bound}"
        draft.edits.append(ImportNames(statement, (ImportPart("", (name,)),)))
    removed: set[cst.CSTNode] = set()
    for line in draft.module.all_of(cst.SimpleStatementLine):
        for small in line.body:
            call = small.value if isinstance(small, cst.Expr) else None
            symbol = draft.facts.called(call)
            if turns_eager(symbol) is not None:  # Keras trains eagerly, as TensorFlow 2 does by default.
                draft.edits.append(Remove(small))
                removed.update(walk(small))
    for node in draft.module.all_of(cst.Attribute):
        symbol = draft.facts.symbols.get(node, "")
        if not symbol or node in removed or root_name(node) in gone:
            continue
        mode = estimator_name(symbol) or ""
        if mode.startswith("ModeKeys.") and mode.removeprefix("ModeKeys.") in MODE_NAMES:
            # Input functions ask for the mode, and tf.estimator is gone.
            value = MODE_VALUES[MODE_NAMES[mode.removeprefix("ModeKeys.")]]
            draft.edits.append(Replace(node, quoted(value, draft.quote)))
            continue
        new = _renamed(symbol, node, draft.tf, compat=old is not None)
        if new is not None:
            draft.edits.append(Replace(node, new))


def _renamed(symbol: str, node: cst.Attribute, tf: str, *, compat: bool) -> str | None:
    """The new code of a name that stands directly under `tf` or `tf.compat.v1`; None where it may stay."""
    parts = symbol.split(".")
    if parts[:3] == ["tensorflow", "compat", "v1"] and len(parts) == 4:
        if parts[3] in BOTH:
            return f"{tf}.{parts[3]}"
        if compat and len(dotted(node).split(".")) == 2 and parts[3] not in SAME:
            return f"{tf}.compat.v1.{parts[3]}"
        return None
    if parts[:1] == ["tensorflow"] and len(parts) == 2 and parts[1] in ONLY_1:
        return f"{tf}.compat.v1.{parts[1]}"
    return None


def only_compat_import(draft: Draft) -> tuple[cst.Import, str] | None:
    """`import tensorflow.compat.v1 as tf` where it is the only door to TensorFlow, and the name it binds."""
    alias_import = None
    for statement, unit in draft.module.imports:
        if isinstance(statement, cst.Import):
            for alias in statement.names:
                if dotted(alias.name) == "tensorflow":
                    return None
                if dotted(alias.name) == "tensorflow.compat.v1" and alias.asname is not None:
                    if len(statement.names) == 1 and draft.module.places[unit].owner is None:
                        alias_import = statement, dotted(alias.asname.name)
    return alias_import
