"""`fit_generator(validation_data=(x, y))`, of which standalone Keras took as many rows at once as in training."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import FIT_GENERATOR, Revision, given_arguments
from tfmigrate.plan.data.sizes import number_of
from tfmigrate.plan.data.uneven_batches import batch_given
from tfmigrate.plan.keras.compiled_functions import called, compiled
from tfmigrate.plan.keras.mixed_samples import Reader
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.values import FunctionValue, Instance, ModelObject, Site
from tfmigrate.written import Code

_TOLD = (
    "fit_generator() of old Keras validated arrays in batches as large as the last one of training, but "
    "fit() takes 32 rows at a time: {} computes over a whole batch, so its value depends on the size"
)


def check(context: Context) -> Iterator[CallChange]:
    """Said where a loss or a metric relates the samples of a batch; the mean over samples is the same for all sizes."""
    seen: set[cst.Call] = set()
    for use in context.facts.uses:
        if use.method != "fit_generator" or use.call in seen:
            continue
        functions = [function for model, function in context.migration.once(_mixed) if model in use.models]
        if not functions or not _took_as_many(use, context):
            continue
        seen.add(use.call)
        named = given_arguments(use.call, FIT_GENERATOR) or {}
        data = named.get("validation_data")
        if data is None or "generator" not in named or not _are_arrays(settled(data.value, context.scopes)):
            continue
        told, size = _TOLD.format(called(functions[0])), _size(named["generator"].value, use, context)
        if size is None:
            message = f"{told}: pass the training batch size as `validation_batch_size`"
            yield CallChange(codes.VALIDATION_BATCHES, data, message, action="warn")
        else:
            edit = Revision(use.call, set=(("validation_batch_size", size),))
            yield CallChange(codes.VALIDATION_BATCHES, data, f"{told}: it is set", edit)


def _took_as_many(use: Use, context: Context) -> bool:
    """Whether the Keras of the program did: every standalone one, and that of TensorFlow 1."""
    if any(names.flavour(model.maker) == "keras" for model in use.models):
        return True
    version = context.settings.written_for("tensorflow")
    return version is not None and version < (2,)


def _mixed(migration: Migration) -> tuple[tuple[ModelObject, FunctionValue], ...]:
    """The models of a program with what compile() gave them that relates samples, beyond one mean over all."""
    reader = Reader(migration.facts.modules)
    return tuple(
        (model, function)
        for facts in migration.facts.modules.values()
        for shown in compiled(facts, migration.scopes_of(facts.module))
        for function in reader.mixing(shown.values)
        if not reader.is_one_mean(function)
        for model in shown.models
    )


def _are_arrays(node: cst.BaseExpression) -> bool:
    """Whether validation data is written out as a tuple of arrays."""
    return isinstance(node, cst.Tuple | cst.List) and len(node.elements) in (2, 3)


def _size(generator: cst.BaseExpression, use: Use, context: Context) -> str | Code | None:
    """The size of a generator's batches, as it can be written where the model is trained."""
    drafts = context.migration.drafts
    values = ordered(context.facts.options(generator))
    found = [batch_given(value, generator, context.draft, drafts) for value in values]
    if len(found) != 1 or found[0] is None:
        return None
    given, facts = found[0]
    if isinstance(given, int):
        return str(given)
    number = number_of(given, facts)
    site = values[0].site if isinstance(values[0], Instance) else _beside(use, given)
    carried = Carrier(drafts).at(given, site, use.site.frame, use.site.unit) if site is not None else None
    if carried is not None:
        return carried.code
    return str(number) if number is not None else None


def _beside(use: Use, node: cst.BaseExpression) -> Site | None:
    """The place of an expression in the activation that a call stands in; None where that is another function."""
    module = use.site.frame.module
    inner = module.unit_round(node)
    same = inner is not None and module.function_round(inner) is use.site.frame.function
    return Site(use.site.frame, inner) if same and isinstance(inner, Unit) else None
