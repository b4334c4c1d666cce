"""Which places are reached only where a wrap is not: they stand in the other arm of its `if`."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.lifecycle import Guard, Wrap
from tfmigrate.understand.values import Site


def is_instead_of(wrap: Wrap, site: Site) -> bool:
    """Whether a place is reached under the other arm of an `if` round the wrap, where the strategy has one device.

    An `if` whose arm returns has no other arm: the code after it runs instead.
    """
    sites = list(site.chain())
    for other in wrap.site.chain():
        if any(_is_same_code(outer, other) and outer.frame.module.exclusive(outer.unit, other.unit) for outer in sites):
            return True
    for guard in wrap.guards:
        if isinstance(guard.node, cst.If) and _follows_arm_that_left(sites, guard):
            return True
        if isinstance(guard.node, cst.If) and guard.site.unit is guard.node:
            module = guard.frame.module
            inside = {*module.inside(guard.node)}
            wrapped = wrap.site.lifted(guard.frame)
            if (wrapped is None or wrapped.unit not in inside) and any(
                outer.frame is guard.frame and outer.unit in inside for outer in sites
            ):
                return True
    return False


def _follows_arm_that_left(sites: Iterable[Site], guard: Guard) -> bool:
    """Whether one of some places is behind the `if` of a wrap whose arm returned, and runs instead of it."""
    arms = {"body": guard.node.body, "orelse": getattr(guard.node, "orelse", None)}
    arm = arms.get(guard.arm)
    suite = arm.body if isinstance(arm, cst.Else) else arm
    module = guard.frame.module
    if not isinstance(suite, cst.BaseSuite) or not module.leaves(suite):
        return False
    place = module.places[guard.site.unit]
    behind = units_of(place.block)[place.index + 1 :]
    return any(
        _is_same_code(site, guard.site) and not {site.unit, *module.ancestors(site.unit)}.isdisjoint(behind)
        for site in sites
    )


def _is_same_code(one: Site, other: Site) -> bool:
    """Whether two places are in one function, in whichever calls of it: each asks the `if` round the wrap itself."""
    function = one.frame.function
    return one.frame is other.frame or (function is not None and function is other.frame.function)
