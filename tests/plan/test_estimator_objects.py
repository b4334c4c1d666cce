"""Networks that are objects of a plain class, and functions that make variables of their own."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

CLASS = """class Network(object):
    def __init__(self, width):
        self.width = width

    def tail(self, x, training):
        return tf1.layers.dropout(x, 0.5, training=training)

    def __call__(self, inputs, training):
        net = tf1.layers.dense(inputs, self.width)
        return tf1.layers.dense(self.tail(net, training), 1)


"""
MADE = """class Network:
    def __init__(self, width{0}):
        self.first = tf1.layers.Dense(width)
        self.drop = tf1.layers.Dropout(0.5)
        self.last = tf1.layers.Dense(1){1}

    def __call__(self, inputs, training):
        return self.last(self.drop(self.first(inputs), training=training))


"""
TRAINING = "mode == tf.estimator.ModeKeys.TRAIN"


def with_class(code: str, lines: str = "", of: str = "Network(4)") -> list[tuple[str, str]]:
    called = lines or f"    network = {of}\n    outputs = network(features, {TRAINING})\n"
    return [("def model_fn", code + "def model_fn"), ("    outputs = tf1.layers.dense(features, 1)\n", called)]


def test_the_methods_of_an_object_build_the_model() -> None:
    after = migrated(*with_class(CLASS)).after
    assert "    def tail(self, x):\n        return tf.keras.layers.Dropout(0.5)(x)\n" in after
    assert "    def __call__(self, inputs):\n        net = tf.keras.layers.Dense(self.width)(inputs)\n" in after
    assert "        return tf.keras.layers.Dense(1)(self.tail(net))\n" in after
    assert "    network = Network(4)\n    outputs = network(features)\n" in after


def test_layers_that_an_object_is_made_with_are_those_of_keras() -> None:
    after = migrated(*with_class(MADE.format("", ""))).after
    assert "        self.first = tf.keras.layers.Dense(width)\n" in after
    assert "        return self.last(self.drop(self.first(inputs)))\n" in after


def test_an_object_that_is_told_the_mode_when_it_is_made() -> None:
    code = CLASS.replace("self, width)", "self, width, training)").replace(
        "= width\n", "= width\n        self.on = training\n"
    )
    code = code.replace("self, inputs, training", "self, inputs").replace("self.tail(net, training)", "self.tail(net)")
    code = code.replace("self, x, training", "self, x").replace("training=training", "training=self.on")
    lines = f"    network = Network(4, {TRAINING})\n    outputs = network(features)\n"
    after = migrated(*with_class(code, lines)).after
    assert "    def __init__(self, width):\n        self.width = width\n\n" in after
    assert "    network = Network(4)\n" in after
    assert "Dropout(0.5)(x)" in after


def test_methods_of_the_class_above() -> None:
    code = CLASS.replace("Network(object)", "Base(object)")
    code += "class Network(Base):\n    def __init__(self, width):\n        super().__init__(width)\n\n\n"
    after = migrated(*with_class(code)).after
    assert "    outputs = network(features)\n" in after


@pytest.mark.parametrize("arms", [(True, False)])
def test_an_object_that_is_called_in_each_arm(arms: tuple[bool, bool]) -> None:
    spec = "return tf.estimator.EstimatorSpec(mode, loss=tf1.losses.mean_squared_error(labels, outputs))\n"
    lines = "    network = Network(4)\n    if mode == tf.estimator.ModeKeys.EVAL:\n"
    lines += f"        outputs = network(features, training={arms[1]})\n        {spec}"
    lines += "    if mode == tf.estimator.ModeKeys.PREDICT:\n        raise ValueError(mode)\n"
    lines += f"    outputs = network(features, training={arms[0]})\n"
    after = migrated(*with_class(CLASS, lines)).after
    assert after.count("    outputs = network(features)\n") == 1


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (CLASS.replace("    def tail", "    @staticmethod\n    def tail"), "cannot be followed"),
        (CLASS.replace("(object)", "(Unknown)"), "cannot be followed"),
        (CLASS.replace("= width\n", "= tf1.get_variable('w', [1])\n"), "no place in a Keras model"),
        (MADE.format("", "\n        self.drop = tf1.layers.Dense(2)"), "bound to several values"),
        (MADE.format(", other", "\n        self.last = other"), "bound to several values"),
        (CLASS + "print(Network(3).tail(1, 2))\n\n\n", "also used here"),
        (CLASS + "print(Network(3)(1, 2))\n\n\n", "also used here"),
        (
            CLASS.replace(
                "        return tf1.layers.dense(self",
                "        self.kept = [net, 1]\n        return tf1.layers.dense(self",
            ),
            "TFM11",
        ),
    ],
)
def test_objects_that_do_something_else_are_refused(code: str, why: str) -> None:
    of = "Network(4, 5)" if "other" in code else "Network(4)"
    assert why in refusal(*with_class(code, of=of))


@pytest.mark.parametrize("made", ["tf1.get_variable('s', [1])", "tf1.layers.dense(one, 1)", "tf.Variable([1.0])"])
@pytest.mark.parametrize("above", ["", "def inner():\n    return {0}\n\n\n"])
def test_functions_that_make_variables_are_refused(made: str, above: str) -> None:
    code = above.format(made) + f"def scale():\n    return {'inner()' if above else made}\n\n\n"
    changes = ("def model_fn", code + "def model_fn"), ("(features, 1)", "(features, 1) * scale()")
    assert "creates its own layers or variables" in refusal(*changes)


def test_functions_of_numbers_stay() -> None:
    changes = (
        ("def model_fn", "def scale():\n    return 2.0\n\n\ndef model_fn"),
        ("(features, 1)", "(features, 1) * scale()"),
    )
    assert "Dense(1)(features) * scale()" in migrated(*changes).after


INNER = f"    training = {TRAINING}\n\n    def block(x):\n        return {{0}}\n\n    outputs"


def test_a_function_in_the_model_function_sees_its_mode() -> None:
    lines = INNER.format("tf1.layers.dropout(x, training=training)")
    after = migrated(("    outputs", lines), ("(features, 1)", "(block(features), 1)")).after
    assert "        return tf.keras.layers.Dropout(0.5)(x)\n" in after
    assert "training" not in after


def test_a_number_that_depends_on_the_mode_is_refused() -> None:
    lines = INNER.format("1 if training else 2").replace("block(x)", "block()")
    assert refusal(("    outputs", lines), ("(features, 1)", "(features, block())")).startswith("TFM112")


@pytest.mark.parametrize(
    "lines",
    [
        "    tf1.train.init_from_checkpoint('old', {'a': 'b'})\n",
        "    tf.contrib.framework.init_from_checkpoint('old', {'a': 'b'})\n",
        "    names = [variable.name for variable in tf1.trainable_variables()]\n",
        "    first = tf1.trainable_variables()[0]\n",
        "    count = len(tf1.trainable_variables())\n",
        "    count = len([name for name in tf1.global_variables()])\n",
        "    for name in tf1.trainable_variables():\n        use(name)\n",
        "    more = sum([tf1.layers.dense(features, 1) for place in range(2)])\n",
        "    more = sum([features for place in range(2)])\n",
        "    more = lambda: features\n",
    ],
)
def test_what_the_graph_held_is_refused(lines: str) -> None:
    assert refusal(("    outputs", lines + "    outputs")).startswith("TFM11")


def test_summaries_of_the_variables_go() -> None:
    lines = (
        "    for value in tf1.trainable_variables():\n        tf1.summary.histogram(value.op.name, value)\n    outputs"
    )
    assert "trainable_variables" not in migrated(("    outputs", lines)).after


def test_settings_in_a_comprehension_are_passed_on() -> None:
    sizes = ("    outputs", "    sizes = [params['n'] * n for n in range(3)]\n    outputs")
    made = ("(model_fn, config", "(model_fn, params={'n': 2}, config")
    after = migrated(("labels, mode", "labels, mode, params"), sizes, made).after
    assert "def model_fn(features, params):\n" in after
    assert "element_spec[0], {'n': 2})" in after


@pytest.mark.parametrize("value", ["lambda rows: rows.labels", "lambda mode: mode", "[use(mode=n) for n in range(3)]"])
def test_other_things_of_these_names_stay(value: str) -> None:
    assert f"    more = {value}\n" in migrated(("    outputs", f"    more = {value}\n    outputs")).after
