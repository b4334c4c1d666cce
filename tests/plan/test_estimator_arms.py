"""Model functions that build the model in an arm for each mode, and that ask whether their features are a dict."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

LOSS = "tf1.losses.mean_squared_error(labels, outputs)"
TRAIN_OP = "tf1.train.AdamOptimizer().minimize(loss, global_step=tf1.train.get_global_step())"
NETWORK = """    outputs = tf1.layers.dense(features, 1)
    loss = tf1.losses.mean_squared_error(labels, outputs)
    train_op = tf1.train.AdamOptimizer().minimize(loss, global_step=tf1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
"""
MODEL = """def build():
    layers = [tf.keras.layers.Dense(4), tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)]
    return tf.keras.Sequential(layers)


"""


def in_arms(train: str, evaluate: str, predict: str = "", above: str = "") -> list[tuple[str, str]]:
    """Changes that build the network in arms; each is the lines that bind `outputs`."""
    code = above
    if predict:
        code += f"    if mode == tf.estimator.ModeKeys.PREDICT:\n{predict}"
        code += "        return tf.estimator.EstimatorSpec(mode, predictions={'found': outputs})\n"
    code += (
        f"    if mode == tf.estimator.ModeKeys.TRAIN:\n{train}        loss = {LOSS}\n        train_op = {TRAIN_OP}\n"
    )
    code += "        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)\n"
    code += f"    if mode == tf.estimator.ModeKeys.EVAL:\n{evaluate}        loss = {LOSS}\n"
    code += "        return tf.estimator.EstimatorSpec(mode, loss=loss)\n"
    return [(NETWORK, code), ("def model_fn", MODEL + "def model_fn")]


def line(value: str) -> str:
    return f"        outputs = {value}\n"


@pytest.mark.parametrize("predict", ["", line("model(features, training=False)")])
def test_arms_that_call_one_model_are_one_call(predict: str) -> None:
    arms = in_arms(
        line("model(features, training=True)"),
        line("model(features, training=False)"),
        predict,
        "    model = build()\n",
    )
    after = migrated(*arms).after
    assert "    model = build()\n    outputs = model(features)\n" in after
    assert after.count("model(features)") == 1
    assert "training" not in after


def test_arms_that_build_the_same_layers_are_built_once() -> None:
    train = "        net = tf1.layers.dense(features, 4, name='fc')\n" + line(
        "tf1.layers.dropout(net, 0.5, training=True)"
    )
    same = train.replace("=True", "=False")
    after = migrated(*in_arms(train, same, same)).after
    assert after.count("Dense(4, name='fc')(features)") == 1
    assert after.count("Dropout(0.5)(net)") == 1


def test_a_function_that_is_told_in_each_arm_is_called_once() -> None:
    function = "def net(x, is_training):\n    x = tf1.layers.dense(x, 1, name='fc')\n"
    function += "    return tf1.layers.dropout(x, 0.5, training=is_training)\n\n\n"
    arms = in_arms(line("net(features, is_training=True)"), line("net(features, is_training=False)"))
    after = migrated(*arms, ("def model_fn", function + "def model_fn")).after
    assert "def net(x):\n    x = tf.keras.layers.Dense(1, name='fc')(x)\n" in after
    assert "    outputs = net(features)\n" in after


@pytest.mark.parametrize(
    ("train", "evaluate"),
    [
        (line("tf1.layers.dense(features, 1)"), line("tf1.layers.dense(features, 1, use_bias=False)")),
        (line("tf1.layers.dense(features, 1)") + "        outputs += 1.0\n", line("tf1.layers.dense(features, 1)")),
        (line("tf1.layers.dense(features, 1)"), line("tf1.layers.dense(features, 1)") + "        outputs += 1.0\n"),
        ("        wide = 1\n" + line("tf1.layers.dense(features, wide)"),
         "        wide = 2\n" + line("tf1.layers.dense(features, wide)")),
        ("        net = tf1.layers.dense(features, 1)\n" + line("tf1.layers.dense(net, 1)"),
         line("tf1.layers.dense(features, 1)")),
    ],
)  # fmt: skip
def test_arms_that_build_other_things_are_refused(train: str, evaluate: str) -> None:
    assert refusal(*in_arms(train, evaluate)).endswith("this part of the model is built in one mode only")


def test_a_sum_in_one_mode_is_refused() -> None:
    arm = "    if mode == tf.estimator.ModeKeys.TRAIN:\n        outputs += 1.0\n    loss"
    assert "built in one mode only" in refusal(("    loss = tf1", f"{arm} = tf1"))


@pytest.mark.parametrize(
    ("train", "evaluate"),
    [("model(features, training=False)", "model(features, training=False)"),
     ("model(features, training=True)", "model(features, training=True)")],
)  # fmt: skip
def test_what_is_told_another_mode_is_refused(train: str, evaluate: str) -> None:
    assert refusal(*in_arms(line(train), line(evaluate), above="    model = build()\n")).startswith("TFM112")


DICT = "    {0} = features\n    if isinstance({0}, dict):\n        {0} = features['x']\n    outputs"


@pytest.mark.parametrize("name", ["features", "images"])
def test_features_that_may_be_a_dict_are_inputs_in_both_forms(name: str) -> None:
    lines = DICT.format(name) if name != "features" else DICT.format(name).replace("    features = features\n", "")
    after = migrated(("    outputs", lines), ("dense(features", f"dense({name}")).after
    spec = "tf.nest.map_structure(lambda spec: tf.keras.Input(spec.shape[1:], dtype=spec.dtype), features)"
    assert f" = {spec}\n" in after
    assert f"isinstance({name}, dict):\n        {name} = features['x']\n" in after


@pytest.mark.parametrize("kind", ["(dict, list)", "tf.Tensor", "Mapping"])
def test_other_questions_after_the_features_are_refused(kind: str) -> None:
    lines = DICT.format("images").replace(" dict)", f" {kind})")
    assert "isinstance" in refusal(("    outputs", lines))


REPEATED = ".batch(8 * strategy.num_replicas_in_sync, drop_remainder=True)\n"


@pytest.mark.parametrize(
    ("lines", "written"),
    [
        ("    data = {0}.batch(8)\n    return data.repeat(3)\n",
         f"    data = {{0}}.repeat(3){REPEATED}    return data\n"),
        ("    data = {0}.batch(8)\n    data = data.repeat(3)\n    return data\n",
         f"    data = {{0}}.repeat(3){REPEATED}    return data\n"),
        ("    data = {0}.batch(8)\n    data = data.prefetch(1)\n    other = 2\n    return data.repeat(3)\n",
         f"    data = {{0}}.repeat(3){REPEATED}    data = data.prefetch(1)\n    other = 2\n    return data\n"),
    ],
)  # fmt: skip
def test_a_repeat_in_the_next_statement_goes_before_the_batch(lines: str, written: str) -> None:
    slices = "tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]]))"
    after = migrated((f"    return {slices}.batch(8)\n", lines.format(slices))).after
    assert written.format(slices) in after


@pytest.mark.parametrize(
    "lines",
    [
        "    data = {}.batch(8)\n    if more:\n        data = data.repeat(3)\n    return data\n",
        "    data = {}.batch(8)\n    times = 3\n    return data.repeat(times)\n",
        "    data = {}.batch(8)\n    other = data.repeat(3)\n    return other\n",
        "    data = {}.batch(8)\n    use(data)\n    return data.repeat(3)\n",
        "    data = {}.batch(8)\n    data = data.cache()\n    return data.repeat(3)\n",
        "    data = {}.batch(8)\n    data = data.repeat(3)\n    return data.shuffle(9)\n",
    ],
)
def test_a_repeat_further_down_is_refused(lines: str) -> None:
    slices = "tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]]))"
    assert "works on each replica's batches" in refusal((f"    return {slices}.batch(8)\n", lines.format(slices)))


BELOW = "    config = tf.estimator.RunConfig(train_distribute=strategy)\n    estimator = "
INSIDE = """def main(size):
    strategy = tf.distribute.MirroredStrategy()
    config = tf.estimator.RunConfig(train_distribute=strategy)
    estimator = tf.estimator.Estimator(model_fn, config=config{0})

    def input_fn():
        return tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]])).repeat().batch(8)

{1}    estimator.train(input_fn, steps=10)


main(8)
"""


def with_input_below(params: str = "", between: str = "") -> list[tuple[str, str]]:
    """Changes that define the input function after the Estimator."""
    old = """strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
estimator = tf.estimator.Estimator(model_fn, config=config)
estimator.train(input_fn, steps=10)
"""
    parameters = (
        [("labels, mode", "labels, mode, params"), ("(features, 1)", "(features, params['n'])")] if params else []
    )
    return [(old, INSIDE.format(params, between)), *parameters]


@pytest.mark.parametrize(("params", "given"), [("", ""), (", params={'n': size}", ", {'n': size}")])
def test_the_model_is_made_where_its_data_is_known(params: str, given: str) -> None:
    after = migrated(*with_input_below(params)).after
    assert f"        model = model_fn(input_fn().element_spec[0]{given})\n    model.fit" in after
    assert "    with strategy.scope():\n        model = " in after
    assert "config" not in after


@pytest.mark.parametrize(
    ("params", "between"),
    [
        ("", "    keep(estimator)\n"),
        (", params={'n': size}", "    size = 3\n"),
        (", params={'n': size}", "    size.append(3)\n"),
        ("", "    strategy = None\n"),
    ],
)
def test_what_may_be_another_thing_further_down_is_refused(params: str, between: str) -> None:
    file = migrated(*with_input_below(params, between))
    assert file.after == file.before


IS_TRAIN = ("    outputs", "    is_train = mode == tf.estimator.ModeKeys.TRAIN\n    outputs")
HOOK = "[tf1.train.LoggingTensorHook({'l': loss}, 10)]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loss=loss, train_op=train_op", "loss=loss, train_op=train_op if is_train else None"),
        (
            "loss=loss, train_op=train_op",
            "loss=loss if mode != 'infer' else None, train_op=train_op if mode == 'train' else None",
        ),
        ("train_op=train_op", f"train_op=train_op, training_hooks={HOOK} if is_train else None"),
        (f"train_op = {TRAIN_OP}", f"train_op = {TRAIN_OP} if is_train else None"),
    ],
)
def test_what_a_condition_gives_to_one_mode(old: str, new: str) -> None:
    after = migrated(IS_TRAIN, (old, new)).after
    assert "    return model\n" in after
    assert "is_train" not in after


@pytest.mark.parametrize("value", ["1 if is_train else 2", "2 if not is_train else None"])
def test_a_setting_that_depends_on_the_mode_is_refused(value: str) -> None:
    assert "depends on the data or the mode" in refusal(IS_TRAIN, ("(features, 1)", f"(features, {value})"))
