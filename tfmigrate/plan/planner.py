"""Facts -> Plan, for one module: the migration from wrap to strategy, readable from top to bottom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.aliases import Merge, merge, wrapped_assignment
from tfmigrate.plan.blocks import Blocks
from tfmigrate.plan.edits import Arguments, Edit, Insert, Plan, Remove, Replace, Scope, Unwrap
from tfmigrate.plan.expressions import Carrier
from tfmigrate.plan.groups import (
    Group,
    Refusal,
    common_frame,
    concerns,
    home_of,
    parts_of_compile,
    related_models,
    sites_to_cover,
    template_problem,
)
from tfmigrate.plan.imports import import_statements, plan_import, tries_of_imports
from tfmigrate.plan.interfaces import CallChange, Tables, calls_in, generator_calls, moved_attributes, optimizer_calls, string_optimizers
from tfmigrate.plan.pipeline import Names, plan_pipeline, takes_arrays
from tfmigrate.plan.saving import weight_files
from tfmigrate.plan.scope import Cover, Run, first_common_unit
from tfmigrate.plan.strategy import Strategy, replicas, strategy_for
from tfmigrate.result import Action, Finding
from tfmigrate.rules import Rule
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import LOADING, SAVING, TRAINING, Facts, Use, Wrap
from tfmigrate.understand.program import Module, Unit, dotted, imports_of, units_of
from tfmigrate.understand.scopes import LexicalScope, Scopes
from tfmigrate.understand.suppressions import Suppression
from tfmigrate.understand.values import Frame, ModelObject, Parallel, Parameter, Site, options


def plan_module(
    facts: Facts,
    scopes: Scopes,
    settings: Settings,
    rules: Iterable[Rule],
    suppressions: tuple[Suppression, ...],
) -> Plan:
    """All that shall be done to one module, and all that is said about it."""
    return _Planner(facts, scopes, settings, tuple(rules), suppressions).plan()


@dataclass(frozen=True)
class _Home:
    """All groups of one function (or the module), which share one strategy variable."""

    function: cst.CSTNode
    groups: tuple[Group, ...]
    name: str

    @property
    def wraps(self) -> tuple[Wrap, ...]:
        return tuple(wrap for group in self.groups for wrap in group.wraps)


@dataclass(frozen=True)
class _Covering:
    """Units to stand under the home's strategy, and units far from it under their model's own."""

    near: frozenset[Unit]
    far: tuple[tuple[Unit, str], ...]


@dataclass
class _Planner:
    facts: Facts
    scopes: Scopes
    settings: Settings
    rules: tuple[Rule, ...]
    suppressions: tuple[Suppression, ...]
    edits: list[Edit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    refused: dict[cst.Call, Refusal] = field(default_factory=dict)

    @property
    def module(self) -> Module:
        return self.facts.module

    def plan(self) -> Plan:
        wraps = self._followed()
        homes = self._homes(wraps)
        tf = self._tensorflow()
        homes = [home for home in homes if self._strategy_is_known(home, tf)]
        accepted = tuple(wrap for home in homes for wrap in home.wraps)
        if accepted:
            self._migrate(homes, accepted, tf)
        self._say_refused()
        leftover = self._leftover_imports(accepted)
        if accepted or leftover:
            self._companions(tf)
            if self._mentions_tensorflow(tf):
                self._import_tensorflow(tf)
        self._unused_suppressions()
        return Plan(tuple(self.edits), tuple(sorted(set(self.findings))))

    # ---- which wraps can be followed ----

    def _followed(self) -> list[Wrap]:
        """The wraps to migrate; every other use of the name gets its refusal here."""
        followed = []
        for wrap in self.facts.wraps:
            if not self._wanted(codes.MULTI_GPU_MODEL, wrap.call):
                self.refused.setdefault(wrap.call, Refusal("", ""))
                continue
            refusal = self._why_not(wrap)
            if refusal is None:
                followed.append(wrap)
            else:
                self.refused[wrap.call] = refusal
        called = {wrap.call.func for wrap in self.facts.wraps}
        for node in self._other_uses(called):
            self._say(codes.NOT_FOLLOWED, node, "multi_gpu_model is used here without a call that was followed", "refuse")
        for call, name in self.facts.copies.items():
            self._say(
                codes.LOCAL_COPY,
                call,
                f"{name} is a function of this project, not Keras's: if it is a copy of Keras's, name it in the setting "
                "`aliases`",
                "refuse",
            )
        return [wrap for wrap in followed if wrap.call not in self.refused]

    def _why_not(self, wrap: Wrap) -> Refusal | None:
        if wrap.problem is not None:
            return Refusal(codes.ODD_CALL, f"multi_gpu_model cannot be followed: {wrap.problem}")
        problem = template_problem(wrap)
        if problem is not None:
            unknown = any(isinstance(option, Parameter) for option in options(wrap.template))
            return Refusal(codes.UNKNOWN_CALLERS if unknown else codes.MADE_ELSEWHERE, problem)
        if home_of(wrap) is None:
            return Refusal(codes.MADE_ELSEWHERE, "the parts of the model are built in places that share no caller")
        return None

    def _other_uses(self, called: set[cst.BaseExpression]) -> Iterator[cst.CSTNode]:
        """Mentions of multi_gpu_model that no wrap accounts for: passed on as a value, or in code never reached."""
        for node, name in self.facts.symbols.items():
            if names.canonical(name) == names.MULTI_GPU_MODEL and node not in called:
                yield node
        for call in calls_in(self.module.tree):
            if call.func not in self.facts.values and self._names_it(call.func):
                yield call

    def _names_it(self, node: cst.BaseExpression) -> bool:
        """Whether an expression that was never evaluated is the name by its import alone."""
        if isinstance(node, cst.Name):
            for statement, _ in import_statements(self.module):
                for _, bound, full in imports_of(statement):
                    if bound == node.value and names.canonical(full) == names.MULTI_GPU_MODEL:
                        return True
        return isinstance(node, cst.Attribute) and names.canonical(dotted(node)) == names.MULTI_GPU_MODEL

    # ---- homes ----

    def _homes(self, wraps: list[Wrap]) -> list[_Home]:
        by_frame: dict[Frame, list[Wrap]] = {}
        for wrap in wraps:
            home = self._raised(wrap)
            if home is None:
                self.refused[wrap.call] = Refusal(
                    codes.MADE_ELSEWHERE, "its optimizer or a part of its model is made where no common caller is in sight"
                )
            else:
                by_frame.setdefault(home, []).append(wrap)
        by_function: dict[cst.CSTNode, list[Group]] = {}
        for frame, members in by_frame.items():
            members = [wrap for wrap in members if wrap.call not in self.refused]
            if members:
                group = self._group(frame, tuple(members))
                by_function.setdefault(frame.function or self.module.tree, []).append(group)
        return [
            _Home(function, tuple(groups), self.scopes.fresh("strategy", self.scopes.by_node[function]))
            for function, groups in by_function.items()
        ]

    def _raised(self, wrap: Wrap) -> Frame | None:
        """The wrap's home, moved outwards until every part of the model and its optimizer is made under it."""
        home = home_of(wrap)
        while home is not None:
            group = self._group(home, (wrap,))
            outside = {
                site.frame
                for site in sites_to_cover(group) - {use.site for use in group.compiles}
                if site.lifted(home) is None and not self._reachable_far(group, site)
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
            if site in parts_of_compile(use) and site.frame is use.site.frame:
                return self._known_before(use, site.unit)
        return False

    def _known_before(self, use: Use, unit: Unit) -> bool:
        """Whether the model that compile() is called on has its name before `unit`."""
        receiver = use.call.func.value if isinstance(use.call.func, cst.Attribute) else None
        root = dotted(receiver).split(".", 1)[0]
        if not root:
            return False
        scope = self.scopes.by_node[use.site.frame.function or self.module.tree]
        mentions = self.scopes.of_variable(root, scope)
        return all(
            self.module.order[mention.unit] < self.module.order[unit] or mention.unit is scope.node
            for mention in mentions
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

    def _strategy_is_known(self, home: _Home, tf: str) -> bool:
        """Refuses a home's wraps where its strategy cannot be written; True where it can."""
        problem = self._two_compiles(home)
        run = None
        if problem is None:
            cover = self._cover(home, self._covering(home), (), ())
            runs = list(cover.runs(self._body(home)))
            if not runs:
                problem = Refusal(codes.MADE_ELSEWHERE, "no statement was found that builds the model")
            else:
                run = first_common_unit(self.module, runs, self._body(home))
        if run is not None:
            found = self._strategy(home, run, tf)
            problem = found if isinstance(found, Refusal) else None
        if problem is None:
            return True
        for wrap in home.wraps:
            self.refused[wrap.call] = problem
        return False

    def _strategy(self, home: _Home, before: Unit, tf: str) -> Strategy | Refusal:
        """The one strategy that serves every wrap of a home."""
        carrier = Carrier(self.module, self.scopes)
        found: Strategy | None = None
        for group in home.groups:
            for wrap in group.wraps:
                one = strategy_for(self.module, carrier, wrap, group.home, before, tf)
                if isinstance(one, Refusal):
                    return one
                both = one if found is None else found.joined(one)
                if both is None:
                    return Refusal(
                        codes.TWO_STRATEGIES, "this function wraps models with different `gpus`: one strategy serves one"
                    )
                found = both
        assert found is not None
        return found

    def _two_compiles(self, home: _Home) -> Refusal | None:
        """The template compiled after the parallel model, which then trains: as one object, the wrong compile() wins."""
        for group in home.groups:
            parallel = [use for use in group.compiles if _is_parallel(use, group)]
            trained = [use for use in group.trainings if _is_parallel(use, group)]
            for use in group.compiles:
                if not _is_template(use, group):
                    continue
                earlier = any(self._follows(use, other) for other in parallel)
                recompiled = [other for other in parallel if self._follows(other, use)]
                later = [t for t in trained if self._follows(t, use) and not any(self._follows(t, r) for r in recompiled)]
                if earlier and later:
                    return Refusal(
                        codes.TWO_COMPILES,
                        f"the template is compiled apart at line {self.module.position(use.call)[0]}, after the parallel "
                        "model and before its training; as one object the later compile() would replace the earlier",
                    )
        return None

    def _follows(self, use: Use, other: Use) -> bool:
        """Whether a call comes after another one, and not in the other arm of an `if` that both stand in."""
        one, two = use.site.unit, other.site.unit
        return self.module.order[one] > self.module.order[two] and not self.module.exclusive(one, two)

    # ---- the scope ----

    def _body(self, home: _Home) -> cst.Module | cst.BaseSuite:
        function = home.function
        assert isinstance(function, cst.Module | cst.FunctionDef)
        return function.body if isinstance(function, cst.FunctionDef) else function

    def _covering(self, home: _Home) -> _Covering:
        near: set[Unit] = set()
        far: dict[Unit, str] = {}
        for group in home.groups:
            trained = {
                lifted.unit
                for use in group.trainings
                if (lifted := use.site.lifted(group.home)) is not None and use.site.frame is not group.home
            }
            apart = {
                site: dotted(use.call.func.value) if isinstance(use.call.func, cst.Attribute) else ""
                for use in group.compiles
                for site in (use.site, *parts_of_compile(use))
                if site.frame is use.site.frame
            }
            for site in sites_to_cover(group):
                lifted = site.lifted(group.home)
                distant = lifted is None or (site.frame is not group.home and lifted.unit in trained)
                if distant and apart.get(site):
                    far[site.unit] = f"{apart[site]}.distribute_strategy.scope()"
                elif lifted is not None:
                    near.add(lifted.unit)
        return _Covering(frozenset(near), tuple((unit, context) for unit, context in far.items() if unit not in near))

    def _cover(
        self, home: _Home, covering: _Covering, gone: Iterable[cst.CSTNode], transparent: Iterable[cst.CSTNode]
    ) -> Cover:
        training = frozenset(
            lifted.unit
            for group in home.groups
            for use in group.trainings
            if (lifted := use.site.lifted(group.home)) is not None
        )
        return Cover(self.module, covering.near, training - covering.near, gone, transparent)

    # ---- the migration ----

    def _migrate(self, homes: list[_Home], accepted: tuple[Wrap, ...], tf: str) -> None:
        merged = merge(self.module, self.scopes, accepted)
        blocks = Blocks(
            self.facts,
            accepted,
            frozenset(merged.removed),
            dict(merged.renamed),
            {guard.node: home.name for home in homes for wrap in home.wraps for guard in wrap.guards},
        )
        self.edits.extend(Remove(node) for node in merged.removed)
        self.edits.extend(Replace(node, new) for node, new in merged.renamed)
        self.edits.extend(blocks.edits)
        self._replace_calls(accepted, merged)
        scoped: set[cst.CSTNode] = set()
        for home in homes:
            covering = self._covering(home)
            runs = list(self._cover(home, covering, blocks.gone, blocks.transparent).runs(self._body(home)))
            self._scope(home, runs, blocks, tf)
            scoped.update(unit for run in runs for unit in run.units)
            for unit, context in covering.far:
                if unit not in scoped:
                    scoped.add(unit)
                    self.edits.append(Scope((unit,), _renamed(context, merged)))
            self._pipelines(home, merged, tf)
        for wrap in {wrap.call: wrap for wrap in accepted}.values():
            self._say(codes.MULTI_GPU_MODEL, wrap.call, self._story(wrap), "rewrite")
            self._notes(wrap)

    def _replace_calls(self, accepted: tuple[Wrap, ...], merged: Merge) -> None:
        for wrap in {wrap.call: wrap for wrap in accepted}.values():
            assignment = wrapped_assignment(wrap)
            if assignment in merged.removed or wrap.template_node is None:
                continue
            node: cst.BaseExpression = wrap.call
            if assignment is not None and isinstance(assignment.value, cst.IfExp):
                node = assignment.value
            self.edits.append(Replace(node, "{model}", (("model", wrap.template_node),)))

    def _scope(self, home: _Home, runs: list[Run], blocks: Blocks, tf: str) -> None:
        before = first_common_unit(self.module, runs, self._body(home))
        strategy = self._strategy(home, before, tf)
        assert isinstance(strategy, Strategy)
        moved = tuple(
            wrap.site.unit
            for wrap in home.wraps
            if wrap.site.unit in blocks.gone
            and wrap.site.unit in self.module.places
            and not any(owner in blocks.gone for owner in self.module.ancestors(wrap.site.unit))
        )
        code = strategy.statement(home.name, tf, self.module.tree.default_indent)
        self.edits.append(Insert(before, code, tuple(dict.fromkeys(moved))))
        self.edits.extend(Scope(run.units, f"{home.name}.scope()") for run in runs)

    def _pipelines(self, home: _Home, merged: Merge, tf: str) -> None:
        done: set[cst.CSTNode] = set()
        for group in home.groups:
            counts = {replicas(wrap) for wrap in group.wraps}
            guarded = any(wrap.guards for wrap in group.wraps)
            for use in group.trainings:
                if use.call in done or not takes_arrays(use, self.facts) or not self._wanted(codes.ARRAYS_TO_DATASET, use.call):
                    continue
                done.add(use.call)
                scope = self.scopes.by_node[use.site.frame.function or self.module.tree]
                found = plan_pipeline(
                    self.module,
                    self.facts,
                    use,
                    Names(
                        tf=tf,
                        strategy=home.name if use.site.frame.function is group.home.function and not guarded else None,
                        train=self.scopes.fresh("train_dataset", scope),
                        validation=self.scopes.fresh("validation_dataset", scope),
                        batch=self.scopes.fresh("global_batch_size", scope),
                        split=self.scopes.fresh("split_at", scope),
                    ),
                    counts.pop() if len(counts) == 1 else None,
                    self.settings.batch == "keep",
                )
                if isinstance(found, str):
                    message = f"fit() keeps its arrays, which is right but slower: {found}"
                    self._say(codes.ARRAYS_TO_DATASET, use.call, message, "warn")
                else:
                    self.edits.extend((found.insert, found.arguments))
                    message = "fit() on arrays becomes a tf.data pipeline with the global batch"
                    self._say(codes.ARRAYS_TO_DATASET, use.call, message, "rewrite")

    def _story(self, wrap: Wrap) -> str:
        lines = sorted({self.module.position(site.unit)[0] for site in _own_sites(wrap)})
        built = f"built at line {lines[0]}" if lines else "built here"
        gpus = f"gpus={self.module.code(wrap.gpus)}" if wrap.gpus is not None else "all visible GPUs"
        return f"multi_gpu_model ({gpus}) becomes a MirroredStrategy; the model {built} and its compile() stand in its scope"

    def _notes(self, wrap: Wrap) -> None:
        if wrap.cpu_relocation:
            self._say(
                codes.RELOCATED_TEMPLATE,
                wrap.call,
                "cpu_relocation=True trained a clone: what was saved from the template had untrained weights, "
                "and will have the trained ones now",
                "warn",
            )
        for use in self.facts.uses:
            if use.method in SAVING | LOADING and any(
                isinstance(option, Parallel) and option.wrap is wrap for option in options(use.receiver)
            ):
                self._say(
                    codes.PARALLEL_CHECKPOINT,
                    use.call,
                    f"{use.method}() was called on the parallel model, whose files nest the model as one layer; the plain "
                    "model neither writes nor reads that layout, so files of old runs need converting",
                    "warn",
                )

    # ---- beside it ----

    def _companions(self, tf: str) -> None:
        tables = Tables.of(self.rules, frozenset(rule.code for rule in self.rules if self.settings.wants(rule.code)))
        changes: list[CallChange] = [
            *generator_calls(self.facts, tables),
            *optimizer_calls(self.facts, tables, tf),
            *string_optimizers(self.facts, tables, tf),
            *weight_files(self.facts, self.scopes),
        ]
        for change in changes:
            if self._wanted(change.code, change.node):
                if change.edit is not None:
                    self.edits.append(change.edit)
                self._say(change.code, change.node, change.message, "rewrite")
        for change in moved_attributes(self.facts, tables, tf):
            if self._wanted(change.code, change.node):
                assert change.edit is not None
                self.edits.append(change.edit)
                self._say(change.code, change.node, change.message, "rewrite")
        self._imports(tables)

    def _imports(self, tables: Tables) -> None:
        gone = self._vanishing_names()
        already: set[str] = set()
        vanishing = []
        for statement_, unit in import_statements(self.module):
            dropped, kept = self._import_aliases(statement_, unit, gone)
            change = plan_import(statement_, tables.moves, dropped, kept, already)
            if change is None:
                continue
            if change.edit is not None:
                self.edits.append(change.edit)
                if not change.edit.parts:
                    vanishing.append(statement_)
            if change.removed:
                message = "the import of multi_gpu_model, which TensorFlow 2.4 removed, goes"
                self._say(codes.LEFTOVER_IMPORT, statement_, message, "rewrite")
            if change.staying:
                message = "this import stays as long as the uses refused in this file do"
                self._say(codes.LEFTOVER_IMPORT, statement_, message, "refuse")
            for old, new in change.moved:
                code = codes.STANDALONE_KERAS if new == f"tensorflow.{old}" else codes.MOVED_MODULES
                self._say(code, statement_, f"{old} is {new}", "rewrite")
        self.edits.extend(tries_of_imports(self.module, vanishing))

    def _import_aliases(
        self, statement_: cst.Import | cst.ImportFrom, unit: Unit, gone: frozenset[cst.CSTNode]
    ) -> tuple[frozenset[cst.ImportAlias], frozenset[cst.ImportAlias]]:
        """Aliases that nothing reads any more, and those of multi_gpu_model that something still reads."""
        dropped, kept = set(), set()
        in_try = any(isinstance(owner, cst.Try) for owner in self.module.ancestors(unit))
        for alias, bound, full in imports_of(statement_):
            scope = self._scope_of(unit)
            reads = [mention.node for mention in self.scopes.of_variable(bound, scope) if not mention.binds]
            ours = names.canonical(full) == names.MULTI_GPU_MODEL
            if ours and any(node not in gone for node in reads):
                kept.add(alias)
            elif ours or (reads and all(node in gone for node in reads) and full != "tensorflow"):
                if not in_try or ours:
                    dropped.add(alias)
        return frozenset(dropped), frozenset(kept)

    def _scope_of(self, unit: Unit) -> LexicalScope:
        for owner in self.module.ancestors(unit):
            if owner in self.scopes.by_node:
                return self.scopes.by_node[owner]
        return self.scopes.module

    def _vanishing_names(self) -> frozenset[cst.CSTNode]:
        """Every Name that stands in what the edits so far take out."""
        gone: set[cst.CSTNode] = set()
        kept: set[cst.CSTNode] = set()
        for edit in self.edits:
            if isinstance(edit, Remove):
                gone.update(_names_in(edit.node))
            elif isinstance(edit, Replace):
                gone.update(_names_in(edit.node))
                kept.update(name for _, part in edit.parts for name in _names_in(part))
            elif isinstance(edit, Unwrap):
                stays = set(_names_in(edit.suite)) if edit.suite is not None else set()
                gone.update(name for name in _names_in(edit.unit) if name not in stays)
            elif isinstance(edit, Arguments):
                gone.update(name for argument in edit.call.args for name in _names_in(argument.value))
                for argument in edit.arguments:
                    if not isinstance(argument.value, str):
                        kept.update(_names_in(argument.value))
        return frozenset(gone - kept)

    def _leftover_imports(self, accepted: tuple[Wrap, ...]) -> bool:
        """Whether the module imports the name though nothing in it is left to wrap."""
        if accepted or self.facts.wraps or any(finding.code == codes.NOT_FOLLOWED for finding in self.findings):
            return False
        return any(
            names.canonical(full) == names.MULTI_GPU_MODEL and self._wanted(codes.LEFTOVER_IMPORT, statement_)
            for statement_, _ in import_statements(self.module)
            for _, _, full in imports_of(statement_)
        )

    # ---- tensorflow itself ----

    def _tensorflow(self) -> str:
        """The name that TensorFlow has in this module, or the one it will get."""
        for statement_, unit in import_statements(self.module):
            if self.module.places[unit].owner is None:
                for alias, bound, full in imports_of(statement_):
                    direct = isinstance(statement_, cst.Import) and dotted(alias.name) == "tensorflow"
                    if direct and full == "tensorflow":
                        return bound
        bindings = [m for scope in self.scopes.by_node.values() for m in scope.mentions.get("tf", ()) if m.binds]
        if all(isinstance(m.node, cst.ImportAlias) and dotted(m.node.name) == "tensorflow" for m in bindings):
            return "tf"
        return self.scopes.fresh("tf", self.scopes.module)

    def _mentions_tensorflow(self, tf: str) -> bool:
        """Whether the edits write a name of TensorFlow that no import at the top of the module binds yet."""
        for statement_, unit in import_statements(self.module):
            if self.module.places[unit].owner is None and any(bound == tf for _, bound, _ in imports_of(statement_)):
                return False
        texts = [edit.code for edit in self.edits if isinstance(edit, Insert)]
        texts += [edit.template for edit in self.edits if isinstance(edit, Replace)]
        for edit in self.edits:
            for argument in getattr(edit, "arguments", ()):
                if isinstance(argument.value, str):
                    texts.append(argument.value)
        return any(f"{tf}." in text for text in texts)

    def _import_tensorflow(self, tf: str) -> None:
        """Beside the first import of Keras, or else where imports begin."""
        code = f"import tensorflow as {tf}"
        keras, first, standing = None, None, None
        for unit in units_of(self.module.tree):
            smalls = unit.body if isinstance(unit, cst.SimpleStatementLine) else ()
            imports = [small for small in smalls if isinstance(small, cst.Import | cst.ImportFrom)]
            roots = [full.split(".")[0] for small in imports for _, _, full in imports_of(small)]
            roots += [dotted(small.module).split(".")[0] for small in imports if isinstance(small, cst.ImportFrom)]
            if "__future__" in roots or (isinstance(unit, cst.SimpleStatementLine) and _is_docstring(unit)):
                continue
            standing = standing or unit
            if imports:
                first = first or unit
            if any(root in ("keras", "tensorflow") for root in roots):
                keras = keras or unit
            if not imports and first is not None:
                break
        if keras or first or standing:
            self.edits.insert(0, Insert(keras or first or standing, code))

    # ---- what is said ----

    def _suppressed(self, code: str, line: int) -> bool:
        return any(suppression.covers(line, code) for suppression in self.suppressions)

    def _wanted(self, code: str, node: cst.CSTNode) -> bool:
        """Whether a code is selected, and not suppressed at this place; a suppressed one is said here."""
        if not self.settings.wants(code):
            return False
        line, column = self.module.position(node)
        if not self._suppressed(code, line):
            return True
        self.findings.append(Finding(line, column, code, "left alone by a `tfmigrate: skip` comment", "suppressed"))
        return False

    def _say(self, code: str, node: cst.CSTNode, message: str, action: Action) -> None:
        if self.settings.wants(code) or action == "refuse":
            line, column = self.module.position(node)
            if action != "rewrite" and self._suppressed(code, line):
                action = "suppressed"
            self.findings.append(Finding(line, column, code, message, action))

    def _say_refused(self) -> None:
        for call, refusal in self.refused.items():
            if refusal.code:
                self._say(refusal.code, call, refusal.message, "refuse")

    def _unused_suppressions(self) -> None:
        used = {finding.line for finding in self.findings if finding.action == "suppressed"}
        for suppression in self.suppressions:
            if suppression.line not in used:
                self.findings.append(
                    Finding(
                        suppression.line,
                        suppression.column,
                        codes.UNUSED_SUPPRESSION,
                        "this `tfmigrate: skip` suppresses nothing",
                        "warn",
                    )
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


def _renamed(context: str, merged: Merge) -> str:
    """A context expression with the names that remain."""
    head, dot, rest = context.partition(".")
    new = {node.value: name for node, name in merged.renamed}.get(head, head)
    return new + dot + rest


class _NameReader(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.Name] = []

    def visit_Name(self, node: cst.Name) -> None:
        self.found.append(node)


def _names_in(node: cst.CSTNode) -> list[cst.Name]:
    reader = _NameReader()
    node.visit(reader)
    return reader.found


def _is_docstring(unit: cst.SimpleStatementLine) -> bool:
    return len(unit.body) == 1 and isinstance(unit.body[0], cst.Expr) and isinstance(
        unit.body[0].value, cst.SimpleString | cst.ConcatenatedString
    )


