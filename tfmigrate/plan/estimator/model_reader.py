"""What the readers of statements, expressions and calls of a model function share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.estimator.arms import Arms
from tfmigrate.plan.estimator.reader import Build, Reader, Unconvertible
from tfmigrate.plan.estimator.things import MODE_NAMES, MODE_VALUES, Object, Thing
from tfmigrate.understand.blocks import Unit, units_of
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module


class ModelReader(Reader):
    """One reading of a model function, with all that it has found so far."""

    def __init__(self, facts: ProgramFacts, plan: Build, parameters: Mapping[str, Thing], tf: str, quote: str) -> None:
        super().__init__(facts, plan, tf, quote)
        self.names = dict(parameters)
        self.assigned: list[tuple[str, Thing, cst.Assign]] = []
        self.keys: set[str] = set()
        """The features that are chosen by name."""
        self.whole_features = False
        self.used_params = False
        self.unwrapped: dict[cst.CSTNode, cst.BaseSuite | None] = {}
        """Statements that are replaced by one of their blocks, or by nothing."""
        self.arms = Arms()
        """What is built in some modes only."""
        self.features_may_be_dict = False
        """Whether the function asks if its features are a dict."""
        self.returned: Thing | None = None
        """What the function of the program returns that is read."""
        self.called_with: dict[cst.FunctionDef, tuple[type[Thing], ...]] = {}
        """With what each function of the program is called."""
        self.receivers: list[Object] = []
        """The objects whose methods are entered."""
        self.entered: list[cst.FunctionDef] = []
        """The functions of the program that are entered below the model function."""

    @abstractmethod
    def statement(self, unit: Unit, modes: frozenset[str]) -> frozenset[str]:
        """Read a statement that runs in `modes`; returns those whose run goes on behind it."""

    def block(self, block: cst.BaseSuite, modes: frozenset[str]) -> frozenset[str]:
        """Read a block that runs in `modes`; returns those whose run goes on behind it."""
        outer = self.modes
        for unit in units_of(block):
            if not modes:
                raise self.refuse(codes.ESTIMATOR_NOT_FOLLOWED, unit, "this statement of model_fn is never reached")
            self.modes = modes
            modes = self.statement(unit, modes)
        self.modes = outer
        return modes

    @property
    def within(self) -> cst.FunctionDef:
        return [self.plan.function, *self.entered][-1]

    def mode_named(self, node: cst.BaseExpression, module: Module | None = None) -> str | None:
        """The mode that is written out: tf.estimator.ModeKeys.TRAIN or "train"; see symbol()."""
        name = self.symbol(node, module) or ""
        if "ModeKeys." in name:
            return MODE_NAMES.get(name.rsplit(".", 1)[-1])
        text = text_of(node)
        return next((mode for mode, value in MODE_VALUES.items() if value == text), None)

    def attempt(self, reading: Callable[[], Thing]) -> Thing | Unconvertible:
        """What a reading returns; where that is refused, nothing of it is left."""
        lists: tuple[list[Any], ...] = (self.plan.edits, self.plan.notes, self.removed, self.assigned, self.outputs,
                                        self.entered)  # fmt: skip
        lengths = [len(each) for each in lists]
        saved = dict(self.names), self.module, self.returned, self.modes, self.repeats, self.normalised
        weighted, penalised = len(self.weighted), len(self.penalised)
        called_with, unwrapped = dict(self.called_with), dict(self.unwrapped)
        functions, computing = set(self.plan.functions), set(self.plan.computing)
        try:
            return reading()
        except Unconvertible as problem:
            for each, length in zip(lists, lengths, strict=True):
                del each[length:]
            self.names, self.module, self.returned, self.modes, self.repeats, self.normalised = saved
            self.called_with, self.unwrapped = called_with, unwrapped
            del self.weighted[weighted:], self.penalised[penalised:]
            self.plan.functions, self.plan.computing = functions, computing
            return problem
