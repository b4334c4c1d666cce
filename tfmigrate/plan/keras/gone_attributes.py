"""`model.metrics_tensors`, `optimizer.get_weights()`: what a model, its layers and its optimizer kept on Keras 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.layers_named import is_surely_layer
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.models_named import may_be_model
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Instance, Made

_SESSION = "it was part of a graph run by a session, which no longer exists"
_METRICS = "pass its entries to compile() as `metrics`"
_OF_MODELS: Mapping[str, str] = {
    **dict.fromkeys(("_input_layers", "input_layers"), "use `inputs`"),
    **dict.fromkeys(("_output_layers", "output_layers"), "use `outputs`"),
    **dict.fromkeys(("metrics_tensors", "_metrics_tensors", "metrics_updates"), _METRICS),
    **dict.fromkeys(
        (
            "targets", "_targets", "sample_weights", "total_loss", "updates", "state_updates", "_feed_inputs",
            "_feed_targets", "_feed_sample_weights", "_feed_outputs", "_collected_trainable_weights",
        ),
        f"{_SESSION}: write the step as `train_step`, or a function that takes the batch",
    ),
    **dict.fromkeys(("uses_learning_phase",), "pass `training=` where the model is called"),
    **dict.fromkeys(("_feed_input_names",), "use the names of `inputs`"),
    **dict.fromkeys(
        ("container_nodes", "_network_nodes", "layers_by_depth", "_layers_by_depth", "nodes_by_depth"),
        "walk over `layers`, or clone the model with `keras.models.clone_model`",
    ),
    **dict.fromkeys(
        ("_standardize_user_data", "_check_num_samples", "_feed_input_shapes", "_feed_output_shapes"),
        "check the arrays before passing them to the model",
    ),
}  # fmt: skip
"""Attributes and methods that a Model of Keras 2.3 or older had and that of Keras 3 has not, with what to do."""
_OF_LAYERS: Mapping[str, str] = {
    **{
        name: f"`_{name}` is a list of its calls, whose nodes have different attributes; rebuild the model with "
        "`keras.models.clone_model` if you can"
        for name in ("inbound_nodes", "outbound_nodes")
    },
    **dict.fromkeys(
        ("input_mask", "output_mask", "get_input_mask_at", "get_output_mask_at"),
        "`compute_mask(inputs, mask)` returns the mask of its output",
    ),
}
"""Of a layer of Keras 2, which that of Keras 3 has not, with what to do."""
_COMMON = frozenset({"input_mask", "output_mask"})
"""Names that other things have too."""
_OF_OPTIMIZERS = ("get_weights", "set_weights")


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    set_here = {assigned.target for assigned in facts.module.all_of(cst.AssignTarget)}
    for node in facts.module.all_of(cst.Attribute):
        name = node.attr.value
        if node in set_here:  # of no effect, and no error
            continue
        if name in _OF_MODELS and may_be_model(node.value, facts) and not _is_own(node.value, facts):
            message = f"a model of Keras 3 has no `{name}` (AttributeError): {_OF_MODELS[name]}"
        elif name in _OF_LAYERS and not _is_own(node.value, facts):
            if name in _COMMON and not is_surely_layer(node.value, facts, context.loops):
                continue
            message = f"a layer of Keras 3 has no `{name}` (AttributeError): {_OF_LAYERS[name]}"
        elif name in _OF_OPTIMIZERS and _is_optimizer(node.value, facts):
            message = (
                f"an optimizer of Keras 3 has no `{name}()` (AttributeError): a model saved to a .keras file and "
                "loaded from it keeps the state of its optimizer"
            )
        else:
            continue
        yield CallChange(codes.GONE_ATTRIBUTES, node, message, action="warn")


def _is_own(node: cst.BaseExpression, facts: Facts) -> bool:
    """Whether it may be an object of a class of the program, with attributes of its own."""
    return dotted(node) == "self" or any(isinstance(option, Instance) for option in facts.options(node))


def _is_optimizer(node: cst.BaseExpression, facts: Facts) -> bool:
    if isinstance(node, cst.Attribute) and node.attr.value == "optimizer" and may_be_model(node.value, facts):
        return True
    options = facts.options(node)
    return bool(options) and all(isinstance(option, Made) and option.kind == "optimizer" for option in options)
