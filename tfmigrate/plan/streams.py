"""Data that arrives batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.calls import FIT, FIT_GENERATOR, Revision, is_none, named_arguments, unchanged
from tfmigrate.plan.edits import Argument, Arguments
from tfmigrate.plan.generators import Restarts
from tfmigrate.plan.interfaces import GENERATOR_METHODS, CallChange, with_function
from tfmigrate.plan.paths import bound_once
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.program import Module
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import ClassValue, Instance, Made, Opaque, Symbol, Value, options

_HELPER = "as_dataset"
_EPOCHS = "Epochs"
_PARAMETERS = {
    "fit": FIT,
    "fit_generator": FIT_GENERATOR,
    "evaluate": ("x", "y", "batch_size", "verbose", "sample_weight", "steps"),
    "evaluate_generator": GENERATOR_METHODS["evaluate_generator"],
}
_DATA = (("x", "steps_per_epoch"), ("generator", "steps_per_epoch"), ("x", "steps"), ("generator", "steps"),
         ("validation_data", "validation_steps"))  # fmt: skip
"""Arguments that take batches, and the one that says how many are taken of them."""
_CUT_SHORT = (
    "Keras 3 ends an epoch where a Sequence ends, and begins the next with what the last one left: 3 steps of 4 "
    "batches are 3, 1, 3, 1, ..."
)
_OUT_OF_SIGHT = "where it is made is not in sight"
_AGAIN = "; each validation begins it anew, where old Keras went on from where the last one stopped"


def python_generators(facts: Facts, modules: Mapping[Module, Facts], scopes: Scopes, tf: str) -> Iterator[CallChange]:
    """A generator function's batches under a strategy: Keras 3 fetches some that it never trains on.

    Where the function yields the same batches whenever it is started, it becomes a dataset that Keras can start anew.
    """
    restarts = Restarts(modules)
    helper = scopes.fresh(_HELPER, scopes.module)
    makers: dict[cst.Call, str] = {}
    told: dict[cst.Call, str] = {}
    for use in facts.uses:
        for given in _given(use):
            if not any(map(_is_stream, given.values)):
                continue
            maker = _maker(given.node, facts, scopes)
            problem = _problem(maker, given.steps, facts, restarts) if maker is not None else _OUT_OF_SIGHT
            if maker is not None and problem is None:
                makers[maker] = _AGAIN if given.parameter == "validation_data" else ""
            else:
                told.setdefault(use.call, problem or "")
    for call, problem in told.items():
        yield CallChange(
            codes.PYTHON_GENERATOR,
            call,
            f"Keras 3 under a strategy skips some batches of a plain Python generator, and it stays one ({problem}): "
            "hand over a tf.data.Dataset.from_generator(..., output_signature=...) that starts it anew, or a Sequence",
            action="warn",
        )
    changes = []
    for maker, again in makers.items():
        edit = Arguments(maker, (Argument(maker.func), *unchanged(maker.args)), function=helper)
        message = (
            "Keras 3 under a strategy skips some batches of a plain Python generator: it becomes a dataset, which "
            f"loses none{again}"
        )
        changes.append(CallChange(codes.PYTHON_GENERATOR, maker, message, edit))
    yield from with_function(facts.module, _helper(helper, tf, facts.module.tree.default_indent), makers, changes)


def sequence_steps(facts: Facts, scopes: Scopes, tf: str) -> Iterator[CallChange]:
    """`fit(sequence, steps_per_epoch=samples // batch_size)`: Keras 3 cuts epochs short where that is not len()."""
    helper = scopes.fresh(_EPOCHS, scopes.module)
    found: dict[cst.Call, list[_Data]] = {}
    for use in facts.uses:
        for given in _given(use) if use.method in _TRAIN else ():
            if given.parameter != "validation_data" and given.steps is not None:
                found.setdefault(use.call, []).append(given)
    wrapped: dict[cst.Call, CallChange] = {}
    for call, paths in found.items():
        sequences = [_is_sequence(value) for given in paths for value in given.values]
        data, steps = paths[0].node, paths[0].steps
        if steps is None or not any(sequences) or _is_length(steps.value, data, scopes):
            continue
        if all(sequences):
            taken = (data, f"{helper}({{value}}, {{steps}})", "steps", steps.value)
            edit = Revision(call, dropped=("steps_per_epoch",), wrapped=(taken,))
            message = f"{_CUT_SHORT}: {helper} is a Sequence whose epochs have so many, and go on as in old Keras"
            wrapped[call] = CallChange(codes.SEQUENCE_STEPS, steps, message, edit)
        else:
            message = f"{_CUT_SHORT}. Leave `steps_per_epoch` out where it is not the number of batches"
            yield CallChange(codes.SEQUENCE_STEPS, steps, message, action="warn")
    code = _epochs(helper, tf, facts.module.tree.default_indent)
    yield from with_function(facts.module, code, wrapped, wrapped.values())


_TRAIN = frozenset({"fit", "fit_generator"})
_FLOWS = frozenset({"flow", "flow_from_directory", "flow_from_dataframe"})
"""Methods of ImageDataGenerator."""


def _is_sequence(value: Value) -> bool:
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


def _helper(name: str, tf: str, indent: str) -> str:
    lines = [
        f"def {name}(generator, *args, **kwargs):",
        f'{indent}"""The batches of a generator function as a dataset, which Keras may start more than once."""',
        "",
        f"{indent}def batches():",
        f"{indent * 2}for batch in generator(*args, **kwargs):",
        f"{indent * 3}parts = (tuple(part) if isinstance(part, list) else part for part in batch)",
        f"{indent * 3}# TensorFlow may compute in the memory of an array that it is given.",
        f"{indent * 3}yield {tf}.nest.map_structure(lambda array: array.copy(), tuple(parts))",
        "",
        f"{indent}def spec(one, other):",
        f"{indent * 2}sizes = [size if size == again else None for size, again in zip(one.shape[1:], other.shape[1:])]",
        f"{indent * 2}return {tf}.TensorSpec([None] + sizes, one.dtype)",
        "",
        f"{indent}found = batches()",
        f"{indent}first = next(found)",
        f"{indent}signature = {tf}.nest.map_structure(spec, first, next(found, first))",
        f"{indent}return {tf}.data.Dataset.from_generator(batches, output_signature=signature)",
    ]
    return "\n".join(lines)


def _epochs(name: str, tf: str, indent: str) -> str:
    lines = [
        f"class {name}({tf}.keras.utils.Sequence):",
        f'{indent}"""A Sequence in epochs of `steps` batches, each of which goes on where the last one ended."""',
        "",
        f"{indent}def __init__(self, data, steps):",
        f"{indent * 2}super().__init__()",
        f"{indent * 2}self.data, self.first = data, 0",
        f"{indent * 2}self.steps = -int(-(steps or len(data)) // 1)  # rounded up, as old Keras counted",
        "",
        f"{indent}def __len__(self):",
        f"{indent * 2}return self.steps",
        "",
        f"{indent}def __getitem__(self, index):",
        f"{indent * 2}return self.data[(self.first + index) % len(self.data)]",
        "",
        f"{indent}def on_epoch_end(self):",
        f"{indent * 2}passes, self.first = divmod(self.first + self.steps, len(self.data))",
        f"{indent * 2}if passes:",
        f"{indent * 3}self.data.on_epoch_end()",
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class _Data:
    """Data that a call is given."""

    parameter: str
    node: cst.BaseExpression
    values: frozenset[Value]
    """What it may be."""
    steps: cst.Arg | None
    """How many batches are taken of it; None for all."""


def _given(use: Use) -> Iterator[_Data]:
    parameters = _PARAMETERS.get(use.method)
    named = named_arguments(use.call, parameters) if parameters is not None and use.models else None
    if named is None or parameters is None:
        return
    for data, steps in _DATA:
        if data not in named or not {data, steps} <= set(parameters):
            continue
        value = use.argument(parameters.index(data), data)
        if value is not None:
            given = named.get(steps)
            given = None if given is None or is_none(given.value) else given
            yield _Data(data, named[data].value, options(value), given)


def _is_stream(value: Value) -> bool:
    return isinstance(value, Made) and value.kind == "generator"


def _maker(node: cst.BaseExpression, facts: Facts, scopes: Scopes) -> cst.Call | None:
    """The call that makes a generator which only this place takes batches from."""
    if isinstance(node, cst.Name):
        value = bound_once(node, scopes, reads=1)
        return value if isinstance(value, cst.Call) else None
    return node if isinstance(node, cst.Call) else None


def _problem(maker: cst.Call, steps: cst.Arg | None, facts: Facts, restarts: Restarts) -> str | None:
    return restarts.objection_to(maker, facts) if steps is not None else "how many batches are taken of it is not said"
