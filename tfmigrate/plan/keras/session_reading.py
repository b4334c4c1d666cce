"""Reads what a session is made with: its settings, and the statements that go with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import has_stars, keywords, named_items
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.keras.initializer_runs import Runs, idle_run
from tfmigrate.plan.keras.session_carried import Carried, is_gone
from tfmigrate.plan.keras.session_places import SET_SESSION, Session, closing, is_mentioned, symbol_of
from tfmigrate.plan.keras.session_settings import NotOnlySettings, Settings
from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import assigned
from tfmigrate.understand.scopes import LexicalScope, Occurrence
from tfmigrate.understand.syntax import dotted, root_name
from tfmigrate.walk import walk

CONFIG = "tensorflow.ConfigProto"
CONDITION = "its settings depend on a condition"
SESSIONS = frozenset({"tensorflow.Session", "tensorflow.InteractiveSession"})
OF_KERAS = "keras.backend.get_session"
"""The session that Keras has already: to give it to Keras again does nothing."""
_OPTIONS = "tensorflow.GPUOptions"
_DEFAULT_GRAPH = "tensorflow.get_default_graph"


class Reading:
    """Reads one session: its settings, and the statements that go with it."""

    def __init__(self, draft: Draft, runs: Runs, modules: Iterable[Module]) -> None:
        self._draft, self._runs, self._modules = draft, runs, modules
        self._facts, self._scopes = draft.facts, draft.scopes
        self._found = Carried()
        self._block: cst.CSTNode | None = None
        self._unit: cst.SimpleStatementLine | None = None
        self._conditional: list[tuple[cst.SimpleStatementLine, cst.Assign, Settings]] = []

    def session(self, session: Session) -> Carried | str:
        """The settings of a session, or why it must stay."""
        self._found.removed += [session.unit.body[0], *session.gone]
        self._found.last = self._unit = session.unit
        self._block = self._module.places[session.unit].block
        try:
            if session.made is None:
                raise NotOnlySettings("it is called with other arguments")
            self._session(session.made, self._draft.scope_round(session.unit))
        except NotOnlySettings as reason:
            return str(reason)
        return self._found

    def names_of(self, session: Session) -> Iterator[cst.CSTNode]:
        """What names the session, its settings and set_session() where it is made, for one warning to speak for all."""
        yield session.call.func
        if session.made is not None:
            yield from self._names(session.made, self._draft.scope_round(session.unit), set())

    def _names(
        self, node: cst.BaseExpression, scope: LexicalScope, seen: set[cst.BaseExpression]
    ) -> Iterator[cst.CSTNode]:
        if node in seen:
            return
        seen.add(node)
        if isinstance(node, cst.Name):
            for mention in self._scopes.of_variable(node.value, scope):
                value = assigned(mention) if mention.binds else None
                if value is not None:
                    yield from self._names(value, mention.scope, seen)
        elif isinstance(node, cst.Call) and symbol_of(node.func, self._facts) in {
            *SESSIONS,
            OF_KERAS,
            CONFIG,
            _OPTIONS,
        }:
            yield node.func
            for arg in node.args:
                yield from self._names(arg.value, scope, seen)
        elif isinstance(node, cst.Call) and isinstance(node.func, cst.Name):
            for mention in self._scopes.of_variable(node.func.value, scope):
                if mention.binds and isinstance(mention.unit, cst.FunctionDef):
                    inner = self._scopes.by_node[mention.unit]
                    for unit in self._module.inside(mention.unit):
                        small = only_statement(unit)
                        if isinstance(small, cst.Return) and small.value is not None:
                            yield from self._names(small.value, inner, seen)

    @property
    def _module(self) -> Module:
        return self._facts.module

    def _session(self, node: cst.BaseExpression, scope: LexicalScope) -> None:
        if isinstance(node, cst.Name):
            node, scope = self._only_value(node, scope), scope
        if not isinstance(node, cst.Call):
            raise NotOnlySettings("it is unknown where it was created")
        if symbol_of(node.func, self._facts) == OF_KERAS and not node.args:
            return
        if symbol_of(node.func, self._facts) in SESSIONS:
            arguments = keywords(node)
            target = node.args[0] if node.args and node.args[0].keyword is None else None
            if target is not None and self._is_default("target", target.value):
                arguments = {"target": target, **arguments}
            own = {name for name, argument in arguments.items() if not self._is_default(name, argument.value)}
            if has_stars(node) or len(arguments) != len(node.args) or own - {"config"}:
                raise NotOnlySettings("it has its own graph or target")
            if "config" in arguments:
                self._config(arguments["config"].value, scope)
            return
        self._function(node, scope)

    def _is_default(self, name: str, value: cst.BaseExpression) -> bool:
        """Whether an argument says what a session does without it."""
        if name == "target":
            return isinstance(value, cst.SimpleString) and value.evaluated_value == ""
        called = value.func if isinstance(value, cst.Call) and not value.args else None
        return name == "graph" and called is not None and symbol_of(called, self._facts) == _DEFAULT_GRAPH

    def _maker(self, node: cst.Call, scope: LexicalScope) -> cst.FunctionDef:
        """The function that a call takes its session from, as nothing else does but what `_given_to_keras` says."""
        if not isinstance(node.func, cst.Name) or node.args:
            raise NotOnlySettings("it is unknown where it was created")
        mentions = self._scopes.of_variable(node.func.value, scope)
        bindings = [mention for mention in mentions if mention.binds]
        function = bindings[0].unit if len(bindings) == 1 else None
        if not isinstance(function, cst.FunctionDef) or function.decorators:
            raise NotOnlySettings("it is unknown where it was created")
        others = {mention.node for mention in mentions if not mention.binds} - {node.func}
        if not others <= self._given_to_keras() or is_mentioned(function.name.value, self._modules, self._module):
            raise NotOnlySettings(f"{function.name.value}() also creates sessions for other code")
        return function

    def _function(self, node: cst.Call, scope: LexicalScope) -> None:
        """A function that does nothing but make the session goes with it."""
        function = self._maker(node, scope)
        inner = self._scopes.by_node[function]
        body = units_of(function.body)
        last = body[-1]
        returned = only_statement(last)
        if not isinstance(returned, cst.Return) or returned.value is None or not _ends_once(function):
            raise NotOnlySettings(f"{function.name.value}() does more than create it")
        assert isinstance(last, cst.SimpleStatementLine)
        found, caller = self._found, self._unit
        before, outer, whole = len(found.removed), self._block, len(found.whole)
        self._block, self._unit = function.body, last
        self._session(returned.value, inner)
        self._block, self._unit = outer, caller
        if found.called or found.settings.threads:
            raise NotOnlySettings(f"{function.name.value}() does more than create it")
        gone = {*found.removed[before:], returned, *found.whole[whole:]}
        if all(is_gone(line, gone) for line in body):
            del found.removed[before:], found.whole[whole:]
            found.whole.append(function)
            return
        if found.settings.is_bound_here or caller is None:
            raise NotOnlySettings(f"{function.name.value}() does more than create it")
        found.removed.append(returned)
        found.called.append((caller, node))
        found.last = last

    def _given_to_keras(self) -> set[cst.CSTNode]:
        """The functions whose result `K.set_session(function())` takes, in lines that may change."""
        given: set[cst.CSTNode] = set()
        for small in map(only_statement, self._module.places):
            call = small.value if isinstance(small, cst.Expr) else None
            if isinstance(call, cst.Call) and symbol_of(call.func, self._facts) == SET_SESSION and len(call.args) == 1:
                made = call.args[0].value
                if isinstance(made, cst.Call) and not made.args and self._draft.allows(codes.SESSIONS, call):
                    given.add(made.func)
        return given

    def _only_value(self, node: cst.Name, scope: LexicalScope) -> cst.BaseExpression:
        """What a name is bound to, when it is read only here, and where it runs initializers; its assignment goes."""
        binding, reads = self._bound(node, scope)
        for read in reads:
            run, closed = idle_run(read, self._runs), closing(read)
            if run is not None:
                self._found.removed += run.statements
            elif closed is not None:
                self._found.removed.append(closed)
            elif read.node is not node:
                raise NotOnlySettings(f"`{node.value}` is used elsewhere too")
        value = self._taken(binding)
        assert isinstance(binding.unit, cst.SimpleStatementLine)
        self._unit = binding.unit
        return value

    def _bound(self, node: cst.Name, scope: LexicalScope) -> tuple[Occurrence, list[Occurrence]]:
        """What binds a name that is read at `node`, and all reads of what it is bound to there.

        A variable may be bound again further down its block, to something else: `config = tf.ConfigProto()`, and after
        the session `from config import config`.
        """
        mentions = self._scopes.of_variable(node.value, scope)
        bindings = [mention for mention in mentions if mention.binds]
        reads = [mention for mention in mentions if not mention.binds]
        last = (bindings[0], reads) if len(bindings) == 1 else self._last_bound(node, bindings, reads, scope)
        if last is None:
            raise NotOnlySettings(f"`{node.value}` is not assigned exactly once")
        return last

    def _last_bound(
        self, node: cst.Name, bindings: Sequence[Occurrence], reads: Sequence[Occurrence], scope: LexicalScope
    ) -> tuple[Occurrence, list[Occurrence]] | None:
        """The same of a variable that lines of the session's block bind several times: the last binding above `node`,
        and what reads it before it is bound again."""
        mentions = [*bindings, *reads]
        numbers = {other.node: number for other in mentions if (number := self._number(other, scope)) is not None}
        in_block = all(self._module.places[binding.unit].block is self._block for binding in bindings)
        if not in_block or len(numbers) != len(mentions):
            return None
        starts = {numbers[binding.node]: binding for binding in bindings}
        start = max((number for number in starts if number < numbers[node]), default=None)
        # One that is read before it is bound may be read in a loop's next round.
        if start is None or any(numbers[read.node] <= min(starts) for read in reads):
            return None
        self._take_overwritten(starts, start, [numbers[read.node] for read in reads])
        end = min((number for number in starts if number > start), default=len(self._module.places))
        return starts[start], [read for read in reads if start < numbers[read.node] <= end]

    def _take_overwritten(self, starts: Mapping[int, Occurrence], end: int, reads: Collection[int]) -> None:
        """`config = tf.ConfigProto()` that nothing reads before the name is bound again, by the line `end` at last."""
        lines = sorted(number for number in starts if number <= end)
        for line, following in pairwise(lines):
            value = assigned(starts[line])
            is_config = isinstance(value, cst.Call) and symbol_of(value.func, self._facts) == CONFIG
            if is_config and not any(line < read <= following for read in reads):
                self._taken(starts[line])

    def _number(self, mention: Occurrence, scope: LexicalScope) -> int | None:
        """The line of the session's block that a mention is in; None for one outside it, or in a function."""
        units = [mention.unit, *self._module.ancestors(mention.unit)]
        indices = [place.index for unit in units if (place := self._module.places[unit]).block is self._block]
        return indices[0] if indices and mention.scope is scope else None

    def _taken(self, binding: Occurrence) -> cst.BaseExpression:
        value = assigned(binding)
        if value is None or not isinstance(binding.unit, cst.SimpleStatementLine):
            raise NotOnlySettings("it is unknown where it was created")
        self._check_unconditional(binding.unit)
        for small in binding.unit.body:
            if isinstance(small, cst.Assign) and small.value is value:
                if len(small.targets) != 1:
                    raise NotOnlySettings("it has two names")
                self._found.removed.append(small)
        return value

    def _check_unconditional(self, unit: cst.CSTNode) -> None:
        if self._conditions(unit):
            raise NotOnlySettings(CONDITION)

    def _conditions(self, unit: cst.CSTNode) -> list[cst.If]:
        """The conditions under which a line of the session's block runs, the innermost first."""
        conditions: list[cst.If] = []
        while self._module.places[unit].block is not self._block:
            owner = self._module.places[unit].owner
            if not isinstance(owner, cst.If):
                raise NotOnlySettings(CONDITION)
            conditions.append(owner)
            unit = owner
        return conditions

    def _config(self, node: cst.BaseExpression, scope: LexicalScope) -> None:
        value, settings = node, self._found.settings
        if isinstance(node, cst.Name):
            binding, reads = self._bound(node, scope)
            value = self._taken(binding)
            for mention in reads:
                if mention.node is not node:
                    self._assignment(mention)
        if not isinstance(value, cst.Call) or symbol_of(value.func, self._facts) != CONFIG or has_stars(value):
            raise NotOnlySettings("its settings are unknown")
        given = keywords(value)
        options_apart = "gpu_options" in given and isinstance(given["gpu_options"].value, cst.Name)
        for key, arg in given.items():
            options = self._gpu_options(arg.value, scope) if key == "gpu_options" else None
            if options is None:
                settings.set(key, arg.value, self._module, first=not options_apart)
            for name, option in (options or {}).items():
                settings.set(f"gpu_options.{name}", option, self._module)
        self._place_conditional()

    def _place_conditional(self) -> None:
        """Settings that depend on a condition stand where they stood, but for those that hold in any case."""
        found = self._found
        implied = {small for _, small, own in self._conditional if found.settings.imply(own)}
        for unit, small, own in self._conditional:
            found.removed.append(small)
            found.settings.said += own.said
            if small not in implied:
                if own == Settings():
                    raise NotOnlySettings(CONDITION)
                found.apart.append((unit, own))
        for choice in dict.fromkeys(choice for unit, *_ in self._conditional for choice in self._conditions(unit)):
            self._settle(choice, implied)

    def _settle(self, choice: cst.If, implied: Iterable[cst.BaseSmallStatement]) -> None:
        """What becomes of a condition, of whose settings some go."""
        gone = {*implied, *self._found.whole}
        if all(is_gone(unit, gone) for unit in units_of(choice.body)):
            if choice.orelse is not None or not is_pure(choice.test):
                raise NotOnlySettings(CONDITION)
            self._found.whole.append(choice)
        elif is_pure(choice.test):
            self._found.choices.append(choice)

    def _gpu_options(self, node: cst.BaseExpression, scope: LexicalScope) -> dict[str, cst.BaseExpression] | None:
        """`tf.GPUOptions(allow_growth=True)`, for which protocol buffers also take a dict; either may have a name."""
        if isinstance(node, cst.Name):
            binding, reads = self._bound(node, scope)
            for mention in reads:
                if mention.node is not node:
                    self._assignment(mention, "gpu_options.")
            node = self._taken(binding)
        if isinstance(node, cst.Call) and symbol_of(node.func, self._facts) == _OPTIONS and not has_stars(node):
            return {name: arg.value for name, arg in keywords(node).items()}
        return named_items(node)

    def _assignment(self, mention: Occurrence, owner: str = "") -> None:
        """`config.gpu_options.allow_growth = True`; `owner`: how the setting's name starts, where a part has a name."""
        for small in mention.unit.body if isinstance(mention.unit, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Assign) and len(small.targets) == 1:
                key = dotted(small.targets[0].target).partition(".")[2]
                if key and root_name(small.targets[0].target) is mention.node:
                    if not self._conditions(mention.unit):
                        self._found.settings.set(owner + key, small.value, self._module)
                        self._found.removed.append(small)
                    else:
                        own = Settings()
                        own.set(owner + key, small.value, self._module)
                        assert isinstance(mention.unit, cst.SimpleStatementLine)
                        self._conditional.append((mention.unit, small, own))
                    return
        raise NotOnlySettings("its settings are used elsewhere too")


def _ends_once(function: cst.FunctionDef) -> bool:
    """Whether a function returns at its end alone, and yields and assigns nothing outside."""
    parts = list(walk(function.body))
    return sum(isinstance(part, cst.Return) for part in parts) == 1 and not any(
        isinstance(part, cst.Yield | cst.Global | cst.Nonlocal) for part in parts
    )
