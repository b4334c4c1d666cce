"""What a reviewer would have asked for: scopes no wider than needed, nothing twice, comments that are true."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.kit import SETTINGS, check_migrated, migrate
from tfmigrate.rewrite import migrate_sources

HEAD = """\
import tensorflow as tf
from tensorflow.keras.callbacks import Callback, ModelCheckpoint
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential, load_model
from tensorflow.keras.utils import multi_gpu_model


def build(width=1):
    return Sequential([Dense(width, input_shape=(4,))])


"""


def after(code: str) -> str:
    return check_migrated(HEAD + dedent(code).lstrip("\n")).after.removeprefix(
        HEAD.replace("from tensorflow.keras.utils import multi_gpu_model\n", "")
    )


GUARDED = """
def make(gpus, old, weights):
    {before}if old is not None:
        print("loading")
        model = load_model(old)
    else:
        print("making")
        model = build()
        if gpus > 1:
            model = multi_gpu_model(model, gpus)
        {compiled}
    {behind}model.fit(batches)
"""


def test_the_scope_stands_in_the_arm_that_wraps_where_nothing_else_needs_it() -> None:
    found = after(GUARDED.format(before="", compiled="model.compile('sgd', 'mse')", behind=""))
    assert '    if old is not None:\n        print("loading")\n        model = load_model(old)\n    else:\n' in found
    assert '        print("making")\n        strategy = (\n' in found
    assert "            if gpus > 1\n" in found


def test_the_scope_stands_round_both_arms_where_what_follows_needs_it() -> None:
    found = after(GUARDED.format(before="", compiled="pass", behind="model.compile('sgd', 'mse')\n    "))
    assert "    with strategy.scope():\n        if old is not None:\n" in found


def test_what_one_turn_of_a_loop_builds_for_the_next_stays_in_the_scope() -> None:
    code = """
    def make(gpus):
        for turn in range(2):
            if turn == 0:
                model = build()
            else:
                model = multi_gpu_model(model, 2)
        model.compile('sgd', 'mse')
    """
    found = migrate(HEAD + dedent(code), SETTINGS)
    assert found.status == "refused" or "with strategy.scope():" in found.after.split("model = build()")[0]


TWO_ARMS = """
class Save(Callback):
    def __init__(self, template):
        super().__init__()
        self.template = template


def train({parameters}):
    callback = ModelCheckpoint('best.h5')
    # Several GPUs
    if {test}:
        model = build({width})
        if weights:
            model.load_weights(weights)
        parallel = multi_gpu_model(model, 2)
        # save the template, not the parallel model
        callback = Save(model)
    else:
        parallel = build({width})
        if weights:
            parallel.load_weights(weights)
    parallel.compile('sgd', 'mse')
    parallel.fit(batches, callbacks=[callback])
"""


def test_what_both_arms_begin_with_stands_before_them_once() -> None:
    found = after(TWO_ARMS.format(parameters="gpus, weights", test="gpus >= 2", width=""))
    assert found.count("build()") == 1
    assert "        if gpus >= 2:\n            callback = Save(parallel)\n        parallel.compile" in found
    assert "else:" not in found.split("def train")[1].split("tf.distribute.get_strategy()")[1]
    assert "parallel model" not in found


@pytest.mark.parametrize(
    ("parameters", "test", "width"),
    [
        ("options, weights", "options.count() > 1", ""),
        ("options, weights", "options.gpus > 1", "options"),
        ("weights", "len(weights) > 1", ""),
        ("weights, parallel", "parallel", ""),
    ],
)
def test_a_test_that_might_say_something_else_later_stays_above(parameters: str, test: str, width: str) -> None:
    found = after(TWO_ARMS.format(parameters=parameters, test=test, width=width))
    assert found.count(f"build({width})") == 2


def test_an_attribute_that_nothing_sets_may_be_asked_later() -> None:
    assert (
        after(TWO_ARMS.format(parameters="options, weights", test="options.gpus > 1", width="options.width")).count(
            "build(options.width)"
        )
        == 1
    )


def test_lines_go_below_the_paragraphs_of_comments_that_are_not_of_the_statement() -> None:
    code = """
    x = 1
    # K.set_session(session)

    # The network
    model = build()
    parallel = multi_gpu_model(model, 2)
    parallel.compile('sgd', 'mse')
    """
    assert after(code).startswith("x = 1\n# K.set_session(session)\n\nstrategy = tf.distribute")


def test_comments_in_what_goes_and_of_the_parallel_model_go_and_what_is_printed_is_true() -> None:
    code = """
    config = tf.compat.v1.ConfigProto(
        allow_soft_placement=True,
        # device_count={'GPU': 1}
    )
    config.gpu_options.allow_growth = True
    tf.compat.v1.keras.backend.set_session(tf.compat.v1.Session(config=config))
    model = build()
    parallel = multi_gpu_model(model, 2)
    print('trains by multi_gpu_model')
    # Compile the parallel model.
    parallel.compile('sgd', 'mse')
    """
    found = after(code)
    assert "#" not in found
    assert "print('trains by MirroredStrategy')" in found


def test_numbers_of_classes_are_no_part_of_the_model() -> None:
    code = """
    from elsewhere import body


    def make(names, gpus):
        count = len(names)
        size = int(gpus)
        try:
            model = load_model('a.h5')
        except OSError:
            model = body(tf.keras.Input((4,)), count, size)
        return multi_gpu_model(model, 2).predict(names)
    """
    assert "    count = len(names)\n    size = int(gpus)\n    strategy = " in after(code)


def test_settings_of_a_file_with_two_indentations() -> None:
    code = """
    def make(gpus_of_this_machine, x, y):
            model = build()
            if gpus_of_this_machine > 1:
              model = multi_gpu_model(model, gpus_of_this_machine)
            model.compile('sgd', 'mse')
            model.fit(x, y)
    """
    text = HEAD.replace("    return", "  return") + dedent(code)
    found = migrate_sources({"train.py": text}, SETTINGS)[0].after
    assert "        strategy = (\n                tf.distribute" in found


def test_an_argument_with_another_name_keeps_the_column_of_its_sign() -> None:
    code = """
    model = build()
    parallel = multi_gpu_model(model, 2)
    parallel.compile('sgd', 'mse')
    parallel.fit(batches, callbacks=[tf.keras.callbacks.ReduceLROnPlateau(
        monitor  = 'loss',
        epsilon  = 0.01,
        patience = 2,
    )])
    """
    assert "    monitor  = 'loss',\n    min_delta = 0.01,\n    patience = 2," in after(code)


def test_a_cast_is_a_cast_and_a_shape_is_no_list_of_a_list() -> None:
    code = """
    x = tf.keras.Input((4,))
    shape = tuple(x.get_shape().as_list())
    y = tf.keras.layers.Lambda(lambda a: tf.to_float(a > 0))(x)
    as_float = tf.to_float
    parallel = multi_gpu_model(tf.keras.Model(x, y), 2)
    parallel.predict(shape)
    """
    found = after(code)
    assert "shape = tuple(x.shape)\n" in found
    assert "tf.cast(a > 0, tf.float32)" in found
    assert "as_float = tf.compat.v1.to_float\n" in found


def test_ids_of_gpus_that_are_written_out_are_listed() -> None:
    assert 'devices=["/gpu:0", "/gpu:2"]' in after(
        """
        model = build()
        parallel = multi_gpu_model(model, [0, 2])
        parallel.predict("x")
        """
    )


PATTERNS = """
import glob
import re
checkpoint = ModelCheckpoint('logs/m.{epoch:02d}-{val_loss:.4f}.hdf5')
model = build()
parallel = multi_gpu_model(model, 2)
parallel.compile('sgd', 'mean_squared_error')
parallel.fit(batches, callbacks=[checkpoint])
model.save('logs/m.%02d-%.4f.hdf5' % (1, 2))
newest = sorted(glob.glob('logs/*.hdf5'))[-1]
best = re.compile(r'm.(?P<epoch>[0-9]+)-(?P<loss>.*).hdf5')
"""


def test_what_finds_a_checkpoint_by_a_pattern_finds_it_under_its_new_name() -> None:
    found = after(PATTERNS)
    assert ".hdf5" not in found
    assert found.count(".h5'") == 4


@pytest.mark.parametrize("name", ["'other/data.hdf5'", "'n.*.hdf5'", "r'data[0-9]+.hdf5'", "'m.hdf5'"])
def test_a_pattern_of_other_files_stays(name: str) -> None:
    assert f"newest = open({name})" in after(PATTERNS.replace("sorted(glob.glob('logs/*.hdf5'))[-1]", f"open({name})"))


def test_what_both_arms_of_an_outer_test_ask_for_is_asked_once() -> None:
    found = after(
        """
        def train(gpus, folds):
            if folds:
                for fold in folds:
                    model = build(fold)
                    if gpus > 1:
                        model = multi_gpu_model(model, gpus)
                    model.compile('sgd', 'mse')
                    model.fit(batches)
            else:
                model = build()
                if gpus > 1:
                    model = multi_gpu_model(model, gpus)
                model.compile('sgd', 'mse')
                model.fit(batches)
        """
    )
    assert "        if gpus > 1\n        else tf.distribute.get_strategy()\n" in found


def test_an_f_string_speaks_of_the_strategy() -> None:
    found = after(
        """
        def train(gpus):
            model = multi_gpu_model(build(), gpus)
            print(f"multi_gpu_model on {gpus + 1:d} GPUs")
            model.compile('sgd', 'mse')
            model.fit(batches)
        """
    )
    assert 'print(f"MirroredStrategy on {gpus + 1:d} GPUs")' in found


def test_what_both_arms_end_with_stands_below_them() -> None:
    found = after(
        """
        def train(gpus):
            if gpus <= 1:
                print("one")
                model = build(3)
            else:
                print("several")

                # kept on the CPU
                with tf.device("/cpu:0"):
                    # Make it.
                    model = build(3)
                # on all devices
                model = multi_gpu_model(model, gpus)
            model.compile('sgd', 'mse')
            model.fit(batches)
        """
    )
    assert (
        '    if gpus <= 1:\n        print("one")\n    else:\n        print("several")\n\n'
        "    # Make it.\n    with strategy.scope():\n        model = build(3)\n        model.compile("
    ) in found


def test_what_both_arms_ended_with_before_stays_in_both() -> None:
    found = after(
        """
        def train(gpus):
            model = build(3)
            if gpus > 1:
                parallel = multi_gpu_model(model, gpus)
                parallel.compile('sgd', 'mse')
                parallel.fit(batches)
                model.summary()
            else:
                print("give more")
                model.summary()
        """
    )
    assert '        model.fit(batches)\n        model.summary()\n    else:\n        print("give more")\n' in found
    assert found.count("        model.summary()\n") == 2


@pytest.mark.parametrize(
    "said",
    ["print(build(3).name)", "print(gpus); build(3)", "log(build)", "layers = build(3)", "print(model := build(3))"],
)
def test_what_may_build_a_model_stays_in_the_scope(said: str) -> None:
    found = after(
        f"""
        def train(gpus):
            if gpus <= 1:
                {said}
                model = build(3)
            else:
                print("several")
                model = build(3)
                model = multi_gpu_model(model, gpus)
            model.compile('sgd', 'mse')
            model.fit(batches)
        """
    )
    assert "    with strategy.scope():\n        if gpus <= 1:\n" in found


def test_imports_of_the_other_arm_of_a_test_for_tensorflow_2_stay() -> None:
    arms = """
if tf.__version__[0] == "2":
    from tensorflow.keras.layers import Lambda
else:
    from keras.layers import Lambda
"""
    head = HEAD.replace("\n\n\ndef build", f"\n{arms}\n\ndef build", 1)
    code = head + "model = multi_gpu_model(build(), 2)\nmodel.compile('sgd', 'mse')\nmodel.fit(batches)\n"
    assert arms in check_migrated(code).after


@pytest.mark.parametrize(
    ("first", "second", "condition"),
    [
        (
            "args.task == 'train'",
            "args.task == 'tune'",
            "(args.task == 'train' or args.task == 'tune') and args.gpus > 1",
        ),
        (
            "args.task == 'train'",
            "args.slow",
            "(args.task == 'train' or (args.task != 'train' and args.slow)) and args.gpus > 1",
        ),
        ("args.task == args.first", "args.task == 'tune'", None),
    ],
)
def test_what_every_way_asks_for_is_asked_once(first: str, second: str, condition: str | None) -> None:
    code = f"""\
from argparse import ArgumentParser

parser = ArgumentParser()
args = parser.parse_args()


def train(model):
    if args.gpus > 1:
        model = multi_gpu_model(model, args.gpus)
    model.compile("sgd", "mse")


if {first}:
    model = build()
    train(model)
elif {second}:
    model = build(2)
    train(model)
"""
    written = check_migrated(HEAD + code).after
    assert "!= 'tune'" not in written
    assert ("args.task != args.first" in written) is (condition is None)
    if condition is not None:
        assert f"if {condition}" in written


def test_blank_lines_of_a_block_that_keeps_its_column_stay_as_they_are() -> None:
    code = """\
def make():
    with tf.device("/cpu:0"):
        model = Sequential()
        model.add(Dense(8, input_shape=(4,)))
        {blank}
        model.add(Dense(1))
    parallel_model = multi_gpu_model(model, gpus=2)
    parallel_model.compile("sgd", "mse")
    return parallel_model
"""
    for blank in ("", "# out"):
        written = check_migrated(HEAD + code.format(blank=blank)).after
        assert f"input_shape=(4,)))\n        {blank}\n        model.add" in written


def test_of_two_arms_that_become_one_the_comments_of_one_stay() -> None:
    found = after(
        """
        def train(gpus):
            # Make it.
            if gpus > 1:
                # the template stays on the CPU
                model = build(3)
                # on all of them
                parallel = multi_gpu_model(model, gpus)
                # plain descent
                parallel.compile('sgd', 'mse')
            else:
                # a single GPU is enough
                parallel = build(3)
                # the same here
                parallel.compile('sgd', 'mse')
            parallel.fit(batches)
        """
    )
    assert "    # Make it.\n    with strategy.scope():\n        parallel = build(3)\n" in found
    assert "        # plain descent\n        parallel.compile('sgd', 'mse')\n" in found
    assert not [words for words in ("CPU", "single", "the same") if words in found]


def test_what_moves_to_the_strategy_is_not_said_twice() -> None:
    found = after(
        """
        def train(gpus):
            if gpus == 1:
                model = build(3)
            else:
                base = build(3)
                # spread over all GPUs
                model = multi_gpu_model(base, gpus)
            model.compile('sgd', 'mse')
            model.fit(batches)
        """
    )
    assert found.count("# spread over all GPUs") == 1
    assert "    # spread over all GPUs\n    strategy = (\n" in found


CASES = """
def train(gpus):
    model = build(3)
    if gpus > 1:
        {first}
        parallel = multi_gpu_model(model, gpus)
    elif {test}:
        parallel = model
    else:
        parallel = model
    parallel.compile('sgd', 'mse')
    parallel.fit(batches)
"""


def test_arms_with_nothing_left_go() -> None:
    found = after(CASES.format(first="print(1)", test="gpus == 1"))
    assert "    if gpus > 1:\n        print(1)\n    with strategy.scope():\n" in found
    assert "elif" not in found
    assert "if gpus" not in after(CASES.format(first="pass", test="gpus == 1")).replace("if gpus > 1\n", "")


def test_arms_below_a_test_that_does_something_stay() -> None:
    found = after(CASES.format(first="print(1)", test="ask()"))
    assert "    elif ask():\n        pass\n" in found
