"""What other rules change in an expression is changed wherever a rule carries that expression to, or not claimed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.kit import check_unchanged, migrate
from tfmigrate import rules
from tfmigrate.result import FileResult

RULES = rules.all_rules()
PROGRAM = """\
import numpy as np
import keras
from keras.utils import multi_gpu_model


def train(x, y, share, flag):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(4,))])
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile("sgd", "mse")
"""


def trained(call: str) -> FileResult:
    """The program with a call in its function."""
    text = PROGRAM + "".join(f"    {line}\n" for line in call.splitlines())
    return migrate(text)


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        ("parallel.fit(x.astype(np.float), y, batch_size=32)", ["train_arrays = (x.astype(float), y)"]),
        ("parallel.fit(x, y.astype(np.int), shuffle=False)", ["from_tensor_slices((x, y.astype(int)))"]),
        ("parallel.fit(x, [y.astype(np.int)])", ["from_tensor_slices((x, (y.astype(int),)))"]),
        (
            "parallel.fit({np.str('a'): x.astype(np.int)}, y)",
            ["train_arrays = ({str('a'): x.astype(int)}, y)", "len(train_arrays[0][str('a')])"],
        ),
        ("parallel.fit(x, y, batch_size=np.int(share))", ["global_batch_size = int(share)"]),
        ("parallel.fit(x, y, validation_split=np.float(share))", ["split_at = int(len(x) * (1.0 - float(share)))"]),
        ("parallel.fit(x, y, sample_weight=x[:, 0].astype(np.float))", ["x[:, 0].astype(float))"]),
        (
            "parallel.fit(x, y, validation_data=(x.astype(np.float), y))",
            ["from_tensor_slices((x.astype(float), y))", "from_tensor_slices((x, y))"],
        ),
    ],
)
def test_what_a_pipeline_takes_from_the_call_is_edited(call: str, lines: list[str]) -> None:
    file = trained(call)
    assert "np." not in file.after
    assert all(line in file.after for line in lines), file.after
    assert "TFM229" in {finding.code for finding in file.findings if finding.action == "rewrite"}


def test_an_import_that_only_such_code_used_goes_only_where_it_is_used_no_more() -> None:
    assert "import numpy as np\n" in trained("parallel.fit(np.asarray(x), y)").after


def test_a_sum_as_the_fraction_keeps_its_meaning() -> None:
    assert "int(len(x) * (1.0 - (1 - share)))" in trained("parallel.fit(x, y, validation_split=1 - share)").after


@pytest.mark.parametrize(
    ("share", "call"),
    [
        ("share", "model.fit(train_dataset, validation_data=validation_dataset if share > 0 else None)"),
        ("args.share", "validation_data=validation_dataset if args.share > 0 else None)"),
        ("args['share']", "validation_data=validation_dataset if args['share'] > 0 else None)"),
        ("1 - share", "validation_data=validation_dataset if split_at < len(x) else None)"),
        ("share if flag else 0.1", "validation_data=validation_dataset if split_at < len(x) else None)"),
        ("np.float(share)", "validation_data=validation_dataset if split_at < len(x) else None)"),
        ("-0.1", "validation_data=validation_dataset if split_at < len(x) else None)"),
        ("0.1", "validation_data=validation_dataset)"),
        ("1 / 10", "validation_data=validation_dataset)"),
        ("1 - 0.9", "validation_data=validation_dataset)"),
        ("0.1 if flag else 0.2", "validation_data=validation_dataset)"),
        ("0.1 if flag else None", "model.fit(x, y, validation_split=0.1 if flag else None)"),
        ("0.0", "model.fit(train_dataset)"),
        ("None", "model.fit(train_dataset)"),
    ],
)
def test_rows_are_validated_on_only_where_some_are_held_out(share: str, call: str) -> None:
    assert call in trained(f"parallel.fit(x, y, validation_split={share})").after


@pytest.mark.parametrize(
    ("given", "always"),
    [
        ("train(x, y, 0.1, True)", True),
        ("SHARE = 0.1\ntrain(x, y, SHARE, True)", True),
        ("for share in (0.1, 0.2):\n    train(x, y, share, True)", True),
        ("SHARE = 0\ntrain(x, y, SHARE, True)", False),
        ("train(x, y, 0.1, True)\ntrain(x, y, 0, True)", False),
        ("train(x, y, float(input()), True)", False),
    ],
)
def test_what_callers_hold_out_decides(given: str, always: bool) -> None:
    after = migrate(f"{PROGRAM}    parallel.fit(x, y, validation_split=share)\n\n\n{given}\n").after
    assert ("validation_data=validation_dataset)" in after) == always
    assert (" if share > 0 else None" in after) != always


@pytest.mark.parametrize(
    ("option", "keeps"),
    [
        ('"--share", type=float', True),
        ('"--val-share", dest="share", type=float', True),
        ('"--share", type=float, default=0.1', False),
        ('"share", type=float, required=True', False),
        ('"--other", type=float', False),
    ],
)
def test_a_share_that_nobody_gave_keeps_the_arrays(option: str, keeps: bool) -> None:
    parser = f"import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument({option})\n"
    after = trained(f"{parser}args = parser.parse_args()\nparallel.fit(x, y, validation_split=args.share)").after
    assert ("model.fit(x, y, validation_split=args.share)" in after) == keeps
    assert ("validation_dataset if args.share > 0 else None" in after) != keeps


def test_an_expression_over_several_lines_is_bound_in_brackets() -> None:
    after = trained("parallel.fit(x, y, batch_size=8\n    * share)").after
    assert "    global_batch_size = (8\n        * share)\n" in after
    after = trained("parallel.fit(x, y, batch_size=max(8,\n    share))").after
    assert "    global_batch_size = max(8,\n        share)\n" in after


def test_a_comment_in_carried_code_is_written_once() -> None:
    after = trained('parallel.fit({\n    "a": x.astype(np.int),  # whole\n}, y)').after
    assert '"a": x.astype(int),  # whole\n' in after
    assert after.count("# whole") == 1


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("keras.layers.Convolution2D(8, np.int(3), np.int(3))", None),
        ("keras.layers.Conv2D(8, nb_row=3, nb_col=int(np.float(3)))", "kernel_size=(3, int(float(3)))"),
        ("keras.optimizers.SGD(lr=np.float(share), decay=np.float(1e-3))", "InverseTimeDecay(float(share), 1, float("),
        ("keras.optimizers.RMSprop(epsilon=np.float(share))", "epsilon=float(share) ** 2"),
    ],
)
def test_what_a_new_argument_is_made_of_is_edited(statement: str, line: str | None) -> None:
    file = trained(f"made = {statement}\nparallel.fit(x, y)")
    rewritten = {finding.code for finding in file.findings if finding.action == "rewrite"}
    assert ("np." in file.after) == ("TFM229" not in rewritten)
    assert line is None or line in file.after


def test_what_a_callback_is_given_is_edited() -> None:
    cls = (
        "class Kept(keras.callbacks.ModelCheckpoint):\n"
        "    def __init__(self, path, every):\n"
        "        super().__init__(path, period=np.int(every))\n"
        "    def on_epoch_end(self, epoch, logs=None):\n"
        "        self.epochs_since_last_save += 1\n"
        "        if self.epochs_since_last_save >= self.period:\n"
        "            print(epoch)\n"
    )
    file = trained(f"{cls}parallel.fit(x, y)")
    assert "self.period = int(every)\n" in file.after
    assert "np.int" not in file.after


def embedded() -> Iterator[object]:
    """The first calls in the rules' examples, each with the imports it needs."""
    for rule in RULES:
        for example in (one for one in rule.examples if one.language == "python" and one.kind == "rewrite"):
            tree = ast.parse(example.before)
            imports = [ast.unparse(one) for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
            wrap = "from keras.utils import multi_gpu_model"
            head = [*imports, *([] if any("multi_gpu_model" in line for line in imports) else [wrap]), "import keras"]
            calls = dict.fromkeys(ast.unparse(one) for one in ast.walk(tree) if isinstance(one, ast.Call))
            short = [one for one in calls if "multi_gpu_model" not in one and len(one) < 100]
            for number, call in enumerate(short[:3]):
                yield pytest.param("\n".join(head), call, id=f"{rule.path.name}:{example.line}-{number}")


def data_of(text: str) -> tuple[str, list[str]]:
    """A program once migrated, and each call of `data` in it."""
    file = migrate(text)
    calls = [one for one in ast.walk(ast.parse(file.after)) if isinstance(one, ast.Call)]
    return file.after, [ast.unparse(one) for one in calls if ast.unparse(one.func) == "data"]


@pytest.mark.parametrize(("imports", "call"), embedded())
def test_an_expression_becomes_the_same_in_a_pipeline_as_on_a_line_of_its_own(imports: str, call: str) -> None:
    function = PROGRAM.partition("\n\n\n")[2]
    _, apart = data_of(f"{imports}\n\n\n{function}    rows = data({call})\n    parallel.fit(rows, y)\n")
    after, carried = data_of(f"{imports}\n\n\n{function}    parallel.fit(data({call}), y)\n")
    assert carried == apart, after
    again = migrate(after)
    assert not [finding for finding in again.findings if finding.action == "rewrite"], after


NET = "keras.Sequential([keras.layers.Dense(1, input_shape=(4,))])"
WRAPS = {
    "number": f"parallel = multi_gpu_model({NET}, gpus={{0}})\nparallel.compile('sgd', 'mse')\n",
    "variable": f"count = {{0}} + 1\nparallel = multi_gpu_model({NET}, gpus=count)\nparallel.compile('sgd', 'mse')\n",
    "passed on": (
        "def several(model, count):\n    if count > {0}:\n        model = multi_gpu_model(model, gpus=count)\n"
        f"    return model\n\n\nparallel = several({NET}, {{1}} * 2)\nparallel.compile('sgd', 'mse')\n"
    ),
    "ids": f"parallel = multi_gpu_model({NET}, gpus=list(range({{0}})))\nparallel.compile('sgd', 'mse')\n",
    "guarded": (
        f"model = {NET}\nif flag > {{0}}:\n    parallel = multi_gpu_model(model, gpus=flag)\nelse:\n    print('one')\n"
        "    parallel = model\nparallel.compile('sgd', 'mse')\n"
    ),
    "otherwise": (
        f"model = {NET}\nif flag <= {{0}}:\n    parallel = model\nelse:\n    print('several')\n"
        "    parallel = multi_gpu_model(model, gpus=flag)\nparallel.compile('sgd', 'mse')\n"
    ),
    "tried": (
        f"model = {NET}\ntry:\n    parallel = multi_gpu_model(model, gpus={{0}})\nexcept ValueError:\n"
        "    parallel = model\nparallel.compile('sgd', 'mse')\n"
    ),
    "decay": (
        f"parallel = multi_gpu_model({NET}, gpus=2)\n"
        "parallel.compile(keras.optimizers.SGD(lr={0}, decay={1}), 'mse')\n"
        "parallel.fit(x, y, callbacks=[keras.callbacks.LearningRateScheduler(lambda e: 0.1)])\n"
    ),
}
ESTIMATED = """
import functools
import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as tf1
from mine import flag, labels, rows


def input_fn(size={0}):
    return tf.data.Dataset.from_tensor_slices((rows, labels)).batch(size)


def test_fn():
    return tf.data.Dataset.from_tensor_slices((rows, labels)).batch({1}).repeat({2})


def model_fn(features, labels, mode, params):
    outputs = tf1.layers.dense(features, {3}, kernel_initializer=tf1.constant_initializer({4}))
    if mode == tf.estimator.ModeKeys.PREDICT:
        clipped = tf.clip_by_value(outputs, {5}, 9)
        return tf.estimator.EstimatorSpec(mode, predictions={{"near": clipped, "up": tf.round(outputs) + {6}}})
    loss = tf1.losses.huber_loss(labels, outputs, delta={7})
    step = tf1.train.get_global_step()
    rate = tf1.train.exponential_decay({8}, step, {9}, 0.9)
    train_op = tf1.train.AdamOptimizer(rate, beta1={10}).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
estimator = tf.estimator.Estimator(model_fn, config=config, params={{"a": {11}}})
estimator.train(functools.partial(input_fn, size={12}), steps={13})
print(estimator.evaluate(lambda: input_fn({14}), steps={15}))
estimator.evaluate(test_fn)
predict_fn = tf1.estimator.inputs.numpy_input_fn(rows[: {16}], batch_size={17}, num_epochs=1, shuffle=False)
print(list(estimator.predict(predict_fn)))
"""
COUNTED = "tf.contrib.distribute.MirroredStrategy(num_gpus={18})"
HEAD = """\
import numpy as np
import keras
from keras.utils import multi_gpu_model
from mine import flag, x, y

"""
WHOLE = {
    **{name: HEAD + text for name, text in WRAPS.items()},
    "estimator": ESTIMATED,
    "contrib": ESTIMATED.replace("tf.distribute.MirroredStrategy()", COUNTED),
}
OLD = st.recursive(
    st.sampled_from(["np.int(flag)", "np.float(2)", "np.int(np.float(flag))", "int(np.str('8'))"]),
    lambda inner: st.builds("np.int({} + {})".format, inner, inner) | st.builds("max({}, 1)".format, inner),
    max_leaves=3,
)


def holds(program: str) -> FileResult:
    """Migrate: a rename is reported exactly where it is written, wherever the expression has gone."""
    file = migrate(program)
    reported = [one for one in file.findings if one.code == "TFM229" and one.action == "rewrite"]
    old = sum(program.count(f"np.{name}(") for name in ("int", "float", "str"))
    assert len(reported) in (0, old), file.after
    assert ("np." in file.after) == (not reported), file.after
    ast.parse(file.after)
    again = check_unchanged(file.after)
    assert not [finding for finding in again.findings if finding.action == "rewrite"]
    return file


@pytest.mark.parametrize("name", WHOLE)
def test_a_rename_is_written_wherever_an_expression_is_carried(name: str) -> None:
    plain = WHOLE[name].format(*[str(number + 4) for number in range(19)])
    file = migrate(plain)
    assert file.status == "migrated", [str(finding) for finding in file.findings]
    renamed = holds(WHOLE[name].format(*[f"np.int({number + 4})" for number in range(19)]))
    assert renamed.status == "migrated", [str(finding) for finding in renamed.findings]


def test_a_strategy_that_is_made_earlier_is_edited() -> None:
    program = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
strategy = tf.distribute.MirroredStrategy(["/gpu:0"] if 1 < np.Inf else None)
with strategy.scope():
    model.compile(loss="mse", optimizer="adam")
"""
    file = migrate(program.replace("np.Inf", "np.inf"))
    line = 'strategy = tf.distribute.MirroredStrategy(["/gpu:0"] if 1 < np.inf else None)\nwith strategy.scope():\n'
    assert line in file.after
    file = migrate(program)
    reported = [finding for finding in file.findings if finding.code == "TFM229" and finding.action == "rewrite"]
    assert (line in file.after) == bool(reported)


@hypothesis.given(st.sampled_from(sorted(WHOLE)), st.lists(OLD, min_size=19, max_size=19))
@hypothesis.settings(max_examples=40, deadline=None, derandomize=True, database=None)
def test_a_rename_is_reported_exactly_where_it_is_written(name: str, expressions: list[str]) -> None:
    holds(WHOLE[name].format(*expressions))
