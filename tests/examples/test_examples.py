"""Every pair of examples in rules/ is run: the old on the genuine TensorFlow it is for, the new on Keras 3 and Keras 2.

What trains must take the same steps, with the same losses and weights, as `tfmigrate verify` compares them; what
computes something must compute the same. An example without multi_gpu_model or an Estimator is on a strategy already:
its `before` runs on today's Keras 2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import forks
from tfmigrate import rules
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.run import runtimes
from tfmigrate.verify.run import trace as traces
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.trace import Trace

PROGRAM = Path(__file__).with_name("world.py")
OLD = ("Keras 2.3", "TensorFlow 2.3", "before on Keras 2")
NEW = ("Keras 3", "Keras 2")
CLOSE = 1e-5

EXAMPLES = {
    f"{rule.code}-{number}": example
    for rule in rules.all_rules()
    for number, example in enumerate((e for e in rule.examples if (e.kind, e.language) == ("rewrite", "python")), 1)
}

NOT_RUN = {
    "TFM249-1": "needs pandas and a file",
    "TFM004-1": "a builder that nothing calls",
    "TFM024-2": "asks the command line how many GPUs there are",
    "TFM022-1": "reads a file that an old run saved from its parallel model: tests/checkpoint makes and converts some",
    "TFM401-1": "reads data that no page gives; fixtures/dcgan_object and fixtures/pix2pix_pairs train it",
    "TFM404-1": "told: a stateful layer runs under no strategy, and on no multi_gpu_model either",
    "TFM433-1": "told: a batch that three replicas do not divide",
    "TFM223-1": "a loop of its own leaves no trace: tests/plan/test_strategy_methods.py runs it",
    "TFM223-2": "a class that nothing makes an object of",
    "TFM217-1": "its data is what another module of the program gives",
    "TFM411-2": "reads weights of a MobileNetV2 that it does not make",
    "TFM502-1": "told: a name that no TensorFlow has",
    "TFM503-1": "told: an argument that no Keras has",
    "TFM281-3": "reported: looks for a layer by a name that it has no more",
    "TFM260-1": "reported: the weights of the old network do not fit the new one",
    "TFM237-1": "reported: another shape on Keras 2.3",
    "TFM258-1": "takes pictures, and the rows given here have four numbers",
    "TFM267-1": "takes pictures too",
    "TFM289-1": "the old side has no configuration to compare: test_estimator_arithmetic.py takes such steps",
    "TFM293-1": "reported: Keras 3 trains the base, which stayed frozen",
    "TFM273-1": "reported: an assignment that a graph never ran takes effect today",
    "TFM270-1": "reported: reads attributes that Keras 3 does not have",
    "TFM288-1": "reported: imports a package that is not there",
    "TFM254-1": "reported: imports a package that is not there",
    "TFM271-1": "trains a model of a module that is not given",
    "TFM438-1": "reported: a number among the inputs of a layer, which no version that is run here takes",
    "TFM436-1": "told: a Sequence that counts its batches, of which Keras takes some before it trains",
    "TFM447-1": "reported: takes pictures, and the rows given here have four numbers",
    "TFM504-1": "reported: imports a module by a way that is gone, and the module is not there",
}
"""Examples of which no two sides can be run, and why."""

FAILS = {
    ("TFM205-1", "Keras 2"): "unsupported operand type(s) for /: 'Dataset' and 'int'",
    ("TFM214-2", "Keras 3"): "no attribute 'predict_classes'",
    ("TFM214-2", "Keras 2"): "no attribute 'predict_classes'",
    ("TFM216-1", "Keras 3"): "Invalid filepath extension",
    ("TFM227-2", "Keras 3"): "no attribute 'set_learning_phase'",
    ("TFM284-1", "Keras 3"): "must be a KerasTensor",
    ("TFM284-1", "Keras 2"): "expects 2 input(s), but it received 1",
    ("TFM305-1", "Keras 3"): "no attribute 'assign'",
    ("TFM408-1", "Keras 3"): "A KerasTensor cannot be used as input to a TensorFlow function",
    ("TFM408-1", "Keras 2"): "TypeError: in user code",
    ("TFM501-1", "Keras 3"): "no attribute 'get_session'",
    ("TFM501-1", "Keras 2"): "no attribute 'get_session'",
}
"""What a page says will fail as it stands, because it is told and not rewritten; with the error's words."""

LAST_ROUND = "told: a last round with a batch for one replica alone is another step"
DIFFERS = {
    ("TFM002-5", "Keras 2.3"): "told: all rows in each step",
    ("TFM010-2", "TensorFlow 2.3"): LAST_ROUND,
    ("TFM012-1", "TensorFlow 2.3"): LAST_ROUND,
    ("TFM227-2", "Keras 2"): "reported: batch normalization in inference mode while others train",
    ("TFM305-1", "Keras 2"): "told: the rate of a schedule cannot be set",
    ("TFM246-1", "Keras 3"): "told: get_updates() is never called",
    ("TFM246-1", "Keras 2"): "told: get_updates() is never called",
    ("TFM306-1", "Keras 3"): "told: Nadam's momentum",
    ("TFM306-1", "Keras 2"): "told: Nadam's momentum",
    ("TFM240-1", "Keras 2.3"): "the layer cut off is no part of the new model, whose first weights are others here",
    ("TFM409-2", "Keras 2.3"): "reported: a single epoch of more steps than the Sequence has ends where that ends",
    ("TFM407-1", "Keras 3"): "told: what layers add counted once for each replica",
    ("TFM407-1", "Keras 2"): "told: what layers add counted once for each replica",
    ("TFM259-1", "Keras 3"): "told (TFM432): batch normalization over the whole batch",
    ("TFM432-1", "Keras 3"): "told: batch normalization over the whole batch",
    ("TFM313-1", "Keras 2.3"): "told: a masked loss was divided by all time steps",
}
"""What a page says will be other numbers."""

NO_BEFORE = {
    "TFM262-1": "a function of NumPy on a tensor is an error since TensorFlow 1.15, the oldest that is run here",
    "TFM221-1": "the places of TensorFlow 1.13; the oldest that is run here is 1.15",
    "TFM025-1": "a name that nothing defines is an error on every version",
    "TFM408-2": "multi_gpu_model gives the layer a part of the batch, and it reads a tensor of all of it",
    "TFM257-1": "conv_utils of Keras 2.2; the oldest that is run here is 2.3",
    "TFM244-1": "Keras 2.2 did not name the logs; the oldest that is run here is 2.3",
    "TFM428-1": "a variable made in call() is an error on every version that has multi_gpu_model",
    "TFM245-1": "stops on every Keras but 2.1.4, and the oldest that is run here is 2.3",
    "TFM411-1": "a model outside the scope is an error on every version",
    "TFM010-3": "an Estimator of a model whose weights are set here saves no first checkpoint: tests/verify trains one",
    "TFM412-2": "a metric outside the scope is an error on Keras 2, an optimizer outside it on Keras 3",
    "TFM413-1": "a model loaded outside the scope is an error on every version",
}
"""Examples that mend what never ran, or not here: the two new sides are held against each other."""

WORKERS = "of the machines that it asks for there is one, whose MultiWorkerMirroredStrategy has one replica on a CPU"
IDLE = "nothing enters the strategy before, which is what is mended"
APART = {
    **dict.fromkeys(("TFM421-1", "TFM421-2", "TFM422-1", "TFM423-1", "TFM423-2", "TFM425-1"), ("replicas", WORKERS)),
    **dict.fromkeys(("TFM427-1", "TFM427-2", "TFM427-3"), ("replicas", IDLE)),
    "TFM302-2": ("optimizer", "the decay is a callback's, with the same losses"),
}
"""What trains with the same numbers, and differs in one row of the contract: (row, why)."""


@dataclass(frozen=True)
class Side:
    """What became of one example in one world."""

    trace: Trace
    numbers: Mapping[str, Any]
    error: str | None

    @classmethod
    def read(cls, folder: Path) -> Side:
        trace = traces.load(folder / "trace")
        error: str | None = "ended: " + (folder / "output.txt").read_text(errors="replace")[-500:]
        if trace.end is not None:
            error = None if trace.end.ok else str(trace.end.error)
        numbers = folder / "numbers.json"
        return cls(trace, json.loads(numbers.read_text()) if numbers.exists() else {}, error)


World = tuple[str, Runtime, Mapping[str, str]]
"""What the probe calls it, its interpreter, and the texts of the examples that run there."""


def worlds(found: Sequence[Runtime]) -> dict[str, World | None]:
    """Every world; None where there is no interpreter for it."""
    genuine = {name for name, e in EXAMPLES.items() if re.search("multi_gpu_model|estimator", e.before)}
    standalone = {name for name in genuine if re.search(r"^\s*(from|import) keras", EXAMPLES[name].before, re.M)}
    before = {name: example.before for name, example in EXAMPLES.items()}
    after = {name: example.after for name, example in EXAMPLES.items()}

    def world(kind: str, runtime: Runtime | None, texts: Mapping[str, str], names: Set[str]) -> World | None:
        return None if runtime is None else (kind, runtime, {name: texts[name] for name in names - NOT_RUN.keys()})

    return {
        "Keras 2.3": world("genuine", runtimes.genuine_for("keras", found), before, genuine),
        "TensorFlow 2.3": world("genuine", runtimes.genuine_for("tf.keras", found), before, genuine - standalone),
        "before on Keras 2": world("migrated", runtimes.modern(found, 2), before, EXAMPLES.keys() - genuine),
        "Keras 3": world("migrated", runtimes.modern(found, 3), after, EXAMPLES.keys()),
        "Keras 2": world("migrated", runtimes.modern(found, 2), after, EXAMPLES.keys()),
    }


def run(
    launch: Launch, folder: Path, name: str, kind: str, runtime: Runtime, texts: Mapping[str, str]
) -> dict[str, Side]:
    (folder / "start").mkdir(parents=True)
    examples = {
        example: {"script": text, "replicas": replicas(EXAMPLES[example].before)} for example, text in texts.items()
    }
    (folder / "examples.json").write_text(json.dumps(examples))
    keras = 2 if name.endswith("Keras 2") else 3
    done = forks.run(launch, runtime, PROGRAM, (kind, str(folder)), folder / "start", keras, seconds=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return {example: Side.read(folder / example) for example in examples}


def replicas(text: str) -> int:
    asked = re.search(r"gpus=(\d+)", text)
    return int(asked.group(1)) if asked else 2


def run_all(launch: Launch, folder: Path, known: Mapping[str, World]) -> dict[str, dict[str, Side]]:
    """{world: {example: what became of it}}"""
    with ThreadPoolExecutor(2) as pool:
        running = {
            name: pool.submit(run, launch, folder / name.replace(" ", "-"), name, *world)
            for name, world in known.items()
        }
        return {name: done.result() for name, done in running.items()}


def difference(old: Side, new: Side, but: str | None) -> tuple[float, str]:
    """The largest relative difference, and in what they differ beyond rounding; `but`: a row that is left out."""
    found = compare(old.trace, new.trace, tolerance(0.0, len(old.trace.steps)))
    if len(old.trace.steps) != len(new.trace.steps):
        return float("inf"), f"{len(old.trace.steps)} steps, {len(new.trace.steps)} now"
    largest = found.max_relative_difference if old.trace.steps else 0.0
    broken = [(row.what, row.old, row.new) for row in found.broken if row.what != but]
    if old.trace.steps and (broken or not found.losses_agree):
        return largest, f"losses {largest:.1e} of {found.tolerance:.1e}; {broken}"
    for name, value in old.numbers.items():
        before, after = np.asarray(value), np.asarray(new.numbers.get(name, np.nan))
        if before.shape != after.shape or not np.allclose(before, after, rtol=CLOSE, atol=1e-7):
            return largest, f"{name}: {str(value)[:60]}, now {str(new.numbers.get(name))[:60]}"
    return largest, ""


def wrong_on(new: str, sides: Mapping[str, Mapping[str, Side]]) -> dict[str, str]:
    """The examples that did not become on a new side what the old one was, with what they became."""
    wrong: dict[str, str] = {}
    far: dict[str, float] = {}
    for name in EXAMPLES.keys() - NOT_RUN.keys():
        after = sides[new][name]
        if (name, new) in FAILS:
            if FAILS[name, new] not in str(after.error):
                wrong[name] = f"should fail on {new}: {after.error}"
            continue
        if after.error is not None:
            wrong[name] = f"fails on {new}: {after.error}"
            continue
        ran = {world: sides[world][name] for world in OLD if name in sides[world] and not sides[world][name].error}
        if name in NO_BEFORE:
            if ran:
                wrong[name] = "its `before` does run"
            ran = {"Keras 2": sides["Keras 2"][name]}
        if not ran:
            wrong[name] = f"no `before` runs: {[sides[world][name].error for world in OLD if name in sides[world]]}"
        for world, before in ran.items():
            size, said = difference(before, after, APART[name][0] if name in APART else None)
            listed = any(key in DIFFERS for key in ((name, new), (name, world)))
            if bool(said) != listed:
                wrong[f"{name} {world}"] = said or "is the same, and is listed as different"
            if not said:
                far[name] = max(size, far.get(name, 0.0))
    print(f"{new}: {len(far)} of {len(EXAMPLES)} examples agree, largest difference {max(far.values()):.1e}")
    return wrong


@pytest.mark.runs_tensorflow
def test_every_example_computes_as_before(tmp_path: Path, launch: Launch, found_runtimes: tuple[Runtime, ...]) -> None:
    known = worlds(found_runtimes)
    missing = [name for name, world in known.items() if world is None]
    if missing:
        pytest.skip(f"no interpreter for {', '.join(missing)}; `tfmigrate runtimes --make all` builds the old ones")
    sides = run_all(launch, tmp_path, {name: world for name, world in known.items() if world is not None})
    wrong = {new: wrong_on(new, sides) for new in NEW}
    assert wrong == {new: {} for new in NEW}, json.dumps(wrong, indent=1)


def test_the_lists_name_examples() -> None:
    named = {*NOT_RUN, *NO_BEFORE, *APART, *(name for name, _ in FAILS), *(name for name, _ in DIFFERS)}
    assert named <= EXAMPLES.keys()
