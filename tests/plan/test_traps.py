"""What a migration leaves to be done by hand is found again by the next `check`, and `fix` says so by its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_decays import COMPILED
from tfmigrate import rules
from tfmigrate.cli import main
from tfmigrate.migrate import migrate_bytes
from tfmigrate.result import FileResult
from tfmigrate.rules import Example, Rule
from tfmigrate.settings import Settings

LEAVES = {rule.code: rule.leaves for rule in rules.all_rules()}


def migrated(text: str, rule: Rule) -> FileResult:
    file = migrate_bytes(text.encode(), "program.py", Settings(strategy=rule.strategy))
    assert file.error is None, file.error
    return file


def traps(file: FileResult) -> set[str]:
    return {one.code for one in file.findings if one.action == "warn" and LEAVES[one.code] == "trap"}


EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}:{example.line}")
    for rule in rules.all_rules()
    for example in rule.examples
    if example.language == "python" and example.kind == "rewrite"
]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_a_trap_that_stays_in_the_written_file_is_found_again(rule: Rule, example: Example) -> None:
    left = traps(migrated(example.before, rule))
    assert not left or left <= traps(migrated(example.after, rule))


def test_the_pages_show_many_traps() -> None:
    shown: set[str] = set()
    for rule, example in (parameters.values for parameters in EXAMPLES):
        shown |= traps(migrated(example.before, rule))  # type: ignore[attr-defined, arg-type]
        if len(shown) >= 10:
            return
    pytest.fail(f"only {sorted(shown)}")


def fixed(folder: Path, text: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    (folder / "program.py").write_text(text)
    with pytest.raises(SystemExit) as ended:
        main(["fix", str(folder)])
    return int(ended.value.code or 0), capfd.readouterr().out


@pytest.mark.parametrize(
    ("program", "left"),
    [
        (f"{COMPILED}parallel_model.fit(batches)\n", ""),
        (f"{COMPILED}parallel_model.train_on_batch(x, y)\nK.set_value(parallel_model.optimizer.lr, 1)\n", "TFM305"),
        # What only an old file shows of old runs leaves nothing to do.
        (f"{COMPILED}parallel_model.fit(batches)\nparallel_model.save('a.h5')\n", ""),
    ],
)
def test_fix_is_done_only_where_nothing_is_left(
    program: str, left: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, output = fixed(tmp_path, program, capfd)
    last = output.splitlines()[-1]
    assert (code, "Left to do by hand" in last) == ((1, True) if left else (0, False))
    assert left in last


def test_what_is_left_is_named_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    one = "parallel_model.train_on_batch(x, y)\n"
    text = f"{COMPILED}{one}other = SGD(lr=0.1, decay=1e-4)\nparallel_model.compile(other, 'mse')\n{one}"
    _, output = fixed(tmp_path, f"{text}K.set_value(parallel_model.optimizer.lr, 1)\n", capfd)
    assert output.splitlines()[-1] == "Left to do by hand: TFM305 rate-is-schedule (2 places)."


ON_A_STRATEGY = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer=tf.keras.optimizers.RMSprop(0.1))
data = tf.data.Dataset.from_tensor_slices((tf.ones((32, 4)), tf.ones((32, 1)))).batch(8)
model.fit(data)
"""


@pytest.mark.parametrize(
    ("old", "new", "mended", "code"),
    [
        ("RMSprop(0.1)", "RMSprop(lr=0.1)", "RMSprop(learning_rate=0.1)", "TFM202"),
        (
            "RMSprop(0.1)",
            "RMSprop(0.1, decay=0.5)",
            "RMSprop(tf.keras.optimizers.schedules.InverseTimeDecay(0.1, 1, 0.5))",
            "TFM302",
        ),
        ("fit(data)", "fit_generator(data)", "fit(data)", "TFM201"),
        (
            "fit(data)",
            "fit(data)\nprint(model.optimizer.lr)",
            "fit(data)\nprint(model.optimizer.learning_rate)",
            "TFM212",
        ),
        (
            "fit(data)",
            "fit(data)\nmodel.save_weights('a.h5')\nmodel.load_weights('a.h5')",
            "fit(data)\nmodel.save_weights('a.weights.h5')\nmodel.load_weights('a.weights.h5')",
            "TFM205",
        ),
    ],
)
def test_what_stops_a_program_on_a_strategy_is_mended_as_in_a_migrated_one(
    old: str, new: str, mended: str, code: str
) -> None:
    """The default of its epsilon is today's, and is not written."""
    file = migrate_bytes(ON_A_STRATEGY.replace(old, new).encode(), "program.py", Settings())
    assert file.after == ON_A_STRATEGY.replace(old, mended)
    assert {finding.code for finding in file.findings} == {code}


CHECKPOINT = "fit(data, callbacks=[tf.keras.callbacks.ModelCheckpoint('ckpt_{epoch}', save_weights_only=True)])"


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("", {"TFM205"}),
        # Keras 2 takes any name.
        ("import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n", set()),
    ],
)
def test_names_of_checkpoints_are_told_where_the_program_runs_on_keras_3(new: str, told: set[str]) -> None:
    program = new + ON_A_STRATEGY.replace("fit(data)", CHECKPOINT)
    file = migrate_bytes(program.encode(), "program.py", Settings())
    assert {finding.code for finding in file.findings} == told


def test_names_of_checkpoints_stay_over_several_workers() -> None:
    program = ON_A_STRATEGY.replace("MirroredStrategy", "MultiWorkerMirroredStrategy").replace("fit(data)", CHECKPOINT)
    file = migrate_bytes(program.encode(), "program.py", Settings())
    assert {finding.code for finding in file.findings} == {"TFM426"}


def test_seeds_are_those_of_models_of_keras() -> None:
    seeded = "tf.random.set_seed(1)\n"
    program = f"{ON_A_STRATEGY}{seeded}"
    assert "random.seed(1)" in migrate_bytes(program.encode(), "program.py", Settings()).after
    other = f"import tensorflow as tf\n\n{seeded}strategy = tf.distribute.MirroredStrategy()\nstrategy.run(print)\n"
    assert migrate_bytes(other.encode(), "program.py", Settings()).after == other


def test_a_loss_of_a_program_that_was_always_on_a_strategy_stays_one_of_each_replica() -> None:
    loss = "def far(y, p):\n    d = tf.abs(y - p)\n    return tf.reduce_mean(d) / tf.reduce_max(d)\n\n\n"
    program = ON_A_STRATEGY.replace("strategy =", f"{loss}strategy =").replace('"mse"', "far")
    file = migrate_bytes(program.encode(), "program.py", Settings())
    assert file.after == program
    assert {finding.code for finding in file.findings} == {"TFM403"}


def test_a_suppressed_trap_is_not_left(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = COMPILED.replace("'mse')", "'mse')  # tfmigrate: skip[TFM305]")
    code, _ = fixed(
        tmp_path, f"{text}parallel_model.train_on_batch(x, y)\nK.set_value(parallel_model.optimizer.lr, 1)\n", capfd
    )
    assert code == 0
