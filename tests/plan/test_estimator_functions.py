"""Functions of the program that compute losses and metrics for a model function, and metrics in their parts."""

from __future__ import annotations

import pytest

from tests.kit import SETTINGS, migrate
from tests.plan.test_estimator import PROGRAM, migrated, refusal
from tfmigrate.rewrite import migrate_sources

METRIC = "tf1.metrics.mean_squared_error(labels, outputs)"
ERROR = 'metrics=[tf.keras.metrics.MeanSquaredError(name="error")],\n'


def with_metrics(metrics: str, above: str = "", inside: str = "") -> tuple[tuple[str, str], ...]:
    return (
        ("    return tf.estimator", inside + "    return tf.estimator"),
        ("train_op=train_op)", f"train_op=train_op, eval_metric_ops={metrics})"),
        ("def model_fn", above + "def model_fn"),
    )


MODULE = f"def metric_fn(labels, outputs):\n    error = {METRIC}\n    return {{'error': error}}\n\n\n"
LOCAL = f"    def metric_fn(labels, found):\n        return {{'error': {METRIC.replace('outputs', 'found')}}}\n\n"
CLOSURE = f"    def metric_fn():\n        return {{'error': {METRIC}}}\n\n"


@pytest.mark.parametrize(
    "changes",
    [
        with_metrics("metric_fn(labels, outputs)", above=MODULE),
        with_metrics("metric_fn(outputs=outputs, labels=labels)", above=MODULE),
        with_metrics("metric_fn(labels, outputs)", inside=LOCAL),
        with_metrics("metric_fn()", inside=CLOSURE),
        with_metrics("metrics", above=MODULE, inside="    metrics = metric_fn(labels, outputs)\n"),
    ],
)
def test_a_function_that_returns_the_metrics_goes(changes: tuple[tuple[str, str], ...]) -> None:
    file = migrated(*changes)
    assert ERROR in file.after.replace("'", '"')
    assert "metric_fn" not in file.after
    assert "created by its model function" in next(f.message for f in file.findings if f.code == "TFM010")


@pytest.mark.parametrize(
    "function",
    [
        "def cost(labels, outputs):\n    return tf1.losses.mean_squared_error(labels, outputs)\n\n\n",
        "def cost(labels, found, scale=1):\n    squares = tf.square(labels - found)\n"
        "    return tf.reduce_mean(squares)\n\n\n",
    ],
)
def test_a_function_that_returns_the_loss_goes(function: str) -> None:
    called = ("tf1.losses.mean_squared_error(labels, outputs)", "cost(labels, outputs)")
    file = migrated(called, ("def model", function + "def model"))
    assert "loss=tf.keras.losses.MeanSquaredError(),\n" in file.after
    assert "cost" not in file.after


def test_a_function_of_another_module_stays_there() -> None:
    text = PROGRAM.replace("train_op=train_op)", "train_op=train_op, eval_metric_ops=metric_fn(labels, outputs))")
    text = text.replace("import tensorflow as tf\n", "import tensorflow as tf\nfrom measures import metric_fn\n", 1)
    file = migrate(text, measures=f"import tensorflow.compat.v1 as tf1\n\n\n{MODULE}")
    assert ERROR in file.after
    assert "metric_fn(" not in file.after


@pytest.mark.parametrize(
    "function",
    [
        "def of(labels, outputs):\n    if big:\n        return {}\n    return {'error': 1}\n\n\n",
        "def of(labels, outputs):\n    tf1.layers.dense(outputs, 1)\n    return {'error': metric(labels)}\n\n\n",
        "def of(labels, outputs):\n    return len(labels)\n\n\n",
        "def of(labels, outputs):\n    return outputs * 2\n\n\n",
        "def of(labels, outputs):\n    return of(labels, outputs)\n\n\n",
        "def of(labels, outputs):\n    print(labels)\n\n\n",
    ],
)
def test_a_function_that_does_more_is_refused(function: str) -> None:
    assert refusal(*with_metrics("of(labels, outputs)", above=function)).startswith("TFM11")


def test_a_function_that_something_else_calls_is_refused() -> None:
    changes = with_metrics("metric_fn(labels, outputs)", above=MODULE)
    assert "also used here" in refusal(*changes, ("strategy = ", "print(metric_fn([1], [2]))\nstrategy = "))


def test_a_local_function_of_settings_stays() -> None:
    rate = "    def rate():\n        return 0.1\n\n    train_op"
    file = migrated(("    train_op", rate), ("AdamOptimizer()", "AdamOptimizer(rate())"))
    assert "learning_rate=rate()" in file.after
    assert "    def rate():\n        return 0.1\n" in file.after


@pytest.mark.parametrize(
    ("lines", "metric"),
    [
        (f"    value, update = {METRIC}\n", "(value, update)"),
        (f"    error = {METRIC}\n", "(error[0], error[1])"),
        (f"    error = {METRIC}\n    tf1.summary.scalar('error', error[1])\n", "error"),
    ],
)
def test_a_metric_in_its_parts_is_one(lines: str, metric: str) -> None:
    after = migrated(*with_metrics(f"{{'error': {metric}}}", inside=lines)).after
    assert ERROR in after.replace("'", '"')


@pytest.mark.parametrize("metric", ["(update, value)", "(value, value)", "(value, other)", "value"])
def test_other_parts_of_metrics_are_refused(metric: str) -> None:
    lines = f"    value, update = {METRIC}\n    _, other = tf1.metrics.mean_absolute_error(labels, outputs)\n"
    assert refusal(*with_metrics(f"{{'error': {metric}}}", inside=lines)).startswith("TFM11")


@pytest.mark.parametrize("read", ["tf.nn.sigmoid(outputs)", "tf.sigmoid(outputs)", "tf.sigmoid(tf.squeeze(outputs))"])
def test_the_area_under_the_curve_of_a_sigmoid(read: str) -> None:
    after = migrated(*with_metrics(f"{{'auc': tf1.metrics.auc(labels, {read})}}")).after
    assert "metrics=[tf.keras.metrics.AUC(from_logits=True, name='auc')],\n" in after


@pytest.mark.parametrize(
    "metric", ["labels, outputs", "labels, tf.nn.softmax(outputs)", "labels, tf.nn.sigmoid(outputs), curve='PR'"]
)
def test_another_area_is_refused(metric: str) -> None:
    assert refusal(*with_metrics(f"{{'auc': tf1.metrics.auc({metric})}}")).startswith("TFM114")


IMPORTED = ("import tensorflow as tf\n", "import tensorflow as tf\nfrom functools import partial\n")
PARAMS = (("labels, mode)", "labels, mode, params)"), ("AdamOptimizer()", "AdamOptimizer(params['rate'])"))


@pytest.mark.parametrize("own", ["", ", params={'rate': 1.0}"])
def test_a_model_function_that_is_given_its_params(own: str) -> None:
    given = ("Estimator(model_fn, config=config", f"Estimator(partial(model_fn, params=settings), config=config{own}")
    after = migrated(IMPORTED, *PARAMS, given).after
    assert "    model = model_fn(input_fn().element_spec[0], settings)\n" in after
    assert "partial" not in after


@pytest.mark.parametrize("bound", ["settings", "mode='eval'", "params=settings, size=1", "**settings"])
def test_a_model_function_that_is_given_other_things_is_refused(bound: str) -> None:
    given = ("Estimator(model_fn,", f"Estimator(partial(model_fn, {bound}),")
    assert refusal(IMPORTED, *PARAMS, given).startswith("TFM110")


@pytest.mark.parametrize("inside", ["tf.reshape(x, [-1])", "tf.squeeze(x)"])
def test_a_function_that_labels_and_output_go_through(inside: str) -> None:
    function = f"def merged(x):\n    return {inside}\n\n\n"
    metric = "{'error': tf1.metrics.mean_squared_error(merged(labels), merged(outputs))}"
    file = migrated(*with_metrics(metric, above=function))
    assert ERROR in file.after.replace("'", '"')
    assert "merged" not in file.after


def test_a_function_that_builds_a_part_and_fails_is_refused_for_its_own_reason() -> None:
    function = "def part(x):\n    return tf1.layers.dense(x, 1, reuse=True)\n\n\n"
    told = refusal(("tf1.layers.dense(features, 1)", "part(features)"), ("def model", function + "def model"))
    assert told.startswith("TFM112")
    assert "reuse" in told


@pytest.mark.parametrize("first", [True, False])
def test_a_function_for_layers_and_for_labels_is_refused(first: bool) -> None:
    function = "def flat(x):\n    return tf.reshape(x, [-1, 1])\n\n\n"
    network = ("    outputs = tf1.layers.dense(features, 1)\n", "    outputs = tf1.layers.dense(flat(features), 1)\n")
    labels = ("    loss = ", "    labels = flat(labels)\n    loss = ")
    late = (network[0], network[0] + "    outputs = flat(outputs)\n")
    early = ("    outputs = tf1", "    labels = flat(labels)\n    outputs = tf1")
    changes = (network, labels) if first else (late, early)
    assert "called in two ways" in refusal(*changes, ("def model", function + "def model"))


def test_a_layer_of_another_module_keeps_its_name_where_only_predictions_make_it_too() -> None:
    arm = (
        "    if mode == tf.estimator.ModeKeys.PREDICT:\n        outputs = made(features)\n"
        "        return tf.estimator.EstimatorSpec(mode, predictions={'y': outputs})\n    outputs = made(features)"
    )
    text = PROGRAM.replace("import tensorflow as tf\n", "import tensorflow as tf\nfrom layers import made\n", 1)
    text = text.replace("    outputs = tf1.layers.dense(features, 1)", arm)
    layers = "import tensorflow.compat.v1 as tf1\n\n\ndef made(x):\n    return tf1.layers.dense(x, 1, name='last')\n"
    written = {file.path: file.after for file in migrate_sources({"train.py": text, "layers.py": layers}, SETTINGS)}
    assert "Dense(1, name='last')(x)" in written["layers.py"]
