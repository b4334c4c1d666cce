"""What is reported of a wrap: the path of values that led to the decision, and the outcome in a sentence."""

from __future__ import annotations

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.model_group import concerns
from tfmigrate.understand.contents import models_of, opaque_sites
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import in_order, sites_in_order
from tfmigrate.understand.values import ModelObject, Opaque, Parameter, Site, options


def trail_of(wrap: Wrap, facts: ProgramFacts) -> tuple[str, ...]:
    """Where the model was built, passed through, wrapped, compiled and used, in words.

    A step reads `train.py:12: the model is built: model = build()`.
    """
    own = wrap.site.frame.module
    steps = []
    for option in in_order(wrap.template):
        if isinstance(option, ModelObject):
            steps += [_step(site, own, "the model is built") for site in option.site.chain()]
        elif isinstance(option, Parameter):
            steps.append(f"the model is the parameter `{option.name}`, from an unknown caller")
        elif isinstance(option, Opaque):
            sites = sites_in_order(opaque_sites(option))
            steps += [_step(site, own, f"the model comes from {option.origin}") for site in sites]
    steps += [_step(site, own, "it is wrapped") for site in wrap.site.chain()]
    seen = set()
    for use in facts.uses:
        if use.call not in seen and concerns(use, frozenset(), (wrap,)):
            seen.add(use.call)
            steps.append(_step(use.site, own, f"{use.method}() is called on it"))
    return tuple(dict.fromkeys(steps))


def story_of(wrap: Wrap, draft: Draft, facts: ProgramFacts, at_hand: bool) -> str:
    """What becomes of a wrap that is migrated. `draft`: of the module it stands in; `at_hand`: whether its strategy is
    the one of the model that fit() trains meanwhile."""
    module = draft.module
    sites = [option.site for option in options(wrap.template) if isinstance(option, ModelObject)]
    first = min(sites, key=lambda site: (site.frame.module.path, site.frame.module.position(site.unit)), default=None)
    built = f"built at {first.frame.module.place(first.unit, module)}" if first is not None else "built here"
    gpus = f"gpus={module.code(wrap.gpus)}" if wrap.gpus is not None else "all visible GPUs"
    models = models_of(wrap.template)
    compiled = any(use.method == "compile" and concerns(use, models, (wrap,)) for use in facts.uses)
    scoped = f"the model {built} {'and its compile() go' if compiled else 'goes'} into its scope"
    name = wrap.wrapper_class.node.name.value if wrap.wrapper_class is not None else "multi_gpu_model"
    if draft.settings.over_workers:
        return (
            f"{name} ({gpus}) becomes a MultiWorkerMirroredStrategy, created before everything else, over the GPUs "
            f"that each worker in TF_CONFIG sees; {scoped}"
        )
    if at_hand:
        return f"{name} ({gpus}) becomes the strategy of the model that fit() is training; {scoped}"
    return f"{name} ({gpus}) becomes a MirroredStrategy; {scoped}"


def _step(site: Site, own: Module, what: str) -> str:
    module = site.frame.module
    line, _ = module.position(site.unit)
    place = module.numbering.words(line) if module is own else f"{module.path}:{line}"
    code = module.code(site.unit).strip().split("\n")
    first = next((text.strip() for text in code if text.strip() and not text.strip().startswith("#")), "")
    return f"{place}: {what}: {first[:80]}"
