"""`self.session.run(self.kept, feed_dict={self.boxes: found})`: an operation of the graph that a class feeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.edits import Remove, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import attribute_of
from tfmigrate.walk import walk
from tfmigrate.written import Written

_PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "keras.backend.placeholder": ("shape", "ndim", "dtype"),
    "tensorflow.placeholder": ("dtype", "shape"),
    "tensorflow.compat.v1.placeholder": ("dtype", "shape"),
}
"""What makes one, and its parameters."""
_SESSIONS = frozenset({"keras.backend.get_session", "tensorflow.Session", "tensorflow.compat.v1.Session"})


@dataclass(frozen=True)
class _Run:
    """A call of run() of one operation."""

    call: cst.Call
    operation: str
    fed: Mapping[str, cst.BaseExpression]


def check(context: Context) -> Iterator[CallChange]:
    """The operation becomes a function of what it is fed, where a class does nothing else with the parts of it."""
    for node in context.facts.module.tree.body:
        if isinstance(node, cst.ClassDef):
            yield from _Fed(node, context).changes()


class _Fed:
    def __init__(self, cls: cst.ClassDef, context: Context) -> None:
        self._context = context
        self._nodes = list(walk(cls))
        self._set: dict[str, cst.Assign] = {}
        """What is set once, on self."""
        twice: set[str] = set()
        for node in self._nodes:
            if isinstance(node, cst.Assign) and len(node.targets) == 1:
                name = attribute_of("self", node.targets[0].target)
                if name in self._set:
                    twice.add(name)
                elif name is not None:
                    self._set[name] = node
        for name in twice:
            del self._set[name]

    def changes(self) -> Iterator[CallChange]:
        facts = self._context.facts
        placeholders = {name: self._placeholder(node.value, facts) for name, node in self._set.items()}
        fed = {name: dtype for name, dtype in placeholders.items() if dtype is not None}
        sessions = {name for name, node in self._set.items() if _called(node.value, facts) in _SESSIONS}
        runs = [run for run in map(self._run, self._nodes) if run is not None] if fed else []
        operations = {run.operation for run in runs}
        if not runs or not operations <= self._set.keys() or any(run.fed.keys() - fed.keys() for run in runs):
            return
        read = {
            name: [part for part in walk(self._set[name].value) if attribute_of("self", part) in fed]
            for name in operations
        }
        if any(run.fed.keys() != {attribute_of("self", part) for part in read[run.operation]} for run in runs):
            return
        known = {
            *(part for parts in read.values() for part in parts),
            *(part for run in runs for part in walk(run.call)),
            *(self._set[name].targets[0].target for name in {*fed, *sessions, *operations}),
        }
        unread = [attribute_of("self", node) for node in self._nodes if node not in known]
        if any(name in fed or name in sessions or name in operations for name in unread):
            return
        for name in sorted(operations):
            yield from self._as_function(name, fed, read[name], [run for run in runs if run.operation == name])
        for name in [*fed, *sorted(sessions)]:
            message = "TensorFlow 2 has neither placeholders nor sessions; what is fed is an argument now"
            yield CallChange(codes.FED_OPERATIONS, self._set[name], message, Remove(self._set[name]))

    def _as_function(
        self, name: str, fed: Mapping[str, str], read: list[cst.CSTNode], runs: list[_Run]
    ) -> Iterator[CallChange]:
        taken = [parameter for parameter in fed if any(attribute_of("self", part) == parameter for part in read)]
        tf, quote = self._context.tf, self._context.quote
        parts = {}
        for part in read:
            own = attribute_of("self", part)
            assert isinstance(part, cst.BaseExpression)
            assert own is not None
            parts[part] = Written.of(f"{tf}.cast({own}, {quote}{fed[own]}{quote})")
        value = self._set[name].value
        function = Written.of(f"lambda {', '.join(taken)}: ", Written.at(value, parts).apart())
        message = "TensorFlow 2 has no sessions: the operation is a function of what it was fed"
        yield CallChange(codes.FED_OPERATIONS, value, message, Replace(value, function.code))
        for run in runs:
            arguments = Written.joined([Written.at(run.fed[placeholder]) for placeholder in taken], ", ")
            called = Written.of(f"self.{name}(", arguments, ").numpy()")
            yield CallChange(codes.FED_OPERATIONS, run.call, message, Replace(run.call, called.code))

    def _placeholder(self, value: cst.BaseExpression, facts: Facts) -> str | None:
        """The dtype of the placeholder that a value is."""
        parameters = _PLACEHOLDERS.get(_called(value, facts))
        if parameters is None or not isinstance(value, cst.Call):
            return None
        named = named_arguments(value, parameters)
        if named is None or not named.keys() <= {"shape", "dtype", "name", "ndim"}:
            return None
        if "dtype" not in named:
            return "float32"
        dtype = named["dtype"].value
        if isinstance(dtype, cst.SimpleString):
            return str(dtype.evaluated_value)
        return dtype.attr.value if isinstance(dtype, cst.Attribute) else None

    def _run(self, node: cst.CSTNode) -> _Run | None:
        """`self.session.run(self.operation, feed_dict={self.placeholder: value})`."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.func.attr.value != "run":
            return None
        session = self._set.get(attribute_of("self", node.func.value) or "")
        if session is None or _called(session.value, self._context.facts) not in _SESSIONS:
            return None
        named = named_arguments(node, ("fetches", "feed_dict"))
        if named is None or named.keys() != {"fetches", "feed_dict"}:
            return None
        operation, feeds = attribute_of("self", named["fetches"].value), named["feed_dict"].value
        if operation is None or not isinstance(feeds, cst.Dict):
            return None
        fed = {}
        for element in feeds.elements:
            name = attribute_of("self", element.key) if isinstance(element, cst.DictElement) else None
            if name is None:
                return None
            fed[name] = element.value
        return _Run(node, operation, fed)


def _called(value: cst.BaseExpression, facts: Facts) -> str:
    """What a call calls, by its full name."""
    return facts.canonical(value.func) if isinstance(value, cst.Call) else ""
