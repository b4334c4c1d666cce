"""`load_img(path, grayscale=True)` and `ImageDataGenerator(brightness_range=...)`, which mean something else today."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_false, is_none, is_true, keywords, passed_as, text_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.written import Code

_IMAGES = "keras.preprocessing.image."
_LOADER = ("path", "grayscale", "color_mode", "target_size", "interpolation")
"""Parameters of load_img in Keras 2.2 and 2.3, and in tf.keras 1.15 and 2.3."""
_FIRST_LOADER = ("path", "grayscale", "target_size", "interpolation")
"""In Keras 2.0 and 2.1."""
_BRIGHTNESS = 9
"""The place of `brightness_range`."""


def check(context: Context) -> Iterator[CallChange]:
    for call in context.facts.module.calls:
        known = context.facts.canonical(call.func)
        if known == f"{_IMAGES}load_img" and not has_stars(call):
            yield from _loaded(call, context)
        elif known == f"{_IMAGES}ImageDataGenerator":
            brightness = passed_as("brightness_range", _BRIGHTNESS, call)
            if brightness is not None and not is_none(brightness.value):
                yield CallChange(codes.BRIGHTNESS_RANGE, brightness, _STRETCHED, action="warn")


_STRETCHED = (
    "up to TensorFlow 2.3 `brightness_range` stretched each image to 0 to 255 before changing its brightness, and "
    "now it takes the numbers as they are: images that do not fill that range come out different, and those between "
    "0 and 1 nearly black; pass images from 0 to 255, and use rescale=1/255"
)


def _loaded(call: cst.Call, context: Context) -> Iterator[CallChange]:
    """`grayscale` is removed, and the arguments after it get their names, since their places change."""
    places = [arg.value for arg in call.args if arg.keyword is None]
    parameters = _parameters(places, context.scopes)
    if parameters is None or len(places) > len(parameters):
        message = (
            "the third argument of load_img() was `target_size` before Keras 2.2 and `color_mode` after it, and the "
            "second, `grayscale`, is gone: pass them by name, with color_mode='grayscale' for grayscale=True"
        )
        yield CallChange(codes.GRAYSCALE_IMAGES, call, message, action="warn")
        return
    gray = passed_as("grayscale", 1, call)
    if gray is None:
        return
    named = tuple(enumerate(parameters))[1 : len(places)]
    if is_false(gray.value):
        edit = Revision(call, named=named, dropped=("grayscale",))
        yield CallChange(codes.GRAYSCALE_IMAGES, gray, "load_img() has no `grayscale` in Keras 3: it is removed", edit)
    elif "color_mode" in {*keywords(call), *dict(named).values()}:
        message = "load_img() has no `grayscale` in Keras 3: pass color_mode='grayscale' where it was True"
        yield CallChange(codes.GRAYSCALE_IMAGES, gray, message, action="warn")
    else:
        quote = context.quote
        mode: Code = (f"{quote}grayscale{quote}",)
        if not is_true(gray.value):
            mode = (*mode, " if ", gray.value, f" else {quote}rgb{quote}")
        edit = Revision(call, named=named, renamed=(("grayscale", "color_mode"),), set=(("color_mode", mode),))
        message = "load_img() has no `grayscale` in Keras 3: it becomes a color_mode"
        yield CallChange(codes.GRAYSCALE_IMAGES, gray, message, edit)


def _parameters(places: list[cst.BaseExpression], scopes: Scopes) -> tuple[str, ...] | None:
    """The parameters of the version that a call was written for, which only a third argument shows."""
    if len(places) < 3:
        return _LOADER
    third = settled(places[2], scopes)
    if text_of(third) is not None:
        return _LOADER
    return _FIRST_LOADER if isinstance(third, cst.Tuple | cst.List) or is_none(third) else None
