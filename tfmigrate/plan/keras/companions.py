"""What stands beside the wrap in a migrated module and would keep it from running, or from training as before."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, combined
from tfmigrate.plan.data.lists_in_batches import lists_in_batches
from tfmigrate.plan.data.loading import loading_workers
from tfmigrate.plan.data.only_output import only_outputs
from tfmigrate.plan.data.sequences import sequence_steps
from tfmigrate.plan.data.steps import fractional_steps
from tfmigrate.plan.data.streams import python_generators
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, Replace
from tfmigrate.plan.keras.batch_dot import batch_dots
from tfmigrate.plan.keras.callback_classes import callback_attributes, models_in_themselves
from tfmigrate.plan.keras.callbacks import changed_keys, metric_keys, rate_keys
from tfmigrate.plan.keras.checkpoints import checkpoint_periods
from tfmigrate.plan.keras.cleared_sessions import cleared_sessions
from tfmigrate.plan.keras.decays import Decays, decaying_callbacks, rates_of_schedules
from tfmigrate.plan.keras.devices import gpu_lists
from tfmigrate.plan.keras.embeddings import embedding_gradients
from tfmigrate.plan.keras.extra_losses import extra_losses
from tfmigrate.plan.keras.graphs import entered_graphs
from tfmigrate.plan.keras.keras1 import keras_1_values
from tfmigrate.plan.keras.learning_phase import learning_phases
from tfmigrate.plan.keras.losses import batch_losses, hidden_losses, loss_layers
from tfmigrate.plan.keras.methods import (
    class_weight_words,
    class_weights_of_outputs,
    metrics_names,
    positional_arguments,
    predicted_classes,
    predictions_on_batch,
    target_tensors,
)
from tfmigrate.plan.keras.monitors import monitor_directions
from tfmigrate.plan.keras.next_method import next_methods
from tfmigrate.plan.keras.numpy_integers import numpy_integers
from tfmigrate.plan.keras.optimizers import optimizer_calls, string_optimizers
from tfmigrate.plan.keras.outputs import lists_of_one, metrics_of_outputs
from tfmigrate.plan.keras.outside_tensors import layers_over_tensors, outside_tensors
from tfmigrate.plan.keras.rates import optimizer_rates
from tfmigrate.plan.keras.recurrent import recurrent_defaults, stateful_layers
from tfmigrate.plan.keras.regularizers import regularizer_defaults
from tfmigrate.plan.keras.saving import checkpoint_files, model_folders
from tfmigrate.plan.keras.sessions import sessions
from tfmigrate.plan.keras.static_shapes import static_shapes
from tfmigrate.plan.keras.targets import integer_targets, metric_targets
from tfmigrate.plan.keras.words import loss_aliases, old_words
from tfmigrate.plan.names.interfaces import generator_calls, handed_on, moved_attributes, renamed_arguments
from tfmigrate.plan.names.modules_by_name import modules_by_name
from tfmigrate.plan.names.old_python import old_python_names
from tfmigrate.plan.names.readiness import missing_names, taken_out
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.names.through_stars import names_through_stars
from tfmigrate.plan.names.unread import drop_unread, unread_imports
from tfmigrate.plan.names.version_tests import only_for_tensorflow_1
from tfmigrate.plan.strategy.other_names import drop_other_names
from tfmigrate.settings import NAMES
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.program import Unit
from tfmigrate.understand.values import ModelObject, options
from tfmigrate.walk import walk


@dataclass(frozen=True)
class Found:
    """What the companions of one module must know of the others of its program."""

    renamed: Mapping[str, str] = field(default_factory=dict)
    """See saving.renamed_files()."""
    single: Set[ModelObject] = frozenset()
    """Models that no strategy has to do with."""
    decays: Decays = field(default_factory=Decays)
    """See decays.decays_of()."""
    raised: Mapping[cst.Call, Unit] = field(default_factory=dict)
    """The sessions whose settings shall stand further up: see late_devices.Raised."""
    saved: bool = False
    """Whether some module saves a whole model to an HDF5 file, or may."""


def plan_companions(
    draft: Draft,
    tables: Tables,
    program: ProgramFacts,
    exported: Set[str],
    found: Found,
) -> frozenset[cst.ImportAlias]:
    """Add the edits and findings of every selected companion rule; the imports come later, in plan_imports().

    Returns what the module imports and nothing reads.

    `exported`: names of this one that others import.
    """
    edits: list[Edit] = []
    revisions: list[Revision] = []
    gone = draft.vanishing() - {edit.node for edit in draft.edits if isinstance(edit, Replace)}
    unread = frozenset(unread_imports(draft, exported))
    old = frozenset(only_for_tensorflow_1(draft.facts))
    for change in _changes(draft, tables, program, unread, found):
        if change.node in old:
            continue
        if change.action == "warn" and any(name in gone for name in walk(change.node)):
            continue  # What it is about went with an Estimator.
        if draft.wanted(change.code, change.node):
            revisions.extend(edit for edit in change.edits if isinstance(edit, Revision))
            edits.extend(edit for edit in change.edits if not isinstance(edit, Revision))
            draft.say(change.code, change.node, change.message, change.action)
    # First, because devices are configured before the strategy is made where both stand before the same statement.
    draft.edits[:] = combined([*edits, *draft.edits], revisions)
    functions = (scope for node, scope in draft.scopes.by_node.items() if isinstance(node, cst.FunctionDef))
    drop_unread(draft, functions)
    drop_other_names(draft, exported)
    return unread


def traps(
    draft: Draft, tables: Tables, program: ProgramFacts, single: Set[ModelObject], trap: Container[str]
) -> Iterator[CallChange]:
    """What stops a program on a strategy or changes its training, and is not mended: as it is said of a migrated one.

    `single`: models that no strategy has to do with; `trap`: the codes of the rules that see this in new code too.
    """
    for change in _changes(draft, tables, program, frozenset(), Found(single=single)):
        if change.action == "warn" and change.code in trap:
            yield change


def plan_readiness(draft: Draft, tables: Tables, within: tuple[str, ...] = ("",)) -> None:
    """Say which names and keywords the target lacks in a module of which nothing else is to be done.

    `within`: what the names in question begin with.
    """
    for change in missing_names(draft.facts, draft.settings, tables, within=within):
        draft.say(change.code, change.node, change.message, change.action)


def _changes(
    draft: Draft,
    tables: Tables,
    program: ProgramFacts,
    unread: Set[cst.ImportAlias],
    found: Found,
) -> Iterator[CallChange]:
    modules, single = program.modules, found.single
    facts, scopes, settings, tf = draft.facts, draft.scopes, draft.settings, draft.tf
    spread = replace(facts, uses=[use for use in facts.uses if not options(use.receiver) <= single])
    keys = changed_keys(facts, modules.values()) if codes.METRIC_KEYS in tables.wanted else {}
    handled = [
        *generator_calls(facts, tables),
        *handed_on(facts, tables),
        *renamed_arguments(facts, tables),
        *optimizer_calls(facts, settings, tables, tf, found.decays.divided),
        *decaying_callbacks(draft, found.decays),
        *string_optimizers(facts, settings, tables, tf),
        *keras_1_values(facts),
        *checkpoint_periods(facts, modules),
        *callback_attributes(facts),
        *models_in_themselves(facts, draft.vanishing()),
        *metric_keys(facts, scopes, keys),
        *rate_keys(facts, scopes),
        *monitor_directions(facts, modules.values(), keys, settings, draft.quote),
        # Several machines train on Keras 2, which takes the old endings, and loads no .weights.h5 after training.
        *(() if settings.over_workers else checkpoint_files(facts, scopes, keys, found.renamed)),
        *predicted_classes(facts),
        *predictions_on_batch(spread),
        *positional_arguments(facts),
        *class_weight_words(facts),
        *class_weights_of_outputs(facts),
        *target_tensors(facts, scopes),
        *old_words(facts, tf),
        *(loss_aliases(facts) if found.saved else ()),
        *only_outputs(facts, modules),
        *integer_targets(facts, modules, tf),
        *metric_targets(facts, modules, single, tf),
        *model_folders(facts, scopes),
        *sessions(facts, scopes, tf, draft.quote, found.raised),
        *optimizer_rates(facts),
        *fractional_steps(facts, scopes),
        *gpu_lists(facts, tf, draft.quote),
        *static_shapes(facts, scopes),
        *learning_phases(facts, modules),
        *cleared_sessions(facts, modules),
        *entered_graphs(facts, modules, scopes, tf),
        *old_python_names(facts, scopes, tables),
        *numpy_integers(facts, scopes),
        *next_methods(facts, modules),
        *modules_by_name(facts, tables),
        *metrics_of_outputs(facts),
        *lists_of_one(facts),
        *lists_in_batches(facts, modules),
    ]
    vanished = set(taken_out(handled))
    handled += [change for change in moved_attributes(facts, tables, tf) if change.node not in vanished]
    yield from handled
    yield from rates_of_schedules(facts, program, found.decays)
    yield from recurrent_defaults(facts, settings, tf)
    yield from regularizer_defaults(facts, tables, tf)
    yield from embedding_gradients(facts, tf)
    yield from extra_losses(facts)
    yield from outside_tensors(facts, modules, scopes)
    yield from layers_over_tensors(facts, scopes)
    yield from names_through_stars(facts, scopes)
    yield from metrics_names(facts)
    yield from batch_dots(facts)
    yield from stateful_layers(facts)
    yield from python_generators(spread, modules, scopes, tf)
    yield from sequence_steps(facts, scopes, tf)
    yield from loading_workers(facts, scopes)
    yield from batch_losses(spread, modules, single, scopes, tf)
    yield from hidden_losses(spread)
    yield from loss_layers(facts, modules, single)
    if any(code.startswith(NAMES) for code in tables.wanted):
        yield from missing_names(facts, settings, tables, handled, unread)
