"""`weight.name`, which on Keras 3 has no name of a layer in it: every kernel is called 'kernel'."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.loops import PartOf, Taken
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.syntax import attribute_of, dotted, last_attribute

_LISTS = frozenset(
    {"weights", "trainable_weights", "non_trainable_weights", "trainable_variables", "non_trainable_variables"}
)
_OF_WEIGHTS = (
    "kernel", "bias", "gamma", "beta", "moving_mean", "moving_variance", "embeddings", "recurrent_kernel",
    "depthwise_kernel", "pointwise_kernel", "alpha",
)  # fmt: skip
"""What the layers of Keras call their weights, on every version."""
_LOOKING_UP = frozenset({"get", "pop", "setdefault"})
_SAYS = "on Keras 3 every kernel is named 'kernel', without the name of its layer"


def check(context: Context) -> Iterator[CallChange]:
    """`path` has both names; it is read where a name is a key, or is searched for a part that may be a layer's."""
    module = context.facts.module
    if ".name" not in module.text:
        return
    read = _names_read(context)
    if not read:
        return
    for node in (*module.all_of(cst.Comparison, cst.Subscript, cst.Call), *module.all_of(cst.DictComp, cst.Dict)):
        for name in _keys(node):
            if name in read:
                message = f"{_SAYS}: its `path` is the key, if it has one"
                yield CallChange(codes.WEIGHT_NAMES, name, message, _path(name))
        for name, part in _searched(node):
            word = text_of(part)
            if name not in read or (word is not None and any(word in own for own in _OF_WEIGHTS)):
                continue
            if word is not None and ":" in word:
                yield _told(name)
            else:
                message = f"{_SAYS}: its `path` is searched, if it has one"
                yield CallChange(codes.WEIGHT_NAMES, name, message, _path(name))
        for name in _taken_apart(node):
            if name in read:
                yield _told(name)


def _path(name: cst.BaseExpression) -> Replace:
    assert isinstance(name, cst.Attribute)
    return Replace(name, ("getattr(", name.value, ', "path", ', name, ")"))


def _told(name: cst.BaseExpression) -> CallChange:
    message = (
        f"{_SAYS} and without ':0': its `path` is 'model/layer/kernel', with the names of all models around the layer"
    )
    return CallChange(codes.WEIGHT_NAMES, name, message, action="warn")


def _keys(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What something is kept under, or looked up by."""
    if isinstance(node, cst.Subscript):
        yield from (part.slice.value for part in node.slice if isinstance(part.slice, cst.Index))
    elif isinstance(node, cst.DictComp):
        yield node.key
    elif isinstance(node, cst.Dict):
        yield from (element.key for element in node.elements if isinstance(element, cst.DictElement))
    elif isinstance(node, cst.Call) and last_attribute(node.func) in _LOOKING_UP:
        yield from (arg.value for arg in node.args[:1])


def _searched(node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """(the text, what is looked for in it)."""
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        (asked,) = node.comparisons
        if isinstance(asked.operator, cst.In | cst.NotIn):
            yield asked.comparator, node.left


def _taken_apart(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What a text is compared with, begins or ends with, or is split at."""
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        (asked,) = node.comparisons
        if isinstance(asked.operator, cst.Equal | cst.NotEqual):
            yield from (node.left, asked.comparator)
        elif isinstance(asked.operator, cst.In | cst.NotIn):
            yield node.left
    elif isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Attribute):
            yield node.func.value
        if (dotted(node.func) or "").startswith("re."):
            yield from (arg.value for arg in node.args)


def _names_read(context: Context) -> Set[cst.CSTNode]:
    """Each `weight.name` of a variable that runs over weights."""
    kept = _kept(context)
    return {
        node
        for node in context.facts.module.all_of(cst.Attribute)
        if node.attr.value == "name" and any(_is_weight(value, kept) for value in context.loops.taken(node.value))
    }


def _is_weight(value: Taken | None, kept: Set[str]) -> bool:
    return isinstance(value, PartOf) and _are_weights(value.node, kept)


def _are_weights(node: cst.BaseExpression, kept: Set[str]) -> bool:
    if isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Attribute) and (node.attr.value in _LISTS or attribute_of("self", node) in kept)


def _kept(context: Context) -> Set[str]:
    """The attributes of self that are lists of weights, wherever they are set."""
    kept: dict[str, bool] = {}
    for assign in context.facts.module.all_of(cst.Assign):
        for target in assign.targets:
            name = attribute_of("self", target.target)
            if name is not None:
                value = settled(assign.value, context.scopes)
                kept[name] = kept.get(name, True) and _are_weights(value, frozenset())
    return {name for name, always in kept.items() if always}
