"""`fit(x, y, batch_size=...)` on arrays becomes a tf.data pipeline with the global batch.

Kept from Keras: `batch_size` is the global batch, the whole set is reshuffled every epoch, `validation_split` takes
the last fraction before the shuffle, and nothing where that is 0, a missing `batch_size` is 32. Where an argument has
no equivalent the call stays as it is: fit() on arrays under a strategy takes the global batch too, so leaving it is
right.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan.change.calls import FIT, is_false, is_flag, is_none, is_zero, named_arguments
from tfmigrate.plan.data.columns import Data, data_of, is_simple, tuple_of
from tfmigrate.plan.data.fractions import is_positive
from tfmigrate.plan.data.only_output import alone, has_one_output
from tfmigrate.plan.data.optional_arguments import may_be_none
from tfmigrate.plan.edits import Argument, Arguments, Insert
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import Dataset, Made, Value
from tfmigrate.written import Code, joined, listed, shown

_DEFAULT_BATCH = 32
_WIDTH = 90


@dataclass(frozen=True)
class Names:
    """Free names to use for what the pipeline needs."""

    tf: str
    strategy: str | None
    """None where the strategy's variable is not visible."""
    train: str
    validation: str
    batch: str
    split: str
    arrays: str
    gathering: str | None
    """The function that gathers shuffled batches; None where the dataset shuffles the rows themselves."""
    sharding: str | None = None
    """For the options that say how several workers share the data; None for one machine."""


@dataclass(frozen=True)
class Pipeline:
    """The lines before a fit() call and its new arguments."""

    insert: Insert
    arguments: Arguments
    gathers: bool
    """Whether it calls the function that gathers batches."""


_OLD_NAMES = ("nb_epoch",)
"""Of Keras 1, which later versions took too; the rule on them renames the argument wherever it stands."""
_NEVER_NONE = {
    **dict.fromkeys(("x", "y", "sample_weight"), "tf.data cannot make a dataset from"),
    "validation_split": "held out nothing",
}
"""Arguments that a pipeline is computed from, and what None in the place of one would be."""


def takes_arrays(use: Use, facts: Facts) -> bool:
    """Whether a fit() call is given arrays: it has targets, or a batch size, and no generator or dataset."""
    named = named_arguments(use.call, FIT)
    if use.method != "fit" or named is None or "x" not in named:
        return False
    if any(map(_is_stream, facts.options(named["x"].value))):
        return False
    return "y" in named and not is_none(named["y"].value)


def _is_stream(value: Value) -> bool:
    return isinstance(value, Dataset) or (isinstance(value, Made) and value.kind == "generator")


def plan_pipeline(
    module: Module, facts: Facts, use: Use, names: Names, replicas: int | None, keep: bool
) -> Pipeline | str:
    """The pipeline for one fit() call, or in words why the call stays.

    `replicas`: their number where it is a literal; `keep`: never write the seed form.
    """
    named = named_arguments(use.call, FIT)
    assert named is not None
    unknown = sorted(set(named).difference(FIT, _OLD_NAMES))
    if unknown:
        return f"it passes {unknown[0]!r}"
    if "shuffle" in named and not is_flag(named["shuffle"].value):
        return "its `shuffle` is not a literal True or False"
    if not isinstance(use.site.unit, cst.SimpleStatementLine):
        return "it is not a separate statement"
    absent = [name for name in _NEVER_NONE if name in named and may_be_none(facts, named[name].value)]
    if absent:
        return f"its `{absent[0]}` may be None, which {_NEVER_NONE[absent[0]]}"
    builder = _Builder(module, facts, named, names, replicas, keep, has_one_output(use.models, facts) is True)
    inputs = data_of(named["x"].value, facts)
    targets = builder.of_output(named["y"].value)
    if inputs is None or targets is None:
        return "its data could not be followed"
    return builder.pipeline(use, inputs, targets)


@dataclass(frozen=True)
class _Validation:
    """What fit() validates with."""

    line: Code = ()
    """What makes the dataset, where one is made."""
    arguments: Mapping[str, cst.BaseExpression | str] = field(default_factory=dict)
    """Those of fit() that are new, or are given other code."""
    condition: Code = ()
    """What follows the dataset of the rows held out."""


class _Builder:
    def __init__(
        self,
        module: Module,
        facts: Facts,
        named: dict[str, cst.Arg],
        names: Names,
        replicas: int | None,
        keep: bool,
        one_output: bool,
    ) -> None:
        self._module = module
        self._facts = facts
        self._named = named
        self._names = names
        self._replicas = replicas
        self._keep = keep
        self._one_output = one_output

    def of_output(self, node: cst.BaseExpression) -> Data | None:
        """Targets or weights, without the name of a model's only output, on which Keras 3 fails."""
        return data_of(alone(node) if self._one_output else node, self._facts)

    def _value(self, name: str) -> cst.BaseExpression | None:
        arg = self._named.get(name)
        return None if arg is None or is_none(arg.value) else arg.value

    def pipeline(self, use: Use, inputs: Data, targets: Data) -> Pipeline | str:
        self._indent = self._module.indent_at(use.site.unit)
        lines: list[Code] = []
        batch = self._batch(lines)
        columns = self._columns(inputs, targets)
        if columns is None:
            return "its `sample_weight` is more than one array"
        fraction = self._fraction()
        if fraction is not None and not all(column.simple for column in columns):
            return "its data is computed in the call, which `validation_split` would do twice"
        rows, length = tuple_of([column.code for column in columns]), inputs.length
        if fraction is None:
            validation = self._validation(batch)
        else:
            split = self._names.split
            lines.append((f"{split} = int(", *length, " * ", *_remaining(fraction), ")"))
            rows, length = tuple_of([column.sliced(f":{split}") for column in columns]), (split,)
            validation = self._held_out(columns, fraction, batch)
        shuffles = not self._never_shuffles()
        if shuffles and not inputs.simple:
            lines.append((f"{self._names.arrays} = ", *rows))
            rows, length = (self._names.arrays,), inputs.length_in(self._names.arrays)
        if self._names.sharding is not None:
            lines.extend(self._sharding(self._names.sharding))
        repeats = self._value("steps_per_epoch") is not None
        lines.append(self._dataset(self._names.train, rows, length if shuffles else None, batch, repeats))
        if validation.line:
            lines.append(validation.line)
        insert = Insert(use.site.unit, joined(lines, "\n"), (use.site.unit,))
        return Pipeline(insert, self._call(use.call, validation), shuffles and self._names.gathering is not None)

    def _columns(self, inputs: Data, targets: Data) -> list[Data] | None:
        """What each row consists of; None where weights of samples are more than one array."""
        weights = self._value("sample_weight")
        if weights is None:
            return [inputs, targets]
        column = self.of_output(weights)
        if column is None or column.keys is not None or len(column.parts) > 1:
            return None
        return [inputs, targets, column]

    def _fraction(self) -> cst.BaseExpression | None:
        """The fraction of the rows to hold out; None where that is 0, or there are other rows to validate with."""
        fraction = self._value("validation_split")
        return None if self._value("validation_data") is not None or is_zero(fraction) else fraction

    def _held_out(
        self, columns: Sequence[Data], fraction: cst.BaseExpression, batch: cst.BaseExpression | str
    ) -> _Validation:
        """The last rows as a dataset."""
        rows = tuple_of([column.sliced(f"{self._names.split}:") for column in columns])
        line = self._dataset(self._names.validation, rows, None, batch, False)
        condition = self._where_any(fraction, columns[0].length)
        return _Validation(line, {"validation_data": self._names.validation}, condition)

    def _where_any(self, fraction: cst.BaseExpression, length: Code) -> Code:
        """What follows the validation dataset in the call, which Keras fails on where it is empty."""
        if is_positive(fraction, self._facts):
            return ()
        if is_simple(fraction):
            return (" if ", fraction, " > 0 else None")
        return (f" if {self._names.split} < ", *length, " else None")

    def _sharding(self, name: str) -> list[Code]:
        """Each of several workers reads all the data and keeps its part of it."""
        data = f"{self._names.tf}.data"
        policy = f"{data}.experimental.AutoShardPolicy.DATA"
        return [(f"{name} = {data}.Options()",), (f"{name}.experimental_distribute.auto_shard_policy = {policy}",)]

    def _never_shuffles(self) -> bool:
        shuffle = self._named.get("shuffle")
        return shuffle is not None and is_false(shuffle.value)

    def _validation(self, batch: cst.BaseExpression | str) -> _Validation:
        """Pairs written out become a dataset; anything else stays, with its batch size said."""
        node = self._value("validation_data")
        if node is None:
            return _Validation()
        if isinstance(node, cst.Tuple | cst.List) and 2 <= len(node.elements) <= 3:
            inputs, *others = node.elements
            columns = [data_of(inputs.value, self._facts), *(self.of_output(element.value) for element in others)]
            absent = any(may_be_none(self._facts, element.value) for element in node.elements)
            if not absent and all(column is not None for column in columns):
                rows = tuple_of([column.code for column in columns if column is not None])
                line = self._dataset(self._names.validation, rows, None, batch, False)
                return _Validation(line, {"validation_data": self._names.validation})
        stream = any(map(_is_stream, self._facts.options(node)))
        return _Validation(arguments={} if stream else {"validation_batch_size": batch})

    def _batch(self, lines: list[Code]) -> cst.BaseExpression | str:
        """The expression for the global batch, bound to a name first where it is more than a name."""
        node = self._value("batch_size")
        if node is None:
            return str(_DEFAULT_BATCH)
        literal = node.evaluated_value if isinstance(node, cst.Integer) else None
        strategy, replicas = self._names.strategy, self._replicas
        if (
            literal is not None
            and not self._keep
            and strategy
            and replicas
            and replicas > 1
            and literal % replicas == 0
        ):
            lines.append((f"{self._names.batch} = {literal // replicas} * {strategy}.num_replicas_in_sync",))
            return self._names.batch
        if isinstance(node, cst.Name | cst.Attribute | cst.Integer):
            return node
        lines.append((f"{self._names.batch} = ", *self._bound(node)))
        return self._names.batch

    def _bound(self, node: cst.BaseExpression) -> Code:
        """As the right side of `=`: over several lines, in brackets of its own, since those of the call are gone."""
        try:
            ast.parse(f"_ = {self._module.code(node)}")
        except SyntaxError:
            return ("(", node, ")")
        return (node,)

    def _dataset(
        self, name: str, rows: Code, count: Code | None, batch: cst.BaseExpression | str, repeats: bool
    ) -> Code:
        """`count`: how many rows are to be shuffled; None keeps their order. `repeats`: an epoch of `steps_per_epoch`
        goes on where the last one ended, as in TensorFlow 2.3."""
        tf, indent = self._names.tf, self._indent
        chain: list[Code] = [(".repeat()",)] if repeats else []
        if self._names.sharding is not None:
            chain.append((f".with_options({self._names.sharding})",))
        # Each of several workers reads the same rows and keeps a part of them: the same order everywhere.
        seed: list[Code] = [("seed=0",)] if self._names.sharding is not None else []
        if count is not None and self._names.gathering is not None:
            arguments: tuple[Code, ...] = (rows, count, (batch,), *seed)
            head, end = f"{name} = {self._names.gathering}(", joined(chain, "")
            one_line = (head, *listed(arguments), ")", *end)
            if len(shown(one_line)) <= _WIDTH:
                return one_line
            return (f"{head}\n{indent}", *joined(arguments, f",\n{indent}"), ",\n)", *end)
        links: list[Code] = [
            (f"{tf}.data.Dataset.from_tensor_slices(", *rows, ")"),
            *([(".shuffle(", *listed([count, *seed]), ")")] if count is not None else []),
            (".batch(", batch, ")"),
            *chain,
            (f".prefetch({tf}.data.AUTOTUNE)",),
        ]
        one_line = (f"{name} = ", *joined(links, ""))
        if len(shown(one_line)) <= _WIDTH:
            return one_line
        return (f"{name} = (\n{indent}", *joined(links, f"\n{indent}"), "\n)")

    def _call(self, call: cst.Call, validation: _Validation) -> Arguments:
        """fit(dataset, ...) with what the dataset does not already carry, every argument after it by name."""
        new = dict(validation.arguments)
        gone = {"x", "y", "batch_size", "sample_weight", "validation_split", "shuffle"}
        arguments = [Argument(self._names.train, None, None)]
        for name, arg in self._named.items():
            if name == "x":
                arguments[0] = Argument(self._names.train, None, arg)
            elif name == "validation_split" and "validation_data" in new.keys() - self._named.keys():
                arguments.append(_if_any(new.pop("validation_data"), arg, validation.condition))
            elif name in new:
                arguments.append(Argument(new[name], name, arg))
            elif name not in gone:
                arguments.append(Argument(arg.value, name, arg))
        for name, code in new.items():
            if name not in self._named:
                arguments.append(Argument(code, name))
        return Arguments(call, tuple(arguments))


def _if_any(data: cst.BaseExpression | str, fraction: cst.Arg, condition: Code) -> Argument:
    if not condition:
        return Argument(data, "validation_data", fraction)
    return Argument(fraction.value, "validation_data", fraction, (data, *condition))


_DIGITS = 6
"""Characters of a number that reads better than the difference that it is."""


def _remaining(fraction: cst.BaseExpression) -> Code:
    """What a validation split leaves, to the last bit as Keras computes it."""
    if isinstance(fraction, cst.Float) and len(kept := repr(1.0 - fraction.evaluated_value)) <= _DIGITS:
        return (kept,)
    return ("(1.0 - ", *_operand(fraction), ")")


def _operand(node: cst.BaseExpression) -> Code:
    """An expression as the right side of a minus."""
    alone = node.lpar or isinstance(
        node, cst.Name | cst.Attribute | cst.Subscript | cst.Call | cst.BaseNumber | cst.UnaryOperation
    )
    return (node,) if alone else ("(", node, ")")
