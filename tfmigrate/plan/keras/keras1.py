"""Arguments of Keras 1 whose value changed with their name; Keras 2.0 to 2.3 still took and converted them.

The conversions are those of `keras/legacy/interfaces.py` of Keras 2.3.1. Plain renames stand in TFM206's table.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, keywords, named_arguments, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import called_on
from tfmigrate.understand.values import Literal, Made, Value, options
from tfmigrate.written import Code, listed

_FORMATS = {"tf": '"channels_last"', "th": '"channels_first"', "default": "None"}
_MERGE = ("inputs", "mode", "concat_axis", "dot_axes", "output_shape", "output_mask", "arguments", "name")
_MERGED = {"sum": "add", "mul": "multiply", "concat": "concatenate", "ave": "average", "max": "maximum"}
"""The function of Keras 2 and 3 for each mode of merge(), which standalone Keras had up to 2.1."""
_CONVOLUTIONS = {
    f"keras.layers.{name}": sizes
    for sizes, layers in {
        ("nb_row", "nb_col"): (
            "Conv2D", "Convolution2D", "SeparableConv2D", "SeparableConvolution2D", "Conv2DTranspose",
            "Deconvolution2D",
        ),
        ("kernel_dim1", "kernel_dim2", "kernel_dim3"): ("Conv3D", "Convolution3D"),
    }.items()
    for name in layers
}  # fmt: skip


def check(context: Context) -> Iterator[CallChange]:
    """`Conv2D(64, 3, 3)`, `nb_row=`, `dim_ordering='tf'`, `samples_per_epoch=`, K.set_image_dim_ordering(), merge()."""
    facts = context.facts
    for call in facts.module.calls:
        real = facts.called(call)
        known = names.canonical(real)
        if names.flavour(real) != "keras":
            continue
        if known == "keras.layers.merge":
            yield _merge(call, context.tf)
        if has_stars(call):
            continue
        if known in _CONVOLUTIONS:
            yield from _kernel_size(facts, call, _CONVOLUTIONS[known])
        if known == "keras.layers.BatchNormalization":
            yield from _only_mode(call)
        if known.startswith("keras.layers."):
            yield from _data_format(call)
    yield from _image_ordering(facts)
    yield from _samples_per_epoch(facts)


def _merge(call: cst.Call, tf: str) -> CallChange:
    """`merge([a, b], mode='concat', concat_axis=3)`: each mode is a function now."""
    given = named_arguments(call, _MERGE) or {}
    mode = given.get("mode")
    new = _MERGED.get("sum" if mode is None else text_of(mode.value) or "")
    axis, name = (given.get(key) for key in ("concat_axis", "name"))
    if new is None or "inputs" not in given or not given.keys() <= {"inputs", "mode", "concat_axis", "name"}:
        message = (
            "merge() of Keras 1 is gone: keras.layers has add(), multiply(), average(), maximum(), concatenate() and "
            "dot(), and a Lambda for a function of your own"
        )
        return CallChange(codes.KERAS_1_VALUES, call, message, action="warn")
    code: list[str | cst.BaseExpression] = [f"{tf}.keras.layers.{new}(", given["inputs"].value]
    code += [", axis=", axis.value] if axis is not None and new == "concatenate" else []
    code += [", name=", name.value] if name is not None else []
    message = f"merge() of Keras 1 is {new}() for this mode"
    return CallChange(codes.KERAS_1_VALUES, call, message, Replace(call, (*code, ")")))


def _only_mode(call: cst.Call) -> Iterator[CallChange]:
    """`BatchNormalization(mode=0)`: Keras 2 took no other mode."""
    mode = keywords(call).get("mode")
    if mode is not None and _literal(mode.value) == Literal(0):
        message = "BatchNormalization now always works like `mode=0`: it is removed"
        yield CallChange(codes.KERAS_1_VALUES, mode, message, Revision(call, dropped=("mode",)))


def _image_ordering(facts: Facts) -> Iterator[CallChange]:
    """`K.set_image_dim_ordering('tf')`, and `K.image_dim_ordering() == 'tf'`."""
    compared = {
        id(side): (node, target)
        for node in facts.module.all_of(cst.Comparison)
        if len(node.comparisons) == 1
        for target in node.comparisons
        for side in (node.left, target.comparator)
    }
    for call in facts.module.calls:
        known = facts.canonical(call.func)
        module = called_on(call)
        text = text_of(call.args[0].value) if len(call.args) == 1 else None
        if known == "keras.backend.set_image_dim_ordering" and module is not None and text in ("tf", "th"):
            code = (module, f".set_image_data_format({_data_format_for(call.args[0].value)})")
            message = f"set_image_dim_ordering({text!r}) is set_image_data_format({_FORMATS[text]}) now"
            yield CallChange(codes.KERAS_1_VALUES, call, message, Replace(call, code))
        elif known == "keras.backend.image_dim_ordering" and module is not None and id(call) in compared:
            comparison, target = compared[id(call)]
            literal = target.comparator if comparison.left is call else comparison.left
            old = text_of(literal)
            if old in ("tf", "th") and isinstance(target.operator, cst.Equal | cst.NotEqual):
                message = f"image_dim_ordering() is image_data_format() now, and {old!r} is {_FORMATS[old]}"
                edit = Replace(call, (module, ".image_data_format()"))
                yield CallChange(
                    codes.KERAS_1_VALUES, call, message, edit, more=(Replace(literal, _data_format_for(literal)),)
                )


def _data_format_for(ordering: cst.BaseExpression) -> str:
    """'tf' or 'th' under its current name, in its own quotes."""
    assert isinstance(ordering, cst.SimpleString)
    return ordering.value.replace("tf", "channels_last").replace("th", "channels_first")


def _kernel_size(facts: Facts, call: cst.Call, sizes: tuple[str, ...]) -> Iterator[CallChange]:
    """Whole numbers after the first are the kernel's rows and columns; in tf.keras the second would be the strides."""
    positional = [arg for arg in call.args if arg.keyword is None]
    named = keywords(call)
    end = 1 + len(sizes)
    message = "Keras 1's kernel size in several arguments, which tf.keras would take as strides, becomes one argument"
    if len(positional) >= end:
        known = [facts.values.get(arg.value) or _literal(arg.value) for arg in positional[1:end]]
        if all(_is_int(value) for value in known):
            code = _tuple([arg.value for arg in positional[1:end]])
            yield CallChange(codes.KERAS_1_VALUES, call, message, Revision(call, positional=((1, end, code),)))
        elif not any(isinstance(arg.value, cst.Tuple | cst.List) for arg in positional[1:end]):
            yield CallChange(
                codes.KERAS_1_VALUES,
                call,
                "if these are whole numbers, standalone Keras took them as the kernel size, but tf.keras takes the "
                "third argument as strides: write kernel_size= and strides=",
                action="warn",
            )
    elif all(size in named for size in sizes):
        code = _tuple([named[size].value for size in sizes])
        edit = Revision(call, renamed=((sizes[0], "kernel_size"),), dropped=sizes[1:], set=(("kernel_size", code),))
        yield CallChange(codes.KERAS_1_VALUES, call, message, edit)
    elif len(positional) == 2 and len(sizes) == 2 and sizes[1] in named:
        code = _tuple([positional[1].value, named[sizes[1]].value])
        edit = Revision(call, dropped=(sizes[1],), positional=((1, 2, code),))
        yield CallChange(codes.KERAS_1_VALUES, call, message, edit)


def _tuple(values: list[cst.BaseExpression]) -> Code:
    return ("(", *listed((value,) for value in values), ")")


def _literal(node: cst.BaseExpression) -> Value | None:
    return Literal(node.evaluated_value) if isinstance(node, cst.Integer) else None


def _is_int(value: Value | None) -> bool:
    return value is not None and all(
        isinstance(option, Literal) and isinstance(option.value, int) and not isinstance(option.value, bool)
        for option in options(value)
    )


def _data_format(call: cst.Call) -> Iterator[CallChange]:
    old = keywords(call).get("dim_ordering")
    if old is None:
        return
    new = _FORMATS.get(text_of(old.value) or "")
    if new is None:
        message = "`dim_ordering` is `data_format` now: 'channels_last' for 'tf', 'channels_first' for 'th'"
        yield CallChange(codes.KERAS_1_VALUES, old, message, action="warn")
        return
    edit = Revision(call, renamed=(("dim_ordering", "data_format"),), set=(("data_format", new),))
    yield CallChange(codes.KERAS_1_VALUES, old, f"`dim_ordering` is `data_format={new}` now", edit)


def _samples_per_epoch(facts: Facts) -> Iterator[CallChange]:
    """Keras 2 divided by the generator's `batch_size` where it has one, else took the number as steps."""
    seen: set[cst.Call] = set()
    for use in facts.uses:
        if use.method != "fit_generator" or use.call in seen or has_stars(use.call):
            continue
        seen.add(use.call)
        samples = keywords(use.call).get("samples_per_epoch")
        if samples is None:
            continue
        generator = use.argument(0, "generator")
        if generator is not None and all(isinstance(o, Made) and o.kind == "generator" for o in options(generator)):
            edit = Revision(use.call, renamed=(("samples_per_epoch", "steps_per_epoch"),))
            message = "`samples_per_epoch` on a generator counted batches in Keras 2 already: it is `steps_per_epoch`"
            yield CallChange(codes.KERAS_1_VALUES, samples, message, edit)
        else:
            yield CallChange(
                codes.KERAS_1_VALUES,
                samples,
                "`samples_per_epoch` was divided by generator.batch_size if the generator has that attribute, and "
                "otherwise counted batches: write steps_per_epoch= as the number of batches",
                action="warn",
            )
