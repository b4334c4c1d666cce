"""Operations that XLA cannot compile, in a model that may train without a strategy: on a GPU Keras 3 compiles it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, keywords
from tfmigrate.plan.keras.compiled_functions import compiled
from tfmigrate.plan.keras.ranks_of_metrics import PYTHON_CALLS
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import Facts, Use, Wrap
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import ModelObject, Parallel, Partial, Value, function_of, options, ordered
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
    alone = dict.fromkeys(
        use.call for use in uses if _TAKES not in keywords(use.call) and _may_be_alone(use, context.migration)
    )
    found = context.migration.once(_found) if alone else None
    if found is None:
        return
    module, operation = found
    message = (
        f"on one GPU Keras 3 compiles this model with XLA, which has no `{module.code(operation.func)}` "
        f"({module.place(operation, facts.module)}): jit_compile=False keeps it as in old Keras"
    )
    for call in alone:
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


def _found(migration: Migration) -> tuple[Module, cst.Call] | None:
    """The first such operation that a layer, a loss or a metric of the program runs."""
    modules = migration.facts.modules
    pending = [pair for facts in modules.values() for pair in _entries(facts)]
    seen: set[cst.CSTNode] = set()
    while pending:
        module, node = pending.pop(0)
        facts = modules.get(module)
        if facts is None or node in seen:
            continue
        seen.add(node)
        for call in calls_in(node):
            if facts.canonical(call.func).replace(".compat.v1.", ".") in _BEYOND:
                return module, call
            pending.extend(_functions(facts.options(call.func)))
    return None


def _entries(facts: Facts) -> Iterator[tuple[Module, cst.CSTNode]]:
    for shown in compiled(facts):
        yield from _functions(shown.values)
    for call in facts.module.calls:
        if facts.canonical(call.func) == "keras.layers.Lambda" and call.args:
            function = keywords(call).get("function", call.args[0]).value
            if isinstance(function, cst.Lambda):
                yield facts.module, function.body
            yield from _functions(facts.options(function))
    for owner in facts.module.all_of(cst.ClassDef):
        for part in owner.body.body:
            if isinstance(part, cst.FunctionDef) and part.name.value in _STEPS:
                yield facts.module, part.body


def _functions(values: Iterable[Value]) -> Iterator[tuple[Module, cst.CSTNode]]:
    for value in ordered(frozenset(values)):
        function = function_of(value.callee if isinstance(value, Partial) else value)
        if function is not None:
            yield function.module, function.node.body
