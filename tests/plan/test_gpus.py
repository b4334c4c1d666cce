"""`gpus` was a number or a list of ids: what the program shows it to be."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, migrate

PROGRAM = """\
import argparse
import json
import os

from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{before}
model = Sequential([Dense(1, input_shape=(4,))])
model = multi_gpu_model(model, gpus={gpus})
model.compile("sgd", "mse")
"""
ARGUMENTS = "parser = argparse.ArgumentParser()\nparser.add_argument({option})\nargs = parser.parse_args()"
TEXT = "text = os.environ['GPUS']\n"
EITHER = "({0} if isinstance({0}, (list, tuple)) else range({0}))"


def devices(before: str, gpus: str) -> str:
    """What the ids of the migrated program's devices are taken from."""
    file = check_migrated(PROGRAM.format(before=before, gpus=gpus))
    (line,) = (line.replace('"', "'") for line in file.after.split("\n") if "MirroredStrategy(" in line)
    _, _, taken = line.partition("{i}' for i in ")
    assert taken.endswith("])")
    return taken[:-2]


@pytest.mark.parametrize(
    ("before", "gpus"),
    [
        ("", "[0, 1, 2, 3, 4]"),
        ("n = 2", "[i for i in range(n)]"),
        ("n = 2", "[0] * n"),
        ("ids = [0, 1, 2, 3]\nn = int(os.environ['N'])", "ids[:n]"),
        ("ids = [0, 1, 2, 3]", "sorted(ids)"),
        (TEXT, "[int(i) for i in text.split(',')]"),
        (TEXT + "ids = list(map(int, text.split(',')))", "ids"),
        (TEXT + "ids = list(range(4)) if text else [0, 1]", "ids"),
        ("def ids(n):\n    return list(range(n))\n", "ids(4)"),
        (ARGUMENTS.format(option="'--gpus', type=int, nargs='+'"), "args.gpus"),
        (ARGUMENTS.format(option="'-g', '--gpu-ids', type=int, nargs=2"), "args.gpu_ids"),
        (ARGUMENTS.format(option="'-g', dest='chosen', type=int, action='append'"), "args.chosen"),
        (ARGUMENTS.format(option="'--gpus', type=json.loads, default=[0, 1]"), "args.gpus"),
        (
            "settings = json.load(open('s.json'))\nif len(settings['gpus']) < 2:\n    raise SystemExit",
            "settings['gpus']",
        ),
        ("settings = json.load(open('s.json'))\nfor gpu in settings['gpus']:\n    print(gpu)", "settings['gpus']"),
    ],
)
def test_a_list_of_ids_is_taken_as_it_is(before: str, gpus: str) -> None:
    assert devices(before, gpus) == gpus


@pytest.mark.parametrize(
    ("gpus", "taken"),
    [
        ("list(range(n))", "range(n)"),
        ("tuple(range(n))", "range(n)"),
        ("list(map(int, str(n)))", "map(int, str(n))"),
    ],
)
def test_a_list_is_not_made_only_to_go_through_it(gpus: str, taken: str) -> None:
    assert devices("n = 2", gpus) == taken


@pytest.mark.parametrize(
    ("before", "gpus"),
    [
        (TEXT, "len(text.split(','))"),
        (TEXT, "text.count(',') + 1"),
        (TEXT, "sum(1 for part in text)"),
        (TEXT, "int(text)"),
        ("ids = [0, 1]", "max(len(ids), 2)"),
        ("ids = [0, 1]", "min([len(ids), 4])"),
        (ARGUMENTS.format(option="'--gpus', type=int, default=2"), "args.gpus"),
        (ARGUMENTS.format(option="'--gpus', type=int, nargs='?'"), "args.gpus"),
        (ARGUMENTS.format(option="'--gpus', default=2"), "args.gpus"),
        ("from somewhere import num_gpus", "num_gpus"),
        ("from somewhere import config", "config.GPU_COUNT"),
        ("from somewhere import config", "config['ngpus']"),
        ("from somewhere import gpus\nif gpus < 2:\n    raise SystemExit", "gpus"),
        ("from somewhere import gpus\nbatch_size = 32 * gpus", "gpus"),
        ("from somewhere import gpus\nfor i in range(gpus):\n    print(i)", "gpus"),
    ],
)
def test_a_number_is_counted_to(before: str, gpus: str) -> None:
    assert devices(before, gpus) == f"range({gpus})"


@pytest.mark.parametrize(
    ("before", "gpus"),
    [
        ("from somewhere import gpus", "gpus"),
        ("settings = json.load(open('s.json'))", "settings['gpus']"),
        (TEXT + "gpus = {'a': [0, 1], 'b': 2}[text]", "gpus"),
        ("from somewhere import gpus\nn = gpus if isinstance(gpus, int) else len(gpus)\nassert n > 1", "gpus"),
        (ARGUMENTS.format(option="'--gpus', type=lambda text: eval(text)"), "args.gpus"),
    ],
)
def test_what_can_be_either_is_asked_as_multi_gpu_model_asked(before: str, gpus: str) -> None:
    assert devices(before, gpus) == EITHER.format(gpus)


def test_what_a_caller_passes_says_what_a_parameter_is() -> None:
    before = ARGUMENTS.format(option="'--gpus', type=int, nargs='*'")
    program = (
        PROGRAM.partition("{before}")[0]
        + before
        + """

def train(gpus):
    model = Sequential([Dense(1, input_shape=(4,))])
    model = multi_gpu_model(model, gpus=gpus)
    model.compile("sgd", "mse")


train(args.gpus)
"""
    )
    file = migrate(program)
    assert '[f"/gpu:{i}" for i in gpus]' in file.after


def test_what_another_function_does_with_its_own_variable_says_nothing() -> None:
    program = (
        PROGRAM.partition("{before}")[0]
        + """
def train(gpus):
    print(32 * gpus)
    model = Sequential([Dense(1, input_shape=(4,))])
    model = multi_gpu_model(model, gpus=gpus)
    model.compile("sgd", "mse")


def first(gpus):
    return gpus[0]


train(json.load(open("settings.json")))
"""
    )
    assert '[f"/gpu:{i}" for i in range(gpus)]' in migrate(program).after


def test_a_number_of_the_try_is_asked_too() -> None:
    program = PROGRAM.format(before="from somewhere import gpus", gpus="gpus").replace(
        "model = multi_gpu_model(model, gpus=gpus)",
        "try:\n    model = multi_gpu_model(model, gpus=gpus)\nexcept ValueError:\n    pass",
    )
    file = migrate(program)
    assert '"GPU")) >= (len(gpus) if isinstance(gpus, (list, tuple)) else gpus)\n' in file.after


def test_a_try_round_all_the_gpus_there_are_asks_nothing() -> None:
    """Their number may be counted below the model: MirroredStrategy() counts them itself."""
    program = """\
import keras
from keras.utils import multi_gpu_model
from mine import build

model = build()
count = len(keras.backend.tensorflow_backend._get_available_gpus())
try:
    model = multi_gpu_model(model, gpus=count)
except ValueError:
    pass
model.compile("sgd", "mse")
"""
    file = migrate(program)
    assert file.status == "migrated"
    assert "\nstrategy = tf.distribute.MirroredStrategy()\n" in file.after


def test_the_names_of_a_comprehension_are_its_own() -> None:
    program = PROGRAM.format(before="def run(text):", gpus="[int(i) for i in text.split(',')]")
    head, _, tail = program.partition("def run(text):\n")
    program = head + "def run(text):\n" + "".join(f"    {line}\n" for line in tail.split("\n")) + "\nrun('0,1')\n"
    file = migrate(program)
    assert "for i in [int(i) for i in text.split(',')]])" in file.after


@pytest.mark.parametrize(
    ("annotation", "devices"),
    [
        ("int", "for i in range(gpus)"),
        ("Optional[int]", "for i in range(gpus)"),
        ("typing.List[int]", "for i in gpus"),
        ("tuple[int, ...]", "for i in gpus"),
        ("int | list[int]", "for i in (gpus if isinstance(gpus, (list, tuple)) else range(gpus))"),
        ("object", "for i in (gpus if isinstance(gpus, (list, tuple)) else range(gpus))"),
    ],
)
def test_an_annotation_says_what_it_is(annotation: str, devices: str) -> None:
    head, _, tail = PROGRAM.format(before="def run():", gpus="gpus").partition("def run():\n")
    body = "".join(f"    {line}\n" for line in tail.split("\n"))
    assert devices in migrate(f"{head}def run(gpus: {annotation}):\n{body}").after
