"""Functions that are called through functools.partial()."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.kit import codes, migrate
from tfmigrate.result import FileResult

NETS = """
    from functools import partial

    from keras.layers import Dense, Input
    from keras.models import Model
    from keras.utils import multi_gpu_model


    def small(inputs, width=1):
        return Model(inputs, Dense(width)(inputs))


    def large(inputs, width=1):
        return Model(inputs, Dense(9)(Dense(width)(inputs)))


"""


def one(code: str) -> FileResult:
    return migrate(dedent(NETS + code).lstrip("\n"))


@pytest.mark.parametrize("net", ["partial(small, width=2)", "partial(partial(small), width=3)", "partial(Model)"])
def test_a_model_of_a_table_is_built_where_it_is_called(net: str) -> None:
    code = f"""
    nets = {{"small": {net}, "large": large}}


    def train(kind, gpus, batches):
        base = nets[kind](Input((4,)))
        model = Model(base.input, Dense(3)(base.output))
        if gpus > 1:
            model = multi_gpu_model(model, gpus=gpus)
        model.compile("sgd", "mse")
        model.fit_generator(batches)
    """
    file = one(code)
    body = file.after[file.after.index("def train") :]
    assert codes(file, "refuse") == []
    assert body.index("strategy.scope()") < body.index("base = nets[kind]") < body.index("model.compile")


@pytest.mark.parametrize("given", ["partial(spread, gpus=4)", "partial(spread)", "partial(spread, gpus=ask())"])
def test_a_number_that_a_partial_keeps_is_not_taken_from_the_default(given: str) -> None:
    """What was given before is not in the call, and the default is not what is used."""
    code = f"""
    def spread(model, gpus=2):
        return multi_gpu_model(model, gpus=gpus)


    spread_all = {given}
    model = spread_all(small(Input((4,))))
    model.compile("sgd", "mse")
    """
    file = one(code)
    assert "range(2)" not in file.after
    assert not codes(file, "refuse")
    assert "range(gpus)" in file.after


def test_a_partial_of_the_wrap_itself_is_refused() -> None:
    file = one("    spread_four = partial(multi_gpu_model, gpus=4)\n    model = spread_four(small(Input((4,))))\n")
    assert "TFM101" in codes(file, "refuse")
    assert file.after == file.before
