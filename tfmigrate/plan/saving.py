"""Names of weight files: Keras 3 writes weights only to files that end in `.weights.h5`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.calls import named_arguments
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.expressions import assigned
from tfmigrate.plan.interfaces import CallChange, calls_in
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.scopes import Scopes

_OLD_ENDINGS = (".hdf5", ".h5")
_CHECKPOINT = (
    "filepath", "monitor", "verbose", "save_best_only", "save_weights_only", "mode", "period",
)  # fmt: skip


def weight_files(facts: Facts, scopes: Scopes) -> Iterator[CallChange]:
    """The file names of save_weights() and ModelCheckpoint(save_weights_only=True), and of loads of the same name."""
    written: dict[str, str] = {}
    literals: dict[cst.BaseExpression, str] = {}
    for call, path in _writers(facts):
        literal = _ending(path, facts, scopes)
        text = _text(literal) if literal is not None else None
        ending = next((end for end in _OLD_ENDINGS if text is not None and text.endswith(end)), None)
        if literal is None or text is None or ending is None or text.endswith(".weights.h5") or literal in literals:
            continue
        new = text[: -len(ending)] + ".weights.h5"
        literals[literal] = new
        written[text] = new
        yield _change(literal, text, new)
    for call in calls_in(facts.module.tree):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "load_weights" and call.args:
            literal = _ending(call.args[0].value, facts, scopes)
            text = _text(literal) if literal is not None else None
            if literal is not None and text in written and literal not in literals:
                literals[literal] = written[text]
                yield _change(literal, text, written[text])


def _writers(facts: Facts) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    for use in facts.uses:
        if use.method == "save_weights" and use.call.args and not use.call.args[0].star:
            yield use.call, use.call.args[0].value
    for call in calls_in(facts.module.tree):
        if names.canonical(facts.symbols.get(call.func, "")) != "keras.callbacks.ModelCheckpoint":
            continue
        named = named_arguments(call, _CHECKPOINT)
        if named is None or "filepath" not in named or "save_weights_only" not in named:
            continue
        only = named["save_weights_only"].value
        if isinstance(only, cst.Name) and only.value == "True":
            yield call, named["filepath"].value


def _change(literal: cst.SimpleString, old: str, new: str) -> CallChange:
    message = f"Keras 3 writes weights only to files that end in .weights.h5: {old!r} is {new!r} now"
    ending = next(end for end in _OLD_ENDINGS if old.endswith(end))
    head, _, quote = literal.value.rpartition(ending)
    return CallChange(codes.WEIGHT_FILES, literal, message, Replace(literal, f"{head}.weights.h5{quote}"))


def _text(literal: cst.SimpleString) -> str | None:
    value = literal.evaluated_value
    return value if isinstance(value, str) else None


def _ending(
    node: cst.BaseExpression, facts: Facts, scopes: Scopes, depth: int = 0
) -> cst.SimpleString | None:
    """The string literal that a path ends with, through `+`, `%`, format(), os.path.join() and a name bound once."""
    if isinstance(node, cst.SimpleString):
        return node
    if isinstance(node, cst.BinaryOperation):
        part = node.left if isinstance(node.operator, cst.Modulo) else node.right
        return _ending(part, facts, scopes, depth)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value == "format":
            return _ending(node.func.value, facts, scopes, depth)
        if node.func.attr.value == "join" and node.args and facts.symbols.get(node.func, "").startswith("os.path"):
            return _ending(node.args[-1].value, facts, scopes, depth)
    if isinstance(node, cst.Name) and depth < 4:
        value = _bound_once(node, scopes)
        return _ending(value, facts, scopes, depth + 1) if value is not None else None
    return None


def _bound_once(node: cst.Name, scopes: Scopes) -> cst.BaseExpression | None:
    scope = next((s for s in scopes.by_node.values() if any(m.node is node for m in s.mentions.get(node.value, ()))), None)
    if scope is None:
        return None
    bindings = [mention for mention in scopes.of_variable(node.value, scope) if mention.binds]
    return assigned(bindings[0]) if len(bindings) == 1 else None
