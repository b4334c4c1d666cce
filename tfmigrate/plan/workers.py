"""What belongs to a strategy over several machines, beside the strategy itself.

Measured with two workers on one machine, TensorFlow 2.9 and 2.21: Keras 2 trains, evaluates and saves; Keras 3.15
fails in the first fit(), on numpy and datasets alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.data.pipeline import takes_arrays
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, ImportNames, Insert, Rank, Remove, Replace
from tfmigrate.plan.strategy.before_all import devices_problem, place_of_strategy
from tfmigrate.plan.strategy.model_group import concerns
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.plan.strategy.strategy import ALL_WORKERS
from tfmigrate.understand.blocks import is_docstring, only_statement
from tfmigrate.understand.lifecycle import TRAINING, Facts, ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import StrategyObject, options

_SAVES = frozenset({"save", "save_weights"})
_HELPER = "by_chief"


def begin(draft: Draft, *, makes: bool, saves: bool) -> None:
    """The lines before all imports: what the helper needs where the module `saves`, and where it `makes` the strategy,
    Keras 2 for TensorFlow 2.16 and later. An import that they repeat goes.
    """
    needed = ["os", "tempfile"] if saves else ["os"]
    lines = [f"import {name}" for name in needed]
    if makes:
        quote = draft.quote
        lines.append(f"os.environ.setdefault({quote}TF_USE_LEGACY_KERAS{quote}, {quote}1{quote})")
    body = draft.module.tree.body
    place = next(unit for unit in body if not _stands_first(unit))
    plain = [
        statement
        for statement in map(only_statement, body)
        if isinstance(statement, cst.Import) and len(statement.names) == 1
    ]
    again = [
        statement
        for statement in plain
        if statement.names[0].asname is None and dotted(statement.names[0].name) in needed
    ]
    draft.edits.append(Insert(place, "\n".join(lines), rank=Rank.WORKERS))
    draft.edits.extend(ImportNames(statement) for statement in again)
    if makes:
        draft.say(codes.SEVERAL_WORKERS, place, KERAS_2, "rewrite")


def _stands_first(unit: cst.CSTNode) -> bool:
    """A docstring or an import from __future__."""
    if not isinstance(unit, cst.SimpleStatementLine):
        return False
    small = unit.body[0]
    future = isinstance(small, cst.ImportFrom) and dotted(small.module) == "__future__"
    return future or is_docstring(small)


def _save_by_chief(draft: Draft, uses: Iterable[Use]) -> bool:
    """Every worker saves, as it must, but only the chief to the path that is meant.

    `uses`: what is called on the models in question, in whatever module. Returns whether this one writes their files.
    """
    saves = {use.call: use for use in uses if use.method in _SAVES and use.site.frame.module is draft.module}
    helper = Helper.of(draft, _HELPER)
    story = "every worker must call {}(), but only the chief writes to the path"
    writing = [
        call
        for call, use in saves.items()
        if draft.change(
            codes.SAVED_BY_CHIEF,
            call,
            story.format(use.method),
            Replace(call.func, (f"{helper}(", call.func, ")")),
        )
    ]
    if not writing:
        return False
    draft.edits.append(helper.above([call.func for call in writing], Rank.LINE))
    return True


@dataclass(frozen=True)
class OfEstimator:
    """A strategy whose Estimator becomes a Keras model."""

    strategy: StrategyObject
    trainings: tuple[Use, ...]
    """The calls that become fit()."""
    line: tuple[str, Insert] | None
    """The name that it gets, and the line that gives it, where the program made it inside its RunConfig."""


def plan_onto_workers(facts: ProgramFacts, drafts: Mapping[Module, Draft], migrated: Iterable[OfEstimator]) -> None:
    """A program that is on one machine's strategy, from now on or already, goes over to that of several."""
    strategies = {strategy.node: strategy for strategy in facts.strategies if strategy.name == "MirroredStrategy"}
    wanted = [
        made_strategy
        for made_strategy in strategies.values()
        if drafts[made_strategy.site.frame.module].settings.over_workers
    ]
    ours = {estimator.strategy.node: estimator for estimator in migrated}
    for strategy in wanted:
        draft = drafts[strategy.site.frame.module]
        if len(strategies) > 1:
            moved: _Moved | str = "several machines share one strategy, and this creates more"
        elif strategy.node not in ours and strategy.node in set(_of_run_configs(facts)):
            moved = "an Estimator that stays trains under it"
        else:
            moved = _moved(strategy, draft, ours.get(strategy.node))
        if isinstance(moved, str):
            draft.say(codes.ONTO_WORKERS, strategy.node, f"this strategy stays on one machine: {moved}", "refuse")
        elif draft.change(
            codes.ONTO_WORKERS,
            strategy.node,
            "MirroredStrategy becomes a MultiWorkerMirroredStrategy, created before everything else, over the GPUs "
            "that each worker in TF_CONFIG sees",
        ):
            draft.edits[:] = [edit for edit in draft.edits if edit not in moved.instead_of] + list(moved.edits)
            _what_belongs_to_it(
                facts, drafts, draft, [use for estimator in ours.values() for use in estimator.trainings]
            )


def _of_run_configs(facts: ProgramFacts) -> Iterator[cst.Call]:
    """The calls that make the strategies which Estimators are told to train under."""
    for part in facts.estimators:
        for _, value in part.arguments if part.name == "RunConfig" else ():
            for option in options(value):
                if isinstance(option, StrategyObject):
                    yield option.node


@dataclass(frozen=True)
class _Moved:
    """The strategy's assignment where it must stand, and what else was planned for it."""

    edits: tuple[Edit, ...]
    instead_of: tuple[Edit, ...] = ()


def _moved(strategy: StrategyObject, draft: Draft, of: OfEstimator | None) -> _Moved | str:
    """The new assignment where it must stand, or in words why it cannot be written."""
    unit = strategy.site.unit
    instead: tuple[Edit, ...]
    if of is not None and of.line is not None:
        name, line = of.line
        unit = line.before  # type: ignore[assignment]
        gone: tuple[Edit, ...] = ()
        instead = (line,)
    else:
        assignment = only_statement(unit)
        target = assignment.targets[0].target if isinstance(assignment, cst.Assign) else None
        if not isinstance(assignment, cst.Assign) or not isinstance(target, cst.Name) or len(assignment.targets) != 1:
            return "it is not bound to a name on a separate line"
        name = target.value
        chosen = assignment.value.body if isinstance(assignment.value, cst.IfExp) else assignment.value
        if chosen is not strategy.node or len(draft.scopes.bindings(name)) != 1:
            return f"`{name}` may be something else"
        gone = (Remove(assignment),)
        # An edit may move it already, to stand above a model.
        instead = tuple(edit for edit in draft.edits if isinstance(edit, Insert) and edit.comments_of == (unit,))
    place = place_of_strategy(draft, unit)
    problem = devices_problem(draft, place)
    if problem is not None:
        return problem.message
    code = ALL_WORKERS.statement(name, draft.tf, draft.module.tree.default_indent)
    return _Moved((*gone, Insert(place, code, (unit,) if gone and place is unit else ())), (*gone, *instead))


def _what_belongs_to_it(
    facts: ProgramFacts, drafts: Mapping[Module, Draft], owner: Draft, estimated: list[Use]
) -> None:
    for draft in drafts.values():
        saves = _save_by_chief(draft, (use for use in facts.uses if use.models))
        if saves or draft is owner:
            begin(draft, makes=draft is owner, saves=saves)
        keras = [use for use in draft.facts.uses if use.method in TRAINING and use.models]
        training = {use.call: _data_story(use.method) for use in keras}
        training |= {use.call: _data_story("fit") for use in estimated if use.site.frame.module is draft.module}
        for call, story in training.items():
            draft.say(codes.DATA_OF_WORKERS, call, story, "warn")
        if training:
            _say_unseeded(draft)


def plan_owner(owner: Owner, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> set[Module]:
    """What belongs to the models of an owner whose strategy is over several machines: their files and their data.

    Returns the modules whose models the chief saves.
    """
    uses = [use for use in facts.uses if any(concerns(use, group.models, group.wraps) for group in owner.groups)]
    saving = {module for module, draft in drafts.items() if _save_by_chief(draft, uses)}
    trainings = [use for group in owner.groups for use in group.trainings]
    for use in trainings:
        draft = drafts[use.site.frame.module]
        if not takes_arrays(use, draft.facts):
            draft.say(codes.DATA_OF_WORKERS, use.call, _data_story(use.method), "warn")
    for module in {use.site.frame.module for use in trainings}:
        _say_unseeded(drafts[module])
    return saving


def _say_unseeded(draft: Draft) -> None:
    """Reports random numbers that each worker would draw for itself."""
    call = unseeded(draft.facts)
    if call is not None:
        draft.say(codes.DATA_OF_WORKERS, call, UNSEEDED, "warn")


KERAS_2 = "Keras 3 cannot train on several machines; this needs TF_USE_LEGACY_KERAS=1 and the package tf_keras"


_SEEDERS = {"numpy.random": "numpy.random.seed", "random": "random.seed", "sklearn": "numpy.random.seed"}
"""Who draws random numbers -> what seeds them; Keras's set_random_seed() seeds all."""
_SPLITTERS = frozenset(
    {"train_test_split", "shuffle", "ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit", "resample"}
)
_DRAWS_NOTHING = frozenset({"seed", "get_state", "set_state", "getstate", "setstate"})
_GENERATORS = frozenset({"RandomState", "default_rng", "Random"})
UNSEEDED = "each worker draws its own random numbers for its data here: seed them, so that all draw the same"


def unseeded(facts: Facts) -> cst.Call | None:
    """The first call that draws random numbers which nothing in the module seeds."""
    named = [(call, facts.called(call)) for call in facts.module.calls]
    for call, name in named:
        family = _draws_from(call, name)
        if family and not any(o == _SEEDERS[family] or o.endswith(".set_random_seed") for _, o in named):
            return call
    return None


def _draws_from(call: cst.Call, name: str) -> str | None:
    """Which of the families of _SEEDERS a call draws from without a seed of its own."""
    owner, _, last = name.rpartition(".")
    if owner in ("numpy.random", "random") and last not in _DRAWS_NOTHING:
        return owner if last not in _GENERATORS or not call.args else None
    if owner.startswith("sklearn.") and last in _SPLITTERS and "random_state" not in keywords(call):
        return "sklearn"
    return None


def _data_story(method: str) -> str:
    return (
        f"each worker draws its own batches for {method}(): pass a tf.data.Dataset of global batches in the same "
        "order for all, and set its auto_shard_policy (DATA: each keeps its part)"
    )
