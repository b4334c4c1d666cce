"""The path of values that led to a decision: where a model was built, passed through, wrapped, compiled and used."""

from __future__ import annotations

from tfmigrate.plan.groups import concerns
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import ModelObject, Opaque, Parameter, Site, opaque_sites, options


def trail_of(wrap: Wrap, facts: ProgramFacts) -> tuple[str, ...]:
    """The steps, in words: `train.py:12: the model is built: model = build()`."""
    own = wrap.site.frame.module
    steps = []
    for option in options(wrap.template):
        if isinstance(option, ModelObject):
            steps += [_step(site, own, "the model is built") for site in option.site.chain()]
        elif isinstance(option, Parameter):
            steps.append(f"the model is the parameter `{option.name}`, from a caller that is not in sight")
        elif isinstance(option, Opaque):
            steps += [_step(site, own, f"the model comes from {option.origin}") for site in opaque_sites(option)]
    steps += [_step(site, own, "it is wrapped") for site in wrap.site.chain()]
    seen = set()
    for use in facts.uses:
        if use.call not in seen and concerns(use, frozenset(), (wrap,)):
            seen.add(use.call)
            steps.append(_step(use.site, own, f"{use.method}() is called on it"))
    return tuple(dict.fromkeys(steps))


def _step(site: Site, own: Module, what: str) -> str:
    module = site.frame.module
    line, _ = module.position(site.unit)
    place = f"line {line}" if module is own else f"{module.path}:{line}"
    code = module.code(site.unit).strip().split("\n")
    first = next((text.strip() for text in code if text.strip() and not text.strip().startswith("#")), "")
    return f"{place}: {what}: {first[:80]}"
