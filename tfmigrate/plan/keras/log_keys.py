"""The keys by which a module asks the logs of a training, and the file names of its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.change.paths import Paths
from tfmigrate.plan.keras.handed_on import Construction
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import LexicalScope, Scopes
from tfmigrate.understand.syntax import dotted, index_of, last_attribute
from tfmigrate.understand.values import ClassValue
from tfmigrate.walk import walk


def _is_history(node: cst.BaseExpression) -> bool:
    return last_attribute(node) == "history"


class LogKeys:
    """String literals that are certainly keys of a training log, and the paths of checkpoints."""

    def __init__(self, facts: Facts, scopes: Scopes) -> None:
        self._facts, self._scopes = facts, scopes
        self.found: list[cst.SimpleString] = []
        self.joined: list[cst.BinaryOperation | cst.Call] = []
        """Names that are put together with `+`, `%` or format()."""
        self.paths: list[cst.BaseExpression] = []
        self.reads: list[tuple[cst.SimpleString, cst.BaseExpression, cst.BaseExpression]] = []
        """Keys with the log that they are looked for in, and the expression that looks."""
        self._kept = set(self._histories())
        for node in facts.module.all_of(cst.Call, cst.Subscript, cst.Comparison):
            if isinstance(node, cst.Call):
                self._call(node)
            elif isinstance(node, cst.Subscript):
                self._subscript(node)
            else:
                self._comparison(node)

    def _comparison(self, node: cst.Comparison) -> None:
        """`'val_acc' in history.history`"""
        (target, *others) = node.comparisons
        if not others and isinstance(target.operator, cst.In | cst.NotIn) and self._is_log(target.comparator):
            self._read(node.left, target.comparator, node)

    def _call(self, node: cst.Call) -> None:
        known = self._facts.canonical(node.func)
        own = isinstance(self._facts.values.get(node.func), ClassValue)
        monitor = keywords(node).get("monitor")
        if monitor is not None and (known.startswith("keras.callbacks.") or own):
            self._add(monitor.value)
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "get" and node.args:
            if self._is_log(node.func.value):
                self._read(node.args[0].value, node.func.value, node)

    def begins_with(self, made: Construction, paths: Paths) -> None:
        """What a callback that watches something is given, as far as that stands in this module."""
        watched, path = made.given("monitor"), made.given("filepath")
        if watched is not None and watched.node is not None and watched.facts.module in paths.facts:
            for literal in paths.along(made.through).wholes(watched.node, watched.facts.module):
                if literal.module is self._facts.module:
                    self._add(literal.node)
            if watched.facts is self._facts:
                self._add(watched.node)
        if path is not None and path.node is not None and path.facts is self._facts and path.node not in self.paths:
            self.paths.append(path.node)

    def _subscript(self, node: cst.Subscript) -> None:
        index = index_of(node)
        if index is not None and self._is_log(node.value):
            self._read(index, node.value, node)

    def _read(self, key: cst.BaseExpression, log: cst.BaseExpression, node: cst.BaseExpression) -> None:
        self._add(key)
        if isinstance(key, cst.SimpleString):
            self.reads.append((key, log, node))
        elif isinstance(key, cst.Attribute) and dotted(key):
            self._attribute(key)

    def _attribute(self, key: cst.Attribute) -> None:
        """`logs.get(self.monitor)`: what the class sets it to, and what it compares it with."""
        module, read = self._facts.module, dotted(key)
        for cls in module.all_of(cst.ClassDef):
            parts = [*walk(cls.body)]
            if key not in parts:
                continue
            set_ = [part.value for part in parts if isinstance(part, cst.Assign) and _sets(part, read)]
            named = {value.value for value in set_ if isinstance(value, cst.Name)}
            for part in parts:
                if isinstance(part, cst.Param) and part.name.value in named and part.default is not None:
                    set_.append(part.default)
                elif isinstance(part, cst.Comparison) and _asks_which(part):
                    sides = (part.left, part.comparisons[0].comparator)
                    if any(dotted(side) in {read, *named} for side in sides):
                        set_ += [side for side in sides if isinstance(side, cst.SimpleString)]
            for value in set_:
                self._add(value)

    def _histories(self) -> Iterator[tuple[str, LexicalScope | None]]:
        """The variables to which a `.history` is assigned. A History, which one may hold before, takes no index."""
        for node in self._facts.module.all_of(cst.Assign):
            if _is_history(node.value):
                for target in node.targets:
                    if isinstance(target.target, cst.Name):
                        yield self._scopes.variable(target.target)

    def _is_log(self, node: cst.BaseExpression) -> bool:
        """`logs`, as every callback method calls its argument, `anything.history`, or a variable that keeps one."""
        if isinstance(node, cst.Name):
            return node.value == "logs" or (bool(self._kept) and self._scopes.variable(node) in self._kept)
        return _is_history(node)

    def _add(self, node: cst.BaseExpression, seen: Set[cst.CSTNode] = frozenset()) -> None:
        node = settled(node, self._scopes)
        if isinstance(node, cst.SimpleString):
            if node not in self.found:
                self.found.append(node)
        elif isinstance(node, cst.IfExp) and node not in seen:
            self._add(node.body, {node, *seen})
            self._add(node.orelse, {node, *seen})
        elif isinstance(node, cst.BinaryOperation) or (isinstance(node, cst.Call) and _is_format(node)):
            if node not in self.joined and any(isinstance(part, cst.SimpleString) for part in walk(node)):
                self.joined.append(node)

    def parts(self, node: cst.BaseExpression, seen: Set[cst.CSTNode] = frozenset()) -> Iterator[cst.BaseExpression]:
        """What a path is joined from with `+`, `%`, os.path.join() or by standing side by side, in order."""
        node = settled(node, self._scopes)
        if node in seen:
            return
        seen = {node, *seen}
        if isinstance(node, cst.ConcatenatedString) or (
            isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add)
        ):
            yield from self.parts(node.left, seen)
            yield from self.parts(node.right, seen)
        elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
            yield from self.parts(node.left, seen)  # which fields in braces are nothing to
        elif isinstance(node, cst.Call) and self._facts.called(node) == "os.path.join":
            for arg in node.args:
                yield from self.parts(arg.value, seen)
        else:
            yield node

    def text(self, node: cst.BaseExpression, seen: Set[cst.CSTNode] = frozenset()) -> str | None:
        """What an expression of literals, and of names bound once to them, comes to; None where it is not known.

        `seen`: what is made of it, which may be made of itself.
        """
        node = settled(node, self._scopes)
        if isinstance(node, cst.SimpleString):
            return text_of(node)
        if node in seen:
            return None
        seen = {node, *seen}
        if isinstance(node, cst.BinaryOperation):
            left, right = self.text(node.left, seen), self.text(node.right, seen)
            if left is not None and right is not None:
                if isinstance(node.operator, cst.Add):
                    return left + right
                if isinstance(node.operator, cst.Modulo) and left.count("%") == left.count("%s") == 1:
                    return left.replace("%s", right)
        if isinstance(node, cst.Call) and _is_format(node) and isinstance(node.func, cst.Attribute):
            parts = [self.text(arg.value, seen) if arg.keyword is None else None for arg in node.args]
            pattern = self.text(node.func.value, seen)
            if pattern is not None and pattern.count("{") == pattern.count("{}") == len(parts) and None not in parts:
                return pattern.format(*parts)
        return None


def _sets(statement: cst.Assign, name: str) -> bool:
    return any(dotted(target.target) == name for target in statement.targets)


def _asks_which(node: cst.Comparison) -> bool:
    """`a == b`; `'acc' in name` asks for a part of the name, which is one of the new name too."""
    return len(node.comparisons) == 1 and isinstance(node.comparisons[0].operator, cst.Equal | cst.NotEqual)


def _is_format(node: cst.Call) -> bool:
    return last_attribute(node.func) == "format"
