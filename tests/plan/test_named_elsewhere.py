"""Words that compile() is given by an option of the command line: what its default and its choices show."""

from __future__ import annotations

import pytest

from tests.kit import migrate

PROGRAM = """\
import argparse

from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{before}
model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile({compile})
"""
ARGUMENTS = "parser = argparse.ArgumentParser()\nparser.add_argument({option})\nargs = parser.parse_args()"
FLAGS = "from absl import flags\n\nflags.{option}\nargs = flags.FLAGS"


def told(before: str, compile_: str = "args.optimizer, 'mse'", **modules: str) -> list[tuple[str, str]]:
    """The codes under which a word is said to be possible, each with the word."""
    file = migrate(PROGRAM.format(before=before, compile=compile_), **modules)
    return [(f.code, f.message.split("'")[1]) for f in file.findings if " may be '" in f.message]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("'--optimizer', default='adadelta'", [("TFM301", "adadelta")]),
        ("'-o', '--optimizer', type=str, default='Adamax'", [("TFM301", "Adamax")]),
        ("'--opt', dest='optimizer', default='rmsprop'", [("TFM304", "rmsprop")]),
        ("'optimizer', choices=['sgd', 'nadam', 'adam']", [("TFM301", "nadam")]),
        (
            "'--optimizer', default='rmsprop', choices=('rmsprop', 'adadelta')",
            [("TFM301", "adadelta"), ("TFM304", "rmsprop")],
        ),
        ("'--optimizer', default='adagrad'", [("TFM301", "adagrad"), ("TFM304", "adagrad")]),
        ("'--optimizer', default='sgd', choices=['sgd', 'adam']", []),
        ("'--optimizer', default='adam'", []),
        ("'--optimizer'", []),
        ("'--optimizer', default=None", []),
        ("'--loss', default='adadelta'", []),
        ("'--optimizer-name', default='adadelta'", []),
    ],
)
def test_default_and_choices(option: str, words: list[tuple[str, str]]) -> None:
    assert told(ARGUMENTS.format(option=option)) == words


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("DEFINE_string('optimizer', 'adadelta', 'which')", [("TFM301", "adadelta")]),
        ("DEFINE_enum('optimizer', 'sgd', ['sgd', 'adamax'], 'which')", [("TFM301", "adamax")]),
        ("DEFINE_string('optimizer', 'adam', 'which')", []),
        ("DEFINE_string('other', 'adadelta', 'which')", []),
    ],
)
def test_flags(option: str, words: list[tuple[str, str]]) -> None:
    assert told(FLAGS.format(option=option)) == words


@pytest.mark.parametrize(
    ("after", "given"),
    [
        ("name = args.optimizer", "name, 'mse'"),
        ("def name_of(args):\n    return args.optimizer\n\n\nname = args.optimizer", "optimizer=name, loss='mse'"),
        ("args = vars(args)", "args['optimizer'], 'mse'"),
    ],
)
def test_the_option_goes_by_another_name(after: str, given: str) -> None:
    before = ARGUMENTS.format(option="'--optimizer', default='adadelta'")
    assert told(f"{before}\n{after}", given) == [("TFM301", "adadelta")]


def test_the_option_is_handed_to_a_function() -> None:
    before = ARGUMENTS.format(option="'--optimizer', default='adadelta'")
    program = f"""\
import argparse

from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{before}


def train(optimizer):
    model = Sequential([Dense(1, input_shape=(4,))])
    parallel_model = multi_gpu_model(model, gpus=2)
    parallel_model.compile(optimizer, "mse")


train(args.optimizer)
"""
    assert [finding.code for finding in migrate(program).findings if " may be '" in finding.message] == ["TFM301"]


def test_the_words_stand_in_another_place() -> None:
    names = ARGUMENTS.format(option="'--optimizer', default=BEST, choices=NAMES")
    assert told(f"BEST = 'sgd'\nNAMES = ['sgd', 'adamax']\n{names}") == [("TFM301", "adamax")]
    options = f"import argparse\n\n{ARGUMENTS.format(option=repr('--optimizer') + ', default=' + repr('adadelta'))}\n"
    assert told("from options import args", options=options) == [("TFM301", "adadelta")]


def test_what_an_attribute_surely_is_counts_alone() -> None:
    """An option of the same name is not what an object of the program has there."""
    option = ARGUMENTS.format(option="'--optimizer', default='adadelta'")
    own = "class Settings:\n    optimizer = 'sgd'\n\n\nown = Settings()"
    assert told(f"{option}\n{own}", "own.optimizer, 'mse'") == []
    assert told(f"from keras import optimizers\n{option}", "optimizers.Adadelta(), 'mse'") == []


def test_losses_too() -> None:
    option = ARGUMENTS.format(option="'--loss', default='mse', choices=['mse', 'logcosh']")
    assert told(option, "'sgd', args.loss") == [("TFM222", "logcosh")]
    saved = told(option, "'sgd', args.loss)\nmodel.save('model.h5'")
    assert sorted(saved) == [("TFM222", "logcosh"), ("TFM239", "mse")]


CHOSEN = """import sys
from keras.optimizers import SGD, RMSprop
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def train(optimizer={default!r}):
    model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
{lines}
    model.compile(loss="mse", optimizer=optimizer)
    if optimizer == "adamax":
        optimizer = None


train()
"""


@pytest.mark.parametrize(
    ("default", "lines", "words"),
    [
        ("rmsprop", "    if optimizer == 'rmsprop':\n        optimizer = RMSprop()\n", []),
        (
            "rmsprop",
            "    if optimizer == 'sgd':\n        optimizer = SGD()\n"
            "    elif optimizer == 'rmsprop':\n        optimizer = RMSprop()\n",
            [],
        ),
        ("rmsprop", "    if optimizer == 'sgd':\n        optimizer = SGD()\n", ["rmsprop"]),
        ("rmsprop", "    if optimizer != 'rmsprop':\n        optimizer = SGD()\n", ["rmsprop"]),
        ("rmsprop", "    if optimizer == 'rmsprop':\n        print(optimizer)\n", ["rmsprop"]),
        (
            "adam",
            "    if optimizer == 'adagrad':\n        optimizer = SGD()\n"
            "    optimizer = 'adagrad' if sys.argv else 'sgd'\n",
            ["adagrad"],
        ),
        ("adamax", "    print(optimizer)\n", ["adamax"]),
    ],
)
def test_a_word_that_is_made_an_optimizer_above_is_none(default: str, lines: str, words: list[str]) -> None:
    file = migrate(CHOSEN.format(default=default, lines=lines))
    named = {finding.message.split("'")[1] for finding in file.findings if " may be '" in finding.message}
    assert sorted(named) == words


SETTINGS_PASSED = """from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def build(gpus=1, **settings):
    model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
    model.compile({passed})
    return model


{call}
"""


@pytest.mark.parametrize(
    ("passed", "call", "words"),
    [
        ("**settings", "build(2, loss='mse', optimizer='adadelta')", ["adadelta"]),
        ("**settings", "build(2, loss='mse', optimizer='adadelta')\nbuild(optimizer='adamax')", ["adadelta", "adamax"]),
        ("loss='mse', **settings", "build(optimizer='adagrad')", ["adagrad"]),
        ("**{'optimizer': 'adadelta', 'loss': 'mse'}", "build()", ["adadelta"]),
        ("**settings", "build(2, loss='mse', optimizer='adam')", []),
        ("**settings", "build(**chosen)", []),
        ("optimizer='sgd', loss='mse'", "build(optimizer='adadelta')", []),
    ],
)
def test_words_among_settings_are_told(passed: str, call: str, words: list[str]) -> None:
    file = migrate(SETTINGS_PASSED.format(passed=passed, call=call))
    named = {finding.message.split("'")[1] for finding in file.findings if " may be '" in finding.message}
    assert sorted(named) == words
