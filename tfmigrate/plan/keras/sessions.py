"""Sessions that only carried settings: `K.set_session(tf.Session(config=...))` becomes calls of `tf.config`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars, is_false, is_true, keywords, text_of
from tfmigrate.plan.edits import Edit, Insert, Rank, Remove, Unwrap
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.strategy.late_devices import SessionLines
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module, dotted, is_docstring, only_statement, root_name, units_of
from tfmigrate.understand.reaching import assigned
from tfmigrate.understand.scopes import LexicalScope, Occurrence, Scopes

_SESSIONS = frozenset({"tensorflow.Session", "tensorflow.InteractiveSession"})
_CONFIG = "tensorflow.ConfigProto"
_OPTIONS = "tensorflow.GPUOptions"


def session_lines(facts: Facts, scopes: Scopes, tf: str) -> SessionLines:
    """The statements of every session that only carries settings."""
    found = {call: _Reading(facts, scopes, tf).session(call, unit) for call, unit in _set_sessions(facts)}
    return SessionLines({call: one.units(facts.module) for call, one in found.items() if not isinstance(one, str)})


def check(context: Context) -> Iterator[CallChange]:
    """Each `K.set_session(...)`: rewritten where all that the session carries is understood, else reported."""
    facts, scopes, tf, quote = context.facts, context.scopes, context.tf, context.quote
    raised = context.migration.raised
    for call, unit in _set_sessions(facts):
        reading = _Reading(facts, scopes, tf)
        found = reading.session(call, unit)
        if isinstance(found, str):
            yield CallChange(
                codes.SESSIONS,
                call,
                f"TensorFlow 2 has no sessions, and this one is not only settings ({found}): say what it configures "
                "with tf.config, and drop it",
                action="warn",
            )
            continue
        gpu = scopes.fresh("gpu", reading.scope_of(unit))
        lines = found.lines(tf, gpu, facts.module.tree.default_indent, quote)
        block = found.beside(unit, facts.module)
        edits: list[Edit] = (
            [Insert(raised.get(call, block[0]), "\n".join(lines), block, rank=Rank.RULE)] if lines else []
        )
        edits += [Remove(small) for small in found.removed] + [Unwrap(function, None) for function in found.functions]
        said = f"; {'; '.join(found.said)}" if found.said else ""
        where = ", before the strategy starts the GPUs" if call in raised else ""
        message = f"the session only carried settings, which tf.config takes{where}{said}"
        yield CallChange(codes.SESSIONS, call, message, edits[0], more=tuple(edits[1:]))


def _set_sessions(facts: Facts) -> Iterator[tuple[cst.Call, cst.SimpleStatementLine]]:
    for unit in facts.module.places:
        small = only_statement(unit)
        call = small.value if isinstance(small, cst.Expr) else None
        if isinstance(unit, cst.SimpleStatementLine) and isinstance(call, cst.Call):
            if names.canonical(_name(facts, call.func)) == "keras.backend.set_session":
                yield call, unit


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
    calls: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    removed: list[cst.BaseSmallStatement] = field(default_factory=list)
    functions: list[cst.FunctionDef] = field(default_factory=list)

    def lines(self, tf: str, gpu: str, indent: str, quote: str) -> list[str]:
        """The statements that take the session's place. Devices must be chosen before their memory is.

        `gpu`: a name that is free there.
        """
        found = []
        kind = f"{quote}GPU{quote}"
        gpus = f"{tf}.config.list_physical_devices({kind})"
        if self.visible is not None:
            ids = [part.strip() for part in self.visible.split(",") if part.strip()]
            listed = ", ".join(f"{gpus}[{number}]" for number in ids)
            found.append(f"{tf}.config.set_visible_devices([{listed}], {kind})")
            gpus = f"{tf}.config.get_visible_devices({kind})"
        if self.growth:
            found.append(f"for {gpu} in {gpus}:\n{indent}{tf}.config.experimental.set_memory_growth({gpu}, True)")
        return found + self.calls

    def units(self, module: Module) -> frozenset[cst.CSTNode]:
        """All units that go, whole."""
        lines = (unit for unit in module.places if isinstance(unit, cst.SimpleStatementLine))
        gone = {unit for unit in lines if all(small in self.removed for small in unit.body)}
        return frozenset({*gone, *self.functions})

    def beside(self, unit: cst.CSTNode, module: Module) -> tuple[cst.CSTNode, ...]:
        """The lines that go whole from the block of `unit`, itself included, in order."""
        block = module.places[unit].block
        lines = [
            one
            for one in module.places
            if module.places[one].block is block
            and isinstance(one, cst.SimpleStatementLine)
            and all(small in self.removed for small in one.body)
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

    def session(self, call: cst.Call, unit: cst.SimpleStatementLine) -> _Settings | str:
        """The settings of `set_session(...)`, or why it must stay."""
        self._found.removed.append(unit.body[0])
        self._block = self._module.places[unit].block
        try:
            if len(call.args) != 1 or has_stars(call):
                raise _NotOnlySettings("it is called with other arguments")
            self._session(call.args[0].value, self.scope_of(unit))
        except _NotOnlySettings as reason:
            return str(reason)
        return self._found

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
        if not isinstance(returned, cst.Return) or returned.value is None:
            raise _NotOnlySettings(f"{function.name.value}() does more than make it")
        before, block = len(self._found.removed), self._block
        self._block = function.body
        self._session(returned.value, inner)
        self._block = block
        gone = set(self._found.removed[before:])
        for line in body[:-1]:
            small = line.body if isinstance(line, cst.SimpleStatementLine) else (None,)
            if not all(one in gone or isinstance(one, cst.Pass) or is_docstring(one) for one in small):
                raise _NotOnlySettings(f"{function.name.value}() does more than make it")
        del self._found.removed[before:]
        self._found.functions.append(function)

    def _only_value(self, node: cst.Name, scope: LexicalScope) -> cst.BaseExpression:
        """What a name is bound to, when it is bound once and read only here; its assignment goes."""
        mentions = self._scopes.of_variable(node.value, scope)
        bindings = [mention for mention in mentions if mention.binds]
        if len(bindings) != 1 or len(mentions) != 2:
            raise _NotOnlySettings(f"`{node.value}` is used elsewhere too")
        return self._taken(bindings[0])

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
        if self._module.places[unit].block is not self._block:
            raise _NotOnlySettings("its settings depend on a condition")

    def _config(self, node: cst.BaseExpression, scope: LexicalScope) -> None:
        value = node
        if isinstance(node, cst.Name):
            mentions = self._scopes.of_variable(node.value, scope)
            bindings = [mention for mention in mentions if mention.binds]
            if len(bindings) != 1:
                raise _NotOnlySettings(f"`{node.value}` is not bound just once")
            value = self._taken(bindings[0])
            for mention in mentions:
                if mention.node is not node and not mention.binds:
                    self._assignment(mention)
        if not isinstance(value, cst.Call) or _name(self._facts, value.func) != _CONFIG or has_stars(value):
            raise _NotOnlySettings("its settings are unknown")
        for key, arg in keywords(value).items():
            made = _name(self._facts, arg.value.func) if isinstance(arg.value, cst.Call) else ""
            if key == "gpu_options" and isinstance(arg.value, cst.Call) and made == _OPTIONS:
                for name, option in keywords(arg.value).items():
                    self._set(f"gpu_options.{name}", option.value)
            else:
                self._set(key, arg.value)

    def _assignment(self, mention: Occurrence) -> None:
        """`config.gpu_options.allow_growth = True`"""
        for small in mention.unit.body if isinstance(mention.unit, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Assign) and len(small.targets) == 1:
                key = dotted(small.targets[0].target).partition(".")[2]
                if key and root_name(small.targets[0].target) is mention.node:
                    self._check_unconditional(mention.unit)
                    self._set(key, small.value)
                    self._found.removed.append(small)
                    return
        raise _NotOnlySettings("its settings are used elsewhere too")

    def _set(self, key: str, value: cst.BaseExpression) -> None:
        found, code = self._found, self._module.code(value)
        if key == "gpu_options.allow_growth" and (is_true(value) or is_false(value)):
            found.growth = is_true(value)
        elif key == "gpu_options.per_process_gpu_memory_fraction":
            found.growth = True
            found.said.append(f"the limit of {code} of the memory becomes growth on demand")
        elif key == "gpu_options.visible_device_list" and _is_ids(text_of(value)):
            found.visible = text_of(value)
        elif key == "log_device_placement" and (is_true(value) or is_false(value)):
            if is_true(value):
                found.calls.append(f"{self._tf}.debugging.set_log_device_placement(True)")
        elif key == "allow_soft_placement" and is_true(value):
            found.calls.append(f"{self._tf}.config.set_soft_device_placement(True)")
        elif key in ("intra_op_parallelism_threads", "inter_op_parallelism_threads") and isinstance(value, cst.Integer):
            found.calls.append(f"{self._tf}.config.threading.set_{key}({code})")
        else:
            raise _NotOnlySettings(f"`{key}` = {code} is not understood")


def _is_ids(text: str | None) -> bool:
    return text is not None and all(part.strip().isdigit() for part in text.split(","))
