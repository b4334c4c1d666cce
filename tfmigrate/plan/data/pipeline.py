"""`fit(x, y, batch_size=...)` on arrays becomes a tf.data pipeline with the global batch.

Kept from Keras: `batch_size` is the global batch, the whole set is reshuffled every epoch, `validation_split` takes
the last fraction before the shuffle, and nothing where that is 0, a missing `batch_size` is 32. Where an argument has
no equivalent the call stays as it is: fit() on arrays under a strategy takes the global batch too, so leaving it is
right.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import FIT, is_false, is_flag, is_none, keywords, named_arguments
from tfmigrate.plan.change.command_line import declarations, is_of_absl
from tfmigrate.plan.data.fractions import is_positive
from tfmigrate.plan.data.only_output import alone, has_one_output
from tfmigrate.plan.edits import Argument, Arguments, Insert
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import NOTHING, Choice, Dataset, Items, Made, Mapping, Opaque, Parameter, Value
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
        return "it is not a statement of its own"
    absent = [name for name in _NEVER_NONE if name in named and _may_be_none(facts, named[name].value)]
    if absent:
        return f"its `{absent[0]}` may be None, which {_NEVER_NONE[absent[0]]}"
    builder = _Builder(module, facts, named, names, replicas, keep, has_one_output(use.models, facts) is True)
    inputs = builder.structure(named["x"].value)
    targets = builder.of_output(named["y"].value)
    if inputs is None or targets is None:
        return "how its data is put together could not be followed"
    return builder.pipeline(use, inputs, targets)


def _may_be_none(facts: Facts, node: cst.BaseExpression) -> bool:
    """Whether what is written there is None on some path; a None that is written out is no question."""
    if isinstance(node, cst.IfExp):
        return any(is_none(arm) or _may_be_none(facts, arm) for arm in (node.body, node.orelse))
    if is_none(node):
        return False
    return _is_unset(facts, node) or any(option == NOTHING or _is_optional(option) for option in facts.options(node))


def _is_unset(facts: Facts, node: cst.BaseExpression) -> bool:
    """Whether an expression reads an option of the command line, which is None where it is not given."""
    if not isinstance(node, cst.Attribute):
        return False
    settings = any(isinstance(value, Opaque) and value.settings for value in facts.options(node.value))
    declared = [keywords(call) for _, call in declarations(node, (facts.module,)) if not is_of_absl(call)]
    return settings and any(named.keys().isdisjoint(("default", "required", "action")) for named in declared)


def _is_optional(value: Value) -> bool:
    """Whether a value is a parameter that is None where no caller gives it."""
    if not isinstance(value, Parameter) or value.frame.function is None:
        return False
    params = value.frame.function.params
    return any(
        param.name.value == value.name and param.default is not None and is_none(param.default)
        for param in (*params.posonly_params, *params.params, *params.kwonly_params)
    )


@dataclass(frozen=True)
class _Data:
    """Arrays as code: how to write them for tf.data, and one of them to take the length of."""

    code: Code
    parts: tuple[Code, ...]
    keys: tuple[cst.BaseExpression, ...] | None = None
    simple: bool = True

    @property
    def length(self) -> Code:
        return ("len(", *self.parts[0], ")")

    def length_in(self, name: str) -> Code:
        """The same, where all columns were bound to a name and this is the first of them."""
        if self.keys is not None:
            return (f"len({name}[0][", self.keys[0], "])")
        return (f"len({name}[0])" if self.code == self.parts[0] else f"len({name}[0][0])",)

    def sliced(self, bounds: str) -> Code:
        parts: list[Code] = [(*part, f"[{bounds}]") for part in self.parts]
        if self.keys is not None:
            return ("{", *listed((key, ": ", *part) for key, part in zip(self.keys, parts, strict=True)), "}")
        return parts[0] if self.code == self.parts[0] else _tuple(parts)


def _tuple(parts: Sequence[Code]) -> Code:
    return ("(", *listed(parts), ",)" if len(parts) == 1 else ")")


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

    def structure(self, node: cst.BaseExpression) -> _Data | None:
        """Arrays, lists of arrays (tuples in tf.data) and dicts of arrays."""
        if isinstance(node, cst.List | cst.Tuple):
            parts: tuple[Code, ...] = tuple((element.value,) for element in node.elements)
            if any(isinstance(element, cst.StarredElement) for element in node.elements) or not parts:
                return None
            return _Data(_tuple(parts), parts, simple=all(_is_simple(element.value) for element in node.elements))
        if isinstance(node, cst.Dict):
            if not node.elements or not all(isinstance(element, cst.DictElement) for element in node.elements):
                return None
            keys = tuple(e.key for e in node.elements if isinstance(e, cst.DictElement))
            parts = tuple((element.value,) for element in node.elements)
            simple = all(_is_simple(element.value) for element in node.elements)
            return _Data((node,), parts, keys, simple)
        value = self._facts.values.get(node)
        whole: Code = (node,)
        if isinstance(value, Choice):
            several = any(isinstance(option, Items | Mapping) for option in value.options)
            return None if several else _Data(whole, (whole,))
        if isinstance(value, Items):
            count = len(value.values)
            if not value.counted or (value.kind != "tuple" and not _is_simple(node)):
                return None
            parts = tuple((node, f"[{number}]") for number in range(count))
            return _Data(("tuple(", node, ")"), parts) if count else None
        if isinstance(value, Mapping):
            return None
        return _Data(whole, (whole,), simple=_is_simple(node))

    def of_output(self, node: cst.BaseExpression) -> _Data | None:
        """Targets or weights, without the name of a model's only output, on which Keras 3 fails."""
        return self.structure(alone(node) if self._one_output else node)

    def _value(self, name: str) -> cst.BaseExpression | None:
        arg = self._named.get(name)
        return None if arg is None or is_none(arg.value) else arg.value

    def pipeline(self, use: Use, inputs: _Data, targets: _Data) -> Pipeline | str:
        lines: list[Code] = []
        self._indent = self._module.indent_at(use.site.unit)
        batch = self._batch(lines)
        weights = self._value("sample_weight")
        weight_data = self.of_output(weights) if weights is not None else None
        if weights is not None and (weight_data is None or weight_data.keys is not None or len(weight_data.parts) > 1):
            return "its `sample_weight` is more than one array"
        columns = [inputs, targets, *([weight_data] if weight_data is not None else [])]
        validation = self._value("validation_data")
        fraction = self._value("validation_split")
        if isinstance(fraction, cst.Float | cst.Integer) and fraction.evaluated_value == 0:
            fraction = None
        length = inputs.length
        rows = _tuple([column.code for column in columns])
        new: dict[str, cst.BaseExpression | str] = {}
        condition: Code = ()
        if fraction is not None and validation is None:
            if not all(column.simple for column in columns):
                return "its data is computed in the call, and `validation_split` would compute it twice"
            split = self._names.split
            lines.append((f"{split} = int(", *length, " * ", *_remaining(fraction), ")"))
            rows = _tuple([column.sliced(f":{split}") for column in columns])
            held_out = _tuple([column.sliced(f"{split}:") for column in columns])
            length = (split,)
            lines_after = self._dataset(self._names.validation, held_out, None, batch, False)
            new["validation_data"] = self._names.validation
            condition = self._where_any(fraction, inputs.length)
        elif validation is not None:
            validated = self._validation(validation, batch)
            lines_after = validated[0]
            new.update(validated[1])
        else:
            lines_after = ()
        shuffles = not self._never_shuffles()
        if shuffles and not inputs.simple:
            lines.append((f"{self._names.arrays} = ", *rows))
            rows, length = (self._names.arrays,), inputs.length_in(self._names.arrays)
        if self._names.sharding is not None:
            lines.extend(self._sharding(self._names.sharding))
        count = length if shuffles else None
        repeats = self._value("steps_per_epoch") is not None
        lines.append(self._dataset(self._names.train, rows, count, batch, repeats))
        if lines_after:
            lines.append(lines_after)
        insert = Insert(use.site.unit, joined(lines, "\n"), (use.site.unit,))
        return Pipeline(insert, self._call(use.call, new, condition), shuffles and self._names.gathering is not None)

    def _where_any(self, fraction: cst.BaseExpression, length: Code) -> Code:
        """What follows the validation dataset in the call, which Keras fails on where it is empty."""
        if is_positive(fraction, self._facts):
            return ()
        if _is_simple(fraction):
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

    def _validation(
        self, node: cst.BaseExpression, batch: cst.BaseExpression | str
    ) -> tuple[Code, dict[str, cst.BaseExpression | str]]:
        """Pairs written out become a dataset; anything else stays, with its batch size said."""
        if isinstance(node, cst.Tuple | cst.List) and 2 <= len(node.elements) <= 3:
            inputs, *others = node.elements
            columns = [self.structure(inputs.value), *(self.of_output(element.value) for element in others)]
            absent = any(_may_be_none(self._facts, element.value) for element in node.elements)
            if not absent and all(column is not None for column in columns):
                rows = _tuple([column.code for column in columns if column is not None])
                code = self._dataset(self._names.validation, rows, None, batch, False)
                return code, {"validation_data": self._names.validation}
        stream = any(map(_is_stream, self._facts.options(node)))
        return (), {} if stream else {"validation_batch_size": batch}

    def _batch(self, lines: list[Code]) -> cst.BaseExpression | str:
        """The expression for the global batch, bound to a name first where it is more than a name."""
        node = self._value("batch_size")
        if node is None:
            return str(_DEFAULT_BATCH)
        literal = int(node.value) if isinstance(node, cst.Integer) else None
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

    def _call(self, call: cst.Call, new: dict[str, cst.BaseExpression | str], condition: Code) -> Arguments:
        """fit(dataset, ...) with what the dataset does not already carry, every argument after it by name.

        `condition`: what follows the dataset of the rows held out.
        """
        gone = {"x", "y", "batch_size", "sample_weight", "validation_split", "shuffle"}
        arguments = [Argument(self._names.train, None, None)]
        for name, arg in self._named.items():
            if name == "x":
                arguments[0] = Argument(self._names.train, None, arg)
            elif name == "validation_split" and "validation_data" in new.keys() - self._named.keys():
                arguments.append(_held_out(new.pop("validation_data"), arg, condition))
            elif name in new:
                arguments.append(Argument(new[name], name, arg))
            elif name not in gone:
                arguments.append(Argument(arg.value, name, arg))
        for name, code in new.items():
            if name not in self._named:
                arguments.append(Argument(code, name))
        return Arguments(call, tuple(arguments))


def _held_out(data: cst.BaseExpression | str, fraction: cst.Arg, condition: Code) -> Argument:
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


def _is_simple(node: cst.BaseExpression) -> bool:
    """Cheap and safe to evaluate twice."""
    if isinstance(node, cst.Name):
        return True
    if isinstance(node, cst.Attribute):
        return _is_simple(node.value)
    if isinstance(node, cst.Subscript):
        return _is_simple(node.value) and all(isinstance(item.slice, cst.Index | cst.Slice) for item in node.slice)
    return False
