"""Facts -> Plans: the migration from wrap to strategy, readable from top to bottom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.aliases import Merge, merge, wrapped_assignment
from tfmigrate.plan.blocks import Blocks
from tfmigrate.plan.companions import imports_the_name, plan_companions, plan_readiness
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert, Plan, Remove, Replace, Scope, Unwrap
from tfmigrate.plan.expressions import Carrier
from tfmigrate.plan.groups import (
    Group,
    Refusal,
    common_frame,
    concerns,
    home_of,
    related_models,
    sites_to_cover,
    template_problem,
)
from tfmigrate.plan.imports import import_statements
from tfmigrate.plan.interfaces import Tables, calls_in
from tfmigrate.plan.misuse import plan_misuses
from tfmigrate.plan.pipeline import Names, plan_pipeline, takes_arrays
from tfmigrate.plan.rescope import plan_rescoping
from tfmigrate.plan.scope import Cover, Run, first_common_unit, loops_round
from tfmigrate.plan.strategy import ALL_WORKERS, Strategy, replicas, strategy_for
from tfmigrate.plan.superseded import superseded
from tfmigrate.plan.trail import trail_of
from tfmigrate.plan.workers import (
    KERAS_2,
    chief_story,
    data_story,
    devices_problem,
    header,
    place_of_strategy,
    plan_onto_workers,
    saved_by_chief,
    saves,
    say_unseeded,
)
from tfmigrate.rules import Rule
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import LOADING, SAVING, TRAINING, ProgramFacts, Use, Wrap
from tfmigrate.understand.program import Module, Unit, dotted, imports_of
from tfmigrate.understand.values import (
    ClassValue,
    Frame,
    Method,
    ModelObject,
    Opaque,
    Parallel,
    Parameter,
    Site,
    Value,
    opaque_sites,
    options,
    unbound,
)
from tfmigrate.walk import walk


def plan_program(facts: ProgramFacts, drafts: Mapping[Module, Draft], rules: Iterable[Rule]) -> dict[Module, Plan]:
    """All that shall be done to each module of a program, and all that is said about it."""
    return _Planner(facts, drafts, tuple(rules)).plans()


@dataclass(frozen=True)
class _Home:
    """All groups of one function (or one module's top level), which share one strategy variable."""

    module: Module
    function: cst.Module | cst.FunctionDef
    groups: tuple[Group, ...]
    name: str

    @property
    def wraps(self) -> tuple[Wrap, ...]:
        return tuple(wrap for group in self.groups for wrap in group.wraps)

    @property
    def body(self) -> cst.Module | cst.BaseSuite:
        return self.function.body if isinstance(self.function, cst.FunctionDef) else self.function


@dataclass(frozen=True)
class _Covering:
    """Units to stand under the home's strategy, and units far from it under their model's own."""

    near: frozenset[Unit]
    far: tuple[tuple[Site, cst.BaseExpression], ...]
    """Each with the expression that is its model there."""


@dataclass(frozen=True)
class _Remains:
    """What is left of one module's statements round its wraps."""

    wraps: tuple[Wrap, ...]
    """One for each call."""
    merge: Merge
    blocks: Blocks
    strategies: frozenset[cst.Assign]
    """Statements that make a strategy which the new one takes the place of."""


@dataclass
class _Planner:
    facts: ProgramFacts
    drafts: Mapping[Module, Draft]
    rules: tuple[Rule, ...]
    refused: dict[cst.Call, Refusal] = field(default_factory=dict)
    _saving: set[Module] = field(default_factory=set)
    """Modules whose models are saved by the chief of several machines."""
    _cluster_module: Module | None = None
    """The module that makes the strategy of several machines, which a program has one of."""

    def plans(self) -> dict[Module, Plan]:
        wraps = self._followed()
        homes, remains = self._settled(wraps)
        if homes:
            self._migrate(homes, remains)
        self._say_refused()
        if self.facts.estimators:
            from tfmigrate.plan.estimator import plan_estimators  # Late: a dozen modules that few programs need.

            plan_estimators(self.facts, self.drafts)
        moved = self._moved()
        for draft in self.drafts.values():
            wanted = frozenset(rule.code for rule in self.rules if draft.settings.wants(rule.code))
            if draft.module in moved or (not self._has_uses(draft) and imports_the_name(draft)):
                plan_companions(draft, Tables.of(self.rules, wanted), self.facts.modules)
            elif draft.settings.asks_for_names:
                plan_readiness(draft, Tables.of(self.rules, wanted))
        self._say_keras_2(homes)
        if not any(draft.edits for draft in self.drafts.values()):
            apart = related_models(self.facts.wraps, self.facts)
            plan_rescoping(self.facts, self.drafts, apart)
            plan_misuses(self.facts, self.drafts, apart)
        if not any(draft.edits for draft in self.drafts.values()):
            plan_onto_workers(self.facts, self.drafts)
        return {module: draft.plan() for module, draft in self.drafts.items()}

    def _moved(self) -> set[Module]:
        """The modules that leave the old Keras: those with an edit, what they import, and what imports them.

        One program runs on one Keras. A module whose own uses are all refused stays where it is; where TFM001 is not
        asked for, those that wrap leave it too.
        """
        found: set[Module] = set()
        fresh = {
            module
            for module, draft in self.drafts.items()
            if draft.edits or (draft.facts.wraps and not draft.settings.wants(codes.MULTI_GPU_MODEL))
        }
        while fresh:
            found |= fresh
            linked = {pair for pair in self.facts.imports if fresh.intersection(pair)}
            fresh = {m for pair in linked for m in pair if not self._has_uses(self.drafts[m])} - found
        return found

    def _has_uses(self, draft: Draft) -> bool:
        return bool(draft.facts.wraps) or any(finding.code == codes.NOT_FOLLOWED for finding in draft.findings)

    # ---- which wraps can be followed ----

    def _followed(self) -> list[Wrap]:
        """The wraps to migrate; every other use of the name gets its refusal here."""
        reasons: dict[cst.Call, list[tuple[Wrap, Refusal | None]]] = {}
        for wrap in self.facts.wraps:
            if not self._draft(wrap.site.frame).wanted(codes.MULTI_GPU_MODEL, wrap.call):
                self.refused.setdefault(wrap.call, Refusal("", ""))
            else:
                reasons.setdefault(wrap.call, []).append((wrap, self._why_not(wrap)))
        for call, found in reasons.items():
            works = any(refusal is None for _, refusal in found)
            problems = [
                refusal for wrap, refusal in found if refusal is not None and not (works and _is_abstract(wrap))
            ]
            if problems:
                self.refused.setdefault(call, problems[0])
        for draft in self.drafts.values():
            self._say_other_uses(draft)
        return [wrap for wrap in self.facts.wraps if wrap.call not in self.refused and self._why_not(wrap) is None]

    def _why_not(self, wrap: Wrap) -> Refusal | None:
        if wrap.problem is not None:
            return Refusal(codes.ODD_CALL, f"multi_gpu_model cannot be followed: {wrap.problem}")
        if wrap.dress is not None and not self._only_instantiated(wrap.dress):
            return Refusal(
                codes.NOT_FOLLOWED,
                f"the class {wrap.dress.node.name.value} wraps the model, and is used otherwise than by calling it",
            )
        problem = template_problem(wrap)
        if problem is not None:
            unknown = any(isinstance(option, Parameter) for option in options(wrap.template))
            return Refusal(codes.UNKNOWN_CALLERS if unknown else codes.MADE_ELSEWHERE, problem)
        if home_of(wrap) is None:
            return Refusal(codes.MADE_ELSEWHERE, "the parts of the model are built in places that share no caller")
        return None

    def _only_instantiated(self, dress: ClassValue) -> bool:
        """Whether a class that dresses up the wrap is mentioned nowhere but in imports and calls that are wraps.

        Another module may have a class of the same name, which dresses up wraps of its own.
        """
        allowed: set[cst.CSTNode] = set()
        for wrap in self.facts.wraps:
            if wrap.dress is not None:
                allowed.update(walk(wrap.dress.node))
                allowed.update(walk(wrap.call.func))
        for draft in self.drafts.values():
            for node in draft.module.nodes:
                if isinstance(node, cst.Import | cst.ImportFrom):
                    allowed.update(walk(node))
        return not any(
            isinstance(node, cst.Name) and node.value == dress.node.name.value and node not in allowed
            for draft in self.drafts.values()
            for node in draft.module.nodes
        )

    def _wraps_in(self, dress: ClassValue) -> Iterator[cst.Call]:
        """The calls of multi_gpu_model in a class that dresses up the wrap."""
        symbols = self._draft(dress.closure).facts.symbols
        for call in calls_in(dress.node):
            if names.canonical(symbols.get(call.func, "")) == names.MULTI_GPU_MODEL:
                yield call

    def _say_other_uses(self, draft: Draft) -> None:
        """Mentions of multi_gpu_model that no wrap accounts for: a value passed on, code never reached, a copy."""
        called = {wrap.call.func for wrap in draft.facts.wraps}
        for dress in {wrap.dress for wrap in self.facts.wraps if wrap.dress is not None}:
            called.update(node for node in walk(dress.node) if isinstance(node, cst.Name | cst.Attribute))
        mentioned = [
            node
            for node, name in draft.facts.symbols.items()
            if names.canonical(name) == names.MULTI_GPU_MODEL and node not in called
        ]
        unreached = [
            call
            for call in draft.module.calls
            if call.func not in draft.facts.values and _names_it(draft.module, call.func)
        ]
        undefined = [
            call
            for call in draft.module.calls
            if isinstance(call.func, cst.Name) and draft.facts.values.get(call.func) == unbound("multi_gpu_model")
        ]
        for call in undefined:
            message = "nothing in sight defines multi_gpu_model here: import it, and run tfmigrate again"
            draft.say(codes.NOT_FOLLOWED, call, message, "refuse")
        for node in (*mentioned, *unreached):
            message = "multi_gpu_model is used here without a call that was followed"
            draft.say(codes.NOT_FOLLOWED, node, message, "refuse")
        for call in calls_in(draft.module.tree):
            if _names_a_home(call.func) and _is_unknown(draft.facts.values.get(call.func)):
                keras = dotted(call.func).rsplit(".", 2)[0]
                message = f"`{keras}` is handed in from elsewhere: if it is Keras, this is multi_gpu_model"
                draft.say(codes.INJECTED_KERAS, call, message, "refuse")
        for call, name in draft.facts.copies.items():
            draft.say(
                codes.LOCAL_COPY,
                call,
                f"{name} is a function of this project, not Keras's: if it is a copy of Keras's, name it in the "
                "setting `aliases`",
                "refuse",
            )

    # ---- homes ----

    def _settled(self, wraps: list[Wrap]) -> tuple[list[_Home], dict[Module, _Remains]]:
        """The homes whose strategy can be written. A call refused in one home is refused in all, so this repeats."""
        while True:
            before = len(self.refused)
            self._cluster_module = None
            homes = self._homes([wrap for wrap in wraps if wrap.call not in self.refused])
            remains = self._remains(homes)
            homes = [home for home in homes if self._strategy_is_known(home, remains)]
            if len(self.refused) == before:
                return homes, remains

    def _remains(self, homes: list[_Home]) -> dict[Module, _Remains]:
        """For each module with a wrap, what its statements become when all wraps of the homes go."""
        guards: dict[cst.CSTNode, str] = {
            guard.node: home.name for home in homes for wrap in home.wraps for guard in wrap.guards
        }
        calls = {wrap.call: wrap for home in homes for wrap in home.wraps}
        found = {}
        for module in dict.fromkeys(wrap.site.frame.module for wrap in calls.values()):
            draft = self.drafts[module]
            own = tuple(wrap for wrap in calls.values() if wrap.site.frame.module is module)
            exported = frozenset(name for source, name in self.facts.exported if source is module)
            merged = merge(module, draft.scopes, own, exported)
            replaced = superseded(draft.facts, draft.scopes, own, self.facts)
            gone = frozenset((*merged.removed, *replaced.assignments, *self._imports_of_the_name(module)))
            blocks = Blocks(draft.facts, own, gone, dict(merged.renamed), guards, replaced.blocks)
            found[module] = _Remains(own, merged, blocks, replaced.assignments)
        return found

    def _homes(self, wraps: list[Wrap]) -> list[_Home]:
        by_frame: dict[Frame, list[Wrap]] = {}
        for wrap in wraps:
            home = self._raised(wrap)
            if home is None:
                message = "its optimizer or a part of its model is made where no common caller is in sight"
                self.refused[wrap.call] = Refusal(codes.MADE_ELSEWHERE, message)
            else:
                by_frame.setdefault(home, []).append(wrap)
        by_function: dict[cst.Module | cst.FunctionDef, list[Group]] = {}
        modules: dict[cst.CSTNode, Module] = {}
        for frame, members in by_frame.items():
            members = [wrap for wrap in members if wrap.call not in self.refused]
            function = frame.function or frame.module.tree
            if members and isinstance(function, cst.Module | cst.FunctionDef):
                by_function.setdefault(function, []).append(self._group(frame, tuple(members)))
                modules[function] = frame.module
        return [
            _Home(modules[function], function, tuple(groups), self._strategy_name(modules[function], function))
            for function, groups in by_function.items()
        ]

    def _over_workers(self, module: Module) -> bool:
        return self.drafts[module].settings.strategy == "multi-worker"

    def _strategy_name(self, module: Module, function: cst.Module | cst.FunctionDef) -> str:
        wraps = [wrap for wrap in self.facts.wraps if wrap.site.frame.module is module]
        draft = self.drafts[module]
        if "strategy" in superseded(draft.facts, draft.scopes, wraps, self.facts).names(function):
            return "strategy"
        return self._fresh(module, "strategy", module.tree if self._over_workers(module) else function)

    def _fresh(self, module: Module, wanted: str, function: cst.CSTNode) -> str:
        scopes = self.drafts[module].scopes
        return scopes.fresh(wanted, scopes.by_node[function])

    def _raised(self, wrap: Wrap) -> Frame | None:
        """The wrap's home, moved outwards until every part of the model and its optimizer is made under it."""
        home = home_of(wrap)
        while home is not None:
            group = self._group(home, (wrap,))
            parts = frozenset().union(*(use.parts for use in group.compiles))
            outside = {
                site.frame
                for site in sites_to_cover(group) - {use.site for use in group.compiles}
                if site.lifted(home) is None
                and not self._reachable_far(group, site)
                # Another model of the same variable that no run builds together with this one needs no scope of its.
                and (site in parts or common_frame([home, site.frame]) is not None)
            }
            if not outside:
                return home
            raised = common_frame([home, *outside])
            if raised is home:
                return None
            home = raised
        return None

    def _reachable_far(self, group: Group, site: Site) -> bool:
        """Whether a site outside the home can stand under `model.distribute_strategy` beside its compile()."""
        for use in group.compiles:
            if site in use.parts and site.frame is use.site.frame:
                return self._known_before(use, site.unit)
        return False

    def _known_before(self, use: Use, unit: Unit) -> bool:
        """Whether the model that compile() is called on has its name before `unit`."""
        receiver = use.call.func.value if isinstance(use.call.func, cst.Attribute) else None
        root = dotted(receiver).split(".", 1)[0]
        if not root:
            return False
        draft = self._draft(use.site.frame)
        scope = draft.scope_of(use.site.frame)
        order = draft.module.order
        return all(
            order[mention.unit] < order[unit] or mention.unit is scope.node
            for mention in draft.scopes.of_variable(root, scope)
            if mention.binds
        )

    def _group(self, home: Frame, wraps: tuple[Wrap, ...]) -> Group:
        models = related_models(wraps, self.facts)
        uses = [use for use in self.facts.uses if concerns(use, models, wraps)]
        return Group(
            home=home,
            wraps=wraps,
            models=models,
            compiles=tuple(use for use in uses if use.method == "compile"),
            trainings=tuple(use for use in uses if use.method in TRAINING),
        )

    def _strategy_is_known(self, home: _Home, remains: Mapping[Module, _Remains]) -> bool:
        """Refuses a home's wraps where its strategy cannot be written; True where it can."""
        problem = self._two_compiles(home)
        if problem is None:
            runs = self._runs(home, self._covering(home), remains)
            if not runs:
                problem = Refusal(codes.MADE_ELSEWHERE, "no statement was found that builds the model")
            else:
                _, found = self._placed(home, runs)
                problem = found if isinstance(found, Refusal) else None
        if problem is None:
            return True
        for wrap in home.wraps:
            self.refused[wrap.call] = problem
        return False

    def _placed(self, home: _Home, runs: list[Run]) -> tuple[Unit, Strategy | Refusal]:
        """The unit before which the strategy is made: once, outside the loops, where `gpus` is known there already."""
        before = first_common_unit(home.module, runs, home.body)
        if self._over_workers(home.module):
            return self._placed_first(home, before)
        found = self._strategy(home, before)
        for loop in loops_round(home.module, before, home.body):
            outside = self._strategy(home, loop)
            if isinstance(found, Strategy) and isinstance(outside, Refusal):
                break
            before, found = loop, outside
        return before, found

    def _placed_first(self, home: _Home, before: Unit) -> tuple[Unit, Strategy | Refusal]:
        """The unit before which the strategy of several machines is made: before all else, once in a program."""
        draft = self.drafts[home.module]
        place = place_of_strategy(draft, before)
        self._cluster_module = self._cluster_module or home.module
        if self._cluster_module is not home.module:
            message = "several machines share one strategy, and another file of this program makes it already"
            return place, Refusal(codes.TWO_STRATEGIES, message)
        return place, devices_problem(draft, place) or ALL_WORKERS

    def _strategy(self, home: _Home, before: Unit) -> Strategy | Refusal:
        """The one strategy that serves every wrap of a home."""
        carrier = Carrier({module: draft.scopes for module, draft in self.drafts.items()})
        draft = self.drafts[home.module]
        found: Strategy | None = None
        for group in home.groups:
            for wrap in group.wraps:
                one = strategy_for(carrier, wrap, group.home, before, draft.tf, draft.quote)
                if isinstance(one, Refusal):
                    return one
                both = one if found is None else found.joined(one)
                if both is None:
                    message = "this function wraps models with different `gpus`: one strategy serves one"
                    return Refusal(codes.TWO_STRATEGIES, message)
                found = both
        assert found is not None
        return found

    def _two_compiles(self, home: _Home) -> Refusal | None:
        """The template compiled after the parallel model, which then trains: as one object the wrong one wins."""
        for group in home.groups:
            parallel = [use for use in group.compiles if _is_parallel(use, group)]
            trained = [use for use in group.trainings if _is_parallel(use, group)]
            for use in group.compiles:
                if not _is_template(use, group):
                    continue
                earlier = any(self._follows(use, other) for other in parallel)
                recompiled = [other for other in parallel if self._follows(other, use)]
                later = [
                    t for t in trained if self._follows(t, use) and not any(self._follows(t, r) for r in recompiled)
                ]
                if earlier and later:
                    return Refusal(
                        codes.TWO_COMPILES,
                        f"the template is compiled apart at line {self._line(use.site.frame, use.call)}, after the "
                        "parallel model and before its training; as one object, the later compile() wins",
                    )
        return None

    def _follows(self, use: Use, other: Use) -> bool:
        """Whether a call comes after another one of the same file, and not in the other arm of a common `if`."""
        module, one, two = use.site.frame.module, use.site.unit, other.site.unit
        if module is not other.site.frame.module:
            return False
        return module.order[one] > module.order[two] and not module.exclusive(one, two)

    def _line(self, frame: Frame, node: cst.CSTNode) -> int:
        return frame.module.position(node)[0]

    # ---- the scope ----

    def _covering(self, home: _Home) -> _Covering:
        near: set[Unit] = set()
        far: dict[Site, cst.BaseExpression] = {}
        for group in home.groups:
            trained = {
                lifted.unit
                for use in group.trainings
                if (lifted := use.site.lifted(group.home)) is not None and use.site.frame is not group.home
            }
            apart = {
                site: use.call.func.value
                for use in group.compiles
                if isinstance(use.call.func, cst.Attribute) and dotted(use.call.func.value)
                for site in (use.site, *use.parts)
                if site.frame is use.site.frame
            }
            for site in sites_to_cover(group):
                lifted = site.lifted(group.home)
                distant = lifted is None or (site.frame is not group.home and lifted.unit in trained)
                if distant and site in apart:
                    far[site] = apart[site]
                elif lifted is not None:
                    near.add(lifted.unit)
        return _Covering(frozenset(near), tuple((site, model) for site, model in far.items() if site.unit not in near))

    def _runs(self, home: _Home, covering: _Covering, remains: Mapping[Module, _Remains]) -> list[Run]:
        """The `with` blocks of a home."""
        training = frozenset(
            lifted.unit
            for group in home.groups
            for use in group.trainings
            if (lifted := use.site.lifted(group.home)) is not None
        )
        left = remains.get(home.module)
        gone, transparent = (left.blocks.gone, left.blocks.transparent) if left is not None else ((), ())
        cover = Cover(home.module, covering.near, training - covering.near, gone, transparent)
        return list(cover.runs(home.body))

    # ---- the migration ----

    def _migrate(self, homes: list[_Home], remains: Mapping[Module, _Remains]) -> None:
        for module, left in remains.items():
            draft = self.drafts[module]
            draft.edits.extend(Remove(node) for node in (*left.merge.removed, *left.strategies))
            draft.edits.extend(Replace(node, new) for node, new in left.merge.renamed)
            draft.edits.extend(left.blocks.edits)
            self._replace_calls(draft, left)
        accepted = tuple(wrap for left in remains.values() for wrap in left.wraps)
        for dress in {wrap.dress for wrap in accepted if wrap.dress is not None}:
            draft = self._draft(dress.closure)
            draft.edits.append(Unwrap(dress.node, None))
            for call in self._wraps_in(dress):
                message = f"the class {dress.node.name.value}, which only wraps a model, goes"
                draft.say(codes.MULTI_GPU_MODEL, call, message, "rewrite")
        scoped: set[cst.CSTNode] = set()
        far: dict[cst.CSTNode, tuple[Site, cst.BaseExpression]] = {}
        for home in homes:
            covering = self._covering(home)
            self._scope(home, covering, remains, scoped)
            far.update((site.unit, (site, model)) for site, model in covering.far)
            self._pipelines(home)
            self._note_toggles(home)
            self._note_shared_optimizers(home)
            self._note_no_compile(home)
            if self._over_workers(home.module):
                self._save_by_chief(home)
                self._note_data(home)
        apart: dict[tuple[Module, cst.CSTNode, str], list[Unit]] = {}
        for site, model in far.values():
            unit = site.unit
            if unit not in scoped:
                module = site.frame.module
                renamed = dict(remains[module].merge.renamed) if module in remains else {}
                context = f"{_named(model, renamed)}.distribute_strategy.scope()"
                apart.setdefault((module, module.places[unit].block, context), []).append(unit)
        for (module, _, context), units in apart.items():
            for neighbours in _neighbours(module, units):
                self.drafts[module].edits.append(Scope(neighbours, context))
        for wrap in accepted:
            self._draft(wrap.site.frame).say(
                codes.MULTI_GPU_MODEL, wrap.call, self._story(wrap), "rewrite", trail_of(wrap, self.facts)
            )
            self._notes(wrap)

    def _imports_of_the_name(self, module: Module) -> Iterator[cst.ImportFrom]:
        """Import statements that go because they import nothing else and every use in the module is migrated."""
        if any(wrap.call in self.refused for wrap in self.facts.wraps if wrap.site.frame.module is module):
            return
        for statement, _ in import_statements(module):
            found = [full for _, _, full in imports_of(statement)]
            if isinstance(statement, cst.ImportFrom) and found:
                if all(names.canonical(full) == names.MULTI_GPU_MODEL for full in found):
                    yield statement

    def _replace_calls(self, draft: Draft, left: _Remains) -> None:
        for wrap in left.wraps:
            assignment = wrapped_assignment(wrap)
            if assignment in left.merge.removed or wrap.template_node is None:
                continue
            node: cst.BaseExpression = wrap.call
            if assignment is not None and isinstance(assignment.value, cst.IfExp):
                node = assignment.value
            draft.edits.append(Replace(node, "{model}", (("model", wrap.template_node),)))
        for node, model in draft.facts.unwraps.items():
            value = draft.facts.values.get(model)
            if isinstance(value, Parallel) and value.wrap.call not in self.refused:
                draft.edits.append(Replace(node, "{model}", (("model", model),)))

    def _scope(
        self, home: _Home, covering: _Covering, remains: Mapping[Module, _Remains], scoped: set[cst.CSTNode]
    ) -> None:
        """Make the strategy and put its scope round what needs it; `scoped` collects the units taken in."""
        draft = self.drafts[home.module]
        gone = remains[home.module].blocks.gone if home.module in remains else set()
        runs = self._runs(home, covering, remains)
        before, strategy = self._placed(home, runs)
        assert isinstance(strategy, Strategy)
        moved = dict.fromkeys(
            wrap.site.unit
            for wrap in home.wraps
            if wrap.site.frame.function is home.groups[0].home.function
            and wrap.site.unit in gone
            and not any(owner in gone for owner in home.module.ancestors(wrap.site.unit))
        )
        code = strategy.statement(home.name, draft.tf, home.module.tree.default_indent)
        if strategy is ALL_WORKERS:
            # One for all functions of the module, before the first of them.
            others = [edit for edit in draft.edits if isinstance(edit, Insert) and edit.code == code]
            draft.edits[:] = [edit for edit in draft.edits if edit not in others]
            made = min((Insert(before, code), *others), key=lambda edit: home.module.order[edit.before])
        else:
            made = Insert(before, code, tuple(moved))
        draft.edits.append(made)
        draft.edits.extend(Scope(run.units, f"{home.name}.scope()") for run in runs)
        scoped.update(unit for run in runs for unit in run.units)

    def _pipelines(self, home: _Home) -> None:
        done: set[cst.CSTNode] = set()
        for group in home.groups:
            counts = {replicas(wrap) for wrap in group.wraps}
            guarded = any(wrap.guards for wrap in group.wraps)
            for use in group.trainings:
                draft = self._draft(use.site.frame)
                over_workers = draft.settings.strategy == "multi-worker"
                if use.call in done or not takes_arrays(use, draft.facts):
                    continue
                done.add(use.call)
                if not draft.wanted(codes.ARRAYS_TO_DATASET, use.call):
                    continue
                scope = draft.scope_of(use.site.frame)
                known = use.site.frame.function is group.home.function and use.site.frame.module is home.module
                found = plan_pipeline(
                    draft.module,
                    draft.facts,
                    use,
                    Names(
                        tf=draft.tf,
                        strategy=home.name if known and not guarded else None,
                        train=draft.scopes.fresh("train_dataset", scope),
                        validation=draft.scopes.fresh("validation_dataset", scope),
                        batch=draft.scopes.fresh("global_batch_size", scope),
                        split=draft.scopes.fresh("split_at", scope),
                        sharding=draft.scopes.fresh("sharding", scope) if over_workers else None,
                    ),
                    next(iter(counts)) if len(counts) == 1 else None,
                    draft.settings.batch == "keep" or over_workers,
                )
                if isinstance(found, str):
                    message = f"fit() keeps its arrays, of which a strategy takes the global batch too: {found}"
                    if over_workers:
                        message = f"fit() keeps its arrays, which every worker shuffles in an order of its own: {found}"
                    draft.say(codes.ARRAYS_TO_DATASET, use.call, message, "warn")
                else:
                    draft.edits.extend((found.insert, found.arguments))
                    message = "fit() on arrays becomes a tf.data pipeline with the global batch"
                    draft.say(codes.ARRAYS_TO_DATASET, use.call, message, "rewrite")

    def _save_by_chief(self, home: _Home) -> None:
        """Every worker of several must save; what is meant is the chief's file."""
        uses = [use for use in self.facts.uses if any(concerns(use, g.models, g.wraps) for g in home.groups)]
        for draft in self.drafts.values():
            writing = [use for use in saves(draft.facts, uses) if draft.wanted(codes.SAVED_BY_CHIEF, use.call)]
            if writing:
                draft.edits.extend(saved_by_chief(draft, writing))
                self._saving.add(draft.module)
            for use in writing:
                draft.say(codes.SAVED_BY_CHIEF, use.call, chief_story(use), "rewrite")

    def _note_data(self, home: _Home) -> None:
        """Training data that is no pipeline with a stated sharding, or that each worker draws for itself."""
        trainings = [use for group in home.groups for use in group.trainings]
        for use in trainings:
            draft = self._draft(use.site.frame)
            if not takes_arrays(use, draft.facts):
                draft.say(codes.WORKERS_DATA, use.call, data_story(use), "warn")
        for module in {use.site.frame.module for use in trainings}:
            say_unseeded(self.drafts[module])

    def _say_keras_2(self, homes: Iterable[_Home]) -> None:
        """What stands before all imports; planned last, so that it stands before the ones that are added, too."""
        for module in {home.module for home in homes if self._over_workers(home.module)} | self._saving:
            draft = self.drafts[module]
            makes = module is self._cluster_module
            lines, again = header(draft, keras_2=makes, saves=module in self._saving)
            draft.edits[:0] = (lines, *again)
            if makes:
                draft.say(codes.SEVERAL_WORKERS, lines.before, KERAS_2, "rewrite")

    def _note_no_compile(self, home: _Home) -> None:
        """A model that is trained in sight and compiled out of sight, in a module found at run time or a library."""
        for group in home.groups:
            if group.trainings and not group.compiles and not any(model.origin == "loaded" for model in group.models):
                use = group.trainings[0]
                self._draft(use.site.frame).say(
                    codes.COMPILED_OUT_OF_SIGHT,
                    use.call,
                    "the model is compiled nowhere in sight: wherever that is, Keras 3 wants compile() and the "
                    "optimizer inside `with model.distribute_strategy.scope():`",
                    "warn",
                )

    def _note_toggles(self, home: _Home) -> None:
        """`critic.trainable = False` before a combined model's compile(): Keras 3 reads it at every step instead."""
        compiled = [opaque_sites(use.receiver) for group in home.groups for use in group.compiles]
        for draft in self.drafts.values():
            for node, value in draft.facts.toggles:
                toggled = opaque_sites(value)
                if toggled and toggled in compiled and any(toggled < whole for whole in compiled):
                    draft.say(
                        codes.TRAINABLE_TOGGLE,
                        node,
                        "both this model and one built on it are compiled and trained: Keras 3 reads `trainable` at "
                        "each step, not at compile(); set it before every train_on_batch() of either",
                        "warn",
                    )

    def _note_shared_optimizers(self, home: _Home) -> None:
        """One optimizer object, two models: Keras 3 builds it for the first one's weights alone."""
        first: dict[tuple[Site, cst.CSTNode | None], Use] = {}
        for use in (use for group in home.groups for use in group.compiles):
            for made in use.optimizers:
                earlier = first.setdefault(made, use)
                if opaque_sites(earlier.receiver) == opaque_sites(use.receiver) or _exclusive(earlier, use):
                    continue
                line = self._line(earlier.site.frame, earlier.call)
                self._draft(use.site.frame).say(
                    codes.SHARED_OPTIMIZER,
                    use.call,
                    f"its optimizer is also that of the compile() at line {line}: Keras 3 builds it for one model's "
                    "weights and raises ValueError (Unknown variable) at the other's first step; make one for each",
                    "warn",
                )

    def _story(self, wrap: Wrap) -> str:
        places = sorted((site.frame.module.path, self._line(site.frame, site.unit)) for site in _own_sites(wrap))
        built = "built here"
        if places:
            path, line = places[0]
            built = f"built at line {line}" + ("" if path == wrap.site.frame.module.path else f" of {path}")
        gpus = f"gpus={wrap.site.frame.module.code(wrap.gpus)}" if wrap.gpus is not None else "all visible GPUs"
        scoped = f"the model {built} and its compile() stand in its scope"
        if self._over_workers(wrap.site.frame.module):
            return (
                f"multi_gpu_model ({gpus}) becomes a MultiWorkerMirroredStrategy, made before all else, over the GPUs "
                f"that each worker of TF_CONFIG sees; {scoped}"
            )
        return f"multi_gpu_model ({gpus}) becomes a MirroredStrategy; {scoped}"

    def _notes(self, wrap: Wrap) -> None:
        if wrap.cpu_relocation:
            self._draft(wrap.site.frame).say(
                codes.RELOCATED_TEMPLATE,
                wrap.call,
                "cpu_relocation=True trained a clone: what was saved from the template had untrained weights, "
                "and will have the trained ones now",
                "warn",
            )
        for use in self.facts.uses:
            if use.method in SAVING | LOADING and any(
                isinstance(option, Parallel) and option.wrap.call is wrap.call for option in options(use.receiver)
            ):
                self._draft(use.site.frame).say(
                    codes.PARALLEL_CHECKPOINT,
                    use.call,
                    f"{use.method}() was called on the parallel model, whose files nest the model as one layer; the "
                    "plain model neither writes nor reads that layout, so files of old runs need converting",
                    "warn",
                )

    # ---- what is said ----

    def _draft(self, frame: Frame) -> Draft:
        return self.drafts[frame.module]

    def _say_refused(self) -> None:
        said: set[cst.Call] = set()
        for wrap in self.facts.wraps:
            refusal = self.refused.get(wrap.call)
            if refusal is not None and refusal.code and wrap.call not in said:
                said.add(wrap.call)
                self._draft(wrap.site.frame).say(
                    refusal.code, wrap.call, refusal.message, "refuse", trail_of(wrap, self.facts)
                )
                if wrap.dress is not None:
                    line = self._line(wrap.site.frame, wrap.call)
                    message = f"stays, because its use at line {line} of {wrap.site.frame.module.path} is refused"
                    for call in {*self._wraps_in(wrap.dress)} - said:
                        said.add(call)
                        self._draft(wrap.dress.closure).say(refusal.code, call, message, "refuse")


def _exclusive(one: Use, other: Use) -> bool:
    """Whether two calls stand in different arms, so that no run makes both."""
    module = one.site.frame.module
    return module is other.site.frame.module and module.exclusive(one.site.unit, other.site.unit)


def _is_abstract(wrap: Wrap) -> bool:
    """Whether a wrap was met in a method that nothing calls: on a base class, whose subclasses build the model."""
    *_, outermost = wrap.site.frame.chain()
    return outermost.owner is not None


def _neighbours(module: Module, units: Iterable[Unit]) -> Iterator[tuple[Unit, ...]]:
    """The units of one block, in order, those that follow each other without another between them together."""
    run: list[Unit] = []
    for unit in sorted(units, key=lambda one: module.order[one]):
        if run and module.places[unit].index != module.places[run[-1]].index + 1:
            yield tuple(run)
            run = []
        run.append(unit)
    if run:
        yield tuple(run)


def _names_it(module: Module, node: cst.BaseExpression) -> bool:
    """Whether an expression that was never evaluated is the name by its import alone."""
    if isinstance(node, cst.Name):
        for statement, _ in import_statements(module):
            for _, bound, full in imports_of(statement):
                if bound == node.value and names.canonical(full) == names.MULTI_GPU_MODEL:
                    return True
    return isinstance(node, cst.Attribute) and names.canonical(dotted(node)) == names.MULTI_GPU_MODEL


def _names_a_home(node: cst.BaseExpression) -> bool:
    """`something.utils.multi_gpu_model`, whatever `something` is."""
    parts = dotted(node).split(".")
    tails = (".".join(["keras", *parts[-count:]]) for count in (2, 3) if len(parts) > count)
    return any(names.canonical(tail) == names.MULTI_GPU_MODEL for tail in tails)


def _is_unknown(value: Value | None) -> bool:
    return value is not None and any(
        isinstance(option, Opaque) or (isinstance(option, Method) and option.function is None)
        for option in options(value)
    )


def _own_sites(wrap: Wrap) -> Iterator[Site]:
    for option in options(wrap.template):
        if isinstance(option, ModelObject):
            yield option.site


def _is_parallel(use: Use, group: Group) -> bool:
    return any(isinstance(option, Parallel) and option.wrap in group.wraps for option in options(use.receiver))


def _is_template(use: Use, group: Group) -> bool:
    templates = {option for wrap in group.wraps for option in options(wrap.template) if isinstance(option, ModelObject)}
    return not _is_parallel(use, group) and bool(templates & options(use.receiver))


def _named(model: cst.BaseExpression, renamed: Mapping[cst.Name, str]) -> str:
    """A model's expression with the name that remains: a variable of another function may be called the same."""
    root = model
    while isinstance(root, cst.Attribute):
        root = root.value
    head, dot, rest = dotted(model).partition(".")
    return (renamed.get(root, head) if isinstance(root, cst.Name) else head) + dot + rest
