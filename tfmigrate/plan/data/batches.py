"""What calls are given batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import EVALUATE, FIT, FIT_GENERATOR, given_arguments, has_stars, is_none
from tfmigrate.plan.names.interfaces import GENERATOR_METHODS
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.values import Value, options

_PARAMETERS = {
    "fit": FIT,
    "fit_generator": FIT_GENERATOR,
    "evaluate": EVALUATE,
    "evaluate_generator": GENERATOR_METHODS["evaluate_generator"],
}
_DATA = (("x", "steps_per_epoch"), ("generator", "steps_per_epoch"), ("x", "steps"), ("generator", "steps"),
         ("validation_data", "validation_steps"))  # fmt: skip
"""Arguments that take batches, and the one that says how many are taken of them."""


@dataclass(frozen=True)
class Data:
    """Data that a call is given."""

    parameter: str
    node: cst.BaseExpression
    values: frozenset[Value]
    """What it may be."""
    steps: cst.Arg | None
    """How many batches are taken of it; None for all."""


def data_of(use: Use) -> Iterator[Data]:
    """The training and the validation data of a call, where what it may be is known."""
    parameters = _PARAMETERS.get(use.method)
    of_model = use.is_of_model or use.method in GENERATOR_METHODS  # which nothing else has
    named = given_arguments(use.call, parameters) if parameters is not None and of_model else None
    if named is None or parameters is None:
        return
    for data, steps in _DATA:
        if data not in named or not {data, steps} <= set(parameters):
            continue
        if steps not in named and has_stars(use.call):
            continue  # which may pass the number
        value = use.argument(parameters.index(data), data)
        if value is not None:
            count = named.get(steps)
            count = None if count is None or is_none(count.value) else count
            yield Data(data, named[data].value, options(value), count)
