"""Sessions that only carried settings: `K.set_session(tf.Session(config=...))` becomes calls of `tf.config`."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TypeGuard

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars, is_false, is_true, keywords, named_items, text_of
from tfmigrate.plan.edits import Collapse, Edit, Insert, Rank, Remove, Unwrap
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.strategy.late_devices import SessionLines
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts, ProgramFacts
from tfmigrate.understand.program import (
    Module,
    dotted,
    import_statements,
    is_docstring,
    only_statement,
    root_name,
    units_of,
)
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import assigned
from tfmigrate.understand.scopes import LexicalScope, Occurrence, Scopes
from tfmigrate.walk import walk

_SESSIONS = frozenset({"tensorflow.Session", "tensorflow.InteractiveSession"})
_CONFIG = "tensorflow.ConfigProto"
_OPTIONS = "tensorflow.GPUOptions"
_CONDITION = "its settings depend on a condition"


def session_lines(facts: Facts, scopes: Scopes, tf: str, modules: Iterable[Module]) -> SessionLines:
    """The statements of every session that only carries settings."""
    sessions = [*_set_sessions(facts), *_dropped_sessions(facts, scopes, modules)]
    settings = {session.call: _Reading(facts, scopes, tf).session(session) for session in sessions}
    return SessionLines(
        {
            call: session_settings.units(facts.module)
            for call, session_settings in settings.items()
            if not isinstance(session_settings, str) and not session_settings.apart
        }
    )


def check(context: Context) -> Iterator[CallChange]:
    """Each `K.set_session(...)`: rewritten where all that the session carries is understood, else reported."""
    facts, scopes, tf, quote = context.facts, context.scopes, context.tf, context.quote
    raised = context.migration.raised
    for setting in (*_set_sessions(facts), *_dropped_sessions(facts, scopes, context.modules)):
        call = setting.call
        reading = _Reading(facts, scopes, tf)
        settings = reading.session(setting)
        block = () if isinstance(settings, str) else settings.beside(settings.end, facts.module)
        start = _below_choices(block, call, facts.module, context.migration.facts) if block else None
        if isinstance(settings, _Settings) and settings.apart and start is not block[0]:
            settings = _CONDITION
        if isinstance(settings, str):
            yield CallChange(
                codes.SESSIONS,
                call,
                f"TensorFlow 2 has no sessions, and this one is not only settings ({settings}): configure tf.config "
                "instead, and remove it",
                action="warn",
                speaks_for=tuple(reading.names_of(setting)),
            )
            continue
        gpu = scopes.fresh("gpu", reading.scope_of(settings.end))
        indent = facts.module.tree.default_indent
        lines = settings.lines(tf, gpu, indent, quote)
        edits: list[Edit] = []
        if lines:
            assert start is not None
            edits.append(Insert(raised.get(call, start), "\n".join(lines), block, rank=Rank.RULE))
        edits += [Remove(small) for small in settings.removed]
        edits += [Unwrap(whole, None) for whole in settings.whole]
        for unit, own in settings.apart:
            edits.append(Insert(unit, "\n".join(own.lines(tf, gpu, indent, quote)), (unit,), rank=Rank.RULE))
        for unit, made in settings.called:
            edits.append(Insert(unit, facts.module.code(made), (unit,), rank=Rank.RULE))
        edits += [Collapse(choice) for choice in settings.choices]
        remarks = f"; {'; '.join(dict.fromkeys(settings.said))}" if settings.said else ""
        where = ", before the strategy starts the GPUs" if call in raised else ""
        message = f"the session only carried settings, which tf.config takes{where}{remarks}"
        yield CallChange(codes.SESSIONS, call, message, edits[0], more=tuple(edits[1:]))
    yield from _unread_settings(facts, scopes, context.modules)


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
        if _name(facts, call.func) != _CONFIG or not isinstance(target, cst.Name):
            continue
        function = next((owner for owner in facts.module.ancestors(unit) if isinstance(owner, cst.FunctionDef)), None)
        scope = scopes.by_node[function] if function is not None else scopes.module
        others = [mention for mention in scopes.of_variable(target.value, scope) if mention.node is not target]
        sets = [_sets_attribute(mention) for mention in others]
        if None in sets or (function is None and _is_mentioned(target.value, modules, facts.module)):
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


@dataclass(frozen=True)
class _Session:
    """A session and the line that it serves."""

    call: cst.Call
    """Of set_session(), or of the session itself where nothing takes it."""
    unit: cst.SimpleStatementLine
    made: cst.BaseExpression | None
    """What gives the session; None where set_session() is called otherwise than with one."""
    returns: tuple[cst.Return, ...] = ()
    """Where a function returns a session that no caller takes."""


def _set_sessions(facts: Facts) -> Iterator[_Session]:
    for unit in facts.module.places:
        small = only_statement(unit)
        call = small.value if isinstance(small, cst.Expr) else None
        if isinstance(unit, cst.SimpleStatementLine) and isinstance(call, cst.Call):
            if names.canonical(_name(facts, call.func)) == "keras.backend.set_session":
                alone = len(call.args) == 1 and not has_stars(call)
                yield _Session(call, unit, call.args[0].value if alone else None)


def _dropped_sessions(facts: Facts, scopes: Scopes, modules: Iterable[Module]) -> Iterator[_Session]:
    """`session = tf.Session(config=config)` that nothing reads: the first session of a process sets up its GPUs."""
    for unit in facts.module.places:
        small = only_statement(unit)
        call = small.value if isinstance(small, cst.Assign | cst.Expr) else None
        if not isinstance(unit, cst.SimpleStatementLine) or not isinstance(call, cst.Call) or not call.args:
            continue
        if _name(facts, call.func) != "tensorflow.Session":
            continue
        if isinstance(small, cst.Expr):
            yield _Session(call, unit, call)
            continue
        assert isinstance(small, cst.Assign)
        target = small.targets[0].target
        function = next((outer for outer in facts.module.ancestors(unit) if isinstance(outer, cst.FunctionDef)), None)
        scope = scopes.by_node[function] if function is not None else scopes.module
        if len(small.targets) > 1 or not isinstance(target, cst.Name):
            continue
        mentions = scopes.of_variable(target.value, scope)
        reads = [mention for mention in mentions if mention.node is not target]
        returns = tuple(
            statement for statement in map(only_statement, (read.unit for read in reads)) if _gives(statement, reads)
        )
        if len(returns) != len(reads) or any(read.binds or read.scope is not scope for read in reads):
            continue
        if function is None and _is_mentioned(target.value, modules, facts.module):
            continue
        if returns and (function is None or not _result_is_dropped(function, modules)):
            continue
        yield _Session(call, unit, call, returns)


def _is_mentioned(name: str, modules: Iterable[Module], own: Module) -> bool:
    """Whether another module mentions a name that it may have from this one."""
    others = [module for module in modules if module is not own]
    path = PurePath(own.path)
    title = path.parent.name if path.stem == "__init__" else path.stem
    if not any(_may_import(title, module) for module in others):
        return False
    named = (module for module in others if name in module.text)
    return any(node.value == name for module in named for node in module.all_of(cst.Name))


def _may_import(title: str, module: Module) -> bool:
    """Whether an import statement of a module may mean the module of this name, or something in it."""
    for statement, _ in import_statements(module):
        aliases = statement.names if not isinstance(statement.names, cst.ImportStar) else ()
        source = dotted(statement.module) if isinstance(statement, cst.ImportFrom) else ""
        if any(title in text.split(".") for text in (source, *(dotted(alias.name) for alias in aliases))):
            return True
    return False


def _gives(small: cst.CSTNode | None, reads: Sequence[Occurrence]) -> TypeGuard[cst.Return]:
    """Whether a statement returns what one of the reads names, and nothing else."""
    return isinstance(small, cst.Return) and any(small.value is read.node for read in reads)


def _result_is_dropped(function: cst.FunctionDef, modules: Iterable[Module]) -> bool:
    """Whether a function is called, each time as a statement, and nothing else mentions its name."""
    called = 0
    for module in modules:
        calls = {small.value for small in map(only_statement, module.places) if isinstance(small, cst.Expr)}
        ends = {_last_name(call.func) for call in calls if isinstance(call, cst.Call)}
        imported = {alias.name for alias in module.all_of(cst.ImportAlias)}
        for node in module.all_of(cst.Name):
            if node.value == function.name.value and node is not function.name:
                if node in ends:
                    called += 1
                elif node not in imported:
                    return False
    return called > 0


def _last_name(node: cst.BaseExpression) -> cst.CSTNode:
    return node.attr if isinstance(node, cst.Attribute) else node


def _name(facts: Facts, node: cst.BaseExpression) -> str:
    """The qualified name, `tf.compat.v1.Session` as `tf.Session`, and names that Keras's backend passed on."""
    name = facts.symbols.get(node, "")
    for old, new in (("tensorflow.compat.v1.", "tensorflow."), ("keras.backend.tf.", "tensorflow."),
                     ("keras.backend.tensorflow_backend.tf.", "tensorflow.")):  # fmt: skip
        if name.startswith(old) and not name.startswith("tensorflow.compat.v1.keras"):
            return new + name[len(old) :]
    return name


class _NotOnlySettings(Exception):
    """Why a session cannot go, in words."""


@dataclass
class _Settings:
    growth: bool = False
    visible: str | None = None
    numbers: str | None = None
    """The code of what gives the numbers of the visible GPUs one by one."""
    calls: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    removed: list[cst.BaseSmallStatement] = field(default_factory=list)
    whole: list[cst.FunctionDef | cst.If] = field(default_factory=list)
    """Functions that only make the session, and conditions of settings that hold in any case."""
    called: list[tuple[cst.SimpleStatementLine, cst.Call]] = field(default_factory=list)
    """The lines that call a function that made the session and does other things, and the calls."""
    apart: list[tuple[cst.SimpleStatementLine, _Settings]] = field(default_factory=list)
    """Settings that depend on a condition, by the lines in whose place they stand."""
    choices: list[cst.If] = field(default_factory=list)
    """Conditions of such settings, which may choose between two that are the same now."""
    last: cst.SimpleStatementLine | None = None

    @property
    def end(self) -> cst.SimpleStatementLine:
        """The last line of those whose place the settings take."""
        assert self.last is not None
        return self.last

    def lines(self, tf: str, gpu: str, indent: str, quote: str) -> list[str]:
        """The statements that take the session's place. Devices must be chosen before their memory is.

        `gpu`: a name that is free there.
        """
        statements = []
        kind = f"{quote}GPU{quote}"
        gpus = f"{tf}.config.list_physical_devices({kind})"
        if self.visible is not None or self.numbers is not None:
            ids = [part.strip() for part in (self.visible or "").split(",") if part.strip()]
            listed = ", ".join(f"{gpus}[{number}]" for number in ids)
            if self.numbers is not None:
                listed = f"{gpus}[int({gpu})] for {gpu} in {self.numbers}"
            statements.append(f"{tf}.config.set_visible_devices([{listed}], {kind})")
            gpus = f"{tf}.config.get_visible_devices({kind})"
        if self.growth:
            statements.append(f"for {gpu} in {gpus}:\n{indent}{tf}.config.experimental.set_memory_growth({gpu}, True)")
        return statements + self.calls

    def units(self, module: Module) -> frozenset[cst.CSTNode]:
        """All units that go, whole."""
        lines = (unit for unit in module.places if isinstance(unit, cst.SimpleStatementLine))
        gone = {unit for unit in lines if all(small in self.removed for small in unit.body)}
        return frozenset({*gone, *self.whole} - {unit for unit, _ in self.called})

    def imply(self, other: _Settings) -> bool:
        """Whether these settings hold where others are made too, and leave those nothing to do."""
        return self.growth and other.growth and not other.calls and other.visible is None and other.numbers is None

    def beside(self, unit: cst.CSTNode, module: Module) -> tuple[cst.CSTNode, ...]:
        """The lines that go whole from the block of `unit`, itself included, in order."""
        block = module.places[unit].block
        lines = [
            place
            for place in module.places
            if module.places[place].block is block
            and isinstance(place, cst.SimpleStatementLine)
            and all(small in self.removed for small in place.body)
        ]
        return tuple(lines)


class _Reading:
    """Reads one session: its settings, and the statements that go with it."""

    def __init__(self, facts: Facts, scopes: Scopes, tf: str) -> None:
        self._facts = facts
        self._scopes = scopes
        self._tf = tf
        self._found = _Settings()
        self._block: cst.CSTNode | None = None
        self._unit: cst.SimpleStatementLine | None = None
        self._conditional: list[tuple[cst.SimpleStatementLine, cst.Assign, _Settings]] = []

    def session(self, one: _Session) -> _Settings | str:
        """The settings of a session, or why it must stay."""
        self._found.removed += [one.unit.body[0], *one.returns]
        self._found.last = self._unit = one.unit
        self._block = self._module.places[one.unit].block
        try:
            if one.made is None:
                raise _NotOnlySettings("it is called with other arguments")
            self._session(one.made, self.scope_of(one.unit))
        except _NotOnlySettings as reason:
            return str(reason)
        return self._found

    def names_of(self, one: _Session) -> Iterator[cst.CSTNode]:
        """What names the session, its settings and set_session() where it is made, for one warning to speak for all."""
        yield one.call.func
        if one.made is not None:
            yield from self._names(one.made, self.scope_of(one.unit), set())

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
        elif isinstance(node, cst.Call) and _name(self._facts, node.func) in {*_SESSIONS, _CONFIG, _OPTIONS}:
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

    def scope_of(self, unit: cst.CSTNode) -> LexicalScope:
        """The variables that a statement sees."""
        for owner in self._module.ancestors(unit):
            if owner in self._scopes.by_node:
                return self._scopes.by_node[owner]
        return self._scopes.module

    @property
    def _module(self) -> Module:
        return self._facts.module

    def _session(self, node: cst.BaseExpression, scope: LexicalScope) -> None:
        if isinstance(node, cst.Name):
            node, scope = self._only_value(node, scope), scope
        if not isinstance(node, cst.Call):
            raise _NotOnlySettings("where it was made is unknown")
        if _name(self._facts, node.func) in _SESSIONS:
            arguments = keywords(node)
            if has_stars(node) or len(arguments) != len(node.args) or set(arguments) - {"config"}:
                raise _NotOnlySettings("it has a graph or a target of its own")
            if "config" in arguments:
                self._config(arguments["config"].value, scope)
            return
        self._function(node, scope)

    def _function(self, node: cst.Call, scope: LexicalScope) -> None:
        """A function that does nothing but make the session goes with it."""
        if not isinstance(node.func, cst.Name) or node.args:
            raise _NotOnlySettings("where it was made is unknown")
        mentions = self._scopes.of_variable(node.func.value, scope)
        bindings = [mention for mention in mentions if mention.binds]
        function = bindings[0].unit if len(bindings) == 1 else None
        if not isinstance(function, cst.FunctionDef) or len(mentions) != 2 or function.decorators:
            raise _NotOnlySettings("where it was made is unknown")
        inner = self._scopes.by_node[function]
        body = units_of(function.body)
        last = body[-1]
        returned = only_statement(last)
        if not isinstance(returned, cst.Return) or returned.value is None or not _ends_once(function):
            raise _NotOnlySettings(f"{function.name.value}() does more than create it")
        assert isinstance(last, cst.SimpleStatementLine)
        found, caller = self._found, self._unit
        before, outer, whole = len(found.removed), self._block, len(found.whole)
        self._block, self._unit = function.body, last
        self._session(returned.value, inner)
        self._block, self._unit = outer, caller
        if found.called:
            raise _NotOnlySettings(f"{function.name.value}() does more than create it")
        gone = {*found.removed[before:], returned, *found.whole[whole:]}
        if all(_is_gone(line, gone) for line in body):
            del found.removed[before:], found.whole[whole:]
            found.whole.append(function)
            return
        if found.numbers is not None or caller is None:
            raise _NotOnlySettings(f"{function.name.value}() does more than create it")
        found.removed.append(returned)
        found.called.append((caller, node))
        found.last = last

    def _only_value(self, node: cst.Name, scope: LexicalScope) -> cst.BaseExpression:
        """What a name is bound to, when it is read only here; its assignment goes."""
        binding, reads = self._bound(node, scope)
        if len(reads) != 1:
            raise _NotOnlySettings(f"`{node.value}` is used elsewhere too")
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
        if len(bindings) == 1:
            return bindings[0], [mention for mention in mentions if not mention.binds]
        numbers = {other.node: number for other in mentions if (number := self._number(other, scope)) is not None}
        in_block = all(self._module.places[binding.unit].block is self._block for binding in bindings)
        if in_block and len(numbers) == len(mentions):
            starts = {numbers[binding.node]: binding for binding in bindings}
            reads = [mention for mention in mentions if not mention.binds]
            start = max((number for number in starts if number < numbers[node]), default=None)
            # One that is read before it is bound may be read in a loop's next round.
            if start is not None and all(numbers[read.node] > min(starts) for read in reads):
                end = min((number for number in starts if number > start), default=len(self._module.places))
                return starts[start], [read for read in reads if start < numbers[read.node] <= end]
        raise _NotOnlySettings(f"`{node.value}` is not assigned exactly once")

    def _number(self, mention: Occurrence, scope: LexicalScope) -> int | None:
        """The line of the session's block that a mention is in; None for one outside it, or in a function."""
        units = [mention.unit, *self._module.ancestors(mention.unit)]
        indices = [place.index for unit in units if (place := self._module.places[unit]).block is self._block]
        return indices[0] if indices and mention.scope is scope else None

    def _taken(self, binding: Occurrence) -> cst.BaseExpression:
        value = assigned(binding)
        if value is None or not isinstance(binding.unit, cst.SimpleStatementLine):
            raise _NotOnlySettings("where it was made is unknown")
        self._check_unconditional(binding.unit)
        for small in binding.unit.body:
            if isinstance(small, cst.Assign) and small.value is value:
                if len(small.targets) != 1:
                    raise _NotOnlySettings("it has two names")
                self._found.removed.append(small)
        return value

    def _check_unconditional(self, unit: cst.CSTNode) -> None:
        if self._conditions(unit):
            raise _NotOnlySettings(_CONDITION)

    def _conditions(self, unit: cst.CSTNode) -> list[cst.If]:
        """The conditions under which a line of the session's block runs, the innermost first."""
        conditions: list[cst.If] = []
        while self._module.places[unit].block is not self._block:
            owner = self._module.places[unit].owner
            if not isinstance(owner, cst.If):
                raise _NotOnlySettings(_CONDITION)
            conditions.append(owner)
            unit = owner
        return conditions

    def _config(self, node: cst.BaseExpression, scope: LexicalScope) -> None:
        value = node
        if isinstance(node, cst.Name):
            binding, reads = self._bound(node, scope)
            value = self._taken(binding)
            for mention in reads:
                if mention.node is not node:
                    self._assignment(mention)
        if not isinstance(value, cst.Call) or _name(self._facts, value.func) != _CONFIG or has_stars(value):
            raise _NotOnlySettings("its settings are unknown")
        for key, arg in keywords(value).items():
            options = self._gpu_options(arg.value, scope) if key == "gpu_options" else None
            if options is None:
                self._set(key, arg.value, self._found)
            for name, option in (options or {}).items():
                self._set(f"gpu_options.{name}", option, self._found)
        self._place_conditional()

    def _place_conditional(self) -> None:
        """Settings that depend on a condition stand where they stood, but for those that hold in any case."""
        found = self._found
        implied = {small for _, small, own in self._conditional if found.imply(own)}
        for unit, small, own in self._conditional:
            found.removed.append(small)
            found.said += own.said
            if small not in implied:
                if own == _Settings():
                    raise _NotOnlySettings(_CONDITION)
                found.apart.append((unit, own))
        for choice in dict.fromkeys(choice for unit, *_ in self._conditional for choice in self._conditions(unit)):
            self._settle(choice, implied)

    def _settle(self, choice: cst.If, implied: Iterable[cst.BaseSmallStatement]) -> None:
        """What becomes of a condition, of whose settings some go."""
        gone = {*implied, *self._found.whole}
        if all(_is_gone(unit, gone) for unit in units_of(choice.body)):
            if choice.orelse is not None or not is_pure(choice.test):
                raise _NotOnlySettings(_CONDITION)
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
        if isinstance(node, cst.Call) and _name(self._facts, node.func) == _OPTIONS and not has_stars(node):
            return {name: arg.value for name, arg in keywords(node).items()}
        return named_items(node)

    def _assignment(self, mention: Occurrence, owner: str = "") -> None:
        """`config.gpu_options.allow_growth = True`; `owner`: how the setting's name starts, where a part has a name."""
        for small in mention.unit.body if isinstance(mention.unit, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Assign) and len(small.targets) == 1:
                key = dotted(small.targets[0].target).partition(".")[2]
                if key and root_name(small.targets[0].target) is mention.node:
                    if not self._conditions(mention.unit):
                        self._set(owner + key, small.value, self._found)
                        self._found.removed.append(small)
                    else:
                        own = _Settings()
                        self._set(owner + key, small.value, own)
                        assert isinstance(mention.unit, cst.SimpleStatementLine)
                        self._conditional.append((mention.unit, small, own))
                    return
        raise _NotOnlySettings("its settings are used elsewhere too")

    def _set(self, key: str, value: cst.BaseExpression, settings: _Settings) -> None:
        code = self._module.code(value)
        if key == "gpu_options.allow_growth" and (is_true(value) or is_false(value)):
            settings.growth = is_true(value)
        elif key == "gpu_options.per_process_gpu_memory_fraction":
            settings.growth = True
            settings.said.append(f"the limit of {code} of the memory becomes growth on demand")
        elif key == "gpu_options.visible_device_list" and _is_ids(text_of(value)):
            settings.visible = text_of(value)
        elif key == "gpu_options.visible_device_list" and (numbers := _joined_numbers(value)) is not None:
            settings.numbers = self._module.code(numbers)
        elif key == "log_device_placement" and (is_true(value) or is_false(value)):
            if is_true(value):
                settings.calls.append(f"{self._tf}.debugging.set_log_device_placement(True)")
        elif key == "allow_soft_placement" and is_true(value):
            settings.calls.append(f"{self._tf}.config.set_soft_device_placement(True)")
        elif key in ("intra_op_parallelism_threads", "inter_op_parallelism_threads") and isinstance(value, cst.Integer):
            settings.calls.append(f"{self._tf}.config.threading.set_{key}({code})")
        else:
            raise _NotOnlySettings(f"`{key}` = {code} is not understood")


def _ends_once(function: cst.FunctionDef) -> bool:
    """Whether nothing but the end of a function gives anything to others."""
    parts = list(walk(function.body))
    return sum(isinstance(part, cst.Return) for part in parts) == 1 and not any(
        isinstance(part, cst.Yield | cst.Global | cst.Nonlocal) for part in parts
    )


def _is_gone(line: cst.CSTNode, gone: Container[cst.CSTNode]) -> bool:
    """Whether nothing of a line is left to do."""
    if not isinstance(line, cst.SimpleStatementLine):
        return line in gone
    return all(small in gone or isinstance(small, cst.Pass) or is_docstring(small) for small in line.body)


def _joined_numbers(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What holds the numbers, in `",".join(map(str, numbers))` and `",".join(str(n) for n in numbers)`."""
    if not isinstance(node, cst.Call) or len(node.args) != 1 or not isinstance(node.func, cst.Attribute):
        return None
    if text_of(node.func.value) != "," or node.func.attr.value != "join":
        return None
    numbers = node.args[0].value
    if isinstance(numbers, cst.Call) and dotted(numbers.func) == "map" and len(numbers.args) == 2:
        return numbers.args[1].value if dotted(numbers.args[0].value) == "str" else None
    if (
        isinstance(numbers, cst.ListComp | cst.GeneratorExp)
        and not numbers.for_in.ifs
        and numbers.for_in.inner_for_in is None
    ):
        element, target = numbers.elt, numbers.for_in.target
        if isinstance(element, cst.Call) and dotted(element.func) == "str" and len(element.args) == 1:
            return numbers.for_in.iter if element.args[0].value.deep_equals(target) else None
    return None


def _is_ids(text: str | None) -> bool:
    return text is not None and all(part.strip().isdigit() for part in text.split(","))
