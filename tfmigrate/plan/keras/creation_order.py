"""The number that Keras gave each layer without a name: how many of its kind a program had made before it."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Collection, Iterator, Mapping, Set
from contextlib import contextmanager

import libcst as cst

from tfmigrate.plan.keras.unnamed_layers import is_unnamed, kind_of, makes_input, unnamed_layers
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.unreached import returns_early
from tfmigrate.understand.values import ClassValue, FunctionValue, Method, Opaque, Symbol, Value
from tfmigrate.walk import children, walk

NAMED_IN_APPLICATIONS = frozenset({"Dense", "Embedding", "LSTM", "GRU", "TimeDistributed", "Bidirectional"})
"""Kinds of which no network of keras_applications 1.0.8 makes a layer without a name."""
_MAKE_NO_LAYERS = frozenset(sys.stdlib_module_names) | {
    "PIL", "absl", "albumentations", "cv2", "gym", "h5py", "imageio", "imgaug", "joblib", "keras", "librosa",
    "matplotlib", "nibabel", "nltk", "numpy", "pandas", "requests", "scipy", "seaborn", "six", "skimage", "sklearn",
    "tensorflow", "tf_keras", "tqdm", "yaml", "ConfigParser", "Queue", "cPickle", "urllib2",
}  # fmt: skip
"""Packages whose functions make no Keras layer, beside those of Keras itself that are known."""
_DEEPEST = 24
_MOST = 300_000
"""So many nodes are looked at, a second or two; a program that takes more is not counted."""


def numbers_of_layers(migration: Migration) -> Mapping[str, Mapping[cst.Call, int]]:
    """By their kind, the numbers that standalone Keras gave the layers without names, from 1: of those kinds of which
    each layer is surely made once, after just so many others, whichever file of the program is run."""
    unnamed = migration.once(unnamed_layers)
    order = _Order(migration, frozenset(unnamed))
    for module in migration.facts.modules:
        order.run(module)
    if order.left < 0:
        return {}
    certain: dict[str, Mapping[cst.Call, int]] = {}
    for kind, calls in unnamed.items():
        found = {call: order.numbers.get(call, {None}) for call in calls}
        numbers = {call: number for call, (number, *more) in found.items() if number is not None and not more}
        if len(numbers) == len(calls):
            certain[kind] = numbers
    return certain


class _Order:
    """Follows the program from the beginning of a module, through the functions that it calls, and counts."""

    def __init__(self, migration: Migration, kinds: Set[str]) -> None:
        self.numbers: dict[cst.Call, set[int | None]] = {}
        self.left = _MOST
        self._facts = migration.facts
        self._kinds = kinds
        self._made: dict[str, int | None] = {}
        """How many of a kind there are; None: nobody knows."""
        self._acts = 0
        """How often that was changed, or might have been."""
        self._idle: set[cst.FunctionDef] = set()
        """Functions that were followed to their end and changed nothing."""
        self._calling: set[cst.CSTNode] = set()
        """What there is a call in; nothing else makes a layer."""
        for module in self._facts.modules:
            _add_calling(module.tree, self._calling)
        self._repeated = 0
        self._active: list[cst.CSTNode] = []
        self._begun: set[Module] = set()
        self._main: Module | None = None
        self._called = {call.func for facts in self._facts.modules.values() for call in facts.module.calls}
        self._handed_on = self._names_handed_on()

    def run(self, module: Module) -> None:
        self._made = {}
        self._begun = set()
        self._main = module
        self._load(module)

    def _load(self, module: Module) -> None:
        if module in self._begun:
            return
        self._begun.add(module)
        for here, other in sorted(self._facts.imports, key=lambda pair: pair[1].path):
            if here is module:
                self._load(other)
        self._visit(module.tree, self._facts.modules[module])

    def _names_handed_on(self) -> frozenset[str]:
        """Names that are mentioned otherwise than by calling them: what takes such a function may call it, too."""
        named: set[str] = set()
        for module in self._facts.modules:
            defined = {node.name for node in module.all_of(cst.FunctionDef)}
            imported = {
                part for kind in (cst.Import, cst.ImportFrom) for line in module.all_of(kind) for part in walk(line)
            }
            called = {func.attr if isinstance(func, cst.Attribute) else func for func in self._called}
            for node in module.all_of(cst.Name):
                if node not in defined and node not in imported and node not in called:
                    named.add(node.value)
        return frozenset(named)

    # ---- what is executed, in the order of evaluation ----

    def _visit(self, node: cst.CSTNode, facts: Facts) -> None:
        if isinstance(node, cst.FunctionDef) or self.left < 0 or node not in self._calling:
            return
        self.left -= 1
        if isinstance(node, cst.If | cst.IfExp):
            self._visit(node.test, facts)
            if isinstance(node, cst.If) and _asks_for_main(node.test):
                arm = node.body if facts.module is self._main else node.orelse
                if arm is not None:
                    self._visit(arm, facts)
                return
            self._either([node.body, node.orelse], facts)
        elif isinstance(node, cst.BooleanOperation):
            self._visit(node.left, facts)
            self._either([node.right, None], facts)
        elif isinstance(node, cst.For | cst.While):
            self._visit(node.iter if isinstance(node, cst.For) else node.test, facts)
            with self._any_number_of_times():
                self._visit(node.body, facts)
            if node.orelse is not None:
                self._visit(node.orelse, facts)
        elif isinstance(node, cst.Lambda | cst.BaseComp):
            with self._any_number_of_times():
                self._descend(node, facts)
        elif isinstance(node, cst.Try | cst.TryStar) and node.handlers:
            with self._perhaps():
                self._descend(node, facts)
        elif isinstance(node, cst.Call):
            self._visit(node.func, facts)
            for arg in node.args:
                self._visit(arg.value, facts)
            self._call(node, facts)
        else:
            self._descend(node, facts)

    def _descend(self, node: cst.CSTNode, facts: Facts) -> None:
        for child in children(node):
            self._visit(child, facts)

    def _either(self, arms: Collection[cst.CSTNode | None], facts: Facts) -> None:
        before, after = self._made, []
        for arm in arms:
            self._made = dict(before)
            if arm is not None:
                self._visit(arm, facts)
            if arm is None or not facts.module.leaves(arm):
                after.append(self._made)
        self._made = _joined(after) if after else before

    @contextmanager
    def _perhaps(self) -> Iterator[None]:
        """What is made there may not be."""
        before = dict(self._made)
        yield
        self._made = _joined([before, self._made])

    @contextmanager
    def _any_number_of_times(self) -> Iterator[None]:
        self._repeated += 1
        with self._perhaps():
            yield
        self._repeated -= 1

    # ---- what a call makes ----

    def _call(self, node: cst.Call, facts: Facts) -> None:
        kind = kind_of(node, facts)
        if kind:
            self._make(node, kind, is_unnamed(node, facts))
            return
        known = facts.canonical(node.func)
        if known == "keras.backend.clear_session":
            self._acts += 1
            self._made = {}
        elif known == names.MULTI_GPU_MODEL:
            self._lose({"Lambda"})
        elif known.startswith("keras.applications"):
            self._lose(self._kinds - NAMED_IN_APPLICATIONS - ({"Input"} if not makes_input(node, facts) else set()))
        else:
            self._enter(facts.options(node.func))

    def _make(self, node: cst.Call, kind: str, unnamed: bool | None) -> None:
        if unnamed is None:
            self._lose({kind})
        if unnamed is not False:
            before = self._made.get(kind, 0)
            number = None if before is None else before + 1
            self._acts += 1
            self._made[kind] = number
            self.numbers.setdefault(node, set()).add(None if self._repeated else number)

    def _lose(self, kinds: Set[str]) -> None:
        self._acts += 1
        self._made.update(dict.fromkeys(kinds))

    def _enter(self, callees: Collection[Value]) -> None:
        self.left -= len(callees)
        before = self._made
        making = [callee for callee in callees if self._may_make(callee)]
        after = [before] if len(making) < len(callees) else []
        for callee in ordered(making):
            self._made = dict(before)
            self._apply(callee)
            after.append(self._made)
        self._made = _joined(after) if making else before

    def _may_make(self, callee: Value) -> bool:
        """Asked before anything is done for it: what is called may be one of a hundred, of which few make a layer."""
        if isinstance(callee, Symbol):
            return callee.name.split(".")[0] not in _MAKE_NO_LAYERS
        if isinstance(callee, Opaque):
            return callee.origin.startswith("the name ") and not hasattr(builtins, callee.origin.split()[-1])
        defined = _defined(callee)
        return defined is not None and defined[0] not in self._idle

    def _apply(self, callee: Value) -> None:
        defined = _defined(callee)
        if defined is None or defined[0] in self._active or len(self._active) > _DEEPEST:
            self._lose(self._kinds)
        else:
            self._body(defined[0], self._facts.modules[defined[1]])

    def _body(self, function: cst.FunctionDef, facts: Facts) -> None:
        acts = self._acts
        before = dict(self._made)
        hidden = function.name.value in self._handed_on or bool(function.decorators) or returns_early(function)
        self._active.append(function)
        self._repeated += function.name.value in self._handed_on
        self._visit(function.body, facts)
        self._repeated -= function.name.value in self._handed_on
        self._active.pop()
        if self._acts == acts and self.left >= 0:
            self._idle.add(function)
        if hidden:
            self._made = _joined([before, self._made])


def _defined(callee: Value) -> tuple[cst.FunctionDef, Module] | None:
    """The function of the program that is executed where the callee is called, and its module."""
    function: Value | None = callee
    if isinstance(callee, ClassValue):
        function = callee.lookup("__init__")
    elif isinstance(callee, Method):
        function = callee.function
    if isinstance(function, FunctionValue) and isinstance(function.node, cst.FunctionDef):
        return function.node, function.module
    return None


def _add_calling(node: cst.CSTNode, found: set[cst.CSTNode]) -> bool:
    """Adds what there is a call in: of a node and all below it. Whether there is one."""
    inside = [_add_calling(child, found) for child in children(node)]
    if isinstance(node, cst.Call) or any(inside):
        found.add(node)
        return True
    return False


def _joined(states: Collection[Mapping[str, int | None]]) -> dict[str, int | None]:
    """What is the same in all states."""
    kinds = {kind for state in states for kind in state}
    counts = {kind: {state.get(kind, 0) for state in states} for kind in kinds}
    return {kind: next(iter(count)) if len(count) == 1 else None for kind, count in counts.items()}


def _asks_for_main(test: cst.BaseExpression) -> bool:
    return isinstance(test, cst.Comparison) and isinstance(test.left, cst.Name) and test.left.value == "__name__"
