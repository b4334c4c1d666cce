"""Models that an object keeps before it is known how many GPUs there are: copied where they were wrapped."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, check_refused, check_unchanged, migrate
from tfmigrate.plan.helpers import definition
from tfmigrate.settings import Settings

HEAD = """\
import numpy as np
from tensorflow.keras import callbacks
from tensorflow.keras.layers import Dense, Layer
from tensorflow.keras.models import Model, Sequential, load_model
from tensorflow.keras.utils import multi_gpu_model


"""
TRAINER = """\
class Trainer:
    def __init__(self):
        self.model = Sequential([Dense(1, input_shape=(4,))])

    def fit(self, batches, gpus=1):
        if gpus > 1:
            parallel = multi_gpu_model(self.model, gpus=gpus)
            parallel.compile("sgd", "hinge")
            parallel.fit(batches)

    def save(self, path):
        self.model.save(path)
"""


def trainer(**changes: str) -> str:
    """TRAINER with some of its lines otherwise: `wrap`, `train` or `first` (before the class)."""
    text = TRAINER
    if "train" in changes:
        text = text.replace("            parallel.fit(batches)\n", f"            {changes['train']}\n")
    if "wrap" in changes:
        text = text.replace("            parallel = multi_gpu_model(self.model, gpus=gpus)\n", changes["wrap"])
    return HEAD + changes.get("first", "") + text


def test_the_copy_is_made_and_compiled_in_the_scope_and_the_guard_stays() -> None:
    file = check_migrated(trainer())
    assert actions(file, "TFM026") == ["rewrite"]
    assert file.after.endswith(
        """\
    def fit(self, batches, gpus=1):
        if gpus > 1:
            strategy = tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(gpus)])
            with strategy.scope():
                parallel = replicated(self.model)
                parallel.compile("sgd", "hinge")
            parallel.fit(batches)

    def save(self, path):
        self.model.save(path)
"""
    )
    assert file.after.count("def replicated(model):") == 1
    assert "import multi_gpu_model" not in file.after


def test_what_is_migrated_is_left_alone() -> None:
    assert not check_unchanged(check_migrated(trainer()).after).findings


def test_one_function_serves_two_classes() -> None:
    file = check_migrated(trainer() + "\n\n" + TRAINER.replace("Trainer", "Other"))
    assert actions(file, "TFM026") == ["rewrite", "rewrite"]
    assert file.after.count("def replicated(model):") == 1


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert "parallel = replicated_2(self.model)" in check_migrated(trainer(first="replicated = 3\n\n\n")).after


def test_the_copy_may_take_the_place_of_the_model() -> None:
    text = HEAD + (
        """\
class Base:
    model = None

    def build(self):
        raise NotImplementedError

    def on_gpus(self, gpus):
        if gpus >= 2:
            self.model = multi_gpu_model(self.model, gpus=gpus)
        self.compile()

    def compile(self):
        self.model.compile("adam", "mse")


class Small(Base):
    def build(self):
        self.model = Sequential([Dense(1, input_shape=(4,))])
"""
    )
    after = check_migrated(text).after
    assert "            with strategy.scope():\n                self.model = replicated(self.model)\n" in after
    assert "with strategy.scope():\n            self.compile()" in after or ".distribute_strategy.scope():" in after


@pytest.mark.parametrize(
    "train",
    [
        "parallel.fit(batches, callbacks=[callbacks.EarlyStopping(restore_best_weights=True)])",
        "parallel.train_on_batch(*batches[0])",
        "parallel.load_weights('old.h5'); parallel.fit(batches)",
        "parallel.fit(batches, **self.options)",
    ],
)
def test_what_the_copy_shares(train: str) -> None:
    assert actions(migrate(trainer(train=train)), "TFM026") == ["rewrite"]


WATCH = """\
class Watch(callbacks.Callback):
    def {}(self, *args):
        print(self.owner.model.get_weights())


"""


@pytest.mark.parametrize(
    "changes",
    [
        {"first": WATCH.format("on_batch_end")},
        {"first": WATCH.format("on_train_batch_begin")},
        {"first": WATCH.format("on_test_end")},
        {"first": WATCH.format("on_train_end")},
        {"train": "parallel.fit(batches, callbacks=[callbacks.LambdaCallback(on_batch_end=self.look)])"},
        {"train": "parallel.fit(batches, callbacks=[callbacks.ModelCheckpoint('m', save_freq=100)])"},
        {"train": "parallel.fit(batches, None, 32, 1, 1, [])"},
        {"train": "parallel.fit(*batches)"},
        {"train": "parallel.set_weights(self.best)"},
        {"train": "Model(parallel.input, parallel.output).fit(batches)"},
        {"train": "parallel.layers[0].trainable = False"},
        {"train": "parallel.trainable = False"},
        {"wrap": "            parallel = multi_gpu_model(self.model, **gpus)\n"},
    ],
)
def test_where_the_two_would_differ_it_is_refused(changes: dict[str, str]) -> None:
    file = migrate(trainer(**changes))
    assert not actions(file, "TFM026"), file.after
    assert "refuse" in {finding.action for finding in file.findings}
    first = next(finding for finding in file.findings if finding.action == "refuse")
    assert "No copy can be trained instead: " in first.message or "**" in str(changes)


def test_a_model_class_of_the_program_cannot_be_copied() -> None:
    net = "class Net(Model):\n    def call(self, x):\n        return x\n\n\n"
    text = trainer(first=net).replace("self.model = Sequential([Dense(1, input_shape=(4,))])", "self.model = Net()")
    check_refused(text, "TFM103")


def test_what_nothing_compiles_in_sight_is_refused() -> None:
    text = trainer().replace('            parallel.compile("sgd", "hinge")\n', "")
    file = check_refused(text, "TFM103")
    (finding,) = (finding for finding in file.findings if finding.action == "refuse")
    assert "pass it to Trainer()" in finding.message
    assert "no compile() of the parallel model was found" in finding.message


def test_a_number_that_is_known_in_time_needs_no_copy() -> None:
    text = trainer().replace("(self):", "(self, gpus):\n        self.gpus = gpus", 1)
    text = text.replace("batches, gpus=1", "batches").replace("gpus > 1", "self.gpus > 1")
    text = text.replace("=gpus)", "=self.gpus)")
    assert "replicated" not in check_migrated(text).after


def test_the_function_has_no_name_of_ours() -> None:
    code = definition("replicated", {"tf": "tensorflow", "replicated": "copied"})
    assert code.startswith("def copied(model):")
    assert "tf." not in code


def test_a_copy_that_was_not_asked_for_is_not_made() -> None:
    check_refused(trainer(), "TFM103", settings=Settings(ignore=("TFM026",)))
    wrap = "            parallel = multi_gpu_model(self.model, gpus=gpus)  # tfmigrate: skip[TFM026]\n"
    assert actions(check_refused(trainer(wrap=wrap), "TFM103"), "TFM026") == ["suppressed"]
