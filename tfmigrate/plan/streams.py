"""Data that arrives batch by batch."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.interfaces import CallChange
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.values import Made, options


def python_generators(facts: Facts) -> Iterator[CallChange]:
    """A generator function's batches under a strategy: Keras 3 fetches some that it never trains on."""
    seen: set[cst.CSTNode] = set()
    for use in facts.uses:
        if use.method in ("fit", "fit_generator") and use.models and use.call not in seen and _takes_generator(use):
            seen.add(use.call)
            yield CallChange(
                codes.PYTHON_GENERATOR,
                use.call,
                "Keras 3 under a strategy skips some batches of a plain Python generator: hand fit() a "
                "tf.data.Dataset.from_generator(..., output_signature=...) or a keras.utils.Sequence",
                action="warn",
            )


def _takes_generator(use: Use) -> bool:
    """Whether, on some path, the data or the validation data is what a generator function returned."""
    data = use.argument(0, "generator" if use.method == "fit_generator" else "x")
    validation = next((value for keyword, value in use.arguments if keyword == "validation_data"), None)
    return any(
        isinstance(option, Made) and option.kind == "generator"
        for value in (data, validation)
        if value is not None
        for option in options(value)
    )
