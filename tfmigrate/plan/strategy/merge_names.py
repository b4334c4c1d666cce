"""The template and the parallel model become one object: which of the two names stays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.understand.lifecycle import Wrap
from tfmigrate.understand.program import Module, Unit, dotted, only_statement, root_name, units_of
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.scopes import LexicalScope, Occurrence, Scopes
from tfmigrate.walk import walk


@dataclass(frozen=True)
class Alias:
    """`target = value`, both plain names, once the wrap in it is gone."""

    statement: cst.Assign
    unit: Unit
    target: str
    value: str
    scope: LexicalScope


@dataclass(frozen=True)
class Merge:
    """The outcome: statements that became `x = x`, and mentions of a name that read another one now."""

    removed: tuple[cst.Assign, ...] = ()
    renamed: tuple[tuple[cst.Name, str], ...] = ()
    replaced: tuple[tuple[cst.BaseExpression, str], ...] = ()
    """Choices between the two, `parallel or model`, each with the name of what is left to choose."""
    unpacked: tuple[tuple[cst.Assign, tuple[cst.BaseExpression, ...]], ...] = ()
    """`parallel, plain = spread(model)`, with those of the targets that must be bound to the model."""
    brief: frozenset[cst.Name] = frozenset()
    """Those of `renamed` whose name means something else before and after."""

    def named(self, node: cst.BaseExpression) -> str:
        """A name or attribute with the name that remains: a variable of another function may have the same name."""
        root = root_name(node)
        head, dot, rest = dotted(node).partition(".")
        return (dict(self.renamed).get(root, head) if root is not None else head) + dot + rest


def wrapped_assignment(wrap: Wrap) -> cst.Assign | None:
    """The assignment whose value is this wrap, or a conditional of the wrap and its own template."""
    unit = wrap.site.unit
    if wrap.together is not None or not isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return None
    for small in unit.body:
        if isinstance(small, cst.Assign) and len(small.targets) == 1:
            value = small.value
            if value is wrap.call:
                return small
            if isinstance(value, cst.IfExp) and wrap.call in (value.body, value.orelse):
                other = value.orelse if value.body is wrap.call else value.body
                if wrap.template_node is not None and other.deep_equals(wrap.template_node):
                    return small
    return None


def _unpacked(wrap: Wrap, module: Module, scopes: Scopes) -> tuple[cst.Assign, tuple[cst.BaseExpression, ...]] | None:
    """`parallel, plain = spread(model)`, and those of its targets that must be bound to the model: it is one of them
    already, perhaps, and `_` is none where nothing reads it."""
    unit = wrap.site.unit
    if not isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return None
    if wrap.together is None or wrap.template_node is None:
        return None
    for small in unit.body:
        if not isinstance(small, cst.Assign) or small.value is not wrap.call or len(small.targets) != 1:
            continue
        target = small.targets[0].target
        if not isinstance(target, cst.Tuple | cst.List) or len(target.elements) != len(wrap.together.parallel):
            return None
        elements = [element.value for element in target.elements if isinstance(element, cst.Element)]
        if len(elements) < len(target.elements):
            return None
        plain = _bare(wrap.template_node, module)
        bound = [node for node in elements if module.code(node) != plain and not _is_unread(node, wrap, module, scopes)]
        return small, tuple(bound)
    return None


def _is_unread(node: cst.BaseExpression, wrap: Wrap, module: Module, scopes: Scopes) -> bool:
    function = wrap.site.frame.function
    scope = scopes.by_node[function if function is not None else module.tree]
    return dotted(node) == "_" and all(mention.binds for mention in scopes.of_variable("_", scope))


def _bare(node: cst.BaseExpression, module: Module) -> str:
    """Its code, without the parentheses round it."""
    text = module.code(node)
    for _ in node.lpar:
        text = text[1:-1].strip()
    return text


def merge(module: Module, scopes: Scopes, wraps: tuple[Wrap, ...], exported: frozenset[str]) -> Merge:
    """Decide names for the wraps of one module; names that another module imports keep what they are."""
    removed: list[cst.Assign] = []
    unpacked: list[tuple[cst.Assign, tuple[cst.BaseExpression, ...]]] = []
    renamed: dict[cst.Name, str] = {}
    replaced: dict[cst.BaseExpression, str] = {}
    brief: set[cst.Name] = set()
    done: set[tuple[LexicalScope, str]] = set()
    for wrap in wraps:
        several = _unpacked(wrap, module, scopes)
        if several is not None and several[1]:
            unpacked.append(several)
        elif several is not None:
            removed.append(several[0])
        statement = wrapped_assignment(wrap)
        if statement is None or wrap.template_node is None:
            continue
        target = statement.targets[0].target
        if module.code(target) == _bare(wrap.template_node, module):
            removed.append(statement)
            continue
        if not isinstance(target, cst.Name) or not isinstance(wrap.template_node, cst.Name):
            continue
        if wrap.site.frame.function is None and exported & {target.value, wrap.template_node.value}:
            continue
        function = wrap.site.frame.function
        scope = scopes.by_node[function if function is not None else module.tree]
        owner = scopes.owner(target.value, scope) or scope
        if (owner, target.value) in done:
            continue
        done.add((owner, target.value))
        naming = _Naming(module, scopes, scope, target.value, wrap.template_node.value, wraps)
        merged = naming.keep_template()
        if merged is not None:
            merged = naming.under_the_better_name(merged) or merged
        else:
            merged = naming.without_the_parallel(exported) or naming.keep_parallel() or naming.until_bound_again()
        if merged is not None:
            removed.extend(merged.removed)
            renamed.update(merged.renamed)
            replaced.update(merged.replaced)
            brief |= merged.brief
    once = tuple(dict.fromkeys(removed))
    several_of = tuple(dict(unpacked).items())
    return Merge(once, tuple(renamed.items()), tuple(replaced.items()), several_of, frozenset(brief))


_PLAIN = "model"
_OTHERWISE = re.compile(r"(?<![a-z])(serial|single|cpu|base|body|template|orig|original|tmp|temp)(?![a-z])")
"""What a template is called to tell it from the parallel model."""


@dataclass(frozen=True)
class _Naming:
    module: Module
    scopes: Scopes
    scope: LexicalScope
    parallel: str
    template: str
    wraps: tuple[Wrap, ...]
    same: frozenset[cst.CSTNode] = frozenset()
    """Choices that give the template now."""

    def keep_template(self) -> Merge | None:
        """Every mention of the parallel name becomes the template's, if nothing else is ever bound to it."""
        mentions = self.scopes.of_variable(self.parallel, self.scope)
        own = self.scopes.of_variable(self.template, self.scope)
        if self._declared_elsewhere() or not own:
            return None
        aliases = list(self._aliases(mentions))
        statements = {alias.statement for alias in aliases}
        bindings = [mention for mention in mentions if mention.binds]
        if len(aliases) != len(bindings) or not bindings:
            return None
        first = min(self._order(binding) for binding in bindings)
        for mention in own:
            # A template bound again after the alias leaves the parallel name behind, but in another arm of the `if`.
            later = (
                alias for alias in aliases if mention.binds and self._order(mention) >= self.module.order[alias.unit]
            )
            if any(not self.module.exclusive(mention.unit, alias.unit) for alias in later):
                return None
        owner = self.scopes.owner(self.template, self.scope)
        for mention in mentions:
            if self.scopes.owner(self.template, mention.scope) is not owner or not isinstance(mention.node, cst.Name):
                return None
            if not mention.binds and mention.scope is self.scope and self._order(mention) < first:
                return None
        if owner is not self.scopes.owner(self.parallel, self.scope):
            return None
        renamed = tuple(
            (mention.node, self.template)
            for mention in mentions
            if isinstance(mention.node, cst.Name) and not mention.binds
        )
        return Merge(tuple(statements), renamed)

    def under_the_better_name(self, merge: Merge) -> Merge | None:
        """`serial_model` beside `model`, `critic_body` beside `critic`: the plain name stays, which is still true."""
        own = self.scopes.of_variable(self.template, self.scope)
        better = self.parallel == _PLAIN or self.parallel == _OTHERWISE.sub("", self.template).strip("_")
        if not better or not _OTHERWISE.search(self.template) or self._declared_elsewhere():
            return None
        names = [mention.node for mention in own]
        taken = any(mention.unit is mention.scope.node for mention in own if mention.binds)  # a parameter
        if taken or not all(isinstance(node, cst.Name) for node in names):
            return None
        if any(mention.scope is not self.scope and mention.binds for mention in own):
            return None
        return Merge(merge.removed, tuple((node, self.parallel) for node in names if isinstance(node, cst.Name)))

    def keep_parallel(self) -> Merge | None:
        """The other way round, where the parallel name is also used independently: `else: parallel = build()`."""
        mentions = self.scopes.of_variable(self.parallel, self.scope)
        own = self.scopes.of_variable(self.template, self.scope)
        aliases = list(self._aliases(mentions))
        if len(aliases) != 1 or not own:
            return None
        alias = aliases[0]
        if self.scopes.owner(self.template, self.scope) is not self.scopes.owner(self.parallel, self.scope):
            return None
        bindings = [mention for mention in own if mention.binds]
        if any(
            mention.scope is not self.scope or not isinstance(mention.node, cst.Name) for mention in (*own, *mentions)
        ):
            return None
        if any(mention.unit is self.scope.node for mention in own):
            return None
        begin = min(self._order(mention) for mention in own)
        at = self.module.order[alias.unit]
        if any(
            list(self.module.arms(binding.unit)) != list(self.module.arms(alias.unit)) or self._order(binding) > at
            for binding in bindings
        ):
            return None
        if any(begin <= self._order(mention) < at for mention in mentions):
            return None
        last_read = max(self._order(mention) for mention in own)
        for mention in mentions:
            if (
                mention.binds
                and at < self._order(mention) <= last_read
                and not self.module.exclusive(mention.unit, alias.unit)
            ):
                return None
        renamed = tuple((mention.node, self.parallel) for mention in own if isinstance(mention.node, cst.Name))
        return Merge((alias.statement,), renamed)

    def until_bound_again(self) -> Merge | None:
        """`model = wrap(body); model = with_loss(model)`: the reads up to there are of the template."""
        mentions = self.scopes.of_variable(self.parallel, self.scope)
        own = self.scopes.of_variable(self.template, self.scope)
        aliases = list(self._aliases(mentions))
        if len(aliases) != 1 or self._declared_elsewhere():
            return None
        if any(mention.scope is not self.scope for mention in (*own, *mentions)):
            return None
        unit, place = aliases[0].unit, self.module.places[aliases[0].unit]
        below = units_of(place.block)[place.index + 1 :]
        again = next((one for one in below if any(seen.binds and seen.unit is one for seen in mentions)), None)
        statement = only_statement(again) if again is not None else None
        if again is None or only_statement(unit) is not aliases[0].statement or not isinstance(statement, cst.Assign):
            return None
        begin, end = self.module.order[unit], self.module.order[again]
        between = [mention for mention in (*own, *mentions) if begin < self._order(mention) <= end]
        bound = [mention.node for mention in between if mention.binds]
        if len(statement.targets) > 1 or bound != [statement.targets[0].target]:
            return None
        reads = [mention.node for mention in mentions if not mention.binds and begin < self._order(mention) <= end]
        names = frozenset(node for node in reads if isinstance(node, cst.Name))
        if not names or len(names) < len(reads):
            return None
        return Merge((aliases[0].statement,), tuple((node, self.template) for node in names), brief=names)

    def without_the_parallel(self, exported: frozenset[str]) -> Merge | None:
        """`parallel = None; if gpus > 1: parallel = wrap(model)`, read as `parallel or model` alone."""
        mentions = self.scopes.of_variable(self.parallel, self.scope)
        own = self.scopes.of_variable(self.template, self.scope)
        if self._declared_elsewhere() or any(mention.scope is not self.scope for mention in (*own, *mentions)):
            return None
        aliases = {alias.statement for alias in self._aliases(mentions)}
        nothing = set(self._made_nothing(mentions))
        if len(aliases | nothing) != sum(mention.binds for mention in mentions) or not aliases:
            return None
        reads = [mention for mention in mentions if not mention.binds]
        choices = {mention.node: choice for mention in reads for choice in self._choices(mention)}
        if len(choices) != len(reads):
            return None
        last = max((self._order(mention) for mention in reads), default=0)
        first = min(self._order(mention) for mention in mentions if mention.binds)
        if any(mention.binds and first <= self._order(mention) <= last for mention in own):
            return None
        same = dict.fromkeys(choices.values())
        removed = [*aliases, *nothing]
        renamed: list[tuple[cst.Name, str]] = []
        left: dict[cst.BaseExpression, str] = dict.fromkeys(same, self.template)
        for choice in same:
            named = self._assigned(choice)
            if named is None or (self.scope is self.scopes.module and named[0] in exported):
                continue
            merged = replace(self, parallel=named[0], same=frozenset(same)).keep_template()
            if merged is not None:
                removed.extend(merged.removed)
                renamed.extend(merged.renamed)
                del left[choice]
        return Merge(tuple(removed), tuple(renamed), tuple(left.items()))

    def _made_nothing(self, mentions: list[Occurrence]) -> Iterator[cst.Assign]:
        """The assignments of None to the parallel name."""
        for mention in mentions:
            if not mention.binds or not isinstance(mention.unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
                continue
            for small in mention.unit.body:
                if isinstance(small, cst.Assign) and len(small.targets) == 1 and self._is(small.value, "None"):
                    if small.targets[0].target is mention.node:
                        yield small

    def _choices(self, mention: Occurrence) -> Iterator[cst.BaseExpression]:
        """`parallel or model`, `parallel if parallel else model`, `model if parallel is None else parallel`."""
        for node in walk(mention.unit):
            if isinstance(node, cst.BooleanOperation) and node.left is mention.node:
                if isinstance(node.operator, cst.Or) and self._is(node.right, self.template):
                    yield node
            elif isinstance(node, cst.IfExp) and mention.node in walk(node):
                arms = {getattr(arm, "value", None) for arm in (node.body, node.orelse)}
                if arms == {self.parallel, self.template} and is_pure(node.test):
                    yield node

    def _assigned(self, choice: cst.BaseExpression) -> tuple[str, cst.Assign] | None:
        """The name that a choice is bound to, and the statement."""
        for unit in self.module.places:
            for small in unit.body if isinstance(unit, cst.SimpleStatementLine) else ():
                if isinstance(small, cst.Assign) and small.value is choice and len(small.targets) == 1:
                    target = small.targets[0].target
                    return (target.value, small) if isinstance(target, cst.Name) else None
        return None

    @staticmethod
    def _is(node: cst.BaseExpression, name: str) -> bool:
        return isinstance(node, cst.Name) and node.value == name

    def _aliases(self, mentions: list[Occurrence]) -> Iterator[Alias]:
        """The bindings of the parallel name that are the template, by a wrap or plainly."""
        for mention in mentions:
            if not mention.binds or not isinstance(mention.unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
                continue
            for small in mention.unit.body:
                if not isinstance(small, cst.Assign) or len(small.targets) != 1:
                    continue
                if small.targets[0].target is not mention.node:
                    continue
                plain = small.value in self.same or self._is(small.value, self.template)
                wrapped = any(
                    wrapped_assignment(wrap) is small
                    and isinstance(wrap.template_node, cst.Name)
                    and wrap.template_node.value == self.template
                    for wrap in self.wraps
                )
                if plain or wrapped:
                    yield Alias(small, mention.unit, self.parallel, self.template, mention.scope)

    def _declared_elsewhere(self) -> bool:
        return any(map(self.scopes.declared_elsewhere, (self.parallel, self.template)))

    def _order(self, mention: Occurrence) -> int:
        return self.module.order[mention.unit]
