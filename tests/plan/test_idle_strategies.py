"""A strategy that nothing enters: what is put into its scope, and the many programs that are left alone."""

from __future__ import annotations

import textwrap

import pytest

from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
import tensorflow as tf
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential
"""
MADE = "strategy = tf.distribute.MirroredStrategy()\n"
BUILT = 'model = Sequential([Input((4,)), Dense(1)])\nmodel.compile(loss="mse", optimizer="adam")\n'
FIT = "model.fit(x, y, batch_size=64)\n"


def migrated(program: str, **others: str) -> dict[str, FileResult]:
    sources = {f"{name}.py": textwrap.dedent(text).lstrip("\n") for name, text in others.items()}
    sources["train.py"] = HEAD + textwrap.dedent(program).lstrip("\n")
    files = {file.path: file for file in migrate_sources(sources, Settings(unsafe_fixes=True))}
    assert not any(file.error for file in files.values())
    return files


def told(files: dict[str, FileResult]) -> list[tuple[str, str]]:
    return [(f.code, f.action) for file in files.values() for f in file.findings if f.code == "TFM427"]


def after(program: str, **others: str) -> str:
    files = migrated(program, **others)
    assert told(files) == [("TFM427", "rewrite")]
    text = files["train.py"].after
    assert not told(migrated(text.removeprefix(HEAD), **others)), "once is enough"
    return text


def test_a_builder_in_another_module() -> None:
    nets = HEAD + "\n\ndef build():\n    " + BUILT.replace("\n", "\n    ") + "return model\n"
    text = after(f"from nets import build\n\n{MADE}model = build()\n{FIT}", nets=nets)
    assert "with strategy.scope():\n    model = build()\nmodel.fit" in text


def test_the_optimizer_and_the_metrics_come_along() -> None:
    text = after(
        MADE + "rate = 0.01\noptimizer = tf.keras.optimizers.Adam(rate)\nmodel = Sequential([Input((4,)), Dense(1)])\n"
        'metrics = [tf.keras.metrics.MeanAbsoluteError()]\nmodel.compile(loss="mse", optimizer=optimizer, '
        "metrics=metrics)\n" + FIT
    )
    inside = text.split("with strategy.scope():\n")[1].split("model.fit")[0]
    assert all(line.startswith("    ") for line in inside.splitlines() if line)
    assert {"optimizer = ", "metrics = ", "model = ", "model.compile("} <= {
        part for part in ("optimizer = ", "metrics = ", "model = ", "model.compile(") if f"    {part}" in inside
    }


def test_a_loaded_model() -> None:
    text = after(MADE + 'model = tf.keras.models.load_model("model.keras")\n' + FIT)
    assert 'with strategy.scope():\n    model = tf.keras.models.load_model("model.keras")\nmodel.fit' in text


def test_a_pretrained_base() -> None:
    text = after(
        MADE + "base = tf.keras.applications.MobileNetV2(include_top=False)\n"
        "model = Sequential([base, tf.keras.layers.GlobalAveragePooling2D(), Dense(1)])\n"
        'model.compile(loss="mse", optimizer="adam")\n' + FIT
    )
    assert "with strategy.scope():\n    base = tf.keras.applications" in text


def test_a_generator_of_python_becomes_a_dataset_at_once() -> None:
    generator = "def rows():\n    while True:\n        yield x, y\n\n\n"
    files = migrated(generator + MADE + BUILT + "model.fit(rows(), steps_per_epoch=10)\n")
    assert told(files) == [("TFM427", "rewrite")]
    again = migrated(files["train.py"].after.removeprefix(HEAD))
    assert not [f for f in again["train.py"].findings if f.action == "rewrite"]
    assert "TFM402" in {f.code for f in files["train.py"].findings}


def test_one_function_that_builds_and_trains_is_reported() -> None:
    body = textwrap.indent(BUILT + FIT, "    ")
    files = migrated(f"def train():\n{body}\n\n{MADE}train()\n")
    assert told(files) == [("TFM427", "warn")]
    assert not files["train.py"].changed


def test_two_models_are_two_findings() -> None:
    other = (BUILT + FIT).replace("model", "other")
    files = migrated(MADE + BUILT + FIT + other)
    assert told(files) == [("TFM427", "rewrite")] * 2


UNTOUCHED = {
    "run": MADE + "strategy.run(step)\n" + BUILT + FIT,
    "a distributed dataset": MADE + "data = strategy.experimental_distribute_dataset(rows)\n" + BUILT + FIT,
    "datasets from a function": MADE + "data = strategy.distribute_datasets_from_function(rows)\n" + BUILT + FIT,
    "passed on": MADE + BUILT.replace("model.compile", "wrap(strategy)\nmodel.compile") + FIT,
    "passed on by keyword": MADE + "run(distribution=strategy)\n" + BUILT + FIT,
    "for an Estimator": MADE + "config = tf.estimator.RunConfig(train_distribute=strategy)\n" + BUILT + FIT,
    "kept in a dict": MADE + 'kept = {"strategy": strategy}\n' + BUILT + FIT,
    "kept under another name": MADE + "scope = strategy.scope\n" + BUILT + FIT,
    "made the default": MADE + "tf.distribute.experimental_set_strategy(strategy)\n" + BUILT + FIT,
    "entered by hand": MADE + "strategy.scope().__enter__()\n" + BUILT + FIT,
    "entered by a stack": MADE + "stack.enter_context(strategy.scope())\n" + BUILT + FIT,
    "entered in a function nobody calls": MADE
    + "def build():\n    with strategy.scope():\n        return Sequential([Dense(1)])\n\n\n"
    + BUILT
    + FIT,
    "entered for the other model": MADE
    + BUILT
    + FIT
    + "with strategy.scope():\n"
    + textwrap.indent(BUILT.replace("model", "other"), "    ")
    + FIT.replace("model", "other"),
    "entered for something unknown": MADE + "with strategy.scope():\n    net = make()\n" + BUILT + FIT,
    "entered in code that was not followed": MADE
    + "def build():\n    return None\n    with strategy.scope():\n        return make()\n\n\n"
    + BUILT
    + FIT,
    "entered for a model that nothing trains": MADE
    + "with strategy.scope():\n    other = Sequential([Dense(1)])\n"
    + BUILT
    + FIT,
    "entered for a model or a dataset": "def make():\n    if small:\n        return tf.data.Dataset.range(3)\n"
    "    return Sequential([Dense(1)])\n\n\n" + MADE + "with strategy.scope():\n    made = make()\n" + BUILT + FIT,
    "the default strategy": "strategy = tf.distribute.get_strategy()\n" + BUILT + FIT,
    "on one device": 'strategy = tf.distribute.OneDeviceStrategy("/gpu:0")\n' + BUILT + FIT,
    "under a condition": "if gpus > 1:\n    " + MADE + BUILT + FIT,
    "or None": "strategy = tf.distribute.MirroredStrategy() if gpus > 1 else None\n" + BUILT + FIT,
    "made after training": BUILT + FIT + MADE,
    "counted for something": MADE + "launch(strategy.num_replicas_in_sync)\n" + BUILT + FIT,
    "counted without a name": "gpus = tf.distribute.MirroredStrategy().num_replicas_in_sync\n" + BUILT + FIT,
    "asked whether there are several": MADE + "if strategy.num_replicas_in_sync > 1:\n    multi()\n" + BUILT + FIT,
    "not trained": MADE + BUILT + "model.predict(x)\n",
    "a loop of one's own": MADE + BUILT + "for one in x:\n    model.train_on_batch(one, y)\n",
    "a test": "def test_one_device():\n" + textwrap.indent(MADE + BUILT + FIT, "    ") + "\n\ntest_one_device()\n",
    "in a context of the project's own": "from project import on_all_devices\n"
    + MADE
    + "with on_all_devices():\n"
    + textwrap.indent(BUILT, "    ")
    + FIT,
    "a function whose caller is unknown": MADE + "def train():\n" + textwrap.indent(BUILT + FIT, "    "),
    "kept in an object": "class Trainer:\n    def __init__(self):\n        self.strategy = "
    "tf.distribute.MirroredStrategy()\n\n\nTrainer()\n" + BUILT + FIT,
    "returned": "def devices():\n    " + MADE + "    return strategy\n\n\nmine = devices()\n" + BUILT + FIT,
    "declared global": "def devices():\n    global strategy\n    " + MADE + "\n\ndevices()\n" + BUILT + FIT,
}


@pytest.mark.parametrize("program", UNTOUCHED.values(), ids=UNTOUCHED)
def test_a_strategy_that_may_be_used_is_not_reported(program: str) -> None:
    assert told(migrated(program)) == []


def test_a_strategy_that_another_module_enters_is_not_reported() -> None:
    devices = "import tensorflow as tf\n\n" + MADE
    other = HEAD + "from devices import strategy\n\nwith strategy.scope():\n    model = Sequential([Dense(1)])\n"
    program = "import devices\n" + BUILT + FIT
    assert told(migrated(program, devices=devices, other=other)) == []
    assert (
        told(migrated("import devices\nwith devices.strategy.scope():\n    pass\n" + BUILT + FIT, devices=devices))
        == []
    )
