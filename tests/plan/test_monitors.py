"""What callbacks watch: the direction that the old Keras took from the name, and Keras 3 takes from the metric."""

from __future__ import annotations

import json

import pytest

from tests.forks import Python
from tfmigrate.plan.keras.monitors import JUDGED_ALIKE
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
import argparse
import tensorflow as tf
from keras.callbacks import Callback, EarlyStopping, ModelCheckpoint, ReduceLROnPlateau
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
from own import accuracy, dice

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse", metrics=[{metrics}])
"""
OWN = "def dice(y_true, y_pred):\n    return y_pred\n\n\ndef accuracy(y_true, y_pred):\n    return y_pred\n"


def migrated(body: str, metrics: str = '"accuracy"', **settings: str) -> FileResult:
    sources = {"train.py": HEAD.format(metrics=metrics) + body, "own.py": OWN}
    files = migrate_sources(sources, Settings(**settings))  # type: ignore[arg-type]
    file = next(file for file in files if file.path == "train.py")
    assert file.status == "migrated"
    return file


def actions(file: FileResult) -> list[str]:
    return [finding.action for finding in file.findings if finding.code == "TFM309"]


@pytest.mark.parametrize(
    "body",
    [
        "stop = EarlyStopping()\n",
        "stop = EarlyStopping(patience=3)\n",
        'stop = EarlyStopping("loss")\n',
        'stop = EarlyStopping(monitor="val_loss", patience=3)\n',
        'stop = EarlyStopping(monitor="val_loss", mode="auto")\n',
        'stop = EarlyStopping(monitor="val_accuracy")\n',
        'stop = EarlyStopping("val_binary_accuracy", 0, 3)\n',
        'rate = ReduceLROnPlateau("val_mean_absolute_error")\n',
        'best = ModelCheckpoint("all.keras", "val_categorical_crossentropy", save_best_only=True)\n',
        'WATCHED = "val_loss"\nstop = EarlyStopping(WATCHED)\n',
        # The direction is given.
        'stop = EarlyStopping(monitor="val_dice", mode="max")\n',
        'stop = EarlyStopping("val_dice", 0, 3, 0, "min")\n',
        'best = ModelCheckpoint("all.keras", "val_dice", 0, True, False, "max")\n',
        'def stop(mode):\n    return EarlyStopping(monitor="val_dice", mode=mode)\n',
        # What may be hidden is not said for what Keras 3 knows.
        'def stop(**more):\n    return EarlyStopping(monitor="val_loss", **more)\n',
        "def stop(**more):\n    return EarlyStopping(**more)\n",
        'def stop(**more):\n    return EarlyStopping(monitor="val_dice", mode="max", **more)\n',
        # None of Keras's.
        'stop = own.EarlyStopping(monitor="val_dice")\n',
        'class Stop(Callback):\n    def __init__(self, monitor):\n        self.monitor = monitor\n\n\n'
        'stop = Stop(monitor="val_dice")\n',
        'print(dict(monitor="val_dice"))\n',
    ],
)  # fmt: skip
def test_nothing_is_touched_in(body: str) -> None:
    file = migrated(body)
    assert file.after.endswith(body)
    assert actions(file) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('EarlyStopping("val_near")', 'EarlyStopping("val_near", mode="min")'),
        ('EarlyStopping(monitor="val_near", patience=3)', 'EarlyStopping(monitor="val_near", patience=3, mode="min")'),
        ('EarlyStopping("near", mode="auto", patience=3)', 'EarlyStopping("near", mode="min", patience=3)'),
        ('EarlyStopping("near", 0, 3, 0, "auto")', 'EarlyStopping("near", 0, 3, 0, "min")'),
        ('EarlyStopping("near", mode="smallest")', 'EarlyStopping("near", mode="min")'),
        ('EarlyStopping("my_acc_5")', 'EarlyStopping("my_acc_5", mode="max")'),
        ('EarlyStopping("val_digit_accuracy")', 'EarlyStopping("val_digit_accuracy", mode="max")'),
        ('EarlyStopping("val_digit_loss")', 'EarlyStopping("val_digit_loss", mode="min")'),
        ('ReduceLROnPlateau("fmeasures_of_none")', 'ReduceLROnPlateau("fmeasures_of_none", mode="min")'),
        ('ModelCheckpoint("a.keras", "fmeasure")', 'ModelCheckpoint("a.keras", "fmeasure", mode="max")'),
        ('ModelCheckpoint("a.keras", "val_fmeasure_x")', 'ModelCheckpoint("a.keras", "val_fmeasure_x", mode="min")'),
        (
            'ModelCheckpoint("a.h5", "near", 0, True, False, "auto", 1)',
            'ModelCheckpoint("a.h5", "near", 0, True, False, "min")',
        ),
        # Found when the script runs.
        ("EarlyStopping(watch())", None),
        (
            "EarlyStopping(args.watch)",
            'EarlyStopping(args.watch, mode="max" if "acc" in args.watch else "min")',
        ),
        (
            'ReduceLROnPlateau("val_" + args.watch)',
            'ReduceLROnPlateau("val_" + args.watch, mode="max" if "acc" in ("val_" + args.watch) else "min")',
        ),
        (
            'ModelCheckpoint("a.keras", args.watch)',
            'ModelCheckpoint("a.keras", args.watch, '
            'mode="max" if "acc" in args.watch or args.watch.startswith("fmeasure") else "min")',
        ),
        (
            'EarlyStopping("val_near" if args.x else "val_loss")',
            'EarlyStopping("val_near" if args.x else "val_loss", mode="min")',
        ),
        ('EarlyStopping(monitor="val_near", **more)', None),
    ],
)
def test_the_old_direction_is_written_out(before: str, after: str | None) -> None:
    ready = "args = argparse.ArgumentParser().parse_args()\n"
    file = migrated(f"{ready}callback = {before}\n")
    assert f"callback = {after or before}\n" in file.after
    assert "rewrite" in actions(file) if after else actions(file) == ["warn"]
    (again, _) = migrate_sources({"train.py": file.after, "own.py": OWN}, Settings())
    assert again.after == file.after


def test_what_a_name_stands_for_is_followed() -> None:
    file = migrated('WATCHED = "val_near"\nstop = EarlyStopping(WATCHED)\n')
    assert 'stop = EarlyStopping(WATCHED, mode="min")\n' in file.after


@pytest.mark.parametrize(
    ("watched", "mode", "told"),
    [
        ("val_dice", "min", "'val_dice' sounds as if higher were better"),
        ("val_auc", "min", "'val_auc' sounds as if higher were better"),
        ("mean_iou_2", "min", "'mean_iou_2' sounds as if higher were better"),
        ("val_f1", "min", "'val_f1' sounds as if higher were better"),
        ("val_acc_loss", "max", "'val_acc_loss' sounds as if lower were better"),
        ("val_dice_loss", "min", None),
        ("val_previous", "min", None),
        ("val_my_acc", "max", None),
        ("val_rmse", "min", None),
    ],
)
def test_a_direction_that_looks_wrong_stays_and_is_told(watched: str, mode: str, told: str | None) -> None:
    file = migrated(f'stop = EarlyStopping("{watched}")\n')
    assert f'EarlyStopping("{watched}", mode="{mode}")' in file.after
    messages = [finding.message for finding in file.findings if (finding.code, finding.action) == ("TFM309", "warn")]
    assert [message.startswith(told or "") for message in messages] == [True] * (told is not None)


@pytest.mark.parametrize("metrics", ["accuracy", "[own.accuracy]", '"mse", accuracy'])
def test_a_function_called_as_a_metric_of_keras_has_no_direction(metrics: str) -> None:
    file = migrated('stop = EarlyStopping("val_accuracy")\n', metrics)
    assert 'stop = EarlyStopping("val_accuracy", mode="max")\n' in file.after


def test_a_metric_that_has_another_name_now_is_asked_under_that() -> None:
    file = migrated('stop = EarlyStopping("val_acc")\n')
    assert 'stop = EarlyStopping("val_accuracy")\n' in file.after
    assert actions(file) == []


@pytest.mark.parametrize(
    ("version", "mode"),
    [("keras==2.2.4", "min"), ("keras==2.7.0", "max"), ("keras==3.0", None), ("tensorflow==2.9.0", "min")],
)
def test_early_stopping_of_2_7_looked_at_how_a_name_ends(version: str, mode: str | None) -> None:
    file = migrated('stop = EarlyStopping("val_auc")\nrate = ReduceLROnPlateau("val_auc")\n', from_version=version)
    assert (f'EarlyStopping("val_auc", mode="{mode}")' in file.after) is (mode is not None)
    assert ('ReduceLROnPlateau("val_auc", mode="min")' in file.after) is (mode is not None)


KEPT = """\
class Template(ModelCheckpoint):
    def __init__(self, net, filepath, monitor='val_loss', save_best_only=False{mode}):
        self.net = net
        super().__init__(filepath, monitor=monitor, save_best_only=save_best_only{passed})


best = Template(model, 'a.keras', monitor='val_near', save_best_only=True)
"""


def test_a_class_of_the_program_that_hands_both_on_is_told_where_it_is_called() -> None:
    file = migrated(KEPT.format(mode=", mode='auto'", passed=", mode=mode"))
    assert "best = Template(model, 'a.keras', monitor='val_near', save_best_only=True, mode='min')\n" in file.after
    assert "save_best_only=save_best_only, mode=mode)\n" in file.after


@pytest.mark.parametrize(
    "declared",
    ["self, /, net, filepath, monitor='val_loss', save_best_only=False, mode='auto'",
     "self, net, filepath, *, monitor='val_loss', save_best_only=False, mode='auto'"],
)  # fmt: skip
def test_parameters_of_every_kind_are_told(declared: str) -> None:
    own = KEPT.replace("self, net, filepath, monitor='val_loss', save_best_only=False{mode}", declared)
    file = migrated(own.format(passed=", mode=mode"))
    assert "best = Template(model, 'a.keras', monitor='val_near', save_best_only=True, mode='min')\n" in file.after
    assert "save_best_only=save_best_only, mode=mode)\n" in file.after


STOP = """\
class Base(EarlyStopping):
    def __init__(self, monitor="val_loss", mode="auto", **more):
        super().__init__(monitor=monitor, mode=mode, **more)


class Stop(Base):
    def __init__(self, {declared}):
        {body}


stop = {made}
"""


@pytest.mark.parametrize(
    ("declared", "body", "made", "before", "after"),
    [
        ("watched", "super().__init__(watched, 'auto')", "Stop('val_near')", "watched, 'auto'", 'watched, "min"'),
        ("watched", "super().__init__(watched)", "Stop('a_acc')", "t__(watched)", 't__(watched, mode="max")'),
        (
            "watched",
            "Base.__init__(self, watched)",
            "Stop('a_acc')",
            "(self, watched)\n\n",
            '(self, watched, mode="max")\n\n',
        ),
        ("*args", "super().__init__(*args)", "Stop('val_near', 'auto')", "near', 'auto')", 'near\', "min")'),
        ("*args", "super().__init__(*args)", "Base('val_near')", "Base('val_near')", "Base('val_near', mode=\"min\")"),
        ("", "super().__init__('val_near')", "Stop()", "'val_near')", "'val_near', mode=\"min\")"),
    ],
)
def test_the_direction_is_written_where_it_is_left_open(
    declared: str, body: str, made: str, before: str, after: str
) -> None:
    own = STOP.format(declared=declared, body=body, made=made)
    file = migrated(own)
    assert file.after.endswith(own.replace(before, after))
    assert actions(file) == ["rewrite"]


@pytest.mark.parametrize(
    ("declared", "body", "made"),
    [
        ("monitor", "super().__init__('val_loss')", "Stop(monitor='val_near')"),
        ("monitor, mode='max'", "super().__init__(monitor, mode)", "Stop('val_near')"),
        ("monitor", "monitor = 'val_loss'; super().__init__(monitor)", "Stop('val_near')"),
        ("monitor", "EarlyStopping.__init__(self, monitor, mode='max')", "Stop('val_near')"),
        ("monitor", "self.monitor = monitor", "Stop('val_near')"),
        ("monitor='val_near', mode='auto'", "super().__init__(patience=3)", "Stop()"),
    ],
)
def test_names_that_reach_no_callback_say_nothing(declared: str, body: str, made: str) -> None:
    own = STOP.format(declared=declared, body=body, made=made)
    file = migrated(own)
    assert file.after.endswith(own)
    assert actions(file) == []


@pytest.mark.parametrize(
    ("declared", "body", "made"),
    [
        ("monitor", "super().__init__('val_' + monitor, **chosen())", "Stop('near')"),
        ("mode='', **more", "super().__init__(**more)", "Stop(monitor=watch())"),
        ("monitor, **more", "super().__init__(monitor, **more)", "Stop('val_near', **chosen())"),
    ],
)
def test_a_direction_that_is_out_of_sight_is_told(declared: str, body: str, made: str) -> None:
    own = STOP.format(declared=declared, body=body, made=made)
    file = migrated(own)
    assert file.after.endswith(own)
    assert actions(file) == ["warn"]


def test_one_that_hands_on_what_is_watched_alone_says_which_way_there() -> None:
    file = migrated(KEPT.format(mode="", passed=""))
    assert 'super().__init__(filepath, monitor=monitor, save_best_only=save_best_only, mode="min")\n' in file.after
    assert "best = Template(model, 'a.keras', monitor='val_near', save_best_only=True)\n" in file.after


def test_one_without_a_beginning_of_its_own_is_called_as_the_one_of_keras() -> None:
    file = migrated("class Stop(EarlyStopping):\n    pass\n\n\nstop = Stop('val_near')\n")
    assert "stop = Stop('val_near', mode=\"min\")\n" in file.after


ASKED = """\
import json, sys
import numpy as np, tensorflow as tf
from tensorflow.keras import callbacks, layers, metrics, models

rows, wanted = np.random.rand(8, 4), np.eye(3)[np.arange(8) % 3]
objects = {"auc": metrics.AUC, "root_mean_squared_error": metrics.RootMeanSquaredError, "near": lambda: near}
CLASSES = (callbacks.EarlyStopping, callbacks.ReduceLROnPlateau, callbacks.ModelCheckpoint)


def near(y_true, y_pred):
    return y_pred


def answers(names, targets, loss):
    model = models.Sequential([layers.Dense(3, activation="softmax", input_shape=(4,))])
    model.compile("sgd", loss, metrics=[objects[one]() if one in objects else one for one in names if one != "loss"])
    made = []
    for one in names:
        for cls in CLASSES:
            given = ["/dev/null.weights.h5"] if cls is callbacks.ModelCheckpoint else []
            made.append(cls(*given, monitor="val_" + one))
            made[-1]._save_model = lambda *args, **kwargs: None
    try:
        history = model.fit(rows, targets, verbose=0, validation_data=(rows, targets), callbacks=made).history
    except ValueError as error:
        assert "callback received monitor" in str(error), error
        return {one: ["ValueError"] * 3 for one in names}
    assert {"val_" + one for one in names} <= history.keys(), list(history)
    found = ["max" if callback.monitor_op(1.0, 0.0) else "min" for callback in made]
    return {one: found[3 * n : 3 * n + 3] for n, one in enumerate(names)}


sparse = [one for one in json.loads(sys.argv[1]) if one.startswith("sparse")]
dense = [one for one in json.loads(sys.argv[1]) if one not in sparse]
found = answers(sparse, np.arange(8) % 3, "sparse_categorical_crossentropy")
for names in (dense, ["near"], ["auc"]):
    found.update(answers(names, wanted, "mse"))
print("ANSWERS", json.dumps(found))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_keras_judges_as_the_table_says(keras: int, python: Python) -> None:
    done = python(keras, ASKED, json.dumps(sorted(JUDGED_ALIKE)))
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout.split("ANSWERS")[1])
    assert answers.pop("near") == (["min"] * 3 if keras == 2 else ["ValueError"] * 3)
    assert answers.pop("auc") == (["max", "min", "min"] if keras == 2 else ["max"] * 3)
    assert answers == {name: ["max" if "acc" in name else "min"] * 3 for name in JUDGED_ALIKE}


MAKER = """\
def made({declared}):
    return EarlyStopping({passed})


stops = [{calls}]
"""


@pytest.mark.parametrize(
    ("calls", "after"),
    [
        ("made('near'), made('my_acc')", 'mode="max" if \'acc\' in watched else "min"'),
        ("made('my_acc'), made('near')", 'mode="max" if \'acc\' in watched else "min"'),
        ("made('near'), made('far'), made('wide'), made('deep'), made('my_acc')", "mode=\"max\" if 'acc' in watched"),
        ("made('near'), made(chosen())", 'mode="max" if \'acc\' in watched else "min"'),
        ("made('near'), made('far')", 'mode="min"'),
        ("made('near'), made('near')", 'mode="min"'),
    ],
)
def test_each_call_of_a_function_counts(calls: str, after: str) -> None:
    file = migrated(MAKER.format(declared="watched", passed="watched", calls=calls))
    assert f"return EarlyStopping(watched, {after}".replace("'", '"') in file.after.replace("'", '"')
    assert actions(file) == ["rewrite"]


@pytest.mark.parametrize("calls", ["made('val_loss'), made('loss')", "made('loss'), made('loss'), made('val_mse')"])
def test_nothing_is_touched_where_every_call_is_known(calls: str) -> None:
    own = MAKER.format(declared="watched", passed="watched", calls=calls)
    file = migrated(own)
    assert file.after.endswith(own)
    assert actions(file) == []


@pytest.mark.parametrize(
    ("functions", "objects", "expected"),
    [
        (
            "def inner(w):\n    return EarlyStopping(w)\ndef outer(w):\n    return inner(w)\n",
            "outer('near'), outer('my_acc')",
            "EarlyStopping(w, mode='max' if 'acc' in w else 'min')",
        ),
        (
            "def made(w='near'):\n    return EarlyStopping(w)\n",
            "made(), made('my_acc')",
            "EarlyStopping(w, mode='max' if 'acc' in w else 'min')",
        ),
        (
            "def made(w):\n    name = 'val_' + w\n    return EarlyStopping(name)\n",
            "made('near'), made('acc2')",
            "EarlyStopping(name, mode='max' if 'acc' in name else 'min')",
        ),
        ("def pick(w):\n    return w\nnear, far = pick('near'), pick('acc2')\n", "EarlyStopping(far)",
         "EarlyStopping(far, mode='max')"),
        ("def pick(w):\n    return 3, w\n_, near = pick('near')\n_, far = pick('acc2')\n", "EarlyStopping(far)",
         "EarlyStopping(far, mode='max')"),
        ("def pick(w):\n    return {'by': w}\nnear, far = pick('near'), pick('acc2')\n", "EarlyStopping(far['by'])",
         "EarlyStopping(far['by'], mode='max')"),
    ],
)  # fmt: skip
def test_what_hangs_on_a_parameter_holds_for_all_calls(functions: str, objects: str, expected: str) -> None:
    file = migrated(f"{functions}stops = [{objects}]\n")
    assert expected in file.after.replace('"', "'")
    assert actions(file) == ["rewrite"]


@pytest.mark.parametrize(
    "functions",
    [
        "def named(w):\n    print(w)\n    return 'val_loss'\nfirst, second = named('near'), named('my_acc')\n",
        "def named(w):\n    return w\nfirst, second = named('loss'), named('val_loss')\n",
        "def named(w, k):\n    return w\nfirst, second = named('loss', 3), named('val_loss', k=4)\n",
    ],
)
def test_what_a_function_returns_is_known_for_each_call(functions: str) -> None:
    own = f"{functions}stops = [EarlyStopping(first), EarlyStopping(second)]\n"
    file = migrated(own)
    assert file.after.endswith(own)
    assert actions(file) == []
