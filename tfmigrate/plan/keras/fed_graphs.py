"""Graphs that a class makes once and feeds in a session: `self.session.run(self.kept, feed_dict={self.x: rows})`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import attribute_of, dotted
from tfmigrate.understand.values import Instance
from tfmigrate.walk import values_returned, walk

_PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    "keras.backend.placeholder": ("shape", "ndim", "dtype"),
    "tensorflow.placeholder": ("dtype", "shape"),
    "tensorflow.compat.v1.placeholder": ("dtype", "shape"),
}
"""What makes one, and its parameters."""
_SESSIONS = frozenset({"keras.backend.get_session", "tensorflow.Session", "tensorflow.compat.v1.Session"})
_PHASE = "keras.backend.learning_phase"


@dataclass(frozen=True)
class Operation:
    """What is computed of what is fed, and kept on `self`."""

    kept: tuple[str, ...]
    """The attributes of its parts, in order."""
    assignment: cst.Assign
    """That sets them."""
    local: cst.Assign | None
    """`boxes, scores = f(...)`, where a method returns these to the assignment."""
    returned: cst.BaseExpression | None
    """What that method returns."""

    @property
    def value(self) -> cst.BaseExpression:
        return self.local.value if self.local is not None else self.returned or self.assignment.value

    @property
    def name(self) -> str:
        """Of the attribute that keeps the function."""
        return "_".join(self.kept)


@dataclass(frozen=True)
class Run:
    """A call of run() that fetches all of one operation."""

    call: cst.Call
    fetched: tuple[str, ...]
    several: bool
    """Whether it gives a list."""
    fed: Mapping[str, cst.BaseExpression]
    """By placeholder (`self.size`) and model (`self.model`), in order."""
    training: bool
    model: str | None = None
    """Whose whole output it fetches, instead of an operation."""


class FedGraph:
    """What a class, with those below it, keeps of a graph on `self`, and the calls that feed and fetch it."""

    def __init__(self, cls: cst.ClassDef, facts: Facts, migration: Migration) -> None:
        self._cls, self._migration = cls, migration
        self.facts_of: dict[cst.CSTNode, Facts] = dict.fromkeys(walk(cls), facts)
        """The nodes of the class and of those below it, and their modules."""
        for other in migration.facts.modules.values():
            for below in other.classes:
                own = below.closure.module is other.module and below.node is not cls
                if own and any(base.node is cls for base in below.ancestors()):
                    self.facts_of.update(dict.fromkeys(walk(below.node), other))
        self._nodes = list(self.facts_of)

    @cached_property
    def assigned(self) -> dict[str, cst.Assign]:
        """What is set once, on self."""
        found: dict[str, list[cst.Assign]] = {}
        for node in self._nodes:
            for target in node.targets if isinstance(node, cst.Assign) else ():
                for name in _attributes(target.target):
                    found.setdefault(name, []).append(node)  # type: ignore[arg-type]
        return {name: nodes[0] for name, nodes in found.items() if len(nodes) == 1 and len(nodes[0].targets) == 1}

    @cached_property
    def placeholders(self) -> dict[str, str]:
        """The type of each."""
        types = {name: self._type(node.value) for name, node in self.assigned.items()}
        return {name: dtype for name, dtype in types.items() if dtype is not None}

    def dtype(self, key: str) -> str | None:
        """The type of what is fed as `self.size`; None where that is the input of a model."""
        return self.placeholders.get(key.removeprefix("self."))

    @cached_property
    def sessions(self) -> list[str]:
        return [name for name, node in self.assigned.items() if self._called(node.value) in _SESSIONS]

    def _calls_of(self, method: str) -> list[cst.Call]:
        """`self.session.run(...)` for "run"."""
        return [
            node
            for node in self._nodes
            if isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and node.func.attr.value == method
            and attribute_of("self", node.func.value) in self.sessions
        ]

    @cached_property
    def runs(self) -> list[Run | None]:
        """None for a call that fetches or feeds otherwise."""
        return [self._run(call) for call in self._calls_of("run")]

    @cached_property
    def closings(self) -> list[cst.Expr]:
        """`self.session.close()`"""
        closing = set(self._calls_of("close"))
        return [node for node in self._nodes if isinstance(node, cst.Expr) and node.value in closing]

    @cached_property
    def operations(self) -> list[Operation]:
        """What the calls of run() fetch, as it is set."""
        fetched = {name for run in self.runs if run is not None for name in run.fetched}
        assignments = dict.fromkeys(self.assigned[name] for name in self.assigned if name in fetched)
        return [self._operation(assignment) for assignment in assignments]

    def _operation(self, assignment: cst.Assign) -> Operation:
        kept = tuple(_attributes(assignment.targets[0].target))
        method = self._method(assignment.value)
        returned = list(values_returned(method.body)) if method is not None else []
        if method is None or len(returned) != 1 or returned[0] is None:
            return Operation(kept, assignment, None, None)
        names = _names(returned[0])
        for node in walk(method.body):
            if isinstance(node, cst.Assign) and len(node.targets) == 1 and names:
                if _names(node.targets[0].target) == names and self._mentioned(method, names) == 2 * len(names):
                    return Operation(kept, assignment, node, returned[0])
        return Operation(kept, assignment, None, returned[0])

    def _method(self, value: cst.BaseExpression) -> cst.FunctionDef | None:
        """The method that `self.generate()` calls, where nothing else does."""
        name = attribute_of("self", value.func) if isinstance(value, cst.Call) and not value.args else None
        mentions = sum(1 for node in self._nodes if name is not None and attribute_of("self", node) == name)
        methods = [
            unit for unit in self._cls.body.body if isinstance(unit, cst.FunctionDef) and unit.name.value == name
        ]
        return methods[0] if mentions == 1 and len(methods) == 1 else None

    def _mentioned(self, method: cst.FunctionDef, names: Sequence[str]) -> int:
        return sum(isinstance(node, cst.Name) and node.value in names for node in walk(method))

    def _run(self, call: cst.Call) -> Run | None:
        """`self.session.run([self.boxes, self.scores], feed_dict={self.model.input: x, self.size: size})`."""
        named = named_arguments(call, ("fetches", "feed_dict"))
        if named is None or named.keys() != {"fetches", "feed_dict"}:
            return None
        fetches, feeds = named["fetches"].value, named["feed_dict"].value
        fetched, output = tuple(_attributes(fetches)), self._fed(fetches, "output")
        if not (fetched or output) or not isinstance(feeds, cst.Dict):
            return None
        fed: dict[str, cst.BaseExpression] = {}
        training = False
        for element in feeds.elements:
            if not isinstance(element, cst.DictElement):
                return None
            key = self._fed(element.key, "input")
            if key is not None:
                fed[key] = element.value
            elif self._called(element.key) == _PHASE and dotted(element.value) in ("True", "False"):
                training = dotted(element.value) == "True"
            elif self._called(element.key) == _PHASE and isinstance(element.value, cst.Integer):
                training = bool(element.value.evaluated_value)
            else:
                return None
        if output is not None:
            return Run(call, (), False, fed, training, output) if {*fed} == {output} and not training else None
        return Run(call, fetched, isinstance(fetches, cst.List | cst.Tuple), fed, training)

    def _fed(self, node: cst.BaseExpression, end: str) -> str | None:
        """What an expression is of what is fed: a placeholder, or the `input` or `output` of a model."""
        if attribute_of("self", node) in self.placeholders:
            return dotted(node)
        if isinstance(node, cst.Call) and len(node.args) == 1 and isinstance(node.func, cst.Attribute):
            first = node.args[0].value
            of_first = isinstance(first, cst.Integer) and first.evaluated_value == 0
            model = node.func.value if of_first and node.func.attr.value == f"get_{end}_at" else None
        else:
            model = node.value if isinstance(node, cst.Attribute) and node.attr.value == end else None
        return (dotted(model) or None) if model is not None else None

    def reads(self, operation: Operation) -> dict[cst.BaseExpression, str]:
        """What an operation reads of what is fed."""
        reads: dict[cst.BaseExpression, str] = {}
        for part in walk(operation.value):
            key = self._fed(part, "output") if isinstance(part, cst.BaseExpression) else None
            if key is not None and not any(part in set(walk(outer)) for outer in reads):
                assert isinstance(part, cst.BaseExpression)
                reads[part] = key
        return reads

    def keeps_to_itself(self, runs: Sequence[Run], operations: Sequence[Operation]) -> bool:
        """Whether every part of the graph is read where it is fed or fetched, and nowhere else."""
        kept = {name for operation in operations for name in operation.kept}
        parts = {*self.placeholders, *self.sessions, *kept}
        if any(run.model is None and run.fetched not in {one.kept for one in operations} for run in runs):
            return False
        known = {
            *(part for operation in operations for part in walk(operation.value)),
            *(part for run in runs for part in walk(run.call)),
            *(part for closing in self.closings for part in walk(closing)),
            *(part for name in parts if name in self.assigned for part in walk(self.assigned[name].targets[0])),
        }
        if not parts <= self.assigned.keys():
            return False
        if any(attribute_of("self", node) in parts for node in self._nodes if node not in known):
            return False
        return not self._is_read_elsewhere(parts)

    def _is_read_elsewhere(self, parts: Set[str]) -> bool:
        """Whether a class below this one, or other code that has an object of it, reads a part of the graph."""
        for facts in self._migration.facts.modules.values():
            for node in facts.module.all_of(cst.Attribute):
                if node.attr.value not in parts or node in self.facts_of:
                    continue
                if any(
                    isinstance(option, Instance) and any(base.node is self._cls for base in option.cls.ancestors())
                    for option in facts.options(node.value)
                ):
                    return True
        return False

    def changes_later(self, operation: Operation) -> bool:
        """Whether something that the operation reads may be another thing by the time that the function is called."""
        start = operation.value
        names = variables(operation.value)
        attributes = {name for node in walk(operation.value) if (name := attribute_of("self", node)) is not None}
        before = True
        for node, method in self.methods.items():
            before = before and node is not start
            here = method is self.methods[start]
            for target in node.targets if isinstance(node, cst.Assign) else ():
                if here and not before and any(name in names for name in _names(target.target)):
                    return True
                if not (before if here else method.name.value == "__init__"):
                    if any(name in attributes for name in _attributes(target.target)):
                        return True
        return False

    @cached_property
    def methods(self) -> dict[cst.CSTNode, cst.FunctionDef]:
        """The method that each node of the class stands in, in order."""
        classes = [node for node in self._nodes if isinstance(node, cst.ClassDef)]
        methods = [unit for cls in classes for unit in cls.body.body if isinstance(unit, cst.FunctionDef)]
        return {node: method for method in methods for node in walk(method)}

    def _type(self, value: cst.BaseExpression) -> str | None:
        """The dtype of the placeholder that a value is."""
        parameters = _PLACEHOLDERS.get(self._called(value))
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

    def _called(self, value: cst.BaseExpression) -> str:
        """What a call calls, by its full name."""
        return self.facts_of[value].canonical(value.func) if isinstance(value, cst.Call) else ""


def variables(node: cst.CSTNode) -> set[str]:
    """The variables that an expression reads."""
    nodes = list(walk(node))
    ends: set[cst.CSTNode | None] = {part.attr for part in nodes if isinstance(part, cst.Attribute)}
    ends |= {part.keyword for part in nodes if isinstance(part, cst.Arg)}
    return {part.value for part in nodes if isinstance(part, cst.Name) and part not in ends}


def _attributes(node: cst.BaseExpression) -> list[str]:
    """["x", "y"] for `self.x, self.y`; empty where anything else is among them."""
    names = [attribute_of("self", part) for part in _parts(node)]
    return [name for name in names if name is not None] if None not in names else []


def _names(node: cst.BaseExpression) -> list[str]:
    """["x", "y"] for `x, y`; empty where anything else is among them."""
    parts = _parts(node)
    return [p.value for p in parts if isinstance(p, cst.Name)] if all(isinstance(p, cst.Name) for p in parts) else []


def _parts(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [element.value for element in node.elements] if isinstance(node, cst.Tuple | cst.List) else [node]
