"""Sequences of which an epoch is not the whole: Keras 3 does not go on where the last epoch ended."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, keywords
from tfmigrate.plan.change.functions import with_function
from tfmigrate.plan.data.batches import Data, data_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.reaching import bound_once
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import ClassValue, Instance, Opaque, Symbol, Value

_HELPER = "Epochs"
_CUT_SHORT = (
    "Keras 3 ends an epoch where a Sequence ends, and begins the next with what the last one left: 3 steps of 4 "
    "batches are 3, 1, 3, 1, ..."
)


AFTER = ("tfmigrate.plan.data.streams",)
"""A Sequence that is given in epochs of its own is not made a dataset as well."""


def check(context: Context) -> Iterator[CallChange]:
    """`fit(sequence, steps_per_epoch=samples // batch_size)`: Keras 3 cuts epochs short where that is not len()."""
    facts, scopes, tf = context.facts, context.scopes, context.tf
    helper = scopes.fresh(_HELPER, scopes.module)
    found: dict[cst.Call, list[Data]] = {}
    for use in facts.uses:
        for given in data_of(use) if use.method in _TRAIN else ():
            if given.parameter != "validation_data" and given.steps is not None:
                found.setdefault(use.call, []).append(given)
    wrapped: dict[cst.Call, CallChange] = {}
    for call, paths in found.items():
        sequences = [is_sequence(value) for given in paths for value in given.values]
        data, steps = paths[0].node, paths[0].steps
        if steps is None or not any(sequences) or _is_length(steps.value, data, scopes):
            continue
        if all(sequences):
            taken = (data, (f"{helper}(", data, ", ", steps.value, ")"))
            edit = Revision(call, dropped=("steps_per_epoch",), wrapped=(taken,))
            message = f"{_CUT_SHORT}: {helper} is a Sequence whose epochs have so many, and go on as in old Keras"
            wrapped[call] = CallChange(codes.SEQUENCE_STEPS, steps, message, edit)
        else:
            message = f"{_CUT_SHORT}. Leave `steps_per_epoch` out where it is not the number of batches"
            yield CallChange(codes.SEQUENCE_STEPS, steps, message, action="warn")
    loaded = any(not keywords(call).keys().isdisjoint(LOADING) for call in wrapped)
    code = _helper(helper, tf, facts.module.tree.default_indent, loaded)
    yield from with_function(facts.module, code, wrapped, wrapped.values())


LOADING = ("workers", "use_multiprocessing", "max_queue_size")
"""Arguments of fit() in Keras 2, attributes of a Sequence in Keras 3."""
_ENDS_FIRST = "Keras 3 ends an epoch before the first one"
_TRAIN = frozenset({"fit", "fit_generator"})
_FLOWS = frozenset({"flow", "flow_from_directory", "flow_from_dataframe"})
"""Methods of ImageDataGenerator."""


def is_sequence(value: Value) -> bool:
    """Whether a value is a Sequence of Keras: an object of a class of the program, or what ImageDataGenerator makes."""
    if isinstance(value, Instance):
        return _extends_sequence(value.cls)
    call = value.node if isinstance(value, Opaque) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value in _FLOWS


def _extends_sequence(cls: Value) -> bool:
    if isinstance(cls, ClassValue):
        return any(map(_extends_sequence, cls.bases))
    return isinstance(cls, Symbol) and names.canonical(cls.name) in _SEQUENCES


_SEQUENCES = frozenset({"keras.utils.Sequence", "keras.utils.data_utils.Sequence", "keras.utils.PyDataset"})


def _is_length(steps: cst.BaseExpression, data: cst.BaseExpression, scopes: Scopes) -> bool:
    """`len(data)`, whatever `data` is, or a variable that is bound to it and nothing else."""
    if isinstance(steps, cst.Name):
        bound = bound_once(steps, scopes)
        return bound is not None and not isinstance(bound, cst.Name) and _is_length(bound, data, scopes)
    return (
        isinstance(steps, cst.Call)
        and isinstance(steps.func, cst.Name)
        and (steps.func.value, len(steps.args)) == ("len", 1)
        and steps.args[0].value.deep_equals(data)
    )


def _helper(name: str, tf: str, indent: str, loaded: bool) -> str:
    """`loaded`: whether the program says in how many threads."""
    loading = [
        f'{indent * 2}for name in ("workers", "use_multiprocessing", "max_queue_size"):  # loaded as `data` is',
        f"{indent * 3}if hasattr(data, name):",
        f"{indent * 4}setattr(self, name, getattr(data, name))",
    ]
    lines = [
        f"class {name}({tf}.keras.utils.Sequence):",
        f'{indent}"""A Sequence in epochs of `steps` batches, each of which goes on where the last one ended."""',
        "",
        f"{indent}def __init__(self, data, steps):",
        f"{indent * 2}super().__init__()",
        f"{indent * 2}self.data, self.first = data, 0",
        f'{indent * 2}self.begun = not hasattr(super(), "on_epoch_begin")  # {_ENDS_FIRST}',
        *(loading if loaded else ()),
        f"{indent * 2}self.steps = -int(-(steps or len(data)) // 1)  # rounded up, as old Keras counted",
        "",
        f"{indent}def __len__(self):",
        f"{indent * 2}return self.steps",
        "",
        f"{indent}def __getitem__(self, index):",
        f"{indent * 2}return self.data[(self.first + index) % len(self.data)]",
        "",
        f"{indent}def on_epoch_begin(self):",
        f"{indent * 2}self.begun = True",
        "",
        f"{indent}def on_epoch_end(self):",
        f"{indent * 2}if not self.begun:",
        f"{indent * 3}return",
        f"{indent * 2}passes, self.first = divmod(self.first + self.steps, len(self.data))",
        f"{indent * 2}if passes:",
        f"{indent * 3}self.data.on_epoch_end()",
    ]
    return "\n".join(lines)
