"""Programs already on a strategy: what goes wrong beside the scope. Each claim was measured with two replicas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, combined, is_false, keywords, named_arguments, text_of
from tfmigrate.plan.data.streams import python_generators
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert, Replace
from tfmigrate.plan.keras import cautions
from tfmigrate.plan.keras.companions import traps
from tfmigrate.plan.keras.methods import predictions_on_batch
from tfmigrate.plan.keras.scalar_losses import scalar_losses
from tfmigrate.plan.keras.shared_optimizers import say_shared_optimizers
from tfmigrate.plan.keras.toggles import set_at_each_step
from tfmigrate.plan.names.context import Migration
from tfmigrate.plan.names.import_tensorflow import import_tensorflow
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.names.target import LEGACY_KERAS, brings_keras_3
from tfmigrate.plan.on_strategy import custom_steps
from tfmigrate.plan.on_strategy.scoping import SYNCHRONOUS, Scoping
from tfmigrate.plan.on_strategy.strategy_devices import no_devices
from tfmigrate.plan.on_strategy.unbuilt import unbuilt
from tfmigrate.plan.strategy.second_strategies import SECOND, MadeStrategy, second_strategies
from tfmigrate.rules import Rule
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import Dataset, Literal, ModelObject, options

_H5 = (".h5", ".hdf5")
WORKERS = "MultiWorkerMirroredStrategy"
_OF_PARALLEL_MODELS = frozenset(
    {
        codes.TRAINABLE_TOGGLE,
        codes.PYTHON_GENERATOR,
        codes.BATCH_LOSS,
        codes.STATEFUL_LAYERS,
        codes.SHARED_OPTIMIZER,
        codes.GRADIENT_CLIPPING,
    }
)
"""Rules whose rewrites bring back what multi_gpu_model did, as a program that began on a strategy never trained."""


def plan_misuses(
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
    apart: Iterable[ModelObject],
    moved: Set[ModelObject],
    rules: Iterable[Rule],
    reported: Container[Module],
) -> None:
    """Say what goes wrong, and mend what can be. `apart`: models left out; `moved`: those put into a scope just now;
    `reported`: modules that leave the old Keras in this run, whose traps are reported already."""
    if not any(strategy.name in SYNCHRONOUS for strategy in facts.strategies):
        return
    reader = _Reader(facts, drafts, frozenset(apart), moved, tuple(rules), reported)
    compiles, trainings = reader.compiles(), reader.trainings()
    cautions.say_trainable_toggles(compiles, trainings, drafts, set_at_each_step(compiles, trainings, drafts))
    say_shared_optimizers(compiles, drafts)
    revisions: dict[Module, list[Revision]] = defaultdict(list)
    for module, change in reader.changes():
        draft = drafts[module]
        if change.action == "warn":
            draft.say(change.code, change.node, change.message, "warn")
            continue
        # A function that several changes bring along is written once.
        edits = [edit for edit in change.edits if not isinstance(edit, Revision) and edit not in draft.edits]
        if draft.change(change.code, change.node, change.message, *edits):
            revisions[module].extend(edit for edit in change.edits if isinstance(edit, Revision))
    for module, draft in drafts.items():
        draft.edits[:] = combined(draft.edits, revisions[module])
        if any(isinstance(edit, Insert) for edit in draft.edits):
            import_tensorflow(draft)


class _Reader:
    def __init__(
        self,
        facts: ProgramFacts,
        drafts: Mapping[Module, Draft],
        apart: frozenset[ModelObject],
        moved: Set[ModelObject],
        rules: tuple[Rule, ...],
        reported: Container[Module],
    ) -> None:
        self._facts = facts
        self._drafts = drafts
        self._rules = rules
        self._told = reported
        self._scoping = Scoping(facts)
        self._uses = [use for use in facts.uses if use.models and not use.models & apart]
        self._scoped = frozenset(
            model for use in self._uses for model in use.models if any(map(self._scoping.inside, model.sites))
        ).union(moved)

    def compiles(self) -> list[Use]:
        """The compile() calls of the models in a scope."""
        return [use for use in self._uses if use.method == "compile" and use.models & self._scoped]

    def trainings(self) -> list[Use]:
        """The calls that train the models in a scope."""
        return [use for use in self._uses if use.method in TRAINING and use.models & self._scoped]

    def changes(self) -> Iterator[tuple[Module, CallChange]]:
        done: set[tuple[str, cst.CSTNode]] = set()
        runs = tuple(custom_steps.runs(self._facts.modules))
        for module, change in (
            *self._second_strategies(),
            *self._splits(),
            *self._old_files(),
            *self._batches(),
            *self._workers_on_keras_3(),
            *custom_steps.misuses(
                runs, self._facts.modules, self._scopes_of, self._scoping, self.trainings(), self._scoped
            ),
            *unbuilt(runs, self._facts.modules, self._scoping, self._is_on_keras_3),
            *no_devices(self._facts.strategies, self._drafts),
            *self._as_in_migrated_code(),
            *self._traps(),
        ):
            if (change.code, change.node) not in done:
                done.add((change.code, change.node))
                yield module, change

    def _as_in_migrated_code(self) -> Iterator[tuple[Module, CallChange]]:
        """Python generators, losses that are one number, and predict_on_batch(), of models in a scope."""
        for module, facts in self._facts.modules.items():
            draft = self._drafts[module]
            ours = replace(facts, uses=[use for use in facts.uses if use.models & self._scoped])
            for change in python_generators(ours, self._facts.modules, self._scopes_of, draft):
                yield module, change
            for change in (*scalar_losses(ours, self._scoped, self._facts.modules), *predictions_on_batch(ours)):
                yield module, change

    def _scopes_of(self, module: Module) -> Scopes:
        return self._drafts[module].scopes

    def _traps(self) -> Iterator[tuple[Module, CallChange]]:
        """What stops a program or changes its training on today's Keras, as where a program leaves the old one."""
        if self._facts.estimators:
            return
        trap = {rule.code for rule in self._rules if rule.leaves == "trap"} | {codes.OPTIMIZER_DECAY}
        if any(strategy.name == WORKERS for strategy in self._facts.strategies):
            # They train on Keras 2, which takes every name of a file, and loads no .weights.h5 after training.
            trap.discard(codes.WEIGHT_FILES)
        if not self._scoped:
            # What draws its seeds from Python's `random` are the layers of Keras.
            trap.discard(codes.SEEDS)
        judged = {module: draft for module, draft in self._drafts.items() if module not in self._told}
        migration = Migration(
            self._facts,
            self._drafts,
            leaving=frozenset(module for module in judged if self._is_on_keras_3(module)),
            single=frozenset(self._facts.models) - self._scoped,
        )
        for module, draft in judged.items():
            # No other rule's part of a call is written: this program has today's defaults.
            wanted = frozenset(code for code in trap if draft.settings.wants(code))
            for change in traps(draft, Tables.of(self._rules, wanted), migration):
                if change.action == "warn" or change.code not in _OF_PARALLEL_MODELS:
                    yield module, change

    # ---- two strategies in one process ----

    def _second_strategies(self) -> Iterator[tuple[Module, CallChange]]:
        """A strategy that trains a model after another one trained."""
        strategies = {strategy: MadeStrategy(strategy.site, strategy.node) for strategy in self._facts.strategies}
        trainings = (
            (
                use,
                frozenset(
                    strategies[inner] for model in use.models for s in model.sites for inner in self._scoping.inside(s)
                ),
            )
            for use in self._uses
            if use.method in TRAINING
        )
        for strategy, _ in second_strategies(trainings):
            message = f"{SECOND}; create one strategy and use it for both"
            yield strategy.site.frame.module, CallChange(codes.SECOND_STRATEGY, strategy.node, message, action="warn")

    # ---- validation_split ----

    def _splits(self) -> Iterator[tuple[Module, CallChange]]:
        for use in self._uses:
            data, share = use.argument(0, "x"), use.argument(6, "validation_split")
            if use.method != "fit" or data is None or share in (None, Literal(0), Literal(0.0), Literal(None)):
                continue
            if all(isinstance(option, Dataset) for option in options(data)):
                message = (
                    "fit() fails on validation_split with a dataset: split the data first, for example with take() "
                    "and skip() before the shuffle"
                )
                node = keywords(use.call).get("validation_split", use.call)
                yield use.site.frame.module, CallChange(codes.SPLIT_OF_DATASET, node, message, action="warn")

    # ---- .h5 ----

    def _old_files(self) -> Iterator[tuple[Module, CallChange]]:
        """A whole model loaded from HDF5 in a scope with its optimizer, and trained on."""
        compiled = {model for use in self._uses if use.method == "compile" for model in use.models}
        trained = (model for use in self._uses if use.method in TRAINING for model in use.models)
        for model in dict.fromkeys(trained):
            loaded = model.origin == "loaded" and model not in compiled and self._scoping.inside(model.site)
            path = self._h5_path(model) if loaded else None
            if path is None:
                continue
            module, text = model.site.frame.module, text_of(path) or ""
            same = self._places_of_saved(text)
            if same:
                message = (
                    f"Keras 3 cannot resume training with the optimizer of an HDF5 file (Unknown variable): {text} "
                    "becomes a .keras file where it is saved and where it is loaded"
                )
                new = text[: text.rindex(".")] + ".keras"
                edits = tuple(Replace(node, repr_as(node, new)) for node in same)
                yield module, CallChange(codes.H5_THEN_TRAINED, path, message, edits[0], more=edits[1:])
            else:
                message = (
                    "Keras 3 cannot resume training with the optimizer of an HDF5 file (Unknown variable): save "
                    "the model as .keras, or load it with compile=False and compile it in the scope"
                )
                yield module, CallChange(codes.H5_THEN_TRAINED, model.node, message, action="warn")

    def _places_of_saved(self, path: str) -> list[cst.SimpleString]:
        """Every place where a path is written out; none unless a model is saved there, and in one module alone."""
        same = {node: m for m in self._drafts for node in m.all_of(cst.SimpleString) if text_of(node) == path}
        saved = any(use.method == "save" and use.call.args and use.call.args[0].value in same for use in self._uses)
        return list(same) if saved and len(set(same.values())) == 1 else []

    def _h5_path(self, model: ModelObject) -> cst.SimpleString | None:
        """The path written out in `load_model("x.h5")`; None with `compile=False`."""
        call = model.node
        if not isinstance(call, cst.Call) or not call.args:
            return None
        facts = self._facts.modules[model.site.frame.module]
        named = named_arguments(call, ("filepath", "custom_objects", "compile"))
        if facts.canonical(call.func) != "keras.models.load_model" or named is None:
            return None
        path = named["filepath"].value if "filepath" in named else None
        if "compile" in named and is_false(named["compile"].value):
            return None
        return path if isinstance(path, cst.SimpleString) and (text_of(path) or "").endswith(_H5) else None

    # ---- several machines ----

    def _is_on_keras_3(self, module: Module) -> bool:
        """Whether the target brings Keras 3, and nothing in the program asks for Keras 2."""
        asked = any("tf_keras" in other.text or LEGACY_KERAS in other.text for other in self._facts.modules)
        return not asked and brings_keras_3(self._drafts[module].settings.target)

    def _workers_on_keras_3(self) -> Iterator[tuple[Module, CallChange]]:
        """fit() under a strategy over several machines, where nothing in the program asks for Keras 2."""
        for use in self._uses:
            strategies = frozenset().union(*(self._scoping.inside(s) for m in use.models for s in m.sites))
            for strategy in strategies:
                module = strategy.site.frame.module
                several = strategy.name == WORKERS and use.method == "fit"
                if several and self._is_on_keras_3(module):
                    message = (
                        "with more than one worker Keras 3 fails in the first fit(): install the package tf_keras "
                        "and set TF_USE_LEGACY_KERAS=1 before TensorFlow is imported, which makes tf.keras Keras 2"
                    )
                    yield module, CallChange(codes.WORKERS_ON_KERAS_3, strategy.node, message, action="warn")

    # ---- the batch of one replica ----

    def _batches(self) -> Iterator[tuple[Module, CallChange]]:
        """A batch that the program itself multiplies by the number of replicas, handed to fit() unmultiplied."""
        for use in self._uses:
            module = use.site.frame.module
            factors = self._factors(module)
            if use.method != "fit" or not factors:
                continue
            for node in self._sizes(use):
                place = factors.get(node.value) if isinstance(node, cst.Name) else None
                if isinstance(node, cst.Name) and place is not None:
                    message = (
                        f"fit() under a strategy takes the batch of all replicas together, and {node.value} is what "
                        f"{place} multiplies by their number: the global batch size seems to be meant"
                    )
                    yield module, CallChange(codes.BATCH_PER_REPLICA, node, message, action="warn")

    def _sizes(self, use: Use) -> Iterator[cst.BaseExpression]:
        """The batch sizes of a fit(): its own argument, and that of its dataset's batch()."""
        size = keywords(use.call).get("batch_size")
        if size is not None:
            yield size.value
        data = use.argument(0, "x")
        for option in options(data) if data is not None else ():
            if isinstance(option, Dataset) and len(option.batches) == 1 and option.batches[0].args:
                yield option.batches[0].args[0].value

    def _factors(self, module: Module) -> dict[str, str]:
        """Names that are multiplied by `num_replicas_in_sync`, and where."""
        products: dict[str, str] = {}
        for node in module.all_of(cst.BinaryOperation):
            if isinstance(node.operator, cst.Multiply):
                for name, other in ((node.left, node.right), (node.right, node.left)):
                    replicas = last_attribute(other) == "num_replicas_in_sync"
                    if replicas and isinstance(name, cst.Name) and not self._is_rebound(module, name.value):
                        products[name.value] = module.place(node, module)
        return products

    def _is_rebound(self, module: Module, name: str) -> bool:
        """Whether a name is bound more than once (`batch = batch * strategy.num_replicas_in_sync`)."""
        scopes = self._drafts[module].scopes
        return len(scopes.bindings(name)) != 1


def repr_as(node: cst.SimpleString, text: str) -> str:
    """A string literal of another text, in the same quotes."""
    return f"{node.prefix}{node.quote}{text}{node.quote}"
