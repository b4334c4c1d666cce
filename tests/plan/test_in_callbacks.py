"""Wraps that a callback makes while fit() trains under a strategy: there is room for no other one then."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, check_refused

IMPORTS = """
from keras.callbacks import Callback
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def build():
    return Sequential([Dense(1, input_shape=(4,))])


"""
TRAINING = """

model = build()
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
parallel_model.fit(x, y, batch_size=16, callbacks=[Evaluate(x)])
"""
ONE_STRATEGY = 'tf.distribute.MirroredStrategy(devices=["/gpu:0", "/gpu:1"])'


def callback(*lines: str, gpus: str = "2") -> str:
    body = "\n".join(f"    {line}" if line else "" for line in lines).replace("GPUS", gpus)
    return f"class Evaluate(Callback):\n    def __init__(self, x):\n        self.x = x\n\n{body}\n"


EACH_EPOCH = (
    "def on_epoch_end(self, epoch, logs=None):",
    "    other = build()",
    "    other.set_weights(self.model.get_weights())",
    "    parallel = multi_gpu_model(other, gpus=GPUS)",
    "    print(parallel.predict(self.x))",
)
IN_A_METHOD = (
    "def clone(self):",
    "    other = build()",
    "    return multi_gpu_model(other, gpus=GPUS)",
    "",
    "def on_train_end(self, logs=None):",
    "    print(self.clone().predict(self.x))",
)


@pytest.mark.parametrize("lines", [EACH_EPOCH, IN_A_METHOD], ids=["called by fit()", "called by what fit() calls"])
def test_a_method_takes_the_strategy_of_the_model_that_is_trained(lines: tuple[str, ...]) -> None:
    after = check_migrated(IMPORTS + callback(*lines) + TRAINING).after
    assert "  strategy = self.model.distribute_strategy\n        with strategy.scope():\n            other = b" in after
    assert after.count(ONE_STRATEGY) == 1


def test_it_says_whose_strategy_that_is() -> None:
    file = check_migrated(IMPORTS + callback(*EACH_EPOCH) + TRAINING)
    messages = [finding.message for finding in file.findings if finding.code == "TFM001"]
    assert any("becomes the strategy of the model that fit() is training" in message for message in messages)
    assert actions(file, "TFM414") == []


def test_under_a_condition_it_is_taken_under_that() -> None:
    guarded = (
        *EACH_EPOCH[:3],
        "    parallel = multi_gpu_model(other, gpus=2) if self.several else other",
        EACH_EPOCH[-1],
    )
    after = check_migrated(IMPORTS + callback(*guarded) + TRAINING).after
    assert "self.model.distribute_strategy if self.several else tf.distribute.get_strategy()" in after


def test_what_init_builds_is_built_in_the_scope_of_the_strategy_that_trains() -> None:
    own = """
class Evaluate(Callback):
    def __init__(self, x):
        self.other = build()

    def on_epoch_end(self, epoch, logs=None):
        parallel = multi_gpu_model(self.other, gpus=2)
        parallel.compile(loss="mse", optimizer="sgd")
        parallel.fit(x, y, batch_size=16)
"""
    after = check_migrated(IMPORTS + own + TRAINING).after
    assert after.count(ONE_STRATEGY) == 1
    assert "def __init__(self, x):\n        self.other = build()\n" in after
    assert "    model.fit(train_dataset, callbacks=[Evaluate(x)])\n" in after


def test_a_function_that_a_callback_calls_leaves_the_strategy_to_it() -> None:
    program = (
        IMPORTS
        + "def test(x):\n    other = build()\n    return multi_gpu_model(other, gpus=2).predict(x)\n\n\n"
        + callback("def on_epoch_end(self, epoch, logs=None):", "    print(test(self.x))")
        + TRAINING
    )
    after = check_migrated(program).after
    assert "strategy = self.model.distribute_strategy\n        with strategy.scope():\n            print(test" in after
    assert after.count(ONE_STRATEGY) == 1


def test_another_number_of_gpus_is_refused() -> None:
    file = check_refused(IMPORTS + callback(*EACH_EPOCH, gpus="4") + TRAINING, "TFM003", "TFM107")
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM107"]
    assert "for 4 GPUs" in message
    assert "one strategy would have to serve both" in message


def test_a_strategy_that_the_callback_keeps_is_reported() -> None:
    kept = """
class Evaluate(Callback):
    def __init__(self, x):
        self.other = build()

    def on_epoch_end(self, epoch, logs=None):
        if epoch > 5:
            self.other = Sequential(self.other.layers)
        parallel = multi_gpu_model(self.other, gpus=2)
        parallel.compile(loss="mse", optimizer="sgd")
        parallel.fit(x, y, batch_size=16)
"""
    file = check_migrated(IMPORTS + kept + TRAINING)
    assert actions(file, "TFM414") == ["warn"]
    assert "callback uses while fit() at line 28" in next(f.message for f in file.findings if f.code == "TFM414")


@pytest.mark.parametrize(
    "lines",
    [
        (
            "def set_model(self, model):",
            "    self.parallel = multi_gpu_model(build(), gpus=2)",
            "    print(self.parallel.predict(self.x))",
        ),
        (
            "@staticmethod",
            "def clone(rows):",
            "    return multi_gpu_model(build(), gpus=2).predict(rows)",
            "",
            "def on_train_end(self, logs=None):",
            "    print(self.clone(self.x))",
        ),
    ],
    ids=["before fit() has set the model", "without the object"],
)
def test_where_the_model_is_not_at_hand_it_is_not_asked(lines: tuple[str, ...]) -> None:
    file = check_migrated(IMPORTS + callback(*lines) + TRAINING)
    assert "rows.model" not in file.after
    assert "def set_model(self, model):\n        strategy = self.model" not in file.after
    assert file.after.count(ONE_STRATEGY) == 1 or actions(file, "TFM414") == ["warn"]


def test_a_callback_of_a_model_on_one_gpu_makes_its_own() -> None:
    program = (
        IMPORTS
        + callback(*EACH_EPOCH)
        + '\n\nmodel = build()\nmodel.compile("sgd", "mse")\nmodel.fit(x, y, callbacks=[Evaluate(x)])\n'
    )
    after = check_migrated(program).after
    assert f"        strategy = {ONE_STRATEGY}\n" in after
    assert "self.model.distribute_strategy" not in after


def test_an_object_that_is_no_callback_makes_its_own() -> None:
    program = (
        IMPORTS + callback(*EACH_EPOCH).replace("(Callback)", "") + TRAINING.replace("callbacks=", "validation_data=")
    )
    after = check_migrated(program).after
    assert after.count(ONE_STRATEGY) == 2


def test_the_template_of_the_model_that_is_trained_needs_no_strategy() -> None:
    lines = (EACH_EPOCH[0], "    print(multi_gpu_model(model, gpus=2).predict(self.x))")
    after = check_migrated(IMPORTS + callback(*lines) + TRAINING).after
    assert "print(model.predict(self.x))" in after
    assert "distribute_strategy" not in after


def test_a_model_that_a_callback_wraps_is_not_said_to_be_wrapped_by_nothing() -> None:
    program = f"""
from keras.models import Model, load_model
{IMPORTS}
def new_head(trained):
    return Model(trained.input, Dense(3)(trained.layers[-2].output))


class Transfer(Callback):
    def __init__(self, trained, whole):
        self.trained = trained
        self.whole = whole

    def on_epoch_end(self, epoch, logs=None):
        if self.whole:
            self.other = build()
        else:
            self.other = new_head(self.trained)
        parallel = multi_gpu_model(self.other, gpus=2)
        parallel.compile("adam", "mse")
        parallel.fit(x, y, batch_size=16)


model = build()
callbacks = [Transfer(model, True), Transfer(model, False)]
if resumes:
    model = load_model("old.h5")
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("adam", "mse")
parallel_model.fit(x, y, batch_size=16, callbacks=callbacks)
"""
    file = check_migrated(program)
    assert actions(file, "TFM429") == []
    assert file.after.count(ONE_STRATEGY) == 1


SAVER = """
from keras.callbacks import Callback


class Saver(Callback):
    def __init__(self, kept):
        self.kept = kept

    def on_epoch_end(self, epoch, logs=None):
        print(self.kept.predict(x))
"""
SCRIPT = """
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

from saver import Saver


def train(width):
    model = Sequential([Dense(width, input_shape=(4,)), Dense(1)])
    parallel_model = multi_gpu_model(model, gpus=2)
    parallel_model.compile("sgd", "mse")
    parallel_model.fit(x, y, callbacks=[Saver(model)])


{run}
"""


def test_scripts_of_their_own_may_share_a_callback() -> None:
    run = "if __name__ == '__main__':\n    train({})"
    second = SCRIPT.format(run=run.format(8))
    file = check_migrated(SCRIPT.format(run=run.format(4)), saver=SAVER, other=second)
    assert actions(file, "TFM414") == []


def test_those_of_one_run_may_not() -> None:
    second = f"import train\n{SCRIPT.format(run='train(8)')}"
    file = check_migrated(SCRIPT.format(run="train(4)"), saver=SAVER, other=second)
    assert actions(file, "TFM414") == ["warn"]
