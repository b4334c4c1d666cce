"""Text of a program that mentions a layer by a name that Keras gives by itself: `get_layer("dense_2")`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.blocks import is_docstring
from tfmigrate.understand.lifecycle import TRAINING, Facts
from tfmigrate.understand.reaching import bindings_of, explicit_of, value_of
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import FunctionValue, Method, Value
from tfmigrate.walk import calls_in, nodes_in, walk

_NAME = re.compile(r"(?:val_)?(?P<prefix>[a-z][a-z0-9_]*?)_(?P<number>\d+)(?P<rest>(?:[_/:].*)?)")
_METRIC = re.compile(r"_(loss|acc|[a-z][a-z0-9_]*)")
_PUT_TOGETHER = re.compile(r"(?:val_)?(?P<prefix>[a-z][a-z0-9_]*?)_(?:%[dis].*|\{[^}]*\}.*)?")
_IN_BRACES = re.compile(r"\{([a-z]\w*)(?:[!:][^}]*)?\}")
_DEEPEST = 8
_CHOOSERS = ("suggest_", "choice", "quniform", "uniform", "loguniform", "randint", "Int", "Float", "Choice")
"""What searches of settings call a value by a name of the script's own."""


@dataclass(frozen=True)
class Mention:
    """One text that says the name of a layer."""

    node: cst.CSTNode
    prefix: str
    """Of the kind: conv2d."""
    number: int | None
    """None where any may follow."""
    is_of_layer: bool = True
    """Whether giving the layer this name is enough; not so of a tensor's name, which is made of it."""


def mentions_in(facts: Facts, migration: Migration, prefixes: Set[str]) -> Iterator[Mention]:
    """The mentions in a module of layers of these kinds, which have no names of the program's own."""
    if not any(f"{prefix}_" in facts.module.text for prefix in prefixes):
        return
    given = migration.once(given_names)
    own = _OwnTexts(facts, migration)
    for node in facts.module.all_of(cst.SimpleString):
        for mention in _mentions(node, text_of(node) or "", prefixes):
            name = f"{mention.prefix}_{mention.number}"
            if name not in given and node not in own.nodes and not own.is_key(node):
                yield mention
    for formatted in facts.module.all_of(cst.FormattedString):
        first = formatted.parts[0] if formatted.parts else None
        text = first.value if isinstance(first, cst.FormattedStringText) else ""
        found = _PUT_TOGETHER.fullmatch(text) if len(formatted.parts) > 1 else None
        if found is not None and found["prefix"] in prefixes and formatted not in own.nodes:
            yield Mention(formatted, found["prefix"], None)


def _mentions(node: cst.SimpleString, text: str, prefixes: Set[str]) -> Iterator[Mention]:
    for part in (text, *_IN_BRACES.findall(text)):
        found = _NAME.fullmatch(part)
        if found is not None and found["prefix"] in prefixes:
            rest = found["rest"]
            is_of_layer = rest in ("", "/") or (_METRIC.fullmatch(rest) is not None and rest != "_input")
            yield Mention(node, found["prefix"], int(found["number"]), is_of_layer)
            return
    found = _PUT_TOGETHER.fullmatch(text)
    if found is not None and found["prefix"] in prefixes:
        yield Mention(node, found["prefix"], None)


def given_names(migration: Migration) -> frozenset[str]:
    """Every name that the program itself gives to something, a layer or anything else."""
    modules = migration.facts.modules.values()
    texts = (
        text_of(node)
        for facts in modules
        for node in _OwnTexts(facts, migration).given
        if isinstance(node, cst.SimpleString)
    )
    return frozenset(text for text in texts if text is not None)


def _looks_up(call: cst.Call) -> bool:
    """Whether a name is looked up, as in `get_layer(name=...)`, and not given."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value.startswith("get_")


def _names_given_in(calls: Iterable[cst.Call]) -> Iterator[str]:
    """The variables in what calls give something as its name."""
    for call in calls:
        name = keywords(call).get("name")
        if name is not None and not _looks_up(call):
            yield from (part.value for part in walk(name.value) if isinstance(part, cst.Name))


class _OwnTexts:
    """The texts of a module that say something else than the name of a layer: one that is given, a key of its own."""

    def __init__(self, facts: Facts, migration: Migration) -> None:
        self._facts = facts
        self._scopes = migration.scopes_of(facts.module)
        self._known: dict[cst.CSTNode, Set[str]] = {}

    @cached_property
    def given(self) -> frozenset[cst.CSTNode]:
        """What the program gives something as its name."""
        found: set[cst.CSTNode] = set()
        for call in self._facts.module.calls:
            name = keywords(call).get("name")
            if name is not None and not _looks_up(call):
                found.update(walk(name.value))
                for part in nodes_in(name.value, cst.Name):
                    found.update(node for value in self._assigned_to(part) for node in walk(value))
            for option in self._facts.options(call.func):
                found.update(part for value in self._taken_as_names(call, option) for part in walk(value))
        return frozenset(found)

    def _assigned_to(self, variable: cst.Name) -> Iterator[cst.BaseExpression]:
        """What a variable is bound to, wherever it is."""
        bindings = bindings_of(variable, self._scopes)
        yield from (value for binding in bindings if (value := value_of(binding)) is not None)

    @cached_property
    def nodes(self) -> frozenset[cst.CSTNode]:
        """Names that are given, settings that are named, comments."""
        found = set(self.given)
        for call in self._facts.module.calls:
            last = last_attribute(call.func)
            for arg in call.args:
                word = arg.keyword.value if arg.keyword is not None else ""
                if word in ("dest", "scope", "prefix", "key", "label", "title") and not _looks_up(call):
                    found.update(walk(arg.value))
            if last.startswith(_CHOOSERS) and call.args:
                found.update(walk(call.args[0].value))
        for line in self._facts.module.all_of(cst.SimpleStatementLine):
            if is_docstring(line) or (isinstance(line.body[0], cst.Expr) and text_of(line.body[0].value) is not None):
                found.update(walk(line))
        return frozenset(found)

    def _taken_as_names(self, call: cst.Call, callee: Value) -> Iterator[cst.BaseExpression]:
        """The arguments of a call that a function of the program uses as a name for something."""
        function = callee.function if isinstance(callee, Method) else callee
        if isinstance(function, FunctionValue):
            given = self._naming(function, frozenset())
            yield from (arg.value for word, arg in explicit_of(call, function) if word in given)

    def _naming(self, function: FunctionValue, outer: Set[cst.CSTNode]) -> Set[str]:
        """The parameters that a function uses as a name for something, or passes on to another that does."""
        if function.node in outer or len(outer) > _DEEPEST:
            return frozenset()
        if function.node not in self._known:
            calls = calls_in(function.node.body)
            given = set(_names_given_in(calls))
            for call in calls:
                for option in self._facts.options(call.func):
                    inner = option.function if isinstance(option, Method) else option
                    if isinstance(inner, FunctionValue):
                        words = self._naming(inner, outer | {function.node})
                        passed = (arg.value for word, arg in explicit_of(call, inner) if word in words)
                        given.update(
                            part.value for value in passed for part in walk(value) if isinstance(part, cst.Name)
                        )
            self._known[function.node] = given
        return self._known[function.node]

    def is_key(self, node: cst.SimpleString) -> bool:
        """Whether a text is a key of a dict of the program's own, which it writes and looks up itself."""
        text = text_of(node)
        return text in self._keys_written and text in self._keys_read

    @cached_property
    def _keys_written(self) -> frozenset[str | None]:
        """Keys of dicts that are written out, but for those that Keras may be given."""
        given: set[cst.CSTNode] = set()
        names: set[str] = set()
        for call in self._facts.module.calls:
            last = last_attribute(call.func)
            if last in TRAINING | {"compile", "evaluate", "predict", "load_weights"}:
                for arg in call.args:
                    given.update(walk(arg.value))
                    names.update(part.value for part in walk(arg.value) if isinstance(part, cst.Name))
        for assign in self._facts.module.all_of(cst.Assign):
            if any(isinstance(target.target, cst.Name) and target.target.value in names for target in assign.targets):
                given.update(walk(assign.value))
        for kind in (cst.Yield, cst.Return):
            for line in self._facts.module.all_of(kind):
                given.update(walk(line))
        dicts = (display for display in self._facts.module.all_of(cst.Dict) if display not in given)
        return frozenset(
            text_of(element.key)
            for display in dicts
            for element in display.elements
            if isinstance(element, cst.DictElement)
        )

    @cached_property
    def _keys_read(self) -> frozenset[str | None]:
        keys: set[str | None] = set()
        for subscript in self._facts.module.all_of(cst.Subscript):
            for element in subscript.slice:
                if isinstance(element.slice, cst.Index):
                    keys.add(text_of(element.slice.value))
        for call in self._facts.module.calls:
            if last_attribute(call.func) in ("get", "pop", "setdefault"):
                keys.update(text_of(arg.value) for arg in call.args[:1])
        return frozenset(keys)
