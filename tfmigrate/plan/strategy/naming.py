"""A template and its parallel model are one object: the ways in which one name can stand for both."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import libcst as cst

from tfmigrate.plan.strategy.merged import Merge, wrapped_assignment
from tfmigrate.understand.blocks import Unit, only_statement, units_of
from tfmigrate.understand.lifecycle import Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.scopes import LexicalScope, Occurrence, Scopes
from tfmigrate.understand.syntax import sole_name
from tfmigrate.walk import walk

_PLAIN = "model"
_OTHERWISE = re.compile(r"(?<![a-z])(serial|single|cpu|base|body|template|orig|original|tmp|temp)(?![a-z])")
"""What a template is called to tell it from the parallel model."""


@dataclass(frozen=True)
class _Alias:
    """`parallel = template`, both plain names, once the wrap in it is gone."""

    statement: cst.Assign
    unit: Unit


@dataclass(frozen=True)
class Naming:
    """The names of a template and of its parallel model in a function, and how one of the two can stand for both."""

    module: Module
    scopes: Scopes
    scope: LexicalScope
    parallel: str
    template: str
    wraps: tuple[Wrap, ...]
    same: frozenset[cst.CSTNode] = frozenset()
    """Choices that give the template now."""

    # ---- the ways to name what is left ----

    def keep_template(self) -> Merge | None:
        """Every mention of the parallel name becomes the template's, if nothing else is ever bound to it."""
        if self._is_declared_elsewhere or not self._of_template or not self._aliases:
            return None
        gone = [mention for mention in self._bindings if mention.node in self._deleted]
        if len(self._aliases) < len(self._bindings) - len(gone):
            return None
        if any(map(self._leaves_the_parallel, self._of_template)):
            return None
        if not self._mean_one_variable() or any(map(self._is_read_before_it_is_bound, self._of_parallel)):
            return None
        statements = [alias.statement for alias in self._aliases]
        return self._without_deletions(Merge(tuple(statements), _renamed(self._reads, self.template)), gone)

    def _without_deletions(self, merge: Merge, gone: Iterable[Occurrence]) -> Merge:
        """`del parallel` goes with the name."""
        names = {mention.node for mention in gone}
        deletions = dict.fromkeys(self._deleted[name] for name in names)
        left = {one: tuple(name for name in _deleted_by(one) if name not in names) for one in deletions}
        removed = (*merge.removed, *(one for one in deletions if not left[one]))
        return replace(merge, removed=removed, shortened=tuple((one, rest) for one, rest in left.items() if rest))

    def under_the_better_name(self, merge: Merge) -> Merge | None:
        """`serial_model` or `_model` beside `model`, `critic_body` beside `critic`: the plain name stays."""
        better = self.parallel == _PLAIN or self.parallel == _OTHERWISE.sub("", self.template).strip("_")
        told_apart = _OTHERWISE.search(self.template) or self.template.strip("_") == self.parallel
        if not better or not told_apart or self._is_declared_elsewhere:
            return None
        names = [mention.node for mention in self._of_template]
        bindings = [mention for mention in self._of_template if mention.binds]
        taken = any(mention.unit is mention.scope.node for mention in bindings)  # a parameter
        if taken or not all(isinstance(node, cst.Name) for node in names):
            return None
        if any(mention.scope is not self.scope for mention in bindings):
            return None
        return replace(merge, renamed=_renamed(self._of_template, self.parallel))

    def keep_parallel(self) -> Merge | None:
        """The other way round, where the parallel name is also used independently: `else: parallel = build()`."""
        if len(self._aliases) != 1 or not self._of_template or not self._are_both_variables_here():
            return None
        (alias,) = self._aliases
        gone = [mention for mention in self._of_template if mention.node in self._deleted]
        template = [mention for mention in self._of_template if mention not in gone]
        if any(mention.binds and not self._is_on_the_way_to(alias, mention) for mention in template):
            return None
        if any(self._order(mention) < self.module.order[alias.unit] for mention in gone):
            return None
        if any(self._is_in_the_way(alias, mention, template) for mention in self._of_parallel):
            return None
        return self._without_deletions(Merge((alias.statement,), _renamed(template, self.parallel)), gone)

    def until_bound_again(self) -> Merge | None:
        """`model = wrap(body); model = with_loss(model)`: the reads up to there are of the template."""
        if len(self._aliases) != 1 or self._is_declared_elsewhere or not self._are_mentioned_here_alone:
            return None
        (alias,) = self._aliases
        again = self._bound_again_below(alias.unit)
        if again is None or only_statement(alias.unit) is not alias.statement:
            return None
        bound = [mention.node for mention in self._between(alias.unit, again.unit) if mention.binds]
        if bound != [again.statement.targets[0].target]:
            return None
        reads = [mention for mention in self._between(alias.unit, again.unit) if mention in self._reads]
        names = frozenset(mention.node for mention in reads if isinstance(mention.node, cst.Name))
        if not names or len(names) < len(reads):
            return None
        return Merge((alias.statement,), tuple((node, self.template) for node in names), brief=names)

    def without_the_parallel(self, exported: Container[str]) -> Merge | None:
        """`parallel = None; if gpus > 1: parallel = wrap(model)`, read as `parallel or model` alone."""
        if self._is_declared_elsewhere or not self._are_mentioned_here_alone or not self._aliases:
            return None
        statements = dict.fromkeys((*(alias.statement for alias in self._aliases), *self._made_nothing))
        if len(statements) != len(self._bindings):
            return None
        choices = {mention.node: choice for mention in self._reads for choice in self._choices(mention)}
        if len(choices) != len(self._reads) or self._is_template_bound_meanwhile():
            return None
        return self._without_choices(tuple(dict.fromkeys(choices.values())), tuple(statements), exported)

    def _without_choices(
        self, choices: Sequence[cst.BaseExpression], statements: Sequence[cst.Assign], exported: Container[str]
    ) -> Merge:
        """The template in the place of choices; a name that one is bound to becomes the template's, where it can."""
        removed: list[cst.Assign | cst.Del] = [*statements]
        renamed: list[tuple[cst.Name, str]] = []
        left = dict.fromkeys(choices, self.template)
        for choice in choices:
            name = self._assigned(choice)
            if name is None or (self.scope is self.scopes.module and name in exported):
                continue
            merged = replace(self, parallel=name, same=frozenset(choices)).keep_template()
            if merged is not None:
                removed.extend(merged.removed)
                renamed.extend(merged.renamed)
                del left[choice]
        return Merge(tuple(removed), tuple(renamed), tuple(left.items()))

    # ---- what mentions the two ----

    @cached_property
    def _of_parallel(self) -> list[Occurrence]:
        return self.scopes.of_variable(self.parallel, self.scope)

    @cached_property
    def _of_template(self) -> list[Occurrence]:
        return self.scopes.of_variable(self.template, self.scope)

    @cached_property
    def _bindings(self) -> list[Occurrence]:
        """What binds the parallel name."""
        return [mention for mention in self._of_parallel if mention.binds]

    @cached_property
    def _deleted(self) -> dict[cst.CSTNode, cst.Del]:
        """Names that are deleted, and the statements that do so."""
        return {name: one for one in self.module.all_of(cst.Del) for name in _deleted_by(one)}

    @cached_property
    def _reads(self) -> list[Occurrence]:
        """What reads the parallel name."""
        return [mention for mention in self._of_parallel if not mention.binds]

    @property
    def _is_declared_elsewhere(self) -> bool:
        return any(map(self.scopes.declared_elsewhere, (self.parallel, self.template)))

    @property
    def _are_mentioned_here_alone(self) -> bool:
        """Whether no other function mentions one of the two."""
        return all(mention.scope is self.scope for mention in (*self._of_template, *self._of_parallel))

    def _mean_one_variable(self) -> bool:
        """Whether the template's name means the same wherever the parallel one is mentioned, and both are names of one
        scope."""
        owner = self.scopes.owner(self.template, self.scope)
        return owner is self.scopes.owner(self.parallel, self.scope) and all(
            isinstance(mention.node, cst.Name) and self.scopes.owner(self.template, mention.scope) is owner
            for mention in self._of_parallel
        )

    def _are_both_variables_here(self) -> bool:
        """Whether both are variables of one scope that only names here mention, and the template is no parameter."""
        mentions = (*self._of_template, *self._of_parallel)
        return (
            self._are_mentioned_here_alone
            and all(isinstance(mention.node, cst.Name) for mention in mentions)
            and self.scopes.owner(self.template, self.scope) is self.scopes.owner(self.parallel, self.scope)
            and not any(mention.unit is self.scope.node for mention in self._of_template)
        )

    # ---- the order of things ----

    def _order(self, mention: Occurrence) -> int:
        return self.module.order[mention.unit]

    def _between(self, unit: Unit, last: Unit) -> Iterator[Occurrence]:
        """The mentions of both below a unit, up to another one and in it."""
        begin, end = self.module.order[unit], self.module.order[last]
        for mention in (*self._of_template, *self._of_parallel):
            if begin < self._order(mention) <= end:
                yield mention

    def _leaves_the_parallel(self, mention: Occurrence) -> bool:
        """Whether the template is bound again after the alias, which leaves the parallel name behind, but in another
        arm of the `if`, when nothing reads that name any more, or deleted for good."""
        if mention.node in self._deleted and self._is_last_of_both(mention):
            return False
        if mention.scope is self.scope and all(self._is_read_before(mention, read) for read in self._reads):
            return False
        return mention.binds and any(
            self._order(mention) >= self.module.order[alias.unit]
            and not self.module.exclusive(mention.unit, alias.unit)
            for alias in self._aliases
        )

    def _is_read_before(self, binding: Occurrence, read: Occurrence) -> bool:
        """Whether something is read above a binding, and never again after it, as in a loop round both."""
        return (
            read.scope is self.scope
            and self._order(read) < self._order(binding)
            and set(self._loops(read.unit)).isdisjoint(self._loops(binding.unit))
        )

    def _is_last_of_both(self, deletion: Occurrence) -> bool:
        """Whether nothing reads one of the two behind a deletion, which no loop repeats without the alias."""
        at, inside = self._order(deletion), set(self._loops(deletion.unit))
        read = any(self._order(mention) > at for mention in self._reads)
        return not read and all(inside <= set(self._loops(alias.unit)) for alias in self._aliases)

    def _loops(self, unit: Unit) -> Iterator[cst.CSTNode]:
        """The loops round a unit."""
        return (outer for outer in self.module.ancestors(unit) if isinstance(outer, cst.For | cst.While))

    def _is_read_before_it_is_bound(self, mention: Occurrence) -> bool:
        first = min(map(self._order, self._bindings))
        return not mention.binds and mention.scope is self.scope and self._order(mention) < first

    def _is_on_the_way_to(self, alias: _Alias, binding: Occurrence) -> bool:
        """Whether the template is bound above the alias, in the same arms of the same `if`s, or further ones there."""
        arms = self.module.arms
        return self._order(binding) <= self.module.order[alias.unit] and {*arms(alias.unit)} <= {*arms(binding.unit)}

    def _is_in_the_way(self, alias: _Alias, mention: Occurrence, template: Iterable[Occurrence]) -> bool:
        """Whether the parallel name is something else while the template is used: before the alias, or after it.

        `template`: what mentions that, but for its deletion.
        """
        places = [self._order(other) for other in template]
        place, at = self._order(mention), self.module.order[alias.unit]
        if min(places) <= place < at:
            return True
        return mention.binds and at < place <= max(places) and not self.module.exclusive(mention.unit, alias.unit)

    def _bound_again_below(self, unit: Unit) -> _Alias | None:
        """The next unit of a block that binds the parallel name, to one target."""
        place = self.module.places[unit]
        binding = {mention.unit for mention in self._bindings}
        again = next((below for below in units_of(place.block)[place.index + 1 :] if below in binding), None)
        statement = only_statement(again) if again is not None else None
        if again is None or not isinstance(statement, cst.Assign) or len(statement.targets) > 1:
            return None
        return _Alias(statement, again)

    def _is_template_bound_meanwhile(self) -> bool:
        """Whether the template is bound while the parallel name is used."""
        first, last = min(map(self._order, self._bindings)), max(map(self._order, self._reads), default=0)
        return any(mention.binds and first <= self._order(mention) <= last for mention in self._of_template)

    # ---- what the parallel name is bound to, and read in ----

    def _assignments(self) -> Iterator[_Alias]:
        """`parallel = ...`"""
        for mention in self._bindings:
            if isinstance(mention.unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
                for small in mention.unit.body:
                    if isinstance(small, cst.Assign) and [one.target for one in small.targets] == [mention.node]:
                        yield _Alias(small, mention.unit)

    @cached_property
    def _aliases(self) -> list[_Alias]:
        """The bindings of the parallel name that are the template, by a wrap or plainly."""
        wrapping = {wrapped_assignment(wrap) for wrap in self.wraps if _is(wrap.template_node, self.template)}
        return [
            alias
            for alias in self._assignments()
            if alias.statement in wrapping
            or alias.statement.value in self.same
            or _is(alias.statement.value, self.template)
        ]

    @property
    def _made_nothing(self) -> Iterator[cst.Assign]:
        """The assignments of None to the parallel name."""
        return (other.statement for other in self._assignments() if _is(other.statement.value, "None"))

    def _choices(self, mention: Occurrence) -> Iterator[cst.BaseExpression]:
        """`parallel or model`, `parallel if parallel else model`, `model if parallel is None else parallel`."""
        for node in walk(mention.unit):
            if isinstance(node, cst.BooleanOperation) and node.left is mention.node:
                if isinstance(node.operator, cst.Or) and _is(node.right, self.template):
                    yield node
            elif isinstance(node, cst.IfExp) and mention.node in walk(node):
                arms = {getattr(arm, "value", None) for arm in (node.body, node.orelse)}
                if arms == {self.parallel, self.template} and is_pure(node.test):
                    yield node

    def _assigned(self, choice: cst.BaseExpression) -> str | None:
        """The name that a choice is bound to."""
        for unit in self.module.places:
            for small in unit.body if isinstance(unit, cst.SimpleStatementLine) else ():
                if isinstance(small, cst.Assign) and small.value is choice and len(small.targets) == 1:
                    return sole_name(small)
        return None


def _deleted_by(statement: cst.Del) -> list[cst.BaseExpression]:
    """What `del` is given: one thing, or several."""
    target = statement.target
    return [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]


def _is(node: cst.BaseExpression | None, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _renamed(mentions: Iterable[Occurrence], name: str) -> tuple[tuple[cst.Name, str], ...]:
    return tuple((mention.node, name) for mention in mentions if isinstance(mention.node, cst.Name))
