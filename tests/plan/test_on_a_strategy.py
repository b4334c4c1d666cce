"""The rules for programs on a strategy, held against TensorFlow: what they say fails does, and what is mended runs."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.forks import Python
from tfmigrate import rules
from tfmigrate.rules import Example
from tfmigrate.verify.run import experiment

RUNNER = Path(__file__).with_name("on_two_replicas.py")
EXAMPLES: Mapping[str, Example] = {
    f"{rule.code}:{number}": example
    for rule in rules.all_rules()
    if rule.code.startswith(("TFM40", "TFM41"))
    for number, example in enumerate(rule.examples, 1)
}
IDLE: Mapping[str, Example] = {
    f"{rule.code}:{number}": example
    for rule in rules.all_rules()
    if rule.name == "idle-strategy"
    for number, example in enumerate(rule.examples, 1)
    if example.kind == "rewrite"
}
TOGGLE, ENDLESS, SCALAR = "TFM401:1", "TFM402:3", "TFM403:3"
TWO_TRAINED, ONE_ASKED, TRAINED_AGAIN = "TFM414:1", "TFM414:4", "TFM414:5"
ON_ONE_DEVICE = "TFM413:2"
SAVED, UNSEEDED = "TFM422:1", "TFM423:2"
SHARED = "TFM405:1"
BATCH, RATE = 8, 0.01
FAILS = {
    "TFM404:1 after": {3: "ValueError", 2: "ValueError: Stateful RNNs"},
    f"{SHARED} as it was": {3: "Unknown variable", 2: "KeyError"},
    "TFM411:1 before": {3: "AssertionError", 2: "was not created in the distribution strategy scope"},
    "TFM411:2 before": {3: "AssertionError", 2: "ValueError"},
    "TFM411:3 before": {3: "AssertionError", 2: "was not created in the distribution strategy scope"},
    "TFM412:1 before": {3: "Mixing different tf.distribute.Strategy"},
    "TFM412:2 before": {3: "Mixing different tf.distribute.Strategy", 2: "created inside a different distribution"},
    "TFM412:3 before": {3: "Mixing different tf.distribute.Strategy"},
    "TFM412:7 before": {3: "Mixing different tf.distribute.Strategy"},
    "TFM413:1 before": {3: 'Need to be inside "with strategy.scope()"', 2: "was not created in the distribution"},
    "TFM414:1 before": {3: "CollectiveReduceV2", 2: "CollectiveReduceV2"},
    "TFM415:1 before": {3: "ValueError: Argument `validation_split`", 2: "ValueError: `validation_split` is only"},
    "TFM416:1 before": {3: "Unknown variable"},
    "TFM416:2 before": {3: "Unknown variable"},
    "TFM416:5 before": {2: "unsupported operand type(s) for /: 'Dataset' and 'int'"},
}
"""What each program that cannot run raises on Keras 3 and on Keras 2; all others run."""

Outcomes = Mapping[str, Mapping[str, Any]]


def programs() -> Iterator[dict[str, object]]:
    """Each example that TensorFlow 2 can run, as it stands and as `fix` leaves it.

    A second strategy comes first where it does no harm, and last where training under it fails.
    """
    once = re.sub(r"    critic.trainable = .*\n(?=    \w+.train_on)", "", EXAMPLES[TOGGLE].after)
    yield {"name": ONE_ASKED, "program": EXAMPLES[ONE_ASKED].before, "alone": True}
    yield {"name": f"{TOGGLE} as it was", "program": once, "alone": False}
    apart = EXAMPLES[SHARED].after + "small.fit(x, y)\nlarge.fit(x, y)\n"
    shared = apart.replace("type(optimizer).from_config(optimizer.get_config())", "optimizer")
    yield {"name": f"{SHARED} as it was", "program": shared, "alone": False}
    yield {"name": f"{SHARED} after", "program": apart, "alone": False}
    for name, example in (*EXAMPLES.items(), *IDLE.items()):
        forms = {"before": example.before}
        if example.kind == "rewrite":
            forms["after"] = example.after
        for form, text in forms.items():
            if "multi_gpu_model" not in text and name not in (ONE_ASKED, TWO_TRAINED, TRAINED_AGAIN, SHARED):
                yield {"name": f"{name} {form}", "program": text, "alone": False}
    yield {"name": f"{TWO_TRAINED} before", "program": EXAMPLES[TWO_TRAINED].before, "alone": True}


Run = Callable[..., Outcomes]


@pytest.fixture
def run(python: Python, tmp_path: Path) -> Run:
    """What became of each program on Keras 2 or 3."""

    def outcomes(keras: int, given: Sequence[Mapping[str, object]], **variables: str) -> Outcomes:
        with tempfile.NamedTemporaryFile("w", dir=tmp_path, suffix=".json", delete=False) as file:
            json.dump(given, file)
        done = python(keras, RUNNER, file.name, variables=variables)
        assert done.returncode == 0, done.stderr[-3000:]
        return {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}

    return outcomes


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2], ids=["Keras 3", "Keras 2"])
def test_what_is_told_fails_and_what_is_mended_runs(keras: int, run: Run) -> None:
    outcomes = run(keras, list(programs()))
    assert set(FAILS) <= set(outcomes)
    only_what_is_told_fails(outcomes, keras)
    trainable_is_read_at_every_step(outcomes, keras)
    a_generator_loses_batches(outcomes, keras)
    a_loss_that_is_one_number_is_multiplied(outcomes, keras)
    what_is_loaded_outside_trains_on_one_device(outcomes)
    what_stands_beside_an_idle_strategy_trains_on_one_device(outcomes)
    the_batch_of_a_replica_is_taken_for_the_global_one(outcomes)


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2], ids=["Keras 3", "Keras 2"])
def test_the_same_model_trains_under_a_second_strategy(keras: int, run: Run) -> None:
    program = {"name": TRAINED_AGAIN, "program": EXAMPLES[TRAINED_AGAIN].before, "alone": True}
    (outcome,) = run(keras, [program]).values()
    assert not outcome["error"]
    assert len(outcome["trainings"]) == 2


STRATEGY = "tf.distribute.MultiWorkerMirroredStrategy()\n"
DEVICES = "tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)\n"


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(("program", "error"), [(STRATEGY + DEVICES, "cannot be modified"), (DEVICES + STRATEGY, "")])
def test_devices_are_set_up_before_the_strategy_of_several_machines_or_not_at_all(
    program: str, error: str, python: Python
) -> None:
    head = "import tensorflow as tf\n(cpu,) = tf.config.list_physical_devices('CPU')\n"
    done = python(3, head + program)
    assert bool(done.returncode) is bool(error)
    assert error in done.stderr


def only_what_is_told_fails(outcomes: Outcomes, keras: int) -> None:
    expected = {name: FAILS.get(name, {}).get(keras, "") for name in outcomes}
    wrong = {
        name: one["error"][:300]
        for name, one in outcomes.items()
        if bool(one["error"]) != bool(expected[name]) or expected[name] not in one["error"]
    }
    assert not wrong


def trainable_is_read_at_every_step(outcomes: Outcomes, keras: int) -> None:
    def moved(name: str) -> list[bool]:
        return [t["start"] != t["end"] for t in outcomes[name]["trainings"] if t["start"]]

    assert moved(f"{TOGGLE} as it was") == [keras == 2] * 2
    assert moved(f"{TOGGLE} after") == [True] * 2


def a_generator_loses_batches(outcomes: Outcomes, keras: int) -> None:
    assert trained(outcomes[f"{ENDLESS} before"]) == (keras == 2)
    assert trained(outcomes[f"{ENDLESS} after"])


def a_loss_that_is_one_number_is_multiplied(outcomes: Outcomes, keras: int) -> None:
    assert trained(outcomes[f"{SCALAR} before"], factor=2.0 if keras == 3 else 1.0)
    assert trained(outcomes[f"{SCALAR} after"])


def what_is_loaded_outside_trains_on_one_device(outcomes: Outcomes) -> None:
    assert [training["replicas"] for training in outcomes[f"{ON_ONE_DEVICE} before"]["trainings"]] == [2, 1]


def what_stands_beside_an_idle_strategy_trains_on_one_device(outcomes: Outcomes) -> None:
    assert len(IDLE) >= 3
    for name in IDLE:
        assert [training["replicas"] for training in outcomes[f"{name} before"]["trainings"]] == [1]
        assert [training["replicas"] for training in outcomes[f"{name} after"]["trainings"]] == [2]


def the_batch_of_a_replica_is_taken_for_the_global_one(outcomes: Outcomes) -> None:
    def steps(number: int) -> int:
        (training,) = outcomes[f"TFM417:{number} before"]["trainings"]
        return int(training["steps"])

    assert [steps(number) for number in (1, 2)] == [40, 40]
    assert [steps(number) for number in (3, 4, 5)] == [20, 20, 20]


def trained(one: Mapping[str, Any], factor: float = 1.0, rows: Sequence[int] = range(80)) -> bool:
    """Whether the example's linear model is what plain gradient descent makes of ten batches in their order, with the
    gradients times a factor. The bias begins at zero."""
    (training,) = one["trainings"]
    x, y = np.array(one["x"])[list(rows)], np.array(one["y"])[list(rows)]
    kernel, bias = np.array(training["start"])[:, None], 0.0
    for start in range(0, 10 * BATCH, BATCH):
        part = slice(start, start + BATCH)
        slope = 2 * (x[part] @ kernel + bias - y[part]) / BATCH
        kernel, bias = kernel - factor * RATE * x[part].T @ slope, bias - factor * RATE * slope.sum()
    return bool(np.allclose(kernel.ravel(), training["end"], rtol=1e-5, atol=1e-6))


def for_workers(folder: Path) -> Iterator[dict[str, object]]:
    """The programs that `--strategy multi-worker` leaves, each in a folder that all workers share."""
    written = {
        f"{rule.code}:{number}": example.after
        for rule in rules.all_rules()
        if rule.strategy == "multi-worker"
        for number, example in enumerate(rule.examples, 1)
        if example.kind == "rewrite"
    }
    permuted = written[UNSEEDED]
    written[f"{UNSEEDED} by hand"] = permuted.replace("rows = np.random", "np.random.seed(7)\nrows = np.random")
    for name, program in written.items():
        place = folder / name.replace(":", " ")
        place.mkdir()
        x = np.random.default_rng(0).random((80, 4), "float32")
        np.save(place / "x.npy", x)
        np.save(place / "y.npy", x.sum(1, keepdims=True))
        yield {"name": name, "program": program, "alone": False, "folder": str(place)}


@pytest.mark.runs_tensorflow
def test_what_is_written_for_workers_trains_on_two(tmp_path: Path, run: Run) -> None:
    given = list(for_workers(tmp_path))
    addresses = experiment._free_addresses(2)
    tasks = [{"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}} for index in (0, 1)]
    with ThreadPoolExecutor(2) as pool:  # each waits for the other
        chief, other = pool.map(lambda task: run(2, given, TF_CONFIG=json.dumps(task)), tasks)
    for name in (one["name"] for one in given):
        assert (chief[name]["error"], other[name]["error"]) == ("", "")
        assert [t["replicas"] for t in chief[name]["trainings"]] == [2]
        assert [t["end"] for t in chief[name]["trainings"]] == [t["end"] for t in other[name]["trainings"]]
    assert "model.keras" in other[SAVED]["files"], "no worker goes on before the chief has written"
    draws = [np.random.RandomState(seed).permutation(80).tolist() for seed in (0, 7)]
    assert not trained(chief[UNSEEDED], rows=draws[0])
    assert trained(chief[f"{UNSEEDED} by hand"], rows=draws[1])
