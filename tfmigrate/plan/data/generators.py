"""Generator functions: does one that is started again yield the same batches again?"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import keywords
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.reaching import assigned, bindings_of, unpacked
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import dotted, last_word, root_name
from tfmigrate.understand.values import (
    FunctionValue,
    Instance,
    Literal,
    Made,
    Method,
    ModelObject,
    Opaque,
    Parameter,
    Value,
    function_of,
    options,
)
from tfmigrate.walk import calls_in, walk

KNOWN = frozenset({
    "numpy", "math", "os", "cv2", "PIL", "scipy", "skimage", "imageio", "json", "glob", "itertools", "collections",
    "copy", "keras", "tensorflow",
})  # fmt: skip
"""Libraries whose functions keep nothing from call to call, but for what `_KEEPS` names."""
_KEEPS = ("numpy.random", "tensorflow.random", "os.environ", "os.remove", "os.rename", "itertools.count")
_SEEDED = frozenset({"numpy.random.RandomState", "numpy.random.default_rng", "random.Random"})
_READING = frozenset({
    "astype", "reshape", "copy", "mean", "max", "min", "sum", "std", "any", "all", "transpose", "tolist", "flatten",
    "ravel", "squeeze", "argmax", "argmin", "nonzero", "strip", "split", "rstrip", "lstrip", "format", "join", "items",
    "keys", "values", "get", "index", "count", "startswith", "endswith", "lower", "upper", "replace", "encode",
    "decode", "todense", "toarray", "to_numpy",
})  # fmt: skip
"""Methods of arrays, texts and dicts that change nothing."""
_BUILTINS = frozenset(dir(builtins)) - {
    "next",
    "input",
    "open",
    "setattr",
    "delattr",
    "exec",
    "eval",
    "globals",
    "vars",
}
_ITERATORS = frozenset({"iter", "zip", "map", "filter", "open", "cycle", "chain", "enumerate"})
_VARYING = ("pad", "pad_sequences")
"""Functions that make batches of different sizes."""


def is_out_of_sight(name: str) -> bool:
    """Whether a qualified name is of a module that is neither the program's nor a library whose functions are known."""
    root = name.lstrip(".").split(".")[0]
    return "." in name and root not in KNOWN and root not in sys.stdlib_module_names


@dataclass(frozen=True)
class Restarts:
    """Reads generator functions of a program; `modules` are the facts of each of its modules."""

    modules: Mapping[Module, Facts]
    scopes_of: Callable[[Module], Scopes]

    def objection_to(self, maker: cst.Call, facts: Facts) -> str | None:
        """Why a call may not make a generator that can be made again; None if it does."""
        for arg in maker.args:
            for value in options(facts.values.get(arg.value, Literal(None))):
                if _may_keep_a_place(value):
                    return f"it gets `{facts.module.code(arg.value)}`, which may remember its position"
        for callee in options(facts.values.get(maker.func, Literal(None))):
            function = function_of(callee)
            problem = self.objection(function) if function is not None else "its definition is unknown"
            if problem is not None:
                return problem
        return None

    def objection(self, function: FunctionValue, read: set[cst.CSTNode] | None = None) -> str | None:
        """Why a function may not yield the same batches, of one size, each time it is started; None if it does.

        `read`: functions whose objections are known.
        """
        facts, node = self.modules.get(function.module), function.node
        if facts is None or not isinstance(node, cst.FunctionDef):
            return "what it calls is unknown"
        if node.decorators or node.asynchronous is not None:
            return "it is decorated"
        read = set() if read is None else read
        if node in read:
            return None
        read.add(node)
        receiver = receiver_of(node) if function.owner is not None else None
        return next(_Body(self, facts, node, read, receiver).objections(), None)


@dataclass(frozen=True)
class _Body:
    restarts: Restarts
    facts: Facts
    node: cst.FunctionDef
    read: set[cst.CSTNode]
    receiver: str | None = None
    """The name of its object, in a method."""

    def objections(self) -> Iterator[str]:
        for part in walk(self.node.body):
            if isinstance(part, cst.Global | cst.Nonlocal):
                yield "it keeps its position in a variable outside it"
            elif isinstance(part, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.Del):
                yield from self._stored(part.target)
            elif isinstance(part, cst.For):
                yield from self._loop(part)
            elif isinstance(part, cst.With | cst.Await | cst.ClassDef):
                yield "it uses something that may remember its position"
        for call in calls_in(self.node.body):
            yield from self._called(call)
        yield from self._kept_in_object()

    def _kept_in_object(self) -> Iterator[str]:
        """What a method reads of its object, methods that are read too left out."""
        callees = {call.func: self.facts.options(call.func) for call in calls_in(self.node.body)}
        called = {func for func, values in callees.items() if any(map(function_of, values))}
        for part in walk(self.node.body):
            if isinstance(part, cst.Attribute) and dotted(part.value) == self.receiver and part not in called:
                yield f"it reads `{self._code(part)}`, which may be changed before it is started again"
        for arg in (arg for call in calls_in(self.node.body) for arg in call.args):
            if isinstance(arg.value, cst.Name) and arg.value.value == self.receiver:
                yield f"it passes on `{self.receiver}`, which may be changed"

    def _stored(self, target: cst.BaseExpression) -> Iterator[str]:
        while isinstance(target, cst.Attribute | cst.Subscript):
            target = target.value
            if not isinstance(target, cst.Attribute | cst.Subscript) and not self._is_own(target):
                yield f"it changes `{self._code(target)}`, which was created outside it"

    def _loop(self, loop: cst.For) -> Iterator[str]:
        """A loop over something from outside: what has a length and places is a list, and can be begun again."""
        if isinstance(loop.iter, cst.Name | cst.Attribute) and not self._is_own(loop.iter):
            if not self._is_indexed(self._code(loop.iter)):
                yield f"it iterates over `{self._code(loop.iter)}`, which may remember its position"

    def _is_indexed(self, code: str) -> bool:
        """Whether the function takes the length of something, or an item out of it."""
        for part in walk(self.node.body):
            if isinstance(part, cst.Subscript) and self._code(part.value) == code:
                return True
            if isinstance(part, cst.Call) and isinstance(part.func, cst.Name) and part.func.value == "len":
                if part.args and self._code(part.args[0].value) == code:
                    return True
        return False

    def _called(self, call: cst.Call) -> Iterator[str]:
        name = self.facts.called(call)
        functions = [function for o in self.facts.options(call.func) if (function := function_of(o)) is not None]
        last = name.rpartition(".")[2] or (call.func.value if isinstance(call.func, cst.Name) else "")
        if last in _VARYING and "maxlen" not in keywords(call):
            yield "its batches may differ in size"
        elif name:
            if _may_remember(call, name):
                yield f"{name}() may keep a position or draw random numbers"
        elif functions:
            inner = (self.restarts.objection(function, self.read) for function in functions)
            yield from (objection for objection in inner if objection is not None)
        elif isinstance(call.func, cst.Name):
            if call.func.value not in _BUILTINS:
                yield f"what `{call.func.value}()` does is unknown"
        elif isinstance(call.func, cst.Attribute):
            if call.func.attr.value not in _READING and not self._is_own(call.func.value):
                yield f"what `{self._code(call.func)}()` does is unknown"

    def _is_own(self, node: cst.BaseExpression) -> bool:
        """Whether the function itself makes what an expression stands for: a call's result, a literal, a list."""
        if isinstance(node, cst.Attribute | cst.Subscript):
            return self._is_own(node.value)
        if not isinstance(node, cst.Name):
            return isinstance(node, cst.Call)
        scopes = self.restarts.scopes_of(self.facts.module)
        scope = scopes.holding(node)
        owner = scopes.owner(node.value, scope) if scope is not None else None
        if scope is None or owner is None or owner.node is not self.node:
            return False
        bindings = [binding for binding in bindings_of(node, scopes) if not _is_changed(binding)]
        return bool(bindings) and all(map(_is_made_at, bindings))

    def _code(self, node: cst.BaseExpression) -> str:
        root = root_name(node)
        return self.facts.module.code(node) if root is not None else "something"


def _may_remember(call: cst.Call, name: str) -> bool:
    """Whether a function of a library may keep a position, or draw numbers without a seed of its own."""
    if name in _SEEDED and call.args:
        return False
    keeps = any(name == keeper or name.startswith(keeper + ".") for keeper in _KEEPS)
    return keeps or name.split(".")[0] not in KNOWN


def _may_keep_a_place(value: Value) -> bool:
    """Iterators, objects with methods, and parameters of functions without a known caller."""
    if isinstance(value, Opaque) and isinstance(value.node, cst.Call):
        name = last_word(value.node.func)
        return name in _ITERATORS or name.startswith("flow")
    if isinstance(value, Method) and isinstance(value.receiver, Opaque) and value.receiver.settings:
        return False  # An option of the command line, or of a file: plain data.
    return isinstance(value, Made | Instance | Method | Parameter | ModelObject)


def _is_changed(binding: Occurrence) -> bool:
    """Whether a binding is `name += 1` or the like, which leaves whose object it is."""
    return isinstance(only_statement(binding.unit), cst.AugAssign)


def _is_made_at(binding: Occurrence) -> bool:
    """Whether a binding gives a name something new: not a parameter, and not a part of something else."""
    value = assigned(binding)
    if value is None:
        return isinstance(unpacked(binding), cst.Call)
    return not isinstance(value, cst.Name | cst.Attribute | cst.Subscript)
