"""Loops of one's own under a strategy: what is told of their steps, held against TensorFlow."""

from __future__ import annotations

import pytest

from tests.forks import Python
from tests.kit import check_unchanged

MADE = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam(0.1)
    seen = tf.keras.metrics.Mean()
"""
STEP = """\

def step(x, y):
    with tf.GradientTape() as tape:
        errors = tf.square(model(x) - y)
        loss = tf.reduce_mean(errors)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    seen.update_state(loss)
    return loss


@tf.function
def train(x, y):
    return strategy.run(step, args=(x, y))
"""


def told(program: str) -> list[tuple[str, int]]:
    """What is said of a program, but for what the optimizers' variables are to blame for."""
    file = check_unchanged(program)
    return [(finding.code, finding.line) for finding in file.findings if finding.code != "TFM435"]


def unbuilt(program: str) -> list[int]:
    """The lines of the optimizers that a compiled step has to build."""
    return [finding.line for finding in check_unchanged(program).findings if finding.code == "TFM435"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("tf.reduce_mean(errors)", "tf.math.reduce_mean(errors) + tf.reduce_mean(model(x))"),
        ("    gradients = tape.gradient(loss, model.trainable_variables)\n", ""),
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors)\n        loss += FLAGS.weight * tf.reduce_mean(model(x))"),
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors) + tf.add_n(model.losses)"),
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors)\n        loss += 2 * sum(model.losses)"),
        (
            "apply_gradients(zip(gradients, model.trainable_variables))",
            "apply_gradients(list(zip(gradients, model.trainable_variables)))",
        ),
    ],
)
def test_the_gradient_of_a_replicas_own_mean_is_told(old: str, new: str) -> None:
    step = STEP.replace(old, new) if old else STEP
    if "gradients = " not in step:
        step = step.replace("zip(gradients", "zip(tape.gradient(loss, model.trainable_variables)")
    assert told(MADE + step) == [("TFM418", 12)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors) / strategy.num_replicas_in_sync"),
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors * (1 / strategy.num_replicas_in_sync))"),
        ("tf.reduce_mean(errors)", "tf.reduce_sum(errors) * (1.0 / 64)"),
        ("tf.reduce_mean(errors)", "tf.nn.compute_average_loss(errors, global_batch_size=64)"),
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors)\n        loss /= 2"),
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors, axis=-1)"),
        ("    optimizer.apply", "    gradients = [g / 2 for g in gradients]\n    optimizer.apply"),
        ("tape.gradient(loss", "tape.gradient(loss / 2"),
        ("    optimizer.apply", "    gradients = context.all_reduce('MEAN', gradients)\n    optimizer.apply"),
        ("trainable_variables))", "trainable_variables), experimental_aggregate_gradients=False)"),
        ("strategy.run(step, args=(x, y))", "step(x, y)"),
        ("tf.reduce_mean(errors)", "0.5 * tf.reduce_mean(errors)"),
        ("tf.reduce_mean(errors)", "scale * tf.reduce_mean(errors)"),
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors)\n        loss += tf.reduce_sum(errors) / 64"),
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors)\n        loss = loss / 2"),
        ("tf.reduce_mean(errors)", "tf.add_n(model.losses)"),
        ("tf.reduce_mean(errors)", "tf.reduce_mean(errors) / 2 + tf.add_n(model.losses)"),
    ],
)  # fmt: skip
def test_what_divides_or_averages_is_not(old: str, new: str) -> None:
    assert old in STEP
    assert told(MADE + STEP.replace(old, new)) == []


LOOP = """\

data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(99).batch(8)
for a, b in data:
    strategy.run(print, args=(a, b))
"""


def test_a_batch_that_is_whole_on_every_replica_is_told() -> None:
    line = len((MADE + LOOP).splitlines())
    assert told(MADE + LOOP) == [("TFM420", line)]
    assert told(MADE + LOOP.replace("args=(a, b)", "(a, b)")) == [("TFM420", line)]
    assert told(MADE + LOOP.replace("for a, b in data", "for i, (a, b) in enumerate(data)")) == [("TFM420", line)]
    assert told(MADE + LOOP.replace("for a, b in data", "for a in data").replace("(a, b)", "(a,)")) == [
        ("TFM420", line)
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("in data", "in strategy.experimental_distribute_dataset(data)"),
        ("for a", "data = strategy.experimental_distribute_dataset(data)\nfor a"),
        ("for a", "if several:\n    data = strategy.experimental_distribute_dataset(data)\nfor a"),
        ("args=(a, b)", "args=(a + 1, b + 1)"),
        ("args=(a, b)", "args=(noise,)"),
        ("strategy.run(print, args=(a, b))", "print(a, b)"),
    ],
)
def test_what_is_in_parts_or_not_known_is_not(old: str, new: str) -> None:
    assert old in LOOP
    assert told(MADE + LOOP.replace(old, new)) == []


@pytest.mark.runs_tensorflow
def test_every_replica_gets_all_rows(python: Python) -> None:
    program = """\
import tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
data = tf.data.Dataset.range(8).batch(8)
for given in (data, strategy.experimental_distribute_dataset(data)):
    for batch in given:
        print(*(int(n) for n in strategy.experimental_local_results(strategy.run(tf.size, args=(batch,)))))
"""
    done = python(3, program)
    assert done.stdout.split() == ["8", "8", "4", "4"]


TRAINER = """\
import tensorflow as tf


class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy
        with strategy.scope():
            self.model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
            self.optimizer = tf.keras.optimizers.Adam(0.1)

    def error(self, real, found):
        loss = tf.square(real - found)
        loss *= tf.cast(real > 0, loss.dtype)
        return tf.reduce_mean(loss)

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.error(y, self.model(x))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

    @tf.function
    def train(self, x, y):
        return self.strategy.run(self.step, args=(x, y))


strategy = tf.distribute.MirroredStrategy()
trainer = Trainer(strategy)
for x, y in strategy.experimental_distribute_dataset(data):
    trainer.train(x, y)
"""


def test_a_step_may_be_a_method_and_its_loss_another_one() -> None:
    assert told(TRAINER) == [("TFM418", 18)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        return tf.reduce_mean(loss)", "        return tf.reduce_sum(loss) / self.batch_size"),
        ("        return tf.reduce_mean(loss)", "        return tf.reduce_mean(loss) / self.replicas"),
        ("        return tf.reduce_mean(loss)", "        return tf.reduce_mean(loss, axis=-1)"),
        ("        loss *=", "        if real is None:\n            return loss\n        loss *="),
        ("        return tf.reduce_mean(loss)", "        yield tf.reduce_mean(loss)"),
        ("        return tf.reduce_mean(loss)", "        return self.error(loss, loss)"),
        ("self.error(y, self.model(x))", "self.error(y, self.model(x)) / 2"),
        ("    def error", "    @tf.custom_gradient\n    def error"),
    ],
)
def test_a_method_that_returns_something_else_is_not_told(old: str, new: str) -> None:
    assert old in TRAINER
    assert told(TRAINER.replace(old, new, 1)) == []


OWN_STEP = """\
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = Net()
    model.compile("sgd")
model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(8))
"""


def test_the_step_of_a_models_own_class_is_told() -> None:
    assert told(OWN_STEP) == [("TFM418", 15)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.reduce_mean(tf.square(self(x, training=True) - y))", "self.compute_loss(x, y, self(x))"),
        (" - y))", " - y)) / 2"),
        ("MirroredStrategy()", "OneDeviceStrategy('/cpu:0')"),
        ("model.fit(", "print("),
        ("def train_step", "def other_step"),
    ],
)
def test_a_step_that_divides_or_does_not_train_on_replicas_is_not(old: str, new: str) -> None:
    assert old in OWN_STEP
    assert told(OWN_STEP.replace(old, new)) == []


FAR = """
class Far(tf.keras.losses.Loss):
    def call(self, real, found):
        return tf.reduce_sum(found - real) / 3


strategy = """


def test_a_loss_that_a_step_of_ones_own_computes_is_not_one_of_keras() -> None:
    program = OWN_STEP.replace("strategy = ", FAR, 1).replace('"sgd"', '"sgd", Far()')
    mean = "tf.reduce_mean(tf.square(self(x, training=True) - y))"
    assert told(program.replace(mean, "self.loss(y, self(x)) / 2")) == []
    assert {code for code, _ in told(program.replace(mean, "self.compute_loss(x, y, self(x))"))} == {"TFM403"}


def outside(name: str) -> str:
    """The program with one line of the scope in front of it."""
    lines = MADE.replace(f"    {name} = ", f"{name} = ").splitlines(keepends=True)
    (line,) = [line for line in lines if line.startswith(name)]
    lines.remove(line)
    return "".join([*lines[:1], line, *lines[1:]]) + STEP


def test_the_optimizer_of_a_step_is_told_outside_the_scope() -> None:
    assert ("TFM412", 2) in told(outside("optimizer"))
    assert unbuilt(outside("optimizer")) == []


def test_the_model_of_a_step_is_told_outside_the_scope() -> None:
    assert ("TFM411", 2) in told(outside("model"))
    for old, new in (("zip(gradients, model", "zip(gradients, other"), ("strategy.run(step", "print(step")):
        assert "TFM411" not in {code for code, _ in told(outside("model").replace(old, new))}


def test_a_model_that_is_built_again_to_evaluate_with_is_not_the_one_of_the_step() -> None:
    again = "model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])\n"
    assert told(f"{MADE}{STEP}train(x, y)\n{again}print(model(x))\n") == told(f"{MADE}{STEP}train(x, y)\n")


COUNTED = f"{MADE}count = tf.Variable(0)\n{STEP}".replace("    return loss", "    count.assign_add(1)\n    return loss")


def counters(program: str) -> list[int]:
    return [line for code, line in told(program) if code == "TFM434"]


def test_a_counter_outside_the_scope_is_told() -> None:
    (line,) = counters(COUNTED)
    assert COUNTED.splitlines()[line - 1] == "    count.assign_add(1)"


def test_so_is_one_that_an_object_keeps() -> None:
    program = (
        f"{MADE}\n\nclass Trainer:\n    def __init__(self):\n        self.count = tf.Variable(0)\n\n"
        "    def step(self, x):\n        self.count.assign_add(1)\n        return model(x)\n\n"
        "    def train(self, x):\n        strategy.run(self.step, args=(x,))\n\n\nTrainer().train(x)\n"
    )
    assert len(counters(program)) == 1
    assert counters(program.replace("strategy.run(self.step, args=(x,))", "self.step(x)")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\ncount = ", "\n    count = "),
        ("assign_add", "assign"),
        ("count.assign_add(1)", "print(count)"),
        ("tf.Variable(0)", "tf.constant(0)"),
        ("tf.Variable(0)", "others.Variable(0)"),
        ("strategy.run(step", "print(step"),
        ("MirroredStrategy()", "OneDeviceStrategy('/gpu:0')"),
        ("MirroredStrategy()", "MultiWorkerMirroredStrategy()"),
        ("    count.", "    if tf.distribute.get_replica_context().replica_id_in_sync_group == 0:\n        count."),
    ],
)
def test_other_counters_are_not(old: str, new: str) -> None:
    assert old in COUNTED
    assert counters(COUNTED.replace(old, new)) == []


@pytest.mark.parametrize("other", ["OneDeviceStrategy('/cpu:0')", "TPUStrategy(tpu)"])
def test_a_strategy_that_may_be_another_one_is_taken_for_mirrored(other: str) -> None:
    made = f"MirroredStrategy() if several else tf.distribute.{other}"
    assert told((MADE + STEP).replace("MirroredStrategy()", made)) == [("TFM418", 12)]
    unknown = "MirroredStrategy() if several else tf.distribute.ParameterServerStrategy(cluster)"
    assert told((MADE + STEP).replace("MirroredStrategy()", unknown)) == []


def test_a_metric_may_stand_anywhere() -> None:
    assert {code for code, _ in told(outside("seen"))} == {"TFM418"}


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("", "", [6]),
        ("Adam(0.1)", "SGD(0.1, momentum=0.9)", [6]),
        ("@tf.function\n", "", []),
        ("@tf.function\ndef train", "def train", []),
        ("def step", "@tf.function\ndef step", [6]),
        ("@tf.function\n", "@tf.function(jit_compile=False)\n", [6]),
        ("Adam(0.1)", "SGD(0.1)", []),
        ("    seen =", "    optimizer.build(model.trainable_variables)\n    seen =", []),
        ("    seen =", "    model.compile(optimizer)\n    seen =", []),
        ("MirroredStrategy()", "MirroredStrategy(['/gpu:0'])", []),
        ("MirroredStrategy()", "MirroredStrategy(devices=['/gpu:0', '/gpu:1'])", [6]),
        ("MirroredStrategy()", "MultiWorkerMirroredStrategy()", []),
        ("import tensorflow", "import os\n\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\nimport tensorflow", []),
    ],
)
def test_an_optimizer_that_a_compiled_step_builds_is_told(old: str, new: str, lines: list[int]) -> None:
    assert unbuilt((MADE + STEP).replace(old, new, 1) if old else MADE + STEP) == lines


def test_one_of_several_optimizers_is_told() -> None:
    chosen = "    if fast:\n        optimizer = tf.keras.optimizers.Nadam(0.1)\n    seen ="
    assert unbuilt((MADE + STEP).replace("    seen =", chosen, 1)) == [6]


def test_a_function_may_be_compiled_by_a_call() -> None:
    program = MADE + STEP.replace("@tf.function\n", "")
    assert unbuilt(program + "\n\ntrain = tf.function(train)\n") == [6]
    assert unbuilt(program + "\n\nother = tf.function(len)\n") == []


def test_an_optimizer_may_be_kept_by_an_object() -> None:
    assert unbuilt(TRAINER) == [9]
    assert unbuilt(TRAINER.replace("    def error", "            self.optimizer.build([])\n\n    def error")) == []


def test_plain_gradient_descent_may_stand_outside() -> None:
    made = MADE.replace("    optimizer = tf.keras.optimizers.Adam(0.1)\n", "")
    made = made.replace("strategy = ", "optimizer = tf.keras.optimizers.SGD(0.1)\nstrategy = ", 1)
    assert {code for code, _ in told(made + STEP)} == {"TFM418"}


def test_one_device_has_one_mean() -> None:
    assert told(MADE.replace("MirroredStrategy()", "OneDeviceStrategy('/cpu:0')") + STEP) == []


ON_TWO = MADE.replace("MirroredStrategy()", "MirroredStrategy(['cpu:0', 'cpu:1'])").replace("Adam(0.1)", "SGD(0.1)")
RUN = f"""
import numpy as np
import tensorflow as tf

(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
{ON_TWO}{STEP}
x, y = np.random.default_rng(0).random((8, 4), "float32"), np.ones((8, 1), "float32")
with tf.GradientTape() as tape:
    whole = tf.reduce_mean(tf.square(model(x) - y))
wanted = 0.1 * tape.gradient(whole, model.trainable_variables)[0].numpy()
start = model.get_weights()[0]
for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(8)):
    train(*batch)
print("FACTOR", round(float(np.mean((start - model.get_weights()[0]) / wanted)), 3))
"""  # fmt: skip


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_the_step_is_as_many_times_as_long_as_there_are_replicas(keras: int, python: Python) -> None:
    def factor(program: str) -> str:
        done = python(keras, program)
        done.check_returncode()
        return done.stdout.split("FACTOR")[1].strip()

    assert factor(RUN) == "2.0"
    assert factor(RUN.replace("reduce_mean(errors)", "reduce_mean(errors) / 2")) == "1.0"


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_what_is_told_of_optimizers_fails_on_keras_3_alone(keras: int, python: Python) -> None:
    def runs(program: str) -> bool:
        done = python(keras, program)
        assert not done.returncode or keras == 3, done.stderr[-2000:]
        return not done.returncode

    adam = RUN.replace("SGD(0.1)", "Adam(0.1)")
    build = "    optimizer.build(model.trainable_variables)\n"
    built = adam.replace("    seen = ", build + "    seen = ")
    assert runs(adam) is (keras == 2)
    assert runs(adam.replace("@tf.function\n", ""))
    assert runs(built)
    assert runs(moved_out(built, "seen"))
    assert runs(moved_out(adam, "optimizer").replace("@tf.function\n", "")) is (keras == 2)


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_a_model_outside_the_scope_fails_on_both(keras: int, python: Python) -> None:
    assert python(keras, moved_out(RUN, "model")).returncode


def moved_out(program: str, name: str) -> str:
    """The program with one line of the scope in front of it."""
    head, scope, rest = program.partition("with strategy.scope():\n")
    (line,) = [line for line in rest.splitlines(keepends=True) if line.startswith(f"    {name} = ")]
    return head + line.lstrip() + scope + rest.replace(line, "", 1)


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_a_step_of_ones_own_is_as_long(keras: int, python: Python) -> None:
    head = """\
import numpy as np
import tensorflow as tf

(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
x, y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
"""
    end = "print('STEP', round(1 - float(model.get_weights()[0][0, 0]), 4))\n"
    program = OWN_STEP.replace("MirroredStrategy()", "MirroredStrategy(['cpu:0', 'cpu:1'])")

    def step(text: str) -> float:
        done = python(keras, head + text + end)
        done.check_returncode()
        return float(done.stdout.split("STEP")[1])

    assert step(program) == pytest.approx(2 * step(program.replace(" - y))", " - y)) / 2")))
