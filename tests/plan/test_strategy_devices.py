"""What a strategy is given as devices: what it cannot take is told, held against TensorFlow."""

from __future__ import annotations

import pytest

from tests.forks import Python
from tests.kit import check_unchanged

REFUSED = [
    ("tf.config.list_physical_devices('CPU')", "physical devices"),
    ("tf.config.experimental.list_physical_devices('CPU')[:1]", "physical devices"),
    ("[d.name for d in tf.config.list_physical_devices('CPU')]", "/physical_device:"),
    ("[0, 1]", "a list of numbers"),
    ("2", "a number"),
]
TAKEN = [
    "tf.config.list_logical_devices('CPU')",
    "[d.name for d in tf.config.list_logical_devices('CPU')]",
    "['/cpu:0']",
    "[d.name.replace('physical_', '') for d in tf.config.list_physical_devices('CPU')]",
    "[f'/cpu:{i}' for i, _ in enumerate(tf.config.list_physical_devices('CPU'))]",
    "None",
]


def told(given: str, keyword: str = "") -> list[str]:
    program = (
        f"import tensorflow as tf\ndevices = {given}\nstrategy = tf.distribute.MirroredStrategy({keyword}devices)\n"
    )
    file = check_unchanged(program)
    assert all((finding.code, finding.line) == ("TFM419", 3) for finding in file.findings)
    return [finding.message for finding in file.findings]


@pytest.mark.parametrize(("given", "words"), REFUSED)
@pytest.mark.parametrize("keyword", ["", "devices="])
def test_no_names_are_told(given: str, words: str, keyword: str) -> None:
    (message,) = told(given, keyword)
    assert words in message


@pytest.mark.parametrize("given", TAKEN)
def test_names_are_not(given: str) -> None:
    assert told(given) == []


@pytest.mark.parametrize("given", ["tf.config.list_physical_devices('CPU')", "[0, 1]", "2"])
@pytest.mark.parametrize("other", ["['/cpu:0']", "None", "ask()"])
def test_what_another_branch_gives_is_not_told(given: str, other: str) -> None:
    assert told(f"{given}\nif some:\n    devices = {other}") == []


@pytest.mark.parametrize("given", ["[]", "[0, '/cpu:0']", "[0, ask()]"])
def test_a_list_of_more_than_numbers_is_not_told(given: str) -> None:
    assert told(given) == []


@pytest.mark.runs_tensorflow
def test_tensorflow_says_the_same(python: Python) -> None:
    asked = [given for given, _ in REFUSED] + TAKEN
    program = (
        "import tensorflow as tf\n"
        "def taken(given):\n"
        "    try:\n"
        "        return bool(tf.distribute.MirroredStrategy(given))\n"
        "    except (AttributeError, TypeError, ValueError):\n"
        "        return False\n"
        f"print([taken(given) for given in ({', '.join(asked)})])\n"
    )
    done = python(3, program)
    assert done.stdout.strip() == str([False] * len(REFUSED) + [True] * len(TAKEN)), done.stderr[-2000:]
