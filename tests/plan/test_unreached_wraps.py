"""multi_gpu_model behind a `return` or `raise` of its block: it never runs, and hinders nothing."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, check_refused, migrate

PROGRAM = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def other(net, gpus):
    {body}


model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.train_on_batch(x, y)
"""
WRAP = "big = multi_gpu_model(net, gpus=gpus)"


def program(*lines: str) -> str:
    return PROGRAM.format(body="\n    ".join(line for part in lines for line in part.splitlines()))


@pytest.mark.parametrize(
    "lines",
    [
        ("return net", WRAP, "return big"),
        ("raise NotImplementedError('later')", WRAP),
        ("if gpus > 1:\n    raise ValueError(gpus)\n    big = multi_gpu_model(model=net, gpus=gpus)\nreturn net",),
        ("for _ in range(3):\n    continue\n    big = multi_gpu_model(net, gpus)",),
        ("if gpus > 1:\n    return net\nelse:\n    raise ValueError(gpus)", "with open('f'):", f"    {WRAP}"),
        ("if gpus > 1:\n    return net\nelif gpus:\n    return 1\nelse:\n    return 2", WRAP),
    ],
)
def test_the_model_is_written_for_what_never_runs(lines: tuple[str, ...]) -> None:
    file = check_migrated(program(*lines))
    assert "big = net\n" in file.after
    assert "multi_gpu_model" not in file.after
    assert "strategy.scope()" in file.after
    assert migrate(file.after).after == file.after


def test_a_program_without_another_wrap_goes_on_training_on_one_gpu() -> None:
    text = program("return net", WRAP).replace("parallel = multi_gpu_model(model, gpus=2)", "parallel = model")
    file = check_migrated(text)
    assert "multi_gpu_model" not in file.after
    assert "strategy" not in file.after


def test_what_does_not_show_its_model_is_refused() -> None:
    check_refused(program("return net", "big = multi_gpu_model(*net)"), "TFM003", "TFM101")


def test_what_may_run_is_no_such_code() -> None:
    for lines in (
        ("if gpus < 2:\n    return net", f"{WRAP}\nreturn big"),
        ("try:\n    return net\nexcept ValueError:\n    pass", WRAP),
    ):
        file = migrate(program(*lines))
        assert not any("never reached" in finding.message for finding in file.findings)


def test_a_suppressed_call_stays() -> None:
    file = migrate(program("return net", f"{WRAP}  # tfmigrate: skip"))
    assert f"{WRAP}  # tfmigrate: skip" in file.after
    assert "suppressed" in actions(file, "TFM001")


CAUGHT = """\
try:
    big = multi_gpu_model({}, gpus=gpus)
    big.load_weights('old.h5')
except{}:
    big = net
return big"""


@pytest.mark.parametrize("caught", ["", " Exception", " (OSError, NameError)"])
@pytest.mark.parametrize("model", ["tower", "self.model"])
def test_a_model_of_a_name_that_nothing_defines_is_never_wrapped_where_the_error_is_caught(
    model: str, caught: str
) -> None:
    file = check_migrated(program(CAUGHT.format(model, caught)))
    assert f"big = {model}\n" in file.after
    assert "multi_gpu_model" not in file.after
    assert "strategy.scope()" in file.after
    name = model.partition(".")[0]
    assert any(f"nothing defines `{name}`" in finding.message for finding in file.findings)


@pytest.mark.parametrize(
    "text",
    [
        program(CAUGHT.format("tower", " OSError")),
        program(WRAP.replace("net", "tower")),
        "from shelf import *\n" + program(CAUGHT.format("tower", "")),
    ],
)
def test_a_name_that_may_be_defined_or_whose_error_ends_the_program_is_refused(text: str) -> None:
    check_refused(text, "TFM003", "TFM104")
