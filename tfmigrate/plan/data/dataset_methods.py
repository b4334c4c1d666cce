"""What a tf.data.Dataset of TensorFlow 1 had and that of TensorFlow 2 lacks: iterators to make of it, and its types."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.data.batches import data_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import bound_once
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import Dataset, Instance

_MAKERS = ("make_one_shot_iterator", "make_initializable_iterator")
_OF_V1 = "tensorflow.compat.v1.data."
_TYPES = ("output_shapes", "output_types", "output_classes")
_PREDICT = ("x", "batch_size", "verbose", "steps")


def check(context: Context) -> Iterator[CallChange]:
    """`fit(dataset.make_one_shot_iterator(), steps_per_epoch=n)` is given the dataset; any other use is reported."""
    facts, scopes = context.facts, context.scopes
    makers = [call for call in facts.module.calls if _makes_iterator(call, facts)]
    given = {_made_at(node, scopes): (node, word) for node, word in _data(facts)} if makers else {}
    for call in makers:
        name = last_attribute(call.func)
        node, parameter = given.get(call, (None, ""))
        if isinstance(call.func, cst.Attribute) and name == _MAKERS[0] and node is not None:
            anew = "; each validation starts with its first batch, where old Keras continued" if parameter else ""
            message = f"a Dataset of TensorFlow 2 has no {name}(): the dataset itself is passed{anew}"
            yield CallChange(codes.TENSORFLOW_1, call, message, Replace(call, (call.func.value,)))
        else:
            message = (
                f"a Dataset of TensorFlow 2 has no {name}() (AttributeError): pass the dataset itself to fit(), or "
                "loop over it; get_next() used to mean a new batch in each step, and now returns a single batch"
            )
            yield CallChange(codes.TENSORFLOW_1, call, message, action="warn")
    for node in facts.module.all_of(cst.Attribute):
        if node.attr.value in _TYPES and _is_dataset(node.value, facts):
            getter = f"{_OF_V1}get_{node.attr.value}"
            message = f"a Dataset of TensorFlow 2 has no {node.attr.value}: {getter}() returns it"
            code = (f"{context.tf}{getter.removeprefix('tensorflow')}(", node.value, ")")
            yield CallChange(codes.TENSORFLOW_1, node, message, Replace(node, code))


def _makes_iterator(call: cst.Call, facts: Facts) -> bool:
    func = call.func
    if not isinstance(func, cst.Attribute) or func.attr.value not in _MAKERS or call.args or func in facts.symbols:
        return False
    return not any(isinstance(option, Instance) for option in facts.options(func.value))


def _is_dataset(node: cst.BaseExpression, facts: Facts) -> bool:
    known = facts.options(node)
    return bool(known) and all(isinstance(option, Dataset) for option in known)


def _data(facts: Facts) -> Iterator[tuple[cst.BaseExpression, str]]:
    """What training, evaluation and prediction are given batch by batch, with the name where it is for validation."""
    for use in facts.uses:
        yield from ((data.node, data.parameter.partition("validation_")[1]) for data in data_of(use))
        named = named_arguments(use.call, _PREDICT) if use.method == "predict" and use.is_of_model else None
        if named and "x" in named:
            yield named["x"].value, ""


def _made_at(node: cst.BaseExpression, scopes: Scopes) -> cst.BaseExpression:
    """The call that makes an argument: itself, or what a name is bound to that is read nowhere else."""
    value = bound_once(node, scopes, reads=1) if isinstance(node, cst.Name) else None
    return node if value is None else value
