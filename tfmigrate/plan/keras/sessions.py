"""Sessions that only carried settings: `K.set_session(tf.Session(config=...))` becomes calls of `tf.config`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Collapse, Edit, Insert, Rank, Remove, Unwrap
from tfmigrate.plan.keras.initializer_runs import Runs, idle_run, initializer_runs
from tfmigrate.plan.keras.session_carried import Carried
from tfmigrate.plan.keras.session_places import Session, is_mentioned, sessions_of, symbol_of
from tfmigrate.plan.keras.session_reading import CONDITION, CONFIG, OF_KERAS, Reading
from tfmigrate.plan.keras.session_settings import Settings
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.strategy.late_devices import SessionLines
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import Facts, ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import root_name


def session_lines(draft: Draft, modules: Iterable[Module]) -> SessionLines:
    """The statements of every session that only carries settings, and those that only run initializers."""
    runs = initializer_runs(draft.facts, draft.scopes, modules)
    sessions = sessions_of(draft.facts, draft.scopes, modules, runs)
    readings = {session.call: Reading(draft, runs, modules).session(session) for session in sessions}
    alike = (
        call
        for call, carried in readings.items()
        if not isinstance(carried, str)
        and not carried.settings.is_bound_here
        and not (carried.apart or carried.called or carried.choices)
    )
    return SessionLines(
        {run.call: frozenset({unit}) for unit, run in runs.items() if run.is_idle and run.of_keras}
        | {
            call: carried.units(draft.module)
            for call, carried in readings.items()
            if not isinstance(carried, str) and not carried.apart
        },
        frozenset(alike),
    )


def check(context: Context) -> Iterator[CallChange]:
    """Each `K.set_session(...)`: rewritten where all that the session carries is understood, else reported."""
    runs = initializer_runs(context.facts, context.scopes, context.modules)
    sessions = list(sessions_of(context.facts, context.scopes, context.modules, runs))
    yield from _initialised(runs, sessions, context)
    for session in sessions:
        reading = Reading(context.draft, runs, context.modules)
        carried = reading.session(session)
        gone = _Gone(session, carried, context) if isinstance(carried, Carried) else None
        if gone is not None and not gone.stands_apart_too_late:
            yield gone.change()
            continue
        reason = CONDITION if isinstance(carried, Carried) else carried
        yield CallChange(
            codes.SESSIONS,
            session.call,
            f"TensorFlow 2 has no sessions, and this one is not only settings ({reason}): configure tf.config "
            "instead, and remove it",
            action="warn",
            speaks_for=tuple(reading.names_of(session)),
        )
    yield from _unread_settings(context.facts, context.scopes, context.modules)


@dataclass(frozen=True, eq=False)
class _Gone:
    """A session that goes, and the settings that take its place."""

    session: Session
    carried: Carried
    context: Context

    @property
    def stands_apart_too_late(self) -> bool:
        """Whether settings that depend on a condition stand above a choice of devices, below which they belong."""
        return bool(self.carried.apart) and self._start is not self._block[0]

    def change(self) -> CallChange:
        edits = list(self._edits())
        said = self.carried.settings.said
        remarks = f"; {'; '.join(dict.fromkeys(said))}" if said else ""
        raised = self.session.call in self.context.migration.raised
        where = ", before the strategy starts the GPUs" if raised else ""
        message = f"the session only carried settings, which move to tf.config{where}{remarks}"
        made = settled(self.session.made, self.context.scopes) if self.session.made is not None else None
        if isinstance(made, cst.Call) and symbol_of(made.func, self.context.facts) == OF_KERAS:
            message = "this gave Keras the session that it already had, and TensorFlow 2 has none: it is removed"
        return CallChange(codes.SESSIONS, self.session.call, message, edits[0], more=tuple(edits[1:]))

    def _edits(self) -> Iterator[Edit]:
        yield from self._inserted()
        yield from (Remove(small) for small in self.carried.removed)
        yield from (Unwrap(whole, None) for whole in self.carried.whole)
        for unit, own in self.carried.apart:
            yield Insert(unit, self._code(own), (unit,), rank=Rank.RULE)
        for unit, made in self.carried.called:
            yield Insert(unit, self._module.code(made), (unit,), rank=Rank.RULE)
        yield from (Collapse(choice) for choice in self.carried.choices)

    def _inserted(self) -> Iterator[Insert]:
        """The settings that hold in any case: here, or above what starts the GPUs, in this function and its callers."""
        code = self._code(self.carried.settings)
        if not code:
            return
        assert self._start is not None
        function = self._module.function_round(self.session.unit)
        raised = self.context.migration.raised.get(self.session.call, ())
        above = [unit for unit in raised if self._module.function_round(unit) is function]
        yield Insert(above[-1] if above else self._start, code, tuple(self._block), rank=Rank.RULE)
        for unit in dict.fromkeys(unit for unit in raised if unit not in above):
            yield Insert(unit, code, rank=Rank.RULE)

    @property
    def _module(self) -> Module:
        return self.context.facts.module

    @cached_property
    def _block(self) -> Sequence[cst.CSTNode]:
        return self.carried.beside(self._module)

    @cached_property
    def _start(self) -> cst.CSTNode | None:
        """The line in whose place the settings stand."""
        if not self._block:
            return None
        return _below_choices(self._block, self.session.call, self._module, self.context.migration.facts)

    def _code(self, settings: Settings) -> str:
        """The statements that settings become."""
        draft = self.context.draft
        gpu = draft.scopes.fresh("gpu", draft.scope_round(self.carried.end))
        return "\n".join(settings.lines(draft.tf, gpu, self._module.tree.default_indent, draft.quote))


def _initialised(runs: Runs, sessions: Iterable[Session], context: Context) -> Iterator[CallChange]:
    """Initializers that a session of Keras runs. Those that are idle in one of this file go with its settings."""
    given = {settled(session.made, context.scopes) for session in sessions if session.made is not None}
    for run in runs.values():
        if not run.is_idle and (run.of_keras or run.made in given):
            message = (
                "TensorFlow 2 initialises a variable when it is created; this redrew all weights, even those "
                "loaded, set or trained before, and nothing does that now: if it was meant, build the model again, "
                "and remove this"
            )
            named = tuple(call.func for call in (*run.initializers, run.made))
            yield CallChange(codes.SESSIONS, run.call, message, action="warn", speaks_for=named)
        elif run.is_idle and run.of_keras:
            message = "TensorFlow 2 initialises a variable when it is created: the initializer is removed"
            gone = (*run.statements, *_bound_for_runs(run.session, run.made, runs, context.scopes))
            edits = [Remove(small) for small in gone]
            yield CallChange(codes.SESSIONS, run.call, message, edits[0], more=tuple(edits[1:]))


def _bound_for_runs(
    session: cst.BaseExpression, made: cst.Call, runs: Runs, scopes: Scopes
) -> Iterator[cst.BaseSmallStatement]:
    """`session = K.get_session()` where only runs of initializers read it."""
    mentions = scopes.mentions_of(session)
    if all(mention.binds or idle_run(mention, runs) is not None for mention in mentions):
        for small in (only_statement(mention.unit) for mention in mentions if mention.binds):
            if isinstance(small, cst.Assign) and small.value is made:
                yield small


def _below_choices(block: Sequence[cst.CSTNode], call: cst.Call, module: Module, program: ProgramFacts) -> cst.CSTNode:
    """The first of some lines of one block that no choice of devices follows, as `os.environ["CUDA_VISIBLE_DEVICES"]`
    is: the session started the GPUs at the last, and to list them does it too."""
    suite = module.places[block[0]].block
    chosen = {
        module.places[unit].index
        for choice in program.device_choices
        if choice.node is not call
        for site in choice.site.chain()
        if site.frame.module is module
        for unit in (site.unit, *module.ancestors(site.unit))
        if module.places[unit].block is suite
    }
    end = module.places[block[-1]].index
    late = max((number for number in chosen if number < end), default=-1)
    return next(line for line in block if module.places[line].index > late)


def _unread_settings(facts: Facts, scopes: Scopes, modules: Iterable[Module]) -> Iterator[CallChange]:
    """`config = tf.ConfigProto()` that no session is given: it did nothing, and TensorFlow 2 has no such name."""
    for unit in facts.module.places:
        small = only_statement(unit)
        call = small.value if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
        if not isinstance(small, cst.Assign) or not isinstance(call, cst.Call):
            continue
        target = small.targets[0].target
        if symbol_of(call.func, facts) != CONFIG or not isinstance(target, cst.Name):
            continue
        function = facts.module.function_round(unit)
        scope = scopes.by_node[function] if function is not None else scopes.module
        others = [mention for mention in scopes.of_variable(target.value, scope) if mention.node is not target]
        sets = [_sets_attribute(mention) for mention in others]
        if None in sets or (function is None and is_mentioned(target.value, modules, facts.module)):
            continue
        message = "no session uses these settings, which TensorFlow 2 does not have: they are removed"
        more = tuple(Remove(small) for small in sets if small is not None)
        yield CallChange(codes.SESSIONS, call, message, Remove(small), more=more)


def _sets_attribute(mention: Occurrence) -> cst.Assign | None:
    """The statement `config.gpu_options.allow_growth = True` that a mention stands in, alone."""
    small = only_statement(mention.unit)
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    is_set = isinstance(target, cst.Attribute) and root_name(target) is mention.node
    return small if is_set and not isinstance(small.value, cst.Call) else None
