"""Operations that XLA cannot compile, in a model that may train without a strategy: on a GPU Keras 3 compiles it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, keywords
from tfmigrate.plan.change.functions import mentions
from tfmigrate.plan.keras.compiled_functions import compiled
from tfmigrate.plan.keras.layer_places import models_by_node
from tfmigrate.plan.keras.ranks_of_metrics import PYTHON_CALLS
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import Facts, Use, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.values import ClassValue, ModelObject, Parallel, Partial, Value, function_of, options
from tfmigrate.walk import calls_in

_TAKES = "jit_compile"
_BEYOND = PYTHON_CALLS | frozenset(
    {
        "tensorflow.Print", "tensorflow.print", "keras.backend.print_tensor",
        "keras.backend.ctc_batch_cost", "keras.backend.ctc_decode", "tensorflow.nn.ctc_loss",
        "tensorflow.nn.ctc_beam_search_decoder", "tensorflow.nn.ctc_greedy_decoder", "tensorflow.edit_distance",
        "tensorflow.nn.max_pool_with_argmax", "tensorflow.nn.dilation2d", "tensorflow.histogram_fixed_width",
        "tensorflow.image.crop_and_resize", "tensorflow.image.resize_bicubic", "tensorflow.image.resize_area",
        "tensorflow.image.combined_non_max_suppression", "tensorflow.image.draw_bounding_boxes",
        "tensorflow.image.extract_glimpse", "tensorflow.linalg.det", "tensorflow.matrix_determinant",
        "tensorflow.linalg.sqrtm", "tensorflow.sparse.matmul", "tensorflow.sparse.sparse_dense_matmul",
        "tensorflow.sparse_tensor_dense_matmul",
    }
)  # fmt: skip
"""As old programs name them; tried with jit_compile=True on TensorFlow 2.21."""
_STEPS = frozenset({"call", "update_state"})
"""Methods of layers, losses and metrics that a training step runs."""


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    if not context.migration.spreads:
        return
    uses = [use for use in facts.uses if use.method == "compile" and not has_stars(use.call)]
    alone: dict[cst.Call, set[ModelObject]] = {}
    for use in uses:
        if _TAKES not in keywords(use.call) and _may_be_alone(use, context.migration):
            alone.setdefault(use.call, set()).update(use.models)
    for call, models in alone.items():
        found = context.migration.once(_operations)
        run = next((one for one in found if one.models is None or not models.isdisjoint(one.models)), None)
        if run is None:
            continue
        message = (
            f"on one GPU Keras 3 compiles this model with XLA, which has no `{run.module.code(run.call.func)}` "
            f"({run.module.place(run.call, facts.module)}): jit_compile=False turns that off, as in old Keras"
        )
        yield CallChange(codes.BEYOND_XLA, call, message, Revision(call, set=((_TAKES, "False"),)))


def _may_be_alone(use: Use, migration: Migration) -> bool:
    """Whether a model that is compiled may train under no strategy: it is in none, or a condition is round the wrap."""
    wraps = list(_wraps_of(use, migration.facts.wraps))
    return use.is_of_model and all(wrap.guards for wrap in wraps)


def _wraps_of(use: Use, wraps: Iterable[Wrap]) -> Iterator[Wrap]:
    own = {option.wrap for option in options(use.receiver) if isinstance(option, Parallel)}
    models = _parts(use.models)
    return (wrap for wrap in wraps if wrap in own or not models.isdisjoint(_parts(models_of(wrap.template))))


def _parts(models: Iterable[ModelObject]) -> frozenset[ModelObject]:
    return frozenset(part for model in models for part in model.base_models())


@dataclass(frozen=True)
class _Operation:
    """A call of such an operation, and the models in which it runs; None for what may be any."""

    module: Module
    call: cst.Call
    models: frozenset[ModelObject] | None


@dataclass(frozen=True)
class _Entry:
    """Code that a training step of some models runs; None for what may be any."""

    module: Module
    node: cst.CSTNode
    models: frozenset[ModelObject] | None


def _operations(migration: Migration) -> list[_Operation]:
    """The first such operation of each layer, loss and metric of the program."""
    entries = [entry for facts in migration.facts.modules.values() for entry in _entries(facts, migration)]
    return [found for entry in entries if (found := _found(entry, migration)) is not None]


def _found(entry: _Entry, migration: Migration) -> _Operation | None:
    pending = [(entry.module, entry.node)]
    seen: set[cst.CSTNode] = set()
    while pending:
        module, node = pending.pop(0)
        facts = migration.facts.modules.get(module)
        if facts is None or node in seen:
            continue
        seen.add(node)
        for call in calls_in(node):
            if facts.canonical(call.func).replace(".compat.v1.", ".") in _BEYOND:
                return _Operation(module, call, entry.models)
            pending.extend(_functions(facts.options(call.func)))
    return None


def _entries(facts: Facts, migration: Migration) -> Iterator[_Entry]:
    for shown in compiled(facts):
        yield from (_Entry(*code, shown.models or None) for code in _functions(shown.values))
    models = migration.once(models_by_node)
    for call in facts.module.calls:
        if facts.canonical(call.func) == "keras.layers.Lambda" and call.args:
            function = keywords(call).get("function", call.args[0]).value
            if isinstance(function, cst.Lambda):
                yield _Entry(facts.module, function.body, models.get(call))
            yield from (_Entry(*code, models.get(call)) for code in _functions(facts.options(function)))
    for owner in facts.module.all_of(cst.ClassDef):
        for part in owner.body.body:
            if isinstance(part, cst.FunctionDef) and part.name.value in _STEPS:
                yield _Entry(facts.module, part.body, migration.once(_models_of_layers).get(owner))


def _models_of_layers(migration: Migration) -> Mapping[cst.ClassDef, frozenset[ModelObject]]:
    """For each class of layers of the program the models that its layers go into, where that is known of all."""
    modules, models = migration.facts.modules, migration.once(models_by_node)
    made: dict[cst.ClassDef, list[frozenset[ModelObject] | None]] = {}
    unsure: set[cst.ClassDef] = set()
    for facts in modules.values():
        called = {call.func: call for call in facts.module.calls}
        for node, value in facts.values.items():
            for option in options(value):
                if isinstance(option, ClassValue) and node not in called:
                    unsure.update(cls.node for cls in option.ancestors())
                elif isinstance(option, ClassValue):
                    for cls in option.ancestors():
                        made.setdefault(cls.node, []).append(models.get(called[node]))  # type: ignore[index]
    for facts in modules.values():
        for owner in facts.module.all_of(cst.ClassDef):
            if owner not in made and list(mentions(owner.name.value, modules)) == [owner.name]:
                made[owner] = []  # nothing makes one
    return {
        cls: frozenset[ModelObject]().union(*(known for known in each if known is not None))
        for cls, each in made.items()
        if cls not in unsure and None not in each
    }


def _functions(values: Iterable[Value]) -> Iterator[tuple[Module, cst.CSTNode]]:
    for value in ordered(frozenset(values)):
        function = function_of(value.callee if isinstance(value, Partial) else value)
        if function is not None:
            yield function.module, function.node.body
