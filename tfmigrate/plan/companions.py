"""What stands beside the wrap in a migrated module and would keep it from running, or from training as before."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.batch_dot import batch_dots
from tfmigrate.plan.callback_classes import callback_attributes, models_in_themselves
from tfmigrate.plan.callbacks import changed_keys, metric_keys, rate_keys
from tfmigrate.plan.calls import Revision, combined
from tfmigrate.plan.checkpoints import checkpoint_periods
from tfmigrate.plan.cleared_sessions import cleared_sessions
from tfmigrate.plan.decays import Decays, decaying_callbacks, rates_of_schedules
from tfmigrate.plan.devices import gpu_lists
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, ImportNames, Insert, Replace, Unwrap
from tfmigrate.plan.embeddings import embedding_gradients
from tfmigrate.plan.expressions import is_pure
from tfmigrate.plan.extra_losses import extra_losses
from tfmigrate.plan.graphs import entered_graphs
from tfmigrate.plan.imports import import_statements, in_try
from tfmigrate.plan.interfaces import (
    CallChange,
    Tables,
    generator_calls,
    handed_on,
    moved_attributes,
    renamed_arguments,
)
from tfmigrate.plan.keras1 import keras_1_values
from tfmigrate.plan.learning_phase import learning_phases
from tfmigrate.plan.lists_in_batches import lists_in_batches
from tfmigrate.plan.losses import batch_losses, loss_layers
from tfmigrate.plan.methods import (
    class_weight_words,
    metrics_names,
    positional_arguments,
    predicted_classes,
    predictions_on_batch,
    target_tensors,
)
from tfmigrate.plan.modules_by_name import modules_by_name
from tfmigrate.plan.monitors import monitor_directions
from tfmigrate.plan.next_method import next_methods
from tfmigrate.plan.numpy_integers import numpy_integers
from tfmigrate.plan.old_python import old_python_names
from tfmigrate.plan.only_output import only_outputs
from tfmigrate.plan.optimizers import optimizer_calls, string_optimizers
from tfmigrate.plan.other_names import drop_other_names
from tfmigrate.plan.outputs import lists_of_one, metrics_of_outputs
from tfmigrate.plan.outside_tensors import outside_tensors
from tfmigrate.plan.rates import optimizer_rates
from tfmigrate.plan.readiness import missing_names, taken_out
from tfmigrate.plan.recurrent import recurrent_defaults, stateful_layers
from tfmigrate.plan.regularizers import regularizer_defaults
from tfmigrate.plan.saving import checkpoint_files, model_folders
from tfmigrate.plan.sequences import sequence_steps
from tfmigrate.plan.sessions import sessions
from tfmigrate.plan.static_shapes import static_shapes
from tfmigrate.plan.steps import fractional_steps
from tfmigrate.plan.streams import python_generators
from tfmigrate.plan.targets import integer_targets, metric_targets
from tfmigrate.plan.unread import drop_unread, unread_imports
from tfmigrate.plan.words import loss_aliases, old_words
from tfmigrate.settings import NAMES
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.program import (
    Unit,
    dotted,
    imports_of,
    is_docstring,
    is_seam,
    only_statement,
    units_of,
)
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
    for change in _changes(draft, tables, program, unread, found):
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
        *target_tensors(facts, scopes),
        *old_words(facts, tf),
        *(loss_aliases(facts) if found.saved else ()),
        *only_outputs(facts, modules),
        *integer_targets(facts, modules, tf),
        *metric_targets(facts, modules, single, tf),
        *model_folders(facts, scopes),
        *sessions(facts, scopes, tf, draft.quote),
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
    yield from metrics_names(facts)
    yield from batch_dots(facts)
    yield from stateful_layers(facts)
    yield from python_generators(spread, modules, scopes, tf)
    yield from sequence_steps(facts, scopes, tf)
    yield from batch_losses(spread, modules, scopes, tf)
    yield from loss_layers(facts, modules, single)
    if any(code.startswith(NAMES) for code in tables.wanted):
        yield from missing_names(facts, settings, tables, handled, unread)


def import_tensorflow(draft: Draft) -> None:
    """`import tensorflow as tf` where the edits need it: beside the first import of Keras, or where imports begin."""
    module = draft.module
    standing = False
    conditional: list[tuple[cst.Import | cst.ImportFrom, Unit]] = []
    inner: list[tuple[cst.Import | cst.ImportFrom, Unit]] = []
    for statement, unit in import_statements(module):
        if any(bound == draft.tf for _, bound, _ in imports_of(statement)):
            standing |= module.places[unit].owner is None
            (conditional if draft.scope_round(unit) is draft.scopes.module else inner).append((statement, unit))
    if not draft.reaches_into(draft.tf):
        return
    place = _place_for_import(draft)
    if not standing and place is not None:
        draft.edits.insert(0, Insert(place, f"import tensorflow as {draft.tf}"))
        for statement, unit in conditional:
            _drop_conditional(draft, statement, unit)
    for statement, unit in inner:
        # What is written above the import of a function would read a variable that has no value yet.
        alone = len(list(imports_of(statement))) == 1 and not in_try(draft.module, unit)
        if alone and draft.reaches_into(draft.tf, draft.scope_round(unit).node):
            draft.edits.append(ImportNames(statement))


def _drop_conditional(draft: Draft, statement: cst.Import | cst.ImportFrom, unit: Unit) -> None:
    """`if K.backend() == 'tensorflow': import tensorflow as tf` has nothing left to do."""
    owner = draft.module.places[unit].owner
    if len(list(imports_of(statement))) != 1 or not isinstance(owner, cst.If):
        return
    draft.edits.append(ImportNames(statement))
    alone = len(units_of(draft.module.places[unit].block)) == 1 and owner.orelse is None
    if alone and is_pure(owner.test) and draft.module.places[unit].block is owner.body:
        draft.edits.append(Unwrap(owner, None))


def _place_for_import(draft: Draft) -> Unit | None:
    keras, first, standing, above = None, None, None, None
    for unit in units_of(draft.module.tree):
        smalls = unit.body if isinstance(unit, cst.SimpleStatementLine) else ()
        imports = [small for small in smalls if isinstance(small, cst.Import | cst.ImportFrom)]
        roots = [full.split(".")[0] for small in imports for _, _, full in imports_of(small)]
        roots += [dotted(small.module).split(".")[0] for small in imports if isinstance(small, cst.ImportFrom)]
        if "__future__" in roots or is_docstring(only_statement(unit)) or is_seam(unit):
            continue
        if _is_magic(unit, draft):  # It may install TensorFlow.
            above, first, standing = first or standing or above, None, None
            continue
        standing = standing or unit
        if imports:
            first = first or unit
        if any(root in ("keras", "tensorflow") for root in roots):
            keras = keras or unit
        # Settings stand between imports: a script sets os.environ before it imports Keras, which brings TensorFlow.
        if keras is not None or isinstance(unit, cst.FunctionDef | cst.ClassDef | cst.With | cst.For | cst.While):
            break
    return keras or first or standing or above


def _is_magic(unit: Unit, draft: Draft) -> bool:
    """Whether a line is `name()` of a name that nothing binds, as a magic or shell line of a notebook stands here."""
    statement = only_statement(unit)
    call = statement.value if isinstance(statement, cst.Expr) else None
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or call.args:
        return False
    return not any(mention.binds for mention in draft.scopes.of_variable(call.func.value, draft.scopes.module))
