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
    first = check_migrated(trainer())
    told = [finding.message for finding in first.findings if finding.action == "warn"]
    assert [finding.message for finding in check_unchanged(first.after).findings] == told


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
        "parallel.fit(batches); print(parallel.predict_on_batch(batches[0][0]))",
        "parallel.load_weights('old.h5'); parallel.fit(batches)",
        "parallel.fit(batches, **self.options)",
    ],
)
def test_what_the_copy_shares(train: str) -> None:
    assert actions(migrate(trainer(train=train)), "TFM026") == ["rewrite"]


WITH_WATCH = "parallel.fit(batches, callbacks=[Watch()])"
WATCH = """\
class Watch(callbacks.Callback):
    def {}(self, *args):
        print(self.owner.model.get_weights())


"""


@pytest.mark.parametrize(
    "changes",
    [
        {"first": WATCH.format("on_batch_end"), "train": WITH_WATCH},
        {"first": WATCH.format("on_train_batch_begin"), "train": WITH_WATCH},
        {"first": WATCH.format("on_test_end"), "train": WITH_WATCH},
        {"first": WATCH.format("on_train_end"), "train": WITH_WATCH},
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


def test_where_the_callbacks_are_unknown_any_of_the_program_may_be_one() -> None:
    changes = {"first": WATCH.format("on_batch_end"), "train": "parallel.fit(batches, **self.options)"}
    check_refused(trainer(**changes), "TFM103")


@pytest.mark.parametrize("given", ["", ", callbacks=[callbacks.EarlyStopping()]", ", callbacks=None"])
def test_a_callback_that_this_training_is_not_given_does_not_matter(given: str) -> None:
    changes = {"first": WATCH.format("on_batch_end"), "train": f"parallel.fit(batches{given})"}
    check_migrated(trainer(**changes))


HANDED_IN = """\
def train(model, batches, gpus=1):
    if gpus > 1:
        model = multi_gpu_model(model, gpus)
    model.compile("sgd", "hinge")
    model.fit(batches)
"""


def test_a_model_that_callers_out_of_sight_hand_in_is_copied() -> None:
    file = check_migrated(HEAD + HANDED_IN)
    assert [f.message for f in file.findings if f.code == "TFM026"] == [
        "the model is built by the callers: replicated() copies it into the scope of the strategy, and the two share "
        "their weights"
    ]
    assert file.after.endswith(
        """\
    if gpus > 1:
        with strategy.scope():
            model = replicated(model)
    with strategy.scope():
        model.compile("sgd", "hinge")
    model.fit(batches)
"""
    )


def test_one_that_they_compile_is_not() -> None:
    check_refused(HEAD + HANDED_IN.replace('    model.compile("sgd", "hinge")\n', ""), "TFM102")


def test_an_optimizer_out_of_reach_of_the_scope_is_made_again_in_it() -> None:
    text = HEAD + HANDED_IN.replace("gpus=1", "gpus=1, optimizer=SGD(0.1)").replace('"sgd"', "optimizer")
    text = text.replace(
        "from tensorflow.keras.utils", "from tensorflow.keras.optimizers import SGD\nfrom tensorflow.keras.utils"
    )
    after = check_migrated(text).after
    made = "type(optimizer).from_config(optimizer.get_config())"
    # A caller out of sight may pass the name of one.
    assert f"optimizer if isinstance(optimizer, str) else {made}" in " ".join(after.split())
    main = """\
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from train import train

train(Sequential([Dense(1, input_shape=(4,))]), batches, 2)
"""
    in_sight = check_migrated(text, main=main).after
    assert made in in_sight
    assert "isinstance(optimizer, str)" not in in_sight


WRAPPER = """\
class OnGpus(Model):
    def __init__(self, model, gpus):
        parallel = multi_gpu_model(model, gpus)
        self.__dict__.update(parallel.__dict__)
        self.template = model

    def __getattribute__(self, name):
        if "load" in name or "save" in name:
            return getattr(self.template, name)
        return super(OnGpus, self).__getattribute__(name)


"""


def test_a_wrapper_class_goes_when_each_of_its_uses_is_followed_or_copied() -> None:
    one = HANDED_IN.replace("multi_gpu_model(", "OnGpus(")
    two = (
        one.replace("def train", "def train_again")
        + "\n\ntrain_again(Sequential([Dense(1, input_shape=(4,))]), [], 2)\n"
    )
    for functions in (one, f"{one}\n\n{two}"):
        file = check_migrated(HEAD + WRAPPER + functions)
        assert "OnGpus" not in file.after
        assert actions(file, "TFM026") == ["rewrite"]


def test_a_method_that_wraps_comes_after_those_that_make_the_model() -> None:
    text = HEAD + (
        """\
class Base:
    def __init__(self, settings):
        self.settings = settings
        self.model = None

    def on_gpus(self, gpus):
        if not self.model:
            raise RuntimeError("build it first")
        if gpus >= 2:
            self.model = multi_gpu_model(self.model, gpus=gpus)
        self.finish()

    def fit(self, x, y):
        if not self.model:
            self.build(x)
        self.model.fit(x, y, batch_size=8)

    def build(self, x):
        if not self.model:
            self.settings.width = x.shape[1]
        self.prepare()
        self.finish()


class Small(Base):
    def prepare(self):
        self.model = Sequential([Dense(1, input_shape=(self.settings.width,))])

    def finish(self):
        self.model.compile("sgd", "hinge")
"""
    )
    assert "self.model = replicated(self.model)" in check_migrated(text).after


NET = """\
class Net:
    def __init__(self):
        self.model = None

    def build(self):
        self.model = Sequential([Dense(1, input_shape=(4,))])

    def compile(self):
        self.model.compile("sgd", "hinge")


def on_gpus(net{}, gpus):
    net.model = multi_gpu_model(net.model, gpus)
    net.compile()
    return net
"""


def test_the_class_that_a_parameter_is_annotated_with_says_what_model_it_holds() -> None:
    file = check_migrated(HEAD + NET.format(": Net"))
    assert "        net.model = replicated(net.model)\n        net.compile()\n" in file.after
    check_refused(HEAD + NET.format(""), "TFM102")
    check_refused(HEAD + NET.format(": dict"), "TFM102")


def test_the_annotation_may_be_a_base_class() -> None:
    derived = NET.format(": Base").replace("class Net:", "class Base:\n    pass\n\n\nclass Net(Base):")
    assert "net.model = replicated(net.model)" in check_migrated(HEAD + derived).after


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


FIT_ALONE = "replicated_in_fit"


@pytest.mark.parametrize(
    ("changes", "source"),
    [
        ({}, FIT_ALONE),
        ({"train": "trained = parallel\n            trained.fit(batches)"}, FIT_ALONE),
        ({"train": "parallel.summary()\n            parallel.fit(batches, epochs=2)"}, FIT_ALONE),
        ({"train": "parallel.fit(batches)\n            parallel.evaluate(batches)"}, "replicated"),
        ({"train": "parallel.train_on_batch(*batches)"}, "replicated"),
        ({"train": "parallel.fit(batches)\n            return parallel"}, "replicated"),
        (
            {"train": "run(parallel, batches)", "first": "def run(model, batches):\n    model.fit(batches)\n\n\n"},
            "replicated",
        ),
        ({"train": "again = lambda: parallel.fit(batches)\n            again()"}, "replicated"),
        ({"first": "def freeze(layers):\n    layers[0].trainable = False\n\n\n"}, "replicated"),
    ],
)
def test_a_copy_that_is_only_fitted_shares_its_weights_there_alone(changes: dict[str, str], source: str) -> None:
    file = check_migrated(trainer(**changes))
    copied = definition(source, {"tf": "tf"})
    assert copied.splitlines()[1].strip() in file.after
    assert ("shared_fit" in file.after) == (source == FIT_ALONE)
