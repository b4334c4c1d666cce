"""Scripts that train nothing: what they predict is recorded in little, compared and judged. Simulated runs, and the
functions of the probe on arrays; test_fixtures runs the real ones."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from tfmigrate.verify.judge.controls import PREDICTION_CONTROLS, mutants
from tfmigrate.verify.probe import facts, predictions
from tfmigrate.verify.probe.recorder import Recorder
from tfmigrate.verify.report import page
from tfmigrate.verify.run import trace
from tfmigrate.verify.run.trace import Predictor
from tfmigrate.verify.run.world import Limits, World

from .laboratory import OLD, Laboratory, scripts
from .simulated import Predicting, migrated
from .test_page import in_a_browser, printed

NEW_SCRIPT = """import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = build()
model.load_weights("weights.h5")
for images in parts:
    show(model.predict(images))
"""
DETECTOR = Predicting()
RIGHT = migrated(DETECTOR)
WRONG = {
    "scope missing": replace(RIGHT, replicas=1),
    "weights not loaded": replace(RIGHT, seed=2, loaded=False),
    "last rows lost": replace(RIGHT, rows=(59, 59, 20)),
    "rows in another order": replace(RIGHT, turned=True),
    "predict_on_batch": replace(RIGHT, answers=2, call="predict_on_batch"),
    "half precision": replace(RIGHT, rounding=1e-3, dtypes=("bfloat16",)),
}


@pytest.fixture
def lab(lab: Laboratory) -> Laboratory:
    lab.new.write_text(NEW_SCRIPT)
    lab.behaviour = instead_of_usual()
    return lab


def instead_of_usual(**parts: object):  # type: ignore[no-untyped-def]
    """What each world does when the migration is right, but for those whose role begins with a key (underscores are
    spaces)."""

    def behave(world: World, limits: Limits) -> object:
        for start, what in parts.items():
            if world.role.startswith(start.replace("_", " ")):
                return what
        if world.role.startswith("control: "):
            return WRONG[world.role.removeprefix("control: ")]
        return DETECTOR if world.kind != "migrated" else RIGHT

    return behave


def test_a_right_migration(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT")
    assert report.reason.startswith("over 141 rows in 3 calls the predictions differ by ")
    assert [pair.equivalent for pair in report.pairs] == [True] * 4
    assert report.predicts
    assert report.max_relative_difference is not None
    assert 0 < report.max_relative_difference < 1e-5
    assert {control.mutation for control in report.controls} == set(WRONG)
    assert all(control.detected for control in report.controls)
    expected = {control.mutation: control.expected for control in PREDICTION_CONTROLS}
    for control in report.controls:
        assert control.kind in expected[control.mutation], control
    comparison = report.pairs[0].comparison
    assert comparison is not None
    assert comparison.not_compared == ()
    assert not any("optimizer" in row.what or "steps" in row.what for row in comparison.contract)
    assert not any("shuffling" in each for each in report.adjustments)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (WRONG["scope missing"], "the model predicts on 1 replica instead of 2"),
        (WRONG["last rows lost"], "60 rows became 59, first in call 0"),
        (WRONG["rows in another order"], "the inputs are not the same, first in call 0"),
        (WRONG["half precision"], "computed in bfloat16 where it was float32"),
        (
            WRONG["predict_on_batch"],
            "60 rows became 120: x2 (predict_on_batch of Keras 3 returns one result per replica), first in call 0",
        ),
        (replace(RIGHT, seed=2), "initial weights differ: kernel by up to "),
        (replace(RIGHT, loaded=False), "the old model got its weights from a file, the new one did not"),
        (replace(RIGHT, answered_turned=True), "the rows are in a different order"),
        (replace(RIGHT, scale=1.01), "the inputs are not the same"),
        (replace(RIGHT, heat=1.001), "the predictions differ by up to "),
        (replace(RIGHT, rounding=1e-4), "the predictions differ by up to "),
        (replace(RIGHT, heat=float("nan")), "one of the predictions is not a number"),
        (replace(RIGHT, rows=(60, 60)), "3 calls that predict became 2"),
        (replace(RIGHT, rows=(60, 60, 20)), "21 rows became 20, first in call 2"),
        (migrated(OLD), "the new script trained 12 steps; the old one predicted 3 times"),
        ("it never trained", "the new script predicted nothing; the old one predicted 3 times"),
    ],
)
def test_a_wrong_one_and_its_cause(lab: Laboratory, wrong: object, told: str) -> None:
    report = lab.finds("DIFFERENT", instead_of_usual(migrated=wrong))
    assert told in report.reason
    assert report.controls == ()
    page.html(report, ())


def test_what_is_trained_cannot_be_replaced_by_a_prediction(lab: Laboratory) -> None:
    report = lab.finds("DIFFERENT", scripts(OLD, RIGHT))
    assert "the new script trained nothing; the old one took 12 steps" in report.reason


def test_a_slow_drift_of_the_versions_is_known_when_the_restored_run_agrees(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", instead_of_usual(genuine=replace(DETECTOR, heat=1.0001)))
    assert [name for name, _, _ in report.known] == ["version drift"]
    report = lab.finds("DIFFERENT", instead_of_usual(genuine=replace(DETECTOR, heat=1.05)))
    assert "the versions differ, not the scripts" in report.reason


def test_doubts(lab: Laboratory) -> None:
    report = lab.finds("INCONCLUSIVE", scripts(replace(DETECTOR, replicas=1), replace(RIGHT, replicas=1)))
    assert "predicted on one replica" in report.reason
    lab.behaviour = instead_of_usual(
        genuine=replace(DETECTOR, heat=float("nan")), migrated=replace(RIGHT, heat=float("nan"))
    )
    report = lab.finds("INCONCLUSIVE")
    assert "not numbers" in report.reason
    report = lab.finds("INCONCLUSIVE", instead_of_usual(**{"genuine,": replace(DETECTOR, heat=1.01)}))
    assert "thread counts" in report.reason


def test_a_control_that_is_not_told_apart_makes_the_verdict_worthless(lab: Laboratory) -> None:
    report = lab.finds("INCONCLUSIVE", instead_of_usual(**{"control: scope": RIGHT}))
    assert "scope missing" in report.reason


def test_a_control_that_changes_nothing_is_set_aside(lab: Laboratory) -> None:
    """One image at a time has no order that could be another."""
    still = replace(RIGHT, rounding=1e-30)
    report = lab.finds("EQUIVALENT", instead_of_usual(**{"control: rows": still, "migrated": still}))
    assert ("rows in another order", "has no effect") in {(one.mutation, one.why[:13]) for one in report.left_out}


def test_as_written_says_what_to_do_instead(lab: Laboratory) -> None:
    report = lab.finds_as_written("INCONCLUSIVE", 8)
    assert "trains nothing" in report.reason


def test_every_form_of_the_report(lab: Laboratory, tmp_path: Path) -> None:
    report = lab.verify()
    folder = page.write(report, tmp_path / "report").parent
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))["predictions"]
    assert (told["calls"], told["rows"], told["first_divergence"]) == (3, 141, None)
    for name in ("predictions.png", "residuals.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert not (folder / "curves.png").exists()
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "141</b>rows compared in each pair, in 3 calls" in html
    for word in ("optimizer step", "loss difference", "global batch", "same training"):
        assert word not in html
    markdown = (folder / "pull-request.md").read_text(encoding="utf-8")
    assert "same predictions" in markdown
    assert "![predictions](predictions.png)" in markdown
    assert " inf" not in markdown
    cases = ElementTree.parse(folder / "report.xml").getroot().iter("testcase")
    assert {case.get("classname") for case in cases} >= {"tfmigrate.verify.predictions", "tfmigrate.verify.control"}
    shown = printed(report, 200)
    for word in (
        "Predictions, call by call",
        "difference  tolerance  same",
        "replicas  rows",
        "EQUIVALENT  over 141 rows in 3 calls",
    ):
        assert word in shown


@pytest.mark.starts_processes
def test_a_real_browser_shows_the_page(lab: Laboratory, tmp_path: Path) -> None:
    in_a_browser(page.write(lab.verify(), tmp_path / "report"), tmp_path)


def test_a_single_call_is_drawn_too(lab: Laboratory, tmp_path: Path) -> None:
    lab.behaviour = scripts(replace(DETECTOR, rows=(4,)), replace(RIGHT, rows=(4,)))
    assert (page.write(lab.verify(), tmp_path / "report").parent / "residuals.png").exists()


# What the probe keeps


def test_a_summary_is_small_and_every_value_has_a_share() -> None:
    array = np.random.RandomState(0).rand(3000, 40).astype("float32")
    kept = predictions.summary(array, True)
    assert kept["shape"] == [3000, 40]
    assert (len(kept["values"]), len(kept["sketches"])) == (predictions.VALUES, predictions.STRETCHES)
    assert kept["values"][0] == array[0, 0]
    assert kept["values"][-1] == array[-1, -1]
    small = predictions.summary(array, False)
    assert (len(small["values"]), len(small["sketches"])) == (16, 1)
    other, swapped = array.copy(), array.copy()
    other[1234, 5] += 0.1
    swapped[[100, 101]] = swapped[[101, 100]]
    for changed in (other, swapped, array[:, ::-1]):
        again = predictions.summary(changed, True)["sketches"]
        assert max(abs(a[1] - b[1]) / a[0] for a, b in zip(kept["sketches"], again)) > 1e-4


@pytest.mark.parametrize(
    "array",
    [np.zeros((0, 4)), np.ones((3, 0)), np.ones(5, bool), np.arange(6).reshape(2, 3), np.full((2, 2), np.inf)],
)
def test_summaries_of_odd_arrays_are_json(array: np.ndarray) -> None:
    kept = predictions.summary(array, True)
    assert json.loads(json.dumps(kept))["shape"] == list(array.shape)
    assert np.isnan(kept["largest"]) == (not np.isfinite(array).all())


def test_a_summary_takes_a_moment() -> None:
    array = np.random.RandomState(0).rand(200, 13 * 13 * 85).astype("float32")
    predictions.summary(array, True)
    started = time.perf_counter()
    predictions.summary(array, True)
    assert time.perf_counter() - started < 1.0, "2.9 million values, 0.02 s when nothing else runs"


def test_arrays_of_what_models_take_and_give() -> None:
    a, b = np.zeros((2, 3)), np.ones(2)

    def count(value: object) -> int | None:
        found = predictions.arrays_of(value)
        return None if found is None else len(found)

    assert count(a) == count([[1, 2], [3, 4], [5, 6]][0]) == 1
    assert count([a, b]) == count((a, b)) == count({"x": a, "y": b}) == 2
    assert count([a, [b, b]]) == 3
    assert count(None) is None
    assert count(iter([a])) is None
    assert count(np.array(["a", "b"])) is None
    assert count(np.float32(1.0)) is None

    class Sequence:
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> np.ndarray:
            raise AssertionError("nobody may look at a batch out of turn")

    assert count(Sequence()) is None


def test_content_is_alike_in_any_type_and_tells_another_order() -> None:
    array = np.arange(12).reshape(4, 3)
    assert predictions.content([array]) == predictions.content([array.astype("float32")])
    assert predictions.content([array[::-1]]) != predictions.content([array])
    started = time.perf_counter()
    predictions.content([np.zeros((100_000, 100), np.uint8)])
    assert time.perf_counter() - started < 0.5, "a sample of it"


# What the recorder writes


class Variable:
    def __init__(self, value: float) -> None:
        self.value = np.full(2, value, "float32")
        self.shape, self.name = (2,), "kernel"


class Adapter:
    flavour = SimpleNamespace(version="3.15.1", name="tf.keras")

    def is_built(self, model: object) -> bool:
        return True

    def read(self, variables: list[Variable]) -> list[np.ndarray]:
        return [variable.value for variable in variables]

    def assign(self, variables: list[Variable], values: list[np.ndarray]) -> None:
        for variable, value in zip(variables, values):
            variable.value = value

    def replicas(self, model: SimpleNamespace) -> int:
        return model.replicas  # type: ignore[no-any-return]


def net(*variables: Variable, replicas: int = 1) -> SimpleNamespace:
    layer = SimpleNamespace(weights=list(variables), trainable=True)
    return SimpleNamespace(name="net", layers=[layer], weights=list(variables), metrics=[], replicas=replicas)


def recorder(folder: Path, initial: Path | None = None) -> Recorder:
    config = {"output": str(folder), "replicas": 2, "seed": 1, "initial_weights": str(initial) if initial else None}
    return Recorder(config)


def finished(of: Recorder) -> trace.Trace:
    of.finish(True, None)
    return trace.load(Path(of.lines.folder))


def test_a_template_and_its_parallel_model_are_one_that_predicts(tmp_path: Path) -> None:
    kernel, adapter, rows = Variable(1.0), Adapter(), np.ones((6, 2))
    written = recorder(tmp_path)
    written.prediction(net(kernel), adapter, "predict", rows, rows, 0.1)
    written.prediction(net(kernel, replicas=2), adapter, "predict", rows, [rows, rows], 0.1)
    found = finished(written)
    (model,) = found.models
    assert isinstance(model, Predictor)
    assert model.replicas == 2
    assert [len(call.outputs) for call in found.predictions] == [1, 2]
    assert [call.samples for call in found.predictions] == [6, 6]
    assert found.end is not None
    assert found.end.samples_per_second == pytest.approx(60.0)


def test_weights_from_a_file_are_not_aligned_while_nothing_is_trained(tmp_path: Path) -> None:
    old = recorder(tmp_path / "old")
    made, given = Variable(1.0), Variable(2.0)
    facts.mark(net(given), True)
    old.starts.meet(net(made, given), Adapter(), trained=False)
    new = recorder(tmp_path / "new", tmp_path / "old")
    theirs, wrongly = Variable(3.0), Variable(4.0)
    facts.mark(net(wrongly), True)
    new.starts.meet(net(theirs, wrongly), Adapter(), trained=False)
    assert (theirs.value[0], wrongly.value[0]) == (1.0, 4.0)
    never = recorder(tmp_path / "never", tmp_path / "old")
    fresh, unloaded = Variable(5.0), Variable(6.0)
    never.starts.meet(net(fresh, unloaded), Adapter(), trained=False)
    assert (fresh.value[0], unloaded.value[0]) == (5.0, 6.0)
    assert finished(never).notes


def test_what_was_predicted_before_a_training_is_no_matter(tmp_path: Path) -> None:
    written = recorder(tmp_path)
    rows = np.ones((2, 2))
    written.prediction(net(Variable(1.0)), Adapter(), "predict", rows, rows, 0.1)
    written.write("compile", model=0, fit=0, optimizer="sgd", config={}, loss="mse", metrics=[])
    found = finished(written)
    assert found.predictions == found.models == ()


# The controls


def test_each_mistake_is_made_where_it_can_be() -> None:
    made = {m.mutation for m in mutants({"d.py": NEW_SCRIPT}, "d.py", 2, 3, PREDICTION_CONTROLS)}
    assert made == set(WRONG)
    on_keras_2 = {m.mutation for m in mutants({"d.py": NEW_SCRIPT}, "d.py", 2, 2, PREDICTION_CONTROLS)}
    assert made - on_keras_2 == {"predict_on_batch"}
    whole = NEW_SCRIPT.replace("build()", 'load_model("m.h5")').replace('model.load_weights("weights.h5")', "")
    found = {m.mutation for m in mutants({"d.py": whole}, "d.py", 2, 3, PREDICTION_CONTROLS)}
    assert found == made - {"weights not loaded"} | {"another model than the loaded one"}
    for mutant in mutants({"d.py": whole}, "d.py", 2, 3, PREDICTION_CONTROLS):
        compile(mutant.files["d.py"], "d.py", "exec")
