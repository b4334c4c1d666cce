"""Of the template's name and the parallel model's the one stays that is still true."""

from __future__ import annotations

import ast

import pytest

from tests.kit import migrate
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

PROGRAM = """import sys

from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{one} = Sequential([Dense(1, input_shape=(4,))])
{one}.add(Dense(2))
{other} = multi_gpu_model({one}, gpus=2)
{other}.compile("sgd", "mse")
{other}.fit_generator(rows)
{one}.save("a.h5")
{more}
"""


def names(one: str, other: str, more: str = "") -> set[str]:
    text = PROGRAM.format(one=one, other=other, more=more)
    file = migrate(text)
    mentioned = {node.id for node in ast.walk(ast.parse(file.after)) if isinstance(node, ast.Name)}
    return mentioned & {one, other}


@pytest.mark.parametrize(
    ("one", "other", "stays"),
    [
        ("serial_model", "model", {"model"}),
        ("single_gpu_model", "model", {"model"}),
        ("base", "model", {"model"}),
        ("model", "parallel_model", {"model"}),
        ("net", "model", {"net"}),
        ("base", "parallel", {"base"}),
        ("database_model", "model", {"database_model"}),
        ("critic_body", "critic", {"critic"}),
        ("base_critic", "critic", {"critic"}),
        ("_model", "model", {"model"}),
        ("_critic", "critic", {"critic"}),
        ("_model", "critic", {"_model"}),
        ("critic_body", "judge", {"critic_body"}),
        ("antibody_net", "anti_net", {"antibody_net"}),
    ],
)
def test_the_better_name_stays(one: str, other: str, stays: set[str]) -> None:
    assert names(one, other) == stays


@pytest.mark.parametrize(
    "more",
    [
        "def f():\n    global serial_model\n    serial_model = 1\n",
        "model = load('b')\nprint(model, serial_model)",
    ],
)
def test_a_name_that_means_more_stays(more: str) -> None:
    assert "serial_model" in names("serial_model", "model", more)


def test_a_name_that_another_file_imports_stays() -> None:
    text = PROGRAM.format(one="serial_model", other="model", more="")
    files = migrate_sources({"train.py": text, "other.py": "from train import serial_model\n"}, Settings())
    assert "serial_model = Sequential" in next(file.after for file in files if file.path == "train.py")


def test_a_template_taken_back_leaves_nothing_behind() -> None:
    wrap = "gpus = int(sys.argv[1])\nif gpus > 1:\n    model = multi_gpu_model(model, gpus)\nmodel.compile('sgd')\n"
    more = f"{wrap}if gpus > 1:\n    model = model.layers[-2]\nmodel.summary()"
    text = PROGRAM.partition("{one}")[0] + "model = Sequential([Dense(1, input_shape=(4,))])\n" + more + "\n"
    file = migrate(text)
    assert file.after.endswith("    model.compile('sgd')\nmodel.summary()\n")
    assert "if gpus > 1:" not in file.after
