"""What the readers of a model function share: what expressions can stand for, and the plan that grows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.edits import Edit, Remove
from tfmigrate.plan.written import Code, Written
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.program import Module

TRAIN, EVAL, PREDICT = "TRAIN", "EVAL", "PREDICT"
MODES = frozenset({TRAIN, EVAL, PREDICT})
MODE_NAMES = {TRAIN: TRAIN, EVAL: EVAL, PREDICT: PREDICT, "INFER": PREDICT}


class Unconvertible(Exception):
    """Why an Estimator stays as it is: a code, the place, and words for the user."""

    def __init__(self, code: str, module: Module, node: cst.CSTNode, message: str) -> None:
        super().__init__(message)
        self.code, self.module, self.node, self.message = code, module, node, message


@dataclass(frozen=True)
class Thing:
    """What an expression of a model function stands for.

    kind: plain (Python's own), features, labels, mode, training (a test of the mode), layer, tensor (of one), reading
    (computed from the model's output), each (the losses of single samples), loss, optimizer, rate, train_op, step,
    updates, metric, spec, dict, tensors.
    """

    kind: str
    node: cst.BaseExpression | None = None
    code: Written = field(default_factory=Written.of)
    """For a loss: the Keras expression; for an optimizer, rate or metric: the Keras class."""
    of: Thing | None = None
    """The tensor that a reading, a loss or a metric is computed from."""
    modes: frozenset[str] = frozenset()
    """Of a test: the modes in which it holds."""
    by_mode: tuple[tuple[str, Thing], ...] = ()
    """Of a name that stands for other things in other modes: what it is in each."""
    entries: tuple[tuple[str, Thing], ...] = ()
    """Of a dict, and of a spec: its items."""
    settings: tuple[tuple[str, Written | Thing], ...] = ()
    """Of an optimizer or a rate: the keywords of its class, each with its code; a rate stands as what it is."""
    form: str = ""
    """Of labels and readings: "onehot", "argmax", "squeezed" or another operation's name."""

    def within(self, modes: frozenset[str]) -> Thing:
        """What it is in these modes."""
        found = list({id(thing): thing for mode, thing in self.by_mode if mode in modes}.values())
        return found[0] if len(found) == 1 else self

    def entry(self, name: str) -> Thing | None:
        return next((thing for key, thing in self.entries if key == name), None)


PLAIN = Thing("plain")
SQUARES = frozenset({"square", "math.square", "squared_difference", "math.squared_difference"})


@dataclass
class Build:
    """The plan for one model function."""

    module: Module
    function: cst.FunctionDef
    edits: list[tuple[Module, Edit]] = field(default_factory=list)
    parameters: tuple[str, ...] = ()
    """Those that it keeps: features, and perhaps params."""
    readings: Code | None = None
    """The body of the generator of predictions, None where nothing is predicted."""
    metrics: tuple[str, ...] = ()
    """The names of its metrics."""
    notes: list[tuple[cst.CSTNode, str]] = field(default_factory=list)
    functions: set[cst.FunctionDef] = field(default_factory=set)
    """Every function that was read."""


class Reader(ABC):
    """The state of one reading; each part of the language has a subclass."""

    def __init__(self, facts: ProgramFacts, plan: Build, tf: str, quote: str) -> None:
        self._program = facts
        self._plan = plan
        self._tf = tf
        self._quote = quote
        self._module = plan.module
        self._names: dict[str, Thing] = {}
        self._modes = MODES
        self._specs: dict[str, Thing] = {}
        self._removed: list[cst.BaseSmallStatement] = []
        self._assigned: list[tuple[str, Thing, cst.Assign]] = []
        self._keys: set[str] = set()
        self._whole_features = False
        self._used_params = False
        self._outputs: list[Thing] = []
        self._returned: Thing | None = None
        self._updates_are_run = False
        self._normalised: cst.Call | None = None
        self._given: list[str] = []
        self._read_functions: dict[cst.FunctionDef, tuple[str, ...]] = {}
        self._inside: list[cst.FunctionDef] = []
        """The functions of the program that are entered below the model function."""
        self._unwrapped: dict[cst.CSTNode, cst.BaseSuite | None] = {}

    @abstractmethod
    def _read(self, node: cst.BaseExpression) -> Thing:
        """What an expression stands for. Raises Unconvertible."""

    def _needs_plain(self, node: cst.BaseExpression) -> None:
        if self._read(node).kind != "plain":
            raise self._refuse(codes.NO_KERAS_LAYER, node, "this depends on the data or the mode")

    def _symbol(self, node: cst.BaseExpression) -> str | None:
        """The name of something of TensorFlow, without `tensorflow.`; None for anything else."""
        name = self._program.modules[self._module].symbols.get(node)
        if name is None:
            return None
        name = names.plain(name)
        return name[len("tensorflow.") :] if name.startswith("tensorflow.") else None

    def _edit(self, edit: Edit) -> None:
        self._plan.edits.append((self._module, edit))

    def _remove(self, small: cst.BaseSmallStatement) -> None:
        self._removed.append(small)
        self._edit(Remove(small))

    def _refuse(self, code: str, node: cst.CSTNode, message: str) -> Unconvertible:
        return Unconvertible(code, self._module, node, message)
