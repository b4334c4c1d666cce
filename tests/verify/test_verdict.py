"""The judging, with simulated runs in the place of TensorFlow; test_fixtures runs the real ones."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tfmigrate.errors import UserError
from tfmigrate.verify.judge.asks import flavour_of, replicas_written
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.stopping import OutOfTime
from tfmigrate.verify.judge.verdict import verify
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.trace import Cut
from tfmigrate.verify.run.world import Limits, Run, World

from .laboratory import (
    LEGACY,
    MODERN,
    NEW_SCRIPT,
    OLD,
    WRONG,
    Behaviour,
    Dying,
    Laboratory,
    broken,
    scripts,
    training,
    usual,
)
from .simulated import Predicting, Training, migrated


def test_a_right_migration(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT")
    assert report.exit_code == 0
    assert lab.roles[:6] == [
        "genuine", lab.roles[1], "restored on Keras 3", "restored on Keras 2", "migrated on Keras 3",
        "migrated on Keras 2",
    ]  # fmt: skip
    assert "thread" in lab.roles[1]
    assert [(p.title, p.decides) for p in report.pairs] == [
        ("genuine vs migrated on Keras 3", True),
        ("genuine vs migrated on Keras 2", True),
        ("restored on Keras 3 vs migrated on Keras 3", False),
        ("restored on Keras 2 vs migrated on Keras 2", False),
    ]
    assert {c.mutation for c in report.controls} == set(WRONG)
    assert all(c.detected for c in report.controls)
    assert report.max_relative_difference is not None
    assert report.max_relative_difference < 1e-5
    assert report.noise is not None


def test_everything_starts_from_the_genuine_weights(lab: Laboratory) -> None:
    lab.verify()
    assert lab.seen[0][2] is None
    first = lab.seen[1][2]
    assert first is not None
    assert all(initial is first for _, _, initial in lab.seen[1:])


def test_worlds_are_what_their_roles_say(lab: Laboratory) -> None:
    lab.verify(args=("--gpus", "2"), environment={"A": "b"})
    worlds = {world.role: world for world, _, _ in lab.seen}
    assert worlds["genuine"].runtime is LEGACY
    assert worlds["restored on Keras 2"].legacy_keras
    assert not worlds["restored on Keras 3"].legacy_keras
    assert worlds["restored on Keras 3"].standalone
    assert worlds["migrated on Keras 3"].script == "new.py"
    assert {w.replicas for w in worlds.values()} == {2}
    assert {w.args for w in worlds.values()} == {("--gpus", "2")}
    control = worlds["control: scope missing"]
    assert "if True:" in control.overlay["new.py"]
    assert "with strategy.scope()" in lab.new.read_text(), "the user's file is as it was"


def test_defaults_are_those_that_the_project_pins_else_those_of_the_genuine_run(lab: Laboratory) -> None:
    lab.verify()
    lab.verify(written_for="keras==2.2.4")
    assert [one.defaults_of for one, _, _ in lab.seen if one.role == "restored on Keras 3"] == [(2, 3), (2, 2)]


def test_controls_run_one_epoch(lab: Laboratory) -> None:
    lab.verify()
    assert {limits.epochs for world, limits, _ in lab.seen if world.role.startswith("control")} == {1}
    assert {limits.epochs for world, limits, _ in lab.seen if not world.role.startswith("control")} == {None}


def test_a_wrong_migration_is_different_and_its_cause_is_the_reason(lab: Laboratory) -> None:
    report = lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), batch_size=128)))
    assert "batches of 128 where 64 was asked for: x2" in report.reason
    assert report.controls == (), "nothing more is run once the answer is known"
    first = report.to_json()["loss"]["first_divergence"]
    assert first == {"epoch": 0, "step": 0, "cause": "batches of 128 where 64 was asked for: x2", "line": None}


def test_one_keras_alone_can_be_different(lab: Laboratory) -> None:
    report = lab.finds("DIFFERENT", broken(migrated_on_Keras_2=replace(migrated(OLD), learning_rate=1.0)))
    assert report.reason.startswith("migrated on Keras 2 trains differently")


def test_a_new_script_that_crashes_in_the_wrong_scope_does_not_run(lab: Laboratory) -> None:
    lab.behaviour = broken(migrated="RuntimeError: Mixing different tf.distribute.Strategy objects (new.py:5)")
    report = lab.finds("DOES NOT RUN")
    assert report.reason.startswith("the migrated script crashed: ")
    assert "outside the strategy's scope" in report.reason
    assert "new.py:5" in report.reason
    assert report.max_relative_difference is None


def building_otherwise(lab: Laboratory) -> Behaviour:
    """From the genuine run's weights today's Keras cannot begin: it builds another model, whichever script it runs."""

    def behave(world: World, limits: Limits) -> Training | str:
        if world.role.startswith(("restored", "migrated")) and lab.roles.count(world.role) == 1:
            return "WeightsDiffer: the other run's initial weights do not fit model 0 (resnet50)"
        return usual(world, limits)

    return behave


@pytest.mark.parametrize("options", [{}, {"depth": "smoke"}])
def test_a_model_that_keras_itself_builds_otherwise_is_compared_on_one_keras(
    lab: Laboratory, options: dict[str, str]
) -> None:
    report = lab.finds("SMOKE PASSED" if options else "EQUIVALENT", building_otherwise(lab), **options)
    assert "the old Keras builds a different model than Keras 3 does from the same script" in report.alone
    assert {pair.old for pair in report.pairs} <= {"restored on Keras 3", "restored on Keras 2"}


def test_a_genuine_run_that_was_set_aside_is_not_held_against_the_new_one_where_time_runs_out(lab: Laboratory) -> None:
    late, others = OutOfTime("the time limit of 60 seconds"), building_otherwise(lab)
    lab.behaviour = lambda world, limits: late if world.role.startswith("control") else others(world, limits)
    report = lab.verify()
    assert report.state == "out of time"
    assert "restored on Keras 3 vs migrated on Keras 3: they agree" in report.reason
    assert {pair.old for pair in report.pairs} == {"restored on Keras 3"}


def test_a_migration_that_builds_another_model_is_the_new_scripts_doing(lab: Laboratory) -> None:
    lab.behaviour = broken(migrated="WeightsDiffer: the other run's initial weights do not fit model 0 (resnet50)")
    report = lab.verify()
    assert (report.verdict, report.exit_code, report.alone) == ("DIFFERENT", 1, "")
    assert "the new script builds a different model: the other run's initial weights do not fit" in report.reason


def test_a_new_script_that_never_trains_is_different(lab: Laboratory) -> None:
    report = lab.finds("DIFFERENT", broken(migrated="it never trained"))
    assert "trained nothing" in report.reason


def test_a_module_that_is_not_installed_is_nobodys_mistake(lab: Laboratory) -> None:
    report = lab.finds("COULD NOT RUN", broken(migrated="ModuleNotFoundError: No module named 'pandas' (new.py:2)"))
    assert "uv pip install --python /modern/python pandas" in report.reason
    lab.behaviour = broken(migrated="ModuleNotFoundError: No module named 'keras.utils.training_utils' (new.py:2)")
    lab.finds("DOES NOT RUN")


def test_a_new_script_that_hangs_is_inconclusive(lab: Laboratory) -> None:
    lab.behaviour = broken(migrated="no more time")
    assert (lab.verify().verdict, lab.verify().exit_code) == ("INCONCLUSIVE", 3)


def test_without_a_legacy_runtime_the_restored_run_decides_and_the_report_says_so(lab: Laboratory) -> None:
    lab.runtimes = (MODERN,)
    report = lab.finds("EQUIVALENT")
    assert [(p.title, p.decides) for p in report.pairs] == [
        ("restored on Keras 3 vs migrated on Keras 3", True),
        ("restored on Keras 2 vs migrated on Keras 2", True),
    ]
    assert any("runtimes --make tf1.15" in note for note in report.notes)


def test_a_genuine_run_that_dies_leaves_it_to_the_restored_one(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", broken(genuine="ModuleNotFoundError: No module named 'pandas' (old.py:1)"))
    genuine = next(run for run in report.runs if run.role == "genuine")
    assert "add pandas to the program's requirements.txt" in genuine.outcome


@pytest.mark.parametrize("what", ["ValueError: no data (old.py:7)", "it never trained", "no more time"])
def test_an_old_script_that_runs_nowhere(lab: Laboratory, what: str) -> None:
    report = lab.finds("COULD NOT RUN", broken(genuine=what, restored=what))
    assert what in report.reason
    assert not [role for role in lab.roles if role.startswith("migrated")]


def dying(wrong: bool) -> Behaviour:
    """Old and new die behind their training, as the old script always did."""

    def behave(world: World, limits: Limits) -> Training | Dying | str:
        how = usual(world, limits)
        if isinstance(how, str) or world.role.startswith("control: "):
            return how
        error = f"RuntimeError: compile it first ({world.script}:9)"
        return Dying(replace(how, learning_rate=1.0) if wrong and world.kind == "migrated" else how, error)

    return behave


def test_an_old_script_that_dies_behind_its_training_is_judged_by_that(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", dying(wrong=False))
    assert "all the steps that the old script takes before it crashes: genuine: old.py crashed: RuntimeError" in (
        report.reason
    )
    lab.finds("DIFFERENT", dying(wrong=True))


def test_no_modern_tensorflow(lab: Laboratory) -> None:
    lab.runtimes = (LEGACY,)
    report = lab.finds("COULD NOT RUN")
    assert "pip install" in report.reason


def test_version_drift_is_told_from_the_migration(lab: Laboratory) -> None:
    other = replace(OLD, learning_rate=0.25)
    report = lab.finds("DIFFERENT", broken(restored=other, migrated=migrated(other)))
    assert "the versions differ, not the scripts" in report.reason


def test_a_slow_drift_of_the_versions_is_known_when_the_restored_run_agrees(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", broken(genuine=replace(OLD, step_scale=1.001)))
    assert "version drift" in report.reason
    assert [name for name, _, _ in report.known] == ["version drift"]
    assert report.max_relative_difference is not None
    assert 1e-5 < report.max_relative_difference < 1e-3
    assert all(control.detected for control in report.controls)


def test_a_drift_is_no_excuse_for_a_fast_one_or_without_the_restored_run(lab: Laboratory) -> None:
    lab.finds("DIFFERENT", broken(genuine=replace(OLD, step_scale=1.02)))
    lab.finds("DIFFERENT", broken(genuine=replace(OLD, step_scale=1.001), restored="ValueError (old.py:1)"))
    lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), step_scale=1.001)))


def test_weights_without_gradient_may_drift_further_than_losses(lab: Laboratory) -> None:
    lab.finds("EQUIVALENT", broken(genuine=replace(OLD, step_scale=1.001, idle_weight=0.5)))
    lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), idle_weight=0.5)))


def test_a_slow_drift_of_an_optimizer_has_its_name(lab: Laboratory) -> None:
    old = replace(OLD, optimizer="rmsprop", config=(("epsilon", 1e-7),), step_scale=1.001)
    today = replace(OLD, optimizer="rmsprop", config=(("epsilon", 1e-14),))
    lab.behaviour = broken(genuine=old, restored=today, migrated=migrated(today))
    (drift,) = lab.verify().known
    assert drift[0] == "version drift"
    assert "rmsprop: epsilon was added to the square root" in drift[1]


REGULARIZED = replace(OLD, regularizers=("kernel l2=0.001",))


def with_penalty(genuine: Training, today: Training = REGULARIZED) -> Behaviour:
    """What a frozen layer adds to the losses of the genuine run alone."""
    others = training(today, migrated(today))
    return lambda world, limits: genuine if world.kind == "genuine" else others(world, limits)


def test_the_regularizers_of_frozen_layers_are_known(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", with_penalty(replace(REGULARIZED, penalty=0.02)))
    ((name, _, size),) = report.known
    assert (name, size) == ("regularizers of frozen layers", pytest.approx(0.02, rel=1e-3))
    assert all(control.detected for control in report.controls)


def test_a_frozen_penalty_may_stand_beside_a_slow_drift(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", with_penalty(replace(REGULARIZED, penalty=0.02, step_scale=1.001)))
    assert {name for name, _, _ in report.known} == {"regularizers of frozen layers", "version drift"}


def test_no_other_constant_is_put_down_to_frozen_layers(lab: Laboratory) -> None:
    lab.finds("DIFFERENT", with_penalty(replace(OLD, penalty=0.02), OLD))  # nothing is regularized
    lab.finds("DIFFERENT", with_penalty(REGULARIZED, replace(REGULARIZED, penalty=0.02)))  # Keras 3 adds nothing
    lab.behaviour = broken(migrated=migrated(REGULARIZED), genuine=replace(REGULARIZED, penalty=0.02))
    lab.finds("DIFFERENT")  # the restored run does not agree
    lab.finds("DIFFERENT", with_penalty(replace(REGULARIZED, penalty=0.02, step_scale=1.05)))  # no constant


@pytest.mark.parametrize("shifted", [0.01, 2.0])
def test_data_that_old_libraries_make_otherwise_is_never_held_against_the_migration(
    lab: Laboratory, shifted: float
) -> None:
    report = lab.finds("EQUIVALENT", broken(genuine=replace(OLD, shifted=shifted)))
    assert "which runs showed to come only from the data that its libraries produce" in report.reason
    _, what, size = next(known for known in report.known if known[0] == "data of another TensorFlow")
    assert "TensorFlow 1.15.0 and the libraries beside it (NumPy 1.19.5) produce different data than today's" in what
    assert f", values up to {shifted / (1 + shifted):.2g} of their size apart" in what
    assert size > 1e-4
    assert all(control.detected for control in report.controls)


def test_another_stream_of_random_numbers_is_not_the_migrations(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", broken(genuine=replace(OLD, data_seed=3, validation_content="other")))
    assert any(name == "data of another TensorFlow" for name, _, _ in report.known)


def test_data_of_another_tensorflow_hides_no_mistake(lab: Laboratory) -> None:
    lab.finds("DIFFERENT", broken(genuine=replace(OLD, shifted=0.01, learning_rate=0.25)))  # a default that changed
    lab.finds("DIFFERENT", broken(migrated=migrated(replace(OLD, shifted=0.01))))  # the new script's own doing
    lab.behaviour = broken(genuine=replace(OLD, data_seed=3), migrated=migrated(replace(OLD, data_seed=5)))
    lab.finds("DIFFERENT")  # three kinds of data
    lab.behaviour = broken(genuine=replace(OLD, data_seed=3), migrated=migrated(replace(OLD, learning_rate=0.51)))
    report = lab.finds("DIFFERENT")  # a mistake beside it
    assert "learning_rate 0.5 -> 0.51" in report.reason, "named by the run that has the same data"


def test_data_rounded_by_another_numpy_is_judged_as_the_same(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", broken(genuine=replace(OLD, shifted=3e-7)))
    _, what, size = next(known for known in report.known if known[0] == "data rounded by another library")
    assert "NumPy 1.19.5 and 2.3.1" in what
    assert 1e-7 < size < 1e-6


@pytest.mark.parametrize("shifted", [1e-5, 1e-4])
def test_a_new_script_whose_data_is_a_little_larger_is_caught(lab: Laboratory, shifted: float) -> None:
    lab.behaviour = broken(genuine=replace(OLD, shifted=3e-7), migrated=migrated(replace(OLD, shifted=shifted)))
    report = lab.finds("DIFFERENT")
    assert "batches with different content (values differ by up to " in report.reason


OTHER_STEPS = replace(OLD, step_scale=1.2)
"""As the optimizers of another Keras take them."""


def with_old_optimizers(shown: Training = OTHER_STEPS, **parts: Training | str) -> Behaviour:
    """The genuine run's steps are others; `shown`: those of the old script restored with the optimizers of its time."""
    others = broken(**parts)

    def behave(world: World, limits: Limits) -> Training | tuple[Training, ...] | Predicting | str:
        return shown if world.old_optimizers else others(world, limits)

    return behave


def test_the_optimizers_of_another_keras_are_no_fault_of_the_migration(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", with_old_optimizers(genuine=OTHER_STEPS))
    assert "only from the optimizers of current Keras" in report.reason
    ((name, what, size),) = report.known
    assert name == "optimizer of another Keras"
    assert "sgd(learning_rate=0.5) of TensorFlow 1.15.0" in what
    assert size > 1e-2
    assert [pair.remark for pair in report.pairs] == ["but for a known difference, optimizer of another Keras"] * 2 + [
        ""
    ] * 2
    assert all(control.detected for control in report.controls)


def test_another_optimizer_is_no_excuse_unless_a_run_shows_it(lab: Laboratory) -> None:
    lab.finds("DIFFERENT", with_old_optimizers(OLD, genuine=OTHER_STEPS))
    lab.finds("DIFFERENT", with_old_optimizers(genuine=OTHER_STEPS, migrated=replace(migrated(OLD), learning_rate=1.0)))
    lab.finds("DIFFERENT", with_old_optimizers(genuine=OTHER_STEPS, restored_on_Keras_2="ValueError (old.py:1)"))


def test_what_is_shown_on_one_keras_does_not_excuse_the_other(lab: Laboratory) -> None:
    leak = replace(OLD, step_scale=1.1)
    lab.behaviour = with_old_optimizers(
        genuine=OTHER_STEPS, restored_on_Keras_3=leak, migrated_on_Keras_3=migrated(leak)
    )
    report = lab.finds("DIFFERENT")
    assert [pair.equivalent for pair in report.pairs if pair.decides] == [False, True]


GAN = replace(OLD, moving_averages=True, call="train_on_batch")
WHOLE = replace(GAN, gradient_scale=1.3)
"""As batch norm over the whole batch makes it; one update of the moving averages a step."""


def on_whole_batches(shown: Training | str = WHOLE, **parts: Training | str) -> Behaviour:
    """A right migration of a script that trains by train_on_batch, with batch norm."""
    others = broken(**parts, **{"genuine": GAN, "restored": GAN, "migrated on Keras 3": migrated(WHOLE)})

    def behave(world: World, limits: Limits) -> Training | tuple[Training, ...] | Predicting | str | BaseException:
        if world.role.startswith("control: "):
            wrong = usual(world, limits)
            if isinstance(wrong, str):
                return wrong
            scale = wrong.gradient_scale * WHOLE.gradient_scale
            return replace(wrong, moving_averages=True, call="train_on_batch", gradient_scale=scale)
        if world.whole_batches:
            assert world.role == "restored on Keras 3, batches not split"
            return shown
        return replace(migrated(GAN)) if world.role == "migrated on Keras 2" else others(world, limits)

    return behave


@pytest.mark.parametrize("runtimes", [(MODERN, LEGACY), (MODERN,)])
@pytest.mark.parametrize("kerases", [(3, 2), (3,)])
def test_batch_norm_over_whole_batches_is_no_fault_of_the_migration(
    lab: Laboratory, runtimes: tuple[Runtime, ...], kerases: tuple[int, ...]
) -> None:
    lab.runtimes, lab.behaviour = runtimes, on_whole_batches()
    report = lab.finds("EQUIVALENT", kerases=kerases)
    assert "but for batch norm over whole batches" in report.headline
    assert "TFM432" in report.reason
    assert "batch norm over whole batches" in [name for name, _, _ in report.known]
    assert ("restored on Keras 3, batches not split", False, True) in [
        (pair.old, pair.decides, pair.equivalent) for pair in report.pairs
    ]
    assert all(control.detected for control in report.controls)
    smoke = lab.verify(kerases=kerases, depth="smoke")
    assert smoke.verdict == "SMOKE PASSED", smoke.reason
    assert "but for batch norm over whole batches" in smoke.headline


def test_whole_batches_are_no_excuse_unless_a_run_shows_it(lab: Laboratory) -> None:
    for shown in (GAN, replace(WHOLE, learning_rate=1.0), "ValueError: old and tired (old.py:3)"):
        report = lab.finds("DIFFERENT", on_whole_batches(shown))
        assert "TFM432" in report.reason
    for wrong in (replace(WHOLE, replicas=1), replace(WHOLE, learning_rate=1.0)):
        lab.finds("DIFFERENT", on_whole_batches(migrated_on_Keras_3=migrated(wrong)))
    lab.behaviour = on_whole_batches(restored_on_Keras_3=replace(GAN, step_scale=1.1))
    lab.finds("DIFFERENT")  # the versions differ in more than that


def test_no_run_is_made_for_whole_batches_without_batch_norm(lab: Laboratory) -> None:
    lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), gradient_scale=1.3)))
    assert not [role for role in lab.roles if "not cut" in role]


def test_weights_that_rounding_itself_moves_so_far_are_known(lab: Laboratory) -> None:
    apart = replace(migrated(OLD), idle_weight=0.5)

    def behave(nudged: float) -> Behaviour:
        others = broken(migrated=apart)
        return lambda world, limits: replace(OLD, idle_weight=nudged) if world.nudged else others(world, limits)

    lab.runtimes = (MODERN,)
    report = lab.finds("EQUIVALENT", behave(0.2))
    assert [name for name, _, _ in report.known] == ["rounding that grows"]
    lab.finds("DIFFERENT", behave(0.0001))


def test_no_run_is_made_for_rounding_where_losses_part(lab: Laboratory) -> None:
    lab.behaviour = broken(migrated=replace(migrated(OLD), learning_rate=1.0))
    lab.verify()
    assert not [role for role in lab.roles if "nudged" in role]


def test_controls_are_held_to_the_narrow_band_beside_a_drift(lab: Laboratory) -> None:
    nearly_right = replace(migrated(OLD), gradient_scale=1.0005)
    lab.finds("EQUIVALENT", broken(genuine=replace(OLD, step_scale=1.001), **{"control: loss": nearly_right}))
    lab.finds("INCONCLUSIVE", broken(genuine=replace(OLD, step_scale=1.001), **{"control: loss": migrated(OLD)}))


def test_a_restored_run_that_hides_a_version_does_not_decide(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", broken(restored=replace(OLD, learning_rate=0.25)))
    assert [pair.equivalent for pair in report.pairs] == [True, True, False, False]


def test_a_control_that_is_not_told_apart_makes_the_verdict_worthless(lab: Laboratory) -> None:
    report = lab.finds("INCONCLUSIVE", broken(**{"control: scope": migrated(OLD)}))
    assert "scope missing" in report.reason


def test_a_control_that_dies_of_something_else_was_not_told_apart(lab: Laboratory) -> None:
    lab.behaviour = broken(**{"control: learning": "NameError: name '_tfmigrate_scaled' is not defined (new.py:4)"})
    lab.finds("INCONCLUSIVE")


def test_a_batch_that_the_replicas_do_not_divide_is_detected_as_a_crash(lab: Laboratory) -> None:
    error = "InvalidArgumentError: AddN must have the same size and shape. Input 0: [10,4] != input 1: [6,4] (new.py:4)"
    report = lab.finds("EQUIVALENT", broken(**{"control: batch": error}))
    assert [control.detected for control in report.controls if control.mutation == "batch x2"] == [True]


@pytest.mark.parametrize(("budget", "epochs"), [(8, None), (1000, 1)])
def test_controls_are_not_taken_further_than_the_right_run(lab: Laboratory, budget: int, epochs: int | None) -> None:
    """What a script does after its training has not been seen to work where no run has come to it."""
    lab.finds("EQUIVALENT", depth="default", budget=budget)
    controls = [limits for world, limits, _ in lab.seen if world.role.startswith("control: ")]
    assert controls
    assert {limits.epochs for limits in controls} == {epochs}


@pytest.mark.parametrize(("seed", "verdict"), [(2, "INCONCLUSIVE"), (1, "DIFFERENT")])
def test_other_batches_count_where_a_second_run_has_them_too(lab: Laboratory, seed: int, verdict: str) -> None:
    first, again = (replace(migrated(OLD), data_seed=each) for each in (1, seed))
    behaviour = {"migrated on Keras 3, again": again, "migrated on Keras 2, again": again, "migrated": first}
    report = lab.finds(verdict, broken(**behaviour))
    assert ("two runs of the new script got different batches" in report.reason) == (seed == 2)


def test_a_new_script_that_differs_in_more_than_its_batches_is_not_run_again(lab: Laboratory) -> None:
    lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), learning_rate=1.0)))
    assert not any(role.endswith(", again") for role in lab.roles)


def test_too_few_controls(lab: Laboratory) -> None:
    lab.new.write_text("model.compile(optimizer='sgd', loss={'a': 'mse'})\ntrain(model)\n")
    report = lab.finds("INCONCLUSIVE")
    assert "only 2 wrong migrations" in report.reason


def test_a_script_that_does_not_agree_with_itself(lab: Laboratory) -> None:
    lab.behaviour = broken(genuine_=replace(OLD, learning_rate=0.501), **{"genuine,": replace(OLD, learning_rate=0.51)})
    report = lab.finds("INCONCLUSIVE")
    assert "thread counts" in report.reason


def test_where_two_old_runs_part_after_some_steps_those_before_are_compared(lab: Laboratory) -> None:
    slower = {"genuine,": replace(OLD, drop_rate_after=1)}
    report = lab.finds("EQUIVALENT", broken(**slower))
    steady = len(report.pairs[0].comparison.steps)  # type: ignore[union-attr]
    assert f"over the first {steady} steps, after which the old script's own runs differ" in report.reason
    assert any(note.startswith(f"the first {steady} of ") for note in report.notes)
    assert report.noise is not None
    assert report.noise <= 1e-5
    wrong = replace(migrated(OLD), learning_rate=1.0)
    lab.finds("DIFFERENT", broken(migrated=wrong, **slower))


TAKEN = {"genuine": 9, "migrated on Keras 2": 7}


class Slow(Laboratory):
    """Runs are ended amid a training call, each after as many steps as fit into its time."""

    def run(self, world: World, limits: Limits, *given: Any) -> Run:
        run = super().run(world, limits, *given)
        taken = limits.exactly or (TAKEN.get(world.role, 8) if limits.patience else len(run.trace.steps))
        if taken >= len(run.trace.steps):
            return run
        steps, (later, *_) = run.trace.steps[:taken], run.trace.steps[taken:]
        ended = {step.epoch for step in steps} - {later.epoch}
        trace = replace(
            run.trace,
            steps=steps,
            epochs=tuple(epoch for epoch in run.trace.epochs if epoch.epoch in ended),
            weights=tuple(w for w in run.trace.weights if w.moment != "final"),
            cut=Cut(0, 3, None, taken, slow=True),
        )
        return replace(run, trace=trace)


def test_slow_runs_are_compared_by_the_steps_that_all_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Slow(tmp_path, monkeypatch)
    report = lab.finds("EQUIVALENT", depth="default")
    assert "over the first 7 steps" in report.reason
    assert "own runs differ" not in report.reason
    assert "steps take long here: the first 7 steps are compared" in report.notes
    controls = [limits for world, limits, _ in lab.seen if world.role.startswith("control")]
    assert {(limits.exactly, limits.patience) for limits in controls} == {(7, None)}
    lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), learning_rate=1.0)), depth="default")


@pytest.mark.parametrize("asked", [{"depth": "thorough"}, {"depth": "default", "budget": 12}])
def test_who_asks_for_steps_gets_them(lab: Laboratory, asked: dict[str, Any]) -> None:
    lab.verify(**asked)
    assert {limits.patience for _, limits, _ in lab.seen} == {None}


UNDETERMINED = (
    "UnimplementedError: Graph execution error:\n\nDetected at node grad/ResizeNearestNeighborGrad defined at (most "
    'recent call last):\n  File "a.py", line 2, in f\n\nA deterministic GPU implementation of '
    "ResizeNearestNeighborGrad is not currently available.\n\t [[{{node grad/ResizeNearestNeighborGrad}}]]"
    " (train.py:57)"
)


@pytest.mark.parametrize(
    ("which", "options"),
    [
        ("migrated on Keras 2", {}),
        ("migrated on Keras 2", {"depth": "smoke"}),
        ("restored", {}),  # a smoke test does not run it
        ("genuine", {}),
        ("genuine", {"depth": "smoke"}),
    ],
)
def test_where_an_operation_has_no_deterministic_form_all_is_run_without(
    lab: Laboratory, which: str, options: dict[str, str]
) -> None:
    """The probe asks for determinism, so the new script is not to blame."""

    def behave(world: World, limits: Limits) -> Training | str:
        return UNDETERMINED if world.deterministic and world.role.startswith(which) else usual(world, limits)

    report = lab.finds("SMOKE PASSED" if options else "EQUIVALENT", behave, **options)
    (note,) = (note for note in report.notes if "without determinism" in note)
    assert "A deterministic GPU implementation of ResizeNearestNeighborGrad is not currently available" in note
    again = [world for world, _, _ in lab.seen if not world.deterministic]
    assert {"genuine", "migrated on Keras 3"} <= {world.role for world in again}, "one run is held against another"
    assert not any(world.deterministic for world, _, _ in lab.seen[-len(again) :])


def test_what_crashes_without_determinism_too_does_not_run(lab: Laboratory) -> None:
    report = lab.finds("DOES NOT RUN", broken(migrated=UNDETERMINED))
    assert "A deterministic GPU implementation" in report.reason
    assert sum(world.role == "genuine" for world, _, _ in lab.seen) == 2, "once more, and no more"


class Growing(Laboratory):
    """Rounding grows from the second step on, in each run to something else, where it is float32's."""

    single = frozenset({"restored", "genuine", "migrated"})
    """Kinds of scripts that run in float64 too."""
    growing = single
    """Those whose rounding grows."""

    def run(self, world: World, *given: Any) -> Run:
        if world.doubles and world.kind not in self.single:
            return replace(super().run(world, *given), outcome="crashed", message="float32 is written out (old.py:3)")
        run = super().run(world, *given)
        grown = (
            0.0 if world.doubles or world.kind not in self.growing else 1e-4 * (zlib.crc32(world.role.encode()) % 97)
        )
        steps = (replace(s, loss=s.loss * (1 + grown * (i > 0))) for i, s in enumerate(run.trace.steps))
        return replace(run, trace=replace(run.trace, steps=tuple(steps)))


@pytest.fixture
def growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Growing:
    return Growing(tmp_path, monkeypatch)


def test_where_rounding_grows_at_once_all_is_run_in_float64(growing: Growing) -> None:
    report = growing.finds("EQUIVALENT")
    assert "the training losses, computed in float64, differ" in report.reason
    assert any(note.startswith("in float32, two runs of the old script differ by 0.00") for note in report.notes)
    assert all(world.doubles for world, _, _ in growing.seen if world.role.startswith("control"))
    growing.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), learning_rate=1.0)))


class GrowingSlowly(Growing):
    """A step takes long in float64 alone, so that each run is ended at another one there."""

    def run(self, world: World, limits: Limits, *given: Any) -> Run:
        run = super().run(world, limits, *given)
        taken = limits.exactly or 8 - (world.kind == "migrated")
        if not world.doubles or taken >= len(run.trace.steps):
            return run
        trace = replace(run.trace, steps=run.trace.steps[:taken], cut=Cut(0, 3, None, taken, slow=True))
        return replace(run, trace=trace)


def test_runs_that_are_slow_in_float64_alone_are_compared_by_the_steps_that_all_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = GrowingSlowly(tmp_path, monkeypatch)
    report = lab.finds("EQUIVALENT", depth="default")
    assert "over the first 7 steps" in report.reason
    lab.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), learning_rate=1.0)), depth="default")


def test_a_new_script_that_never_trains_needs_no_steady_old_one(growing: Growing) -> None:
    growing.finds("DOES NOT RUN", broken(migrated="NameError: name 'strategy' is not defined"))
    assert not any(world.doubles for world, _, _ in growing.seen)


def test_what_nothing_leads_to_is_run_in_float64(growing: Growing) -> None:
    """The old script's own runs do not show how its rounding grows in another version."""
    growing.growing = frozenset({"migrated"})
    report = growing.finds("EQUIVALENT")
    assert any("without a known cause" in note for note in report.notes)
    growing.single = frozenset({"genuine", "restored"})
    growing.finds("DIFFERENT")
    growing.single = Growing.single
    report = growing.finds("DIFFERENT", broken(migrated=replace(migrated(OLD), step_scale=1.01)))
    assert any("without a known cause" in note for note in report.notes), "it stays in float64"


def test_a_genuine_run_that_was_set_aside_is_not_run_in_float64(growing: Growing) -> None:
    report = growing.finds("EQUIVALENT", building_otherwise(growing))
    assert {world.kind for world, _, _ in growing.seen if world.doubles} == {"restored", "migrated"}
    assert "computed in float64" in report.reason


@pytest.mark.parametrize("kind", ["genuine", "migrated"])
def test_what_does_not_run_in_float64_is_judged_as_it_is(kind: str, growing: Growing) -> None:
    growing.single = Growing.single - {kind}
    report = growing.finds("INCONCLUSIVE")
    assert "thread counts" in report.reason
    assert all(run.outcome == "ok" for run in report.runs)
    assert any("in float64, which would show" in note and "is written out (old.py:3)" in note for note in report.notes)


def part(lab: Laboratory, after: Mapping[str, int]) -> None:
    """Each run (by its role) trains otherwise after so many steps, as rounding makes a pooling layer choose another
    value."""

    def parting(run: Run) -> Run:
        first = after.get(run.world.role, len(run.trace.steps))
        steps = (replace(s, loss=s.loss * (1 if i < first else 1.001)) for i, s in enumerate(run.trace.steps))
        return replace(run, trace=replace(run.trace, steps=tuple(steps)))

    lab.changes.append(parting)


def test_where_the_old_script_parts_between_kerases_the_steps_before_are_compared(lab: Laboratory) -> None:
    after = {"restored on Keras 2": 7, "migrated on Keras 3": 9}
    part(lab, after)
    report = lab.finds("EQUIVALENT")
    assert "over the first 7 steps, after which the old script's own runs differ" in report.reason
    after["migrated on Keras 3"] = 5
    lab.finds("DIFFERENT")
    after["restored on Keras 2"] = 2
    lab.finds("DIFFERENT")  # two steps show too little


def test_one_replica_proves_nothing_about_several(lab: Laboratory) -> None:
    report = lab.finds("INCONCLUSIVE", scripts(replace(OLD, replicas=1), replace(migrated(OLD), replicas=1)))
    assert "--args" in report.reason


def test_controls_multiply_by_the_replicas_that_trained(lab: Laboratory) -> None:
    lab.verify(replicas=4)
    assert "control: batch x2" in lab.roles


def test_noise_that_could_not_be_measured_is_said(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", broken(**{"genuine,": "ValueError: once only (old.py:1)"}))
    assert report.noise is None
    assert any("once only" in note for note in report.notes)


def test_with_jobs_to_spare_the_new_script_runs_beside_the_old_one(lab: Laboratory) -> None:
    in_turns = lab.verify()
    started = {world.role: initial for world, _, initial in lab.seen}
    lab.seen.clear()
    beside = lab.verify(jobs=8)
    assert beside.verdict == in_turns.verdict == "EQUIVALENT"
    assert {run.role for run in beside.runs} == {run.role for run in in_turns.runs}
    assert lab.roles[0] == "genuine"
    assert len(lab.roles) == len(started)
    assert {world.role for world, _, initial in lab.seen if initial is not None} == set(started) - {"genuine"}


def test_beside_a_run_that_dies_nothing_counts(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", broken(genuine="ImportError: no such thing (old.py:1)"), jobs=8)
    assert lab.roles.count("migrated on Keras 3") == 2, "beside the genuine run, and beside the restored one"
    assert all(pair.old.startswith("restored") for pair in report.pairs)


def test_a_remainder_found_beside_is_run_apart_afterwards(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", training(UNEVEN, migrated(UNEVEN)), jobs=8)
    assert [pair.old for pair in report.pairs if not pair.decides] == [
        f"restored on Keras {keras}, remainder split evenly" for keras in (3, 2)
    ]


def test_losses_that_are_no_numbers_prove_nothing(lab: Laboratory) -> None:
    lab.behaviour = broken(
        genuine=replace(OLD, gradient_scale=float("nan")), migrated=replace(migrated(OLD), gradient_scale=float("nan"))
    )
    report = lab.finds("INCONCLUSIVE")
    assert "not a number" in report.reason


UNEVEN = replace(OLD, samples=256 - 64 + 29)
"""Eleven samples too few for the last batch of each epoch."""


def test_a_remainder_is_run_apart_and_every_step_is_judged(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", training(UNEVEN, migrated(UNEVEN)))
    assert "remainder batch" in report.reason
    (first, *_) = report.pairs
    assert first.old == "genuine, remainder split evenly"
    assert first.comparison is not None
    assert len(first.comparison.judged_steps) == 9, "those after the first remainder too"
    assert max(pair.difference for pair in first.comparison.steps if pair.uneven) > 1e-4, "Keras reports another mean"
    assert first.comparison.max_relative_difference < 1e-5
    (known,) = [size for name, _, size in report.known if name == "remainder batch"]
    assert 1e-4 < known < 1e-1, "what the plain old run differs by"
    assert all(world.shares_evenly for world, _, _ in lab.seen if world.kind == "restored")


def test_a_mistake_behind_a_remainder_is_found(lab: Laboratory) -> None:
    lab.finds("DIFFERENT", training(UNEVEN, replace(migrated(UNEVEN), step_scale=1.001)))


def test_a_remainder_that_cannot_be_shared_is_judged_up_to_it(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    original = lab.run

    def run(world: World, *rest: object) -> Run:
        done = original(replace(world, shares_evenly=False), *rest)  # type: ignore[arg-type]
        return replace(done, world=world)

    monkeypatch.setattr(lab, "run", run)
    report = lab.finds("EQUIVALENT", training(UNEVEN, migrated(UNEVEN)))
    assert report.pairs[0].old == "genuine"
    assert report.pairs[0].comparison is not None
    assert len(report.pairs[0].comparison.judged_steps) == 3


NO_VALIDATION = "control: validated on the training data"


def validate_the_last_batch(lab: Laboratory, wrong: str = NO_VALIDATION) -> None:
    """Keras 2.3's fit_generator: the validation log is the last batch's, so only the restored run can judge it."""

    def validated(run: Run, loss: float) -> Run:
        epochs = tuple(replace(e, logs={**e.logs, "val_loss": loss}) for e in run.trace.epochs)
        return replace(run, trace=replace(run.trace, epochs=epochs))

    def change(run: Run) -> Run:
        if run.world.kind == "genuine":
            fits = (replace(run.trace.fits[0], call="fit_generator"),)
            return validated(replace(run, trace=replace(run.trace, fits=fits)), 9.0)
        return validated(run, 0.5) if run.world.role.startswith((NO_VALIDATION, wrong)) else run

    lab.changes.append(change)
    lab.new.write_text(NEW_SCRIPT.replace("epochs=3", "epochs=3, validation_data=v"))
    lab.behaviour = broken(**{NO_VALIDATION: migrated(OLD)})


def test_the_restored_run_stands_in_for_a_last_batch_validation(lab: Laboratory) -> None:
    validate_the_last_batch(lab)
    report = lab.finds("EQUIVALENT")
    assert "validation of the last batch alone" in report.reason
    wrong = next(c for c in report.controls if c.mutation == "validated on the training data")
    assert wrong.detected
    assert wrong.kind == "validation"


def test_a_wrong_validation_is_seen_behind_a_last_batch_validation(lab: Laboratory) -> None:
    validate_the_last_batch(lab, wrong="migrated")
    report = lab.finds("DIFFERENT")
    assert "validation loss differs" in report.reason


def test_what_nothing_can_judge_is_a_note_and_no_control(lab: Laboratory) -> None:
    validate_the_last_batch(lab)
    report = lab.finds("EQUIVALENT", broken(**{NO_VALIDATION: migrated(OLD), "restored": "ValueError (old.py:1)"}))
    assert "validated on the training data" not in {c.mutation for c in report.controls}
    assert any(one.why.startswith("validation losses could not be judged") for one in report.left_out)


def test_a_wrong_validation_is_no_control_where_the_runs_end_before_any(lab: Laboratory) -> None:
    def ended(run: Run) -> Run:
        cut = None if run.world.kind == "genuine" else Cut(0, 3, 4, 3)
        return replace(run, trace=replace(run.trace, epochs=(), cut=cut))

    validate_the_last_batch(lab)
    lab.changes.append(ended)
    report = lab.verify()
    assert "validated on the training data" not in {c.mutation for c in report.controls}
    (why,) = [one.why for one in report.left_out if one.mutation == "validated on the training data"]
    assert why == "only shows after the compared steps"


def test_nor_where_the_steps_that_are_compared_end_before_any(lab: Laboratory) -> None:
    validate_the_last_batch(lab)
    part(lab, {"restored on Keras 2": 3})
    report = lab.finds("EQUIVALENT")
    assert "over the first 3 steps" in report.reason
    (why,) = [one.why for one in report.left_out if one.mutation == "validated on the training data"]
    assert why == "only shows after the compared steps"


def test_what_the_runs_printed_is_kept_where_asked(lab: Laboratory, tmp_path: Path) -> None:
    lab.verify(keep=tmp_path / "kept")
    assert len(list((tmp_path / "kept").glob("*/stdout.txt"))) == len(lab.roles)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"replicas": 1}, "needs at least two"),
        ({"program": Path("/nowhere")}, "is not in /nowhere"),
        ({"old_python": Path("/no/python")}, "--old-python /no/python"),
    ],
)
def test_options_that_cannot_be(lab: Laboratory, options: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        lab.verify(**options)
    assert lab.seen == []


def test_files_that_cannot_be(lab: Laboratory) -> None:
    with pytest.raises(UserError, match=r"gone\.py: does not exist"):
        verify(VerifyOptions(lab.old, lab.folder / "gone.py"))
    lab.old.write_text("x = 1\nprint 'hello'\n")
    with pytest.raises(UserError, match=r"old\.py:2: does not parse as Python 3"):
        lab.verify()


def test_flavour_and_replicas_are_read_from_the_script() -> None:
    import ast

    assert flavour_of(ast.parse("from keras.models import Model")) == "keras"
    assert flavour_of(ast.parse("import keras.backend as K")) == "keras"
    assert flavour_of(ast.parse("from tensorflow import keras")) == "tf.keras"
    assert flavour_of(ast.parse("from .keras import x")) == "tf.keras"
    assert replicas_written(ast.parse("multi_gpu_model(a, 3); keras.utils.multi_gpu_model(b, gpus=[0, 1])")) == 3
    assert replicas_written(ast.parse("m = multi_gpu_model(a, gpus=args.gpus)")) is None
    assert replicas_written(ast.parse("m = multi_gpu_model(a, gpus=True)")) is None


def test_several_models_are_compared_each_with_its_own(lab: Laboratory) -> None:
    critic = replace(OLD, call="train_on_batch", shuffle="none", initial_seed=5, learning_rate=0.1)

    def behave(world: World, limits: Limits) -> Training | tuple[Training, ...] | str:
        what = usual(world, limits)
        if not isinstance(what, Training):
            return what
        return what, critic if world.kind != "migrated" else second

    second = migrated(critic)
    report = lab.finds("EQUIVALENT", behave)
    assert report.pairs[0].comparison is not None
    assert {pair.fit for pair in report.pairs[0].comparison.steps} == {0, 1}

    second = replace(migrated(critic), learning_rate=0.2)
    report = lab.finds("DIFFERENT")
    assert "learning_rate 0.1 -> 0.2: x2" in report.reason

    second = replace(migrated(critic), frozen=True)
    report = lab.finds("DIFFERENT")
    assert report.pairs[0].divergence is not None
    assert report.pairs[0].divergence.kind == "frozen layers"


def test_a_callback_that_changes_the_rate_must_do_so_in_both(lab: Laboratory) -> None:
    slowing = replace(OLD, drop_rate_after=1)
    lab.finds("EQUIVALENT", broken(genuine=slowing, restored=slowing, migrated=migrated(slowing)))
    report = lab.finds("DIFFERENT", broken(genuine=slowing, restored=slowing))
    assert "learning rate 0.25 -> 0.5: x2 from epoch 1, step 0 on" in report.reason


@pytest.mark.parametrize("weights", [{"class_weight": True}, {"sample_weight": True}])
def test_weights_of_classes_and_samples(lab: Laboratory, weights: dict[str, bool]) -> None:
    old = replace(OLD, **weights)  # type: ignore[arg-type]
    report = lab.finds("DIFFERENT", scripts(old, migrated(OLD)))
    assert f"{next(iter(weights)).split('_')[0]} weights are gone" in report.reason


def test_the_report_says_what_was_taken_out(lab: Laboratory) -> None:
    lab.behaviour = broken(genuine=replace(OLD, optimizer="adam"))
    told = lab.verify().adjustments
    assert any("dropout and noise are off" in each for each in told)
    assert any("6.4e-6" in each for each in told), "the drift of Adam that rounding hides"
    lab.behaviour = usual
    assert not any("beta_2" in each for each in lab.verify().adjustments), "sgd has none"


def test_a_mistake_in_a_module_that_is_never_run_is_set_aside(lab: Laboratory) -> None:
    (lab.folder / "unused.py").write_text("def data(x):\n    return source(x).batch(8, steps_per_epoch=4)\n")
    lab.new.write_text("import unused\n" + lab.new.read_text().replace(".batch(64)", ".take(9)"))
    report = lab.finds("EQUIVALENT", broken(**{"control: batch": replace(migrated(OLD))}))
    assert ("batch x2", "has no effect") in {(one.mutation, one.why[:13]) for one in report.left_out}


@pytest.mark.parametrize(
    ("line", "control"),
    [
        ("adam = Adam(0.001, beta_1=0.9)", "optimizer settings dropped"),
        ("more = Dense(1, kernel_regularizer=l2(0.1))", "regularizer lost"),
        ("more = Dropout(0.5)", "dropout halved"),
        ("model.fit(data, epochs=count)", "epochs / 2"),
        ("model.fit(data, steps_per_epoch=count)", "steps an epoch / 2"),
        ("data = data.batch(count)", "batch x2"),
        ("model.fit(data, validation_data=rows)", "validated on the training data"),
    ],
)
def test_a_mistake_that_changes_nothing_is_set_aside(lab: Laboratory, line: str, control: str) -> None:
    """It stands at its default already, or in a branch that is not taken; a count is 1, a batch has all rows."""
    lab.new.write_text(lab.new.read_text().replace("    model.compile", f"    {line}\n    model.compile"))
    right = replace(migrated(OLD), noise_seed=0)
    report = lab.finds("EQUIVALENT", broken(**{"migrated": right, f"control: {control}": right}))
    assert (control, "has no effect") in {(one.mutation, one.why[:13]) for one in report.left_out}


def test_what_is_lost_beside_the_training_is_said_with_the_verdict(lab: Laboratory) -> None:
    lab.old.write_text(lab.old.read_text() + "stop = EarlyStopping(patience=3)\nsave = ModelCheckpoint('best.h5')\n")
    report = lab.finds("EQUIVALENT")
    assert report.reason.endswith(
        "; outside the training, this differs: the old program creates EarlyStopping, the new one none "
        "(and 1 more, see the notes)"
    )
    assert [note for note in report.notes if note.startswith("outside the training")] == [
        "outside the training, this differs: the old program creates EarlyStopping, the new one none",
        "outside the training, this differs: the old program creates ModelCheckpoint, the new one none",
    ]


OLD_NAMES = "AttributeError: 'int' object has no attribute 'value' (nets.py:19)"


def dying_of_old_names(world: World, limits: Limits) -> Training | str:
    return OLD_NAMES if world.kind == "restored" and not world.overlay else usual(world, limits)


def test_where_old_names_stop_the_restored_script_it_runs_with_todays(lab: Laboratory) -> None:
    report = lab.finds("EQUIVALENT", dying_of_old_names, with_todays_names=lambda: {"nets.py": "today"})
    assert {pair.old for pair in report.pairs} == {"genuine", "restored on Keras 3", "restored on Keras 2"}
    assert sum("The genuine run confirms" in note for note in report.notes) == 1
    assert [world.overlay for world, _, _ in lab.seen if world.kind == "restored" and world.overlay] == [
        {"nets.py": "today"}
    ] * 2


@pytest.mark.parametrize("parts", [{"genuine": "ValueError (old.py:1)"}, {"migrated": OLD_NAMES}])
def test_rewrites_of_our_own_stand_in_for_nothing_else(lab: Laboratory, parts: dict[str, str]) -> None:
    """Not where nothing but they would be compared, and not where today's Keras stops the new script too."""
    others = broken(**parts)

    def behave(world: World, limits: Limits) -> Training | str:
        usual_part = others(world, limits)
        return dying_of_old_names(world, limits) if world.kind == "restored" else usual_part  # type: ignore[return-value]

    lab.behaviour = behave
    asked: list[str] = []
    lab.verify(with_todays_names=lambda: asked.append("asked") or {"nets.py": "today"})
    assert not asked


def test_what_dies_of_something_else_too_is_told_as_it_was(lab: Laboratory) -> None:
    lab.behaviour = broken(restored=OLD_NAMES)
    report = lab.verify(with_todays_names=lambda: {"nets.py": "today"})
    assert {pair.old for pair in report.pairs} == {"genuine"}
    assert not any("The genuine run confirms" in note for note in report.notes)
