"""`model.input` and `model.output` of a Sequential, which on Keras 3 has them only where it was called."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.data.only_output import has_one_input, has_one_output
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.values import ModelObject, Parallel, Value, options

_LISTS = {"input": "inputs[0]", "output": "outputs[0]"}
_FAILS = "a Sequential of Keras 3 has no `{}` before it is called on a tensor (AttributeError)"


def check(context: Context) -> Iterator[CallChange]:
    module = context.facts.module
    set_here = {target.target for assign in module.all_of(cst.Assign) for target in assign.targets}
    for node in module.all_of(cst.Attribute):
        tensor = node.attr.value
        if tensor not in _LISTS or node in set_here or not may_be_sequential(node.value, context):
            continue
        fails = _FAILS.format(tensor)
        if _has_one(node.value, tensor, context):
            message = f"{fails}: `{_LISTS[tensor]}` is that tensor"
            yield CallChange(codes.SEQUENTIAL_TENSORS, node, message, Replace(node, (node.value, f".{_LISTS[tensor]}")))
        else:
            message = f"{fails}: write `{_LISTS[tensor]}` for a model with one, as a Sequential is"
            yield CallChange(codes.SEQUENTIAL_TENSORS, node, message, action="warn")


def tensor_of(model: cst.BaseExpression, tensor: str, context: Context) -> str:
    """How the `input` or `output` of what may be a Sequential is written."""
    return _LISTS[tensor] if may_be_sequential(model, context) and _has_one(model, tensor, context) else tensor


def may_be_sequential(node: cst.BaseExpression, context: Context) -> bool:
    return any(
        names.canonical(model.maker) == "keras.models.Sequential" for model in models_meant(node, context) if model
    )


def _has_one(node: cst.BaseExpression, tensor: str, context: Context) -> bool:
    """Whether each model that an expression can be has one input, or one output."""
    models = models_meant(node, context)
    known = {model for model in models if model is not None}
    ask = has_one_input if tensor == "input" else has_one_output
    return None not in models and ask(known, context.facts, context.modules) is True


def models_meant(node: cst.BaseExpression, context: Context) -> set[ModelObject | None]:
    """The models that an expression can be, what multi_gpu_model wrapped among them; None for anything else."""
    return {model for option in context.facts.options(node) for model in _model_of(option)}


def _model_of(value: Value) -> Iterator[ModelObject | None]:
    if isinstance(value, Parallel):
        for template in options(value.wrap.template):
            yield from _model_of(template)
    else:
        yield value if isinstance(value, ModelObject) else None
