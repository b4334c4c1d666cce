"""Plain Python generators, of which Keras 3 loses batches under a strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import unchanged
from tfmigrate.plan.change.functions import with_function
from tfmigrate.plan.data.batches import data_of
from tfmigrate.plan.data.generators import Restarts, is_out_of_sight
from tfmigrate.plan.edits import Argument, Arguments
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module
from tfmigrate.understand.reaching import bound_once
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Made, Opaque, Value

_HELPER = "as_dataset"
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
    elsewhere: dict[cst.Call, str] = {}
    for use in facts.uses:
        for given in data_of(use):
            if not any(map(_is_stream, given.values)):
                hidden = [name for value in given.values if (name := made_elsewhere(value, facts)) is not None]
                if hidden and use.method in _TRAIN:
                    elsewhere.setdefault(use.call, hidden[0])
                continue
            maker = _maker(given.node, facts, scopes)
            problem = _problem(maker, given.steps, facts, restarts) if maker is not None else _OUT_OF_SIGHT
            if maker is not None and problem is None:
                makers[maker] = _AGAIN if given.parameter == "validation_data" else ""
            else:
                told.setdefault(use.call, problem or "")
    for call, name in elsewhere.items():
        message = (
            f"{name}() is not in sight: if it is a Python generator, Keras 3 under a strategy skips some of its "
            "batches; give tfmigrate the folder that it lies in too, or hand over a Sequence or a tf.data.Dataset"
        )
        yield CallChange(codes.PYTHON_GENERATOR, call, message, action="warn")
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


def _is_stream(value: Value) -> bool:
    return isinstance(value, Made) and value.kind == "generator"


_TRAIN = frozenset({"fit", "fit_generator"})


def made_elsewhere(value: Value, facts: Facts) -> str | None:
    """The name of a function that made a value, and comes from a module of nobody knows whom; None for any other."""
    call = value.node if isinstance(value, Opaque) else None
    name = facts.symbols.get(call.func, "") if isinstance(call, cst.Call) else ""
    return name if is_out_of_sight(name) else None


def _maker(node: cst.BaseExpression, facts: Facts, scopes: Scopes) -> cst.Call | None:
    """The call that makes a generator which only this place takes batches from."""
    if isinstance(node, cst.Name):
        value = bound_once(node, scopes, reads=1)
        return value if isinstance(value, cst.Call) else None
    return node if isinstance(node, cst.Call) else None


def _problem(maker: cst.Call, steps: cst.Arg | None, facts: Facts, restarts: Restarts) -> str | None:
    return restarts.objection_to(maker, facts) if steps is not None else "how many batches are taken of it is not said"
