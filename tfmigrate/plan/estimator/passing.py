"""What an Estimator passes to an input function by itself: by the names of its parameters.

`Estimator._call_input_fn` of TensorFlow 1.15 and 2.3: `mode`, `params` and `config` are passed to every input function
that has a parameter of that name, with or without a default, and `input_context` under a strategy. What a
functools.partial() binds by name is not passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from tfmigrate.plan.change.calls import is_none, quoted
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.estimator.batches import DISTRIBUTED
from tfmigrate.plan.estimator.reader import input_refused
from tfmigrate.plan.estimator.things import MODE_VALUES
from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import nameable
from tfmigrate.understand.reaching import named, parameters_of
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import FunctionValue, Site
from tfmigrate.walk import nodes_in, walk
from tfmigrate.written import Written

_MODES: Mapping[str, str] = {"train": "TRAIN", "eval": "EVAL", "alone": "EVAL", "predict": "PREDICT"}
"""The role of a dataset -> the name of the mode."""
_CONTEXT = "input_context"
_OWN = ("mode", "params", "config", _CONTEXT)
_SHARD = ("num_shards", "index")
_SHORT = 60
"""A dict of so many characters is written out for each dataset; a longer one needs a name."""


class Passing:
    """What one Estimator passes."""

    def __init__(self, drafts: Mapping[Module, Draft], params: cst.BaseExpression | None, made: Site) -> None:
        """`params` is what the Estimator was given as its `params=`, where it is made."""
        self._drafts = drafts
        self._params = params
        self._made = made
        self._carrier = Carrier(drafts)

    def nothing(self, function: cst.Lambda, module: Module) -> None:
        """Refuse a lambda that is passed something: its body is moved to where it is called."""
        for name in parameters_of(function):
            if name in _OWN:
                raise input_refused(module, function, f"the Estimator itself passed `{name}` to this input function")
        self._needs(function, module, frozenset())

    def call(self, callee: Written, function: FunctionValue, args: Sequence[cst.Arg], role: str, site: Site) -> Written:
        """The call of an input function at a site; `args` are bound already."""
        return Written.of(callee, "(", Written.joined(self.arguments(function, args, role, site), ", "), ")")

    def arguments(self, function: FunctionValue, args: Sequence[cst.Arg], role: str, site: Site) -> list[Written]:
        """The arguments that the Estimator adds to those that are bound. Raises Unconvertible."""
        node, module = function.node, function.module
        bound = {name for name, _ in named(args, parameters_of(node))}
        own = [name for name in _OWN if name not in bound and name in (p.name.value for p in node.params.params)]
        passed: list[Written] = []
        for name in own:
            if name == "mode":
                literal = quoted(MODE_VALUES[_MODES[role]], self._drafts[site.frame.module].quote)
                passed.append(Written.of(f"mode={literal}"))
            elif name == "params":
                passed.append(Written.of("params=", self._settings(node, module, site)))
            elif name == "config":
                message = "the Estimator passes its RunConfig to this input function as `config`"
                raise input_refused(module, node, message)
            elif role in DISTRIBUTED and not _takes_its_shard(node):
                message = (
                    "the Estimator passes `input_context` to this input function under a strategy, which uses it "
                    "for more than taking its shard, on one machine the whole of the data"
                )
                raise input_refused(module, node, message)
        self._needs(node, module, bound | set(own) - ({_CONTEXT} if role not in DISTRIBUTED else set()))
        return passed

    def _needs(self, node: cst.FunctionDef | cst.Lambda, module: Module, passed: frozenset[str] | set[str]) -> None:
        """Refuse where a parameter without a default is passed nothing, or cannot be."""
        for param in nameable(node.params):
            name = param.name.value
            if param.default is None and (name not in passed or name == _CONTEXT):
                raise input_refused(module, node, f"the value passed as `{name}` to this input function is unknown")

    def _settings(self, node: cst.FunctionDef | cst.Lambda, module: Module, site: Site) -> Written:
        if self._params is None or is_none(self._params):
            return Written.of("{}")
        carried = self._carrier.at(self._params, self._made, site.frame, site.unit)
        named_before = carried is not None and isinstance(carried.tree, cst.Name | cst.Attribute)
        if carried is None or not (named_before or len(carried.text) <= _SHORT):
            message = "the Estimator itself passed its `params=` to this input function; give that dict a name"
            raise input_refused(module, node, message)
        return carried


def _takes_its_shard(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether all that is done with the input_context is `if input_context: data = data.shard(...)` by its numbers:
    under MirroredStrategy it is pipeline 0 of 1."""
    sharding: set[cst.CSTNode] = set()
    for node in nodes_in(function.body, cst.If):
        test = node.test.left if isinstance(node.test, cst.Comparison) else node.test
        plain = isinstance(node.test, cst.Name) or _is_not_none(node.test)
        if plain and dotted(test) == _CONTEXT and node.orelse is None and all(map(_is_shard, units_of(node.body))):
            sharding.update(walk(node))
    return all(name in sharding for name in nodes_in(function.body, cst.Name) if name.value == _CONTEXT)


def _is_not_none(node: cst.BaseExpression) -> bool:
    if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
        return False
    (target,) = node.comparisons
    return isinstance(target.operator, cst.IsNot) and is_none(target.comparator)


def _is_shard(unit: cst.CSTNode) -> bool:
    """`data = data.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)`"""
    small = only_statement(unit)
    call = small.value if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
    if not isinstance(small, cst.Assign) or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return False
    given = dict(named(call.args, _SHARD))
    numbers = [dotted(given[name].value) if name in given else "" for name in _SHARD]
    same = dotted(small.targets[0].target) == dotted(call.func.value) != ""
    wanted = [f"{_CONTEXT}.num_input_pipelines", f"{_CONTEXT}.input_pipeline_id"]
    return same and call.func.attr.value == "shard" and numbers == wanted and len(given) == len(call.args) == 2
