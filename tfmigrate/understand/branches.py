"""Where the paths of a program part and meet again: each is walked with a store of its own, then they are joined."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from tfmigrate.understand.assignments import assign
from tfmigrate.understand.joins import join
from tfmigrate.understand.lifecycle import Guard
from tfmigrate.understand.state import State, Walker
from tfmigrate.understand.store import Store
from tfmigrate.understand.syntax import captures
from tfmigrate.understand.values import Literal, Opaque, Site, Value, Visible, options


class _Paths:
    """The stores of the paths that part at one statement."""

    def __init__(self, state: State, *, past: bool = False) -> None:
        """`past`: whether one path leads past all of them."""
        self._state = state
        self._before = state.store
        self._reached = [Store(self._before)] if past else []
        self._left: list[Store] = []

    def part(self) -> None:
        """Begin a path."""
        self._state.store = Store(self._before)

    def end(self, reached: bool) -> None:
        """`reached`: whether the path goes on to the next statement, or leaves the block."""
        (self._reached if reached else self._left).append(self._state.store)

    def meet(self) -> bool:
        """Go on where the paths meet; False where none gets there."""
        self._state.store = self._before
        self._before.merge(self._reached, self._left)
        return bool(self._reached)


def walk_if(walker: Walker, unit: cst.If, site: Site) -> bool:
    """False when its end is never reached. `site`: where the whole chain of `elif` stands.

    What follows an arm that leaves stands under the condition of the other, too; not so where it left by raising.
    """
    state = walker.state
    test = walker.evaluate(unit.test)
    name = _asked_for_none(state, unit)
    if name is not None:
        return _walk_default(walker, unit, Guard(unit, "body", site, test), name)
    outer = state.guards
    paths = _Paths(state)

    paths.part()
    state.guards = (*outer, Guard(unit, "body", site, test))
    through_body = walker.block(unit.body)
    paths.end(through_body)

    paths.part()
    state.guards = (*outer, Guard(unit, "orelse", site, test))
    if isinstance(unit.orelse, cst.If):
        through_orelse = walk_if(walker, unit.orelse, site)
    else:
        through_orelse = unit.orelse is None or walker.block(unit.orelse.body)
    paths.end(through_orelse)

    state.guards = outer
    other = unit.orelse.body if isinstance(unit.orelse, cst.Else) else None
    if through_orelse and not through_body and not state.frame.module.leaves(unit.body, (cst.Raise,)):
        state.guards = (*outer, Guard(unit, "orelse", site, test))
    elif through_body and not through_orelse and not state.frame.module.leaves(other, (cst.Raise,)):
        state.guards = (*outer, Guard(unit, "body", site, test))
    return paths.meet()


def _asked_for_none(state: State, unit: cst.If) -> str | None:
    """The variable of this function that `if x is None:` without an `else` asks about."""
    test = unit.test
    if unit.orelse is not None or not isinstance(test, cst.Comparison) or not isinstance(test.left, cst.Name):
        return None
    asked = [(type(target.operator), getattr(target.comparator, "value", "")) for target in test.comparisons]
    local = state.frame.function is not None and state.store.get((state.frame, test.left.value)) is not None
    return test.left.value if local and asked in ([(cst.Is, "None")], [(cst.Equal, "None")]) else None


def _walk_default(walker: Walker, unit: cst.If, guard: Guard, name: str) -> bool:
    """`if x is None: x = default`: what x cannot be does not go on, though what stands in the arm is walked."""
    state = walker.state
    outer = state.guards
    values = options(state.lookup(name) or Literal(None))
    something = [option for option in values if option != Literal(None)]
    may_be_none = len(something) < len(values) or not all(isinstance(option, Literal | Visible) for option in something)
    paths = _Paths(state)

    paths.part()
    state.guards = (*outer, guard)
    through = walker.block(unit.body)
    paths.end(through and may_be_none)

    paths.part()
    if something:
        state.bind(name, join(*something))
    paths.end(bool(something) or not through)

    state.guards = outer
    if not through and not state.frame.module.leaves(unit.body, (cst.Raise,)):
        state.guards = (*outer, replace(guard, arm="orelse"))
    return paths.meet()


def conditional(walker: Walker, node: cst.IfExp) -> Value:
    """`a if test else b`: either."""
    state = walker.state
    test = walker.evaluate(node.test)
    outer = state.guards
    values = []
    for arm, part in (("body", node.body), ("orelse", node.orelse)):
        state.guards = (*outer, Guard(node, arm, state.site, test))
        values.append(walker.evaluate(part))
    state.guards = outer
    return join(*values)


def walk_match(walker: Walker, unit: cst.Match) -> bool:
    """False when its end is never reached; that no case fits is possible."""
    walker.evaluate(unit.subject)
    paths = _Paths(walker.state, past=True)
    for case in unit.cases:
        paths.part()
        for captured in captures(case.pattern):
            assign(walker, captured, Opaque("a part of what is matched"))
        paths.end(walker.block(case.body))
    return paths.meet()


def walk_loop(walker: Walker, body: cst.BaseSuite, orelse: cst.Else | None) -> None:
    """A loop runs its body once, or not at all."""
    paths = _Paths(walker.state, past=True)
    paths.part()
    walker.block(body)
    paths.end(True)
    paths.meet()
    if orelse is not None:
        walker.block(orelse.body)


def walk_try(walker: Walker, unit: cst.Try | cst.TryStar) -> bool:
    """False when its end is never reached. Handlers begin with what held before the `try`."""
    state = walker.state
    outer, site = state.guards, state.site
    paths = _Paths(state)

    paths.part()
    if isinstance(unit, cst.Try) and unit.handlers:
        state.guards = (*outer, Guard(unit, "body", site))
    reached = walker.block(unit.body)
    if reached and unit.orelse is not None:
        reached = walker.block(unit.orelse.body)
    paths.end(reached)

    for handler in unit.handlers:
        paths.part()
        if isinstance(unit, cst.Try):
            state.guards = (*outer, Guard(unit, "handler", site))
        if handler.name is not None:
            assign(walker, handler.name.name, Opaque("an exception"))
        paths.end(walker.block(handler.body))

    state.guards = outer
    goes_on = paths.meet()
    if unit.finalbody is not None:
        walker.block(unit.finalbody.body)
    return goes_on
