"""Penalties of the weights in the loss of a model function, and regularizers of its layers."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

DENSE = "    outputs = tf1.layers.dense(features, 1)\n"
LOSS = "    loss = tf1.losses.mean_squared_error(labels, outputs)\n"
SPEC = "    train_op ="
SQUARES = "tf.add_n([tf.nn.l2_loss(v) for v in tf1.trainable_variables()])"
KERNELS = SQUARES.replace("()]", "() if 'bias' not in v.name]")


def penalised(line: str, *changes: tuple[str, str]) -> str:
    after = migrated((LOSS, f"{LOSS}    {line}\n"), *changes).after
    assert "def add_penalty(layer, weight, regularizer):" in after
    assert "l2_loss" not in after
    return after


@pytest.mark.parametrize(
    ("line", "factor"),
    [
        (f"loss += 0.02 * {SQUARES}", "0.01"),
        (f"loss = loss + {SQUARES}", "0.5"),
        (f"loss = {SQUARES} * 0.02 + loss", "0.01"),
        (f"loss = tf.add_n([loss, tf.multiply(0.02, {SQUARES})])", "0.01"),
        (f"loss = tf.add(loss, {SQUARES} / 50)", "0.5 * 1.0 / 50"),
        (f"penalty = 0.02 * {SQUARES}\n    tf1.summary.scalar('penalty', penalty)\n    loss += penalty", "0.01"),
        ("parts = [0.02 * tf.nn.l2_loss(v) for v in tf1.trainable_variables()]\n    loss += tf.add_n(parts)", "0.01"),
        ("weights = tf1.trainable_variables()\n    loss += sum(tf.nn.l2_loss(w) * 0.02 for w in weights)", "0.01"),
        (f"decay = 0.02\n    loss += decay * {SQUARES}", "0.5 * decay"),
        (f"loss += 2 * 0.01 * {SQUARES}", "0.5 * (2 * 0.01)"),
        ("loss += tf.add_n([tf.nn.l2_loss(tf.cast(v, tf.float32)) for v in tf1.trainable_variables()])", "0.5"),
    ],
)
def test_each_weight_gets_half_the_factor(line: str, factor: str) -> None:
    after = penalised(line)
    lines = "    for weight in model.trainable_weights:\n"
    assert f"{lines}        add_penalty(model, weight, tf.keras.regularizers.L2({factor}))\n    model.compile(" in after


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        ("'bias' not in v.name", "'bias' not in path"),
        ("'kernel' in v.op.name", "'kernel' in path"),
        ("'bias' not in v.name and 'gamma' not in v.name", "'bias' not in path and 'gamma' not in path"),
        ("not ('bias' in v.name or 'batch_normalization' in v.name)",
         "not ('bias' in path or 'batch_normalization' in path)"),
    ],
)  # fmt: skip
def test_some_weights_are_left_out_by_their_names(condition: str, written: str) -> None:
    after = penalised(f"loss += {SQUARES}".replace("()])", f"() if {condition}])"))
    assert f"if {written}:\n            add_penalty(model, weight," in after
    assert "path = getattr(weight, " in after


@pytest.mark.parametrize(
    "layers",
    [
        "    with tf1.variable_scope('bias_free'):\n    " + DENSE,
        f"    for place in range(2):\n        features = tf1.layers.dense(features, 4, name='bias')\n{DENSE}",
    ],
)
def test_names_that_are_others_in_keras_are_refused(layers: str) -> None:
    message = refusal((LOSS, f"{LOSS}    loss += {KERNELS}\n"), (DENSE, layers))
    assert "Keras's weights have different names" in message


def test_the_variables_of_slim_are_called_otherwise() -> None:
    layer = (DENSE, "    outputs = tf.contrib.slim.fully_connected(features, 1, activation_fn=None)\n")
    penalised(f"loss += {KERNELS}", layer)
    weights = KERNELS.replace("'bias' not", "'weights'")
    assert "'weights' in their names" in refusal((LOSS, f"{LOSS}    loss += {weights}\n"), layer)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"loss += {SQUARES}\n    loss += {SQUARES}", "two weight penalties"),
        (f"decay = 0.1\n    loss += decay * {SQUARES}\n    decay = 0.2", "the factor `decay`"),
        (
            f"loss += {SQUARES}".replace("tf.nn.l2_loss(v)", "tf.reduce_sum(tf.abs(v))"),
            "only supported for tf.nn.l2_loss",
        ),
        (f"loss += {SQUARES}".replace("()])", "() if wanted(v)])"), "something other than a string in their names"),
        (f"loss += {SQUARES}".replace("()])", "() if v.name.endswith('s:0')])"), "something other than a string"),
        ("for v in tf1.trainable_variables():\n        loss += tf.nn.l2_loss(v)", ""),
    ],
)
def test_another_penalty_is_refused(line: str, reason: str) -> None:
    assert reason in refusal((LOSS, f"{LOSS}    {line}\n"))


def test_a_penalty_before_the_last_layer_is_refused() -> None:
    early = f"    penalty = {SQUARES}\n    outputs = tf1.layers.dense(outputs, 1)\n"
    assert "more layers are created after" in refusal((DENSE, DENSE + early), (LOSS, f"{LOSS}    loss += penalty\n"))


def test_a_penalty_in_training_alone_is_refused() -> None:
    early = "    if mode == tf.estimator.ModeKeys.EVAL:\n        return tf.estimator.EstimatorSpec(mode, loss=loss)\n"
    assert "use different losses" in refusal((LOSS, f"{LOSS}{early}    loss += {SQUARES}\n"))


TOTAL = f"""def total(labels, outputs, decay=0.02):
    return tf1.losses.mean_squared_error(labels, outputs) + 0.02 * {SQUARES}


def model_fn"""


def test_a_function_that_adds_the_penalty() -> None:
    early = "    if mode == tf.estimator.ModeKeys.PREDICT:\n"
    early += "        return tf.estimator.EstimatorSpec(mode, predictions={'found': outputs})\n"
    calling = f"{early}    loss = total(labels, outputs)\n"
    after = migrated((LOSS, calling), ("def model_fn", TOTAL)).after
    assert "add_penalty(model, weight, tf.keras.regularizers.L2(0.01))" in after
    assert "def total" not in after
    own = TOTAL.replace("0.02 * tf", "decay * tf")
    assert "the factor `decay`" in refusal((LOSS, calling), ("def model_fn", own))


def test_variables_of_which_summaries_are_written() -> None:
    loop = "    for v in tf1.trainable_variables():\n        tf1.summary.histogram(v.op.name, v)\n"
    assert "trainable" not in migrated((LOSS, LOSS + loop)).after


REGULARIZED = DENSE.replace("1)", "1, kernel_regularizer=tf.keras.regularizers.l2(0.1))")
SLIM = "    outputs = tf.contrib.layers.fully_connected(features, 1, None, weights_regularizer=decay)\n"


@pytest.mark.parametrize("layer", [REGULARIZED, "    decay = tf.contrib.layers.l2_regularizer(0.1)\n" + SLIM])
def test_a_regularizer_that_nothing_collects_is_left_out(layer: str) -> None:
    file = migrated((DENSE, layer))
    assert "outputs = tf.keras.layers.Dense(1)(features)" in file.after
    assert "regularizer" not in file.after
    said = [finding for finding in file.findings if "this regularizer is removed" in finding.message]
    assert [finding.code for finding in said] == ["TFM014"]


@pytest.mark.parametrize(
    "losses",
    [
        "tf1.losses.get_regularization_loss()",
        "tf.add_n(tf1.losses.get_regularization_losses())",
        "tf.add_n(tf1.get_collection(tf1.GraphKeys.REGULARIZATION_LOSSES))",
        "tf.reduce_sum(tf1.get_collection('regularization_losses'))",
    ],
)
@pytest.mark.parametrize("layer", [DENSE, REGULARIZED])
def test_collected_losses_of_regularizers_are_refused(layer: str, losses: str) -> None:
    message = refusal((DENSE, layer), (LOSS, f"{LOSS}    loss += {losses}\n"))
    assert message.startswith("TFM113")
    assert "half of the penalty on two" in message


def test_the_total_loss_is_refused() -> None:
    assert "half of the penalty" in refusal((LOSS, LOSS + "    loss = tf1.losses.get_total_loss()\n"))
