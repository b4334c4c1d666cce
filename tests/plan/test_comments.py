"""Comments go with the code that they are about, and no others do."""

from __future__ import annotations

import re

import pytest

from tests.kit import check_migrated
from tfmigrate import guard
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

PROGRAM = """\
# Copyright of nobody, under no licence.
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Model, Sequential
{imports}

{above}


# Sizes
G = 2
batch = 8

# The network
{built}
# Plain descent does.
parallel.compile("sgd", "mse")
x = np.zeros((64, 4))
parallel.fit(x, x, batch_size=batch)  # once is enough
"""
IMPORTS = "from tensorflow.keras.utils import multi_gpu_model"
BUILT = "model = Sequential([Dense(4, input_shape=(4,))])\nparallel = multi_gpu_model(model, gpus=G)"
KEPT = ["# Copyright of nobody, under no licence.", "# Sizes"]
KEPT += ["# The network", "# Plain descent does.", "# once is enough"]


def comments(above: str = "", built: str = BUILT, imports: str = IMPORTS) -> list[str]:
    """The comments of the migrated program, without those that are in every one of them."""
    code = PROGRAM.format(above=above, built=built, imports=imports)
    file = check_migrated(code)
    found = re.findall("#[^\n]*", file.after)
    assert [one for one in found if one in KEPT] == KEPT
    return [one for one in found if one not in KEPT]


WRAPPER = """\
class ParallelModel(Model):  # noqa: D101
    # Attributes of the template are reached through it.
    def __init__(self, ser_model, gpus):
        pmodel = multi_gpu_model(ser_model, gpus)
        self.__dict__.update(pmodel.__dict__)  # takes over the model
        self._smodel = ser_model

    def __getattribute__(self, attrname):
        # Weights are the template's.
        if "load" in attrname or "save" in attrname:
            return getattr(self._smodel, attrname)
        return super(ParallelModel, self).__getattribute__(attrname)
"""
WRAPPED = "model = Sequential([Dense(4, input_shape=(4,))])\nparallel = ParallelModel(model, G)"


def test_a_module_of_nothing_else_is_empty_then() -> None:
    """One that is imported has to stay."""
    wrapper = f"{IMPORTS}\nfrom tensorflow.keras.models import Model\n\n\n# Saves through the template.\n{WRAPPER}\n"
    program = PROGRAM.format(imports="from wrapper import ParallelModel", above="", built=WRAPPED)
    train, module = migrate_sources({"train.py": program, "wrapper.py": wrapper}, Settings())
    assert train.status == module.status == "migrated"
    assert module.after == ""


def test_the_comments_of_a_class_go_with_it() -> None:
    assert comments("# Saves through the template,\n# unlike Keras.\n" + WRAPPER, WRAPPED) == []


@pytest.mark.parametrize(
    "heading",
    [
        "# Helpers\n\n",
        "# ---- Wrappers ----\n",
        "#### Wrappers\n",
        "# %% wrappers\n",
        "# TODO: read the number of GPUs from a file\n",
        "# pylint: disable=invalid-name\n",
        "# fmt: off\n",
        "# def build(size): return Dense(size)\n",
        "# Under the licence of nobody.\n",
    ],
)
def test_what_may_hold_for_more_than_a_class_stays_without_it(heading: str) -> None:
    assert comments(heading + WRAPPER, WRAPPED) == [heading.strip()]


@pytest.mark.parametrize(
    "comment",
    [
        "# The template lives on the CPU.",
        "# Model is on cpu",
        "# A device of its own for the weights,\n# or the GPUs fetch them from each other.",
        "# The weights lie on the CPU.\n# Otherwise a GPU holds them, which would\n# slow the others down.",
    ],
)
@pytest.mark.parametrize("where", ["above", "behind", "inside"])
def test_a_claim_about_the_device_goes_with_its_block(comment: str, where: str) -> None:
    if where == "behind" and "\n" in comment:
        comment = comment.partition("\n")[0]
    above, behind, inside = (comment if where == here else "" for here in ("above", "behind", "inside"))
    built = f"""
{above}
with tf.device('/cpu:0'):  {behind}
    {inside.replace(chr(10), chr(10) + "    ")}
    model = Sequential([Dense(4, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=G)"""
    assert comments(built=built) == []


@pytest.mark.parametrize(
    "block",
    [
        "# Two layers are enough.\nwith tf.device('/cpu:0'):\n    model = Sequential([Dense(4, input_shape=(4,))])",
        "# The CPU does this.\n\nwith tf.device('/cpu:0'):\n    model = Sequential([Dense(4, input_shape=(4,))])",
        "with tf.device('/cpu:0'):\n    # Two layers\n    model = Sequential([Dense(4, input_shape=(4,))])  # linear",
    ],
)
def test_what_a_device_block_holds_keeps_its_comments(block: str) -> None:
    expected = re.findall("#[^\n]*", block)
    assert comments(built=f"{block}\nparallel = multi_gpu_model(model, gpus=G)") == expected


def test_a_claim_behind_a_statement_of_a_device_block_goes() -> None:
    block = "with tf.device('/cpu:0'):\n    model = Sequential([Dense(4, input_shape=(4,))])  # load it on the CPU"
    assert comments(built=f"{block}\nparallel = multi_gpu_model(model, gpus=G)") == []


def test_a_comment_in_a_paragraph_of_its_own_stays_where_it_is() -> None:
    block = "model = Sequential([Dense(4, input_shape=(4,))])\n# model.load_weights(path)\n\n# On both GPUs\n"
    built = f"{block}parallel = multi_gpu_model(model, gpus=G)"
    file = check_migrated(PROGRAM.format(imports=IMPORTS, above="", built=built))
    above, below = file.after.split("with strategy.scope():")
    assert "# On both GPUs" in above
    assert "# model.load_weights(path)" in below


def test_comments_of_a_choice_and_of_what_it_holds_keep_their_order() -> None:
    built = "model = Sequential([Dense(4, input_shape=(4,))])\n# Parallelize\nif G > 1:\n    # on several GPUs\n    "
    built += "model = multi_gpu_model(model, gpus=G)\nparallel = model"
    file = check_migrated(PROGRAM.format(imports=IMPORTS, above="", built=built))
    assert "# Parallelize\n# on several GPUs\nstrategy = " in file.after


@pytest.mark.parametrize(
    ("comment", "stays"), [("# Make a session", False), ("# Take memory as needed", True), ("# sess = None", True)]
)
def test_what_is_said_of_a_session_goes_with_it(comment: str, stays: bool) -> None:
    lines = "c = tf.ConfigProto()\nc.gpu_options.allow_growth = True\n"
    above = f"{lines}{comment}\ntf.keras.backend.set_session(tf.Session(config=c))"
    assert comments(above) == ([comment] if stays else [])


def test_a_device_block_that_stays_keeps_its_comment() -> None:
    above = "# Sums are made on the CPU.\nwith tf.device('/cpu:0'):\n    total = tf.zeros(())\nprint(total)"
    assert comments(above) == ["# Sums are made on the CPU."]


@pytest.mark.parametrize(
    ("comment", "stays"),
    [
        ("# multi_gpu_model is used here", False),
        ("# All GPUs share the work. multi_gpu_model splits each batch.", False),
        ("# All GPUs share the work.", True),
        ("# All GPUs share the work.\n# multi_gpu_model splits each batch.", True),
        ("# Make it a multi-GPU model", False),
        ("# The parallel model trains.", False),
        ("# The parallel model trains.\n# It is the one to save.", False),
    ],
)
def test_a_comment_that_names_the_old_function_goes_with_its_call(comment: str, stays: bool) -> None:
    built = BUILT.replace("parallel =", f"{comment}\nparallel =")
    assert comments(built=built) == (["# All GPUs share the work."] if stays else [])


def test_a_comment_behind_an_import_goes_with_it_and_one_above_it_stays() -> None:
    assert comments(imports=f"# What Keras has\n{IMPORTS}  # noqa: E501") == ["# What Keras has"]


@pytest.mark.parametrize(
    ("imports", "staying"),
    [
        ("\n# for data parallelism in keras models\n{}\n\nimport json\nprint(json)", []),
        ("\n# For multiple GPUs.\n{}\n\nimport json\nprint(json)", []),
        ("# multi-GPU\n{}", []),
        ("\n# For multiple GPUs. Or one.\n# Or none.\n{}\n\nprint(1)", ["# Or none."]),
        ("\n# For multiple GPUs\n{}\nimport json\nprint(json)", ["# For multiple GPUs"]),
        ("\n# For multiple GPUs\n{}, Sequence\n\nprint(Sequence)", ["# For multiple GPUs"]),
        ("\n# What Keras has\n{}\n\nprint(1)", ["# What Keras has"]),
        ("\n# For multiple GPUs\n\n{}\n\nprint(1)", ["# For multiple GPUs"]),
        ("\n# For multiple GPUs\nimport json\n\nprint(1)\n{}", ["# For multiple GPUs"]),
    ],
)
def test_a_comment_of_the_import_goes_with_it_where_it_speaks_of_gpus(imports: str, staying: list[str]) -> None:
    assert comments(imports=imports.format(IMPORTS)) == staying


CHOICE = """\
def build(gpus=2):
    model = Sequential([Dense(4, input_shape=(4,))])
    single = model
    {above}
    if gpus > 1:
        {inside}
        model = multi_gpu_model(model, gpus=gpus)
        {more}

    # save
    single.save("x.h5")
    return model


parallel = build()"""


@pytest.mark.parametrize(
    ("above", "inside", "more", "staying"),
    [
        ("", "# multi GPU, see http://example.com", "", []),
        ("# several models", "# parallel", "", ["# several models"]),
        ("# On multiple GPUs", "", "", ["# On multiple GPUs"]),  # above the strategy
        ("", "# the usual way", "", ["# the usual way"]),
        ("", "# parallel", "print(gpus)", []),
    ],
)
def test_comments_of_a_choice_that_goes_whole(above: str, inside: str, more: str, staying: list[str]) -> None:
    built = CHOICE.format(above=above, inside=inside, more=more)
    found = [one for one in comments(built=built) if one != "# save"]
    if more:
        assert set(found) <= {inside}
    else:
        assert found == staying


@pytest.mark.parametrize("stays", ["# one", "# two", "# three"])
def test_the_guard_accepts_what_an_edit_names_and_nothing_else(stays: str) -> None:
    before = "x = 1  # one\n# two\ny = 2  # one\n# three\n"
    gone = before.replace(stays, "", 1)
    assert guard.objection(before, before, gone, (stays,)) is None
    assert "would be lost" in str(guard.objection(before, before, gone))
    assert "would be lost" in str(guard.objection(before, before, gone, ("# four",)))
    assert "would be lost" in str(guard.objection(before, before, "x = 1\ny = 2\n", (stays,)))


@pytest.mark.parametrize(("comment", "stays"), [("# Wrap in a parallel model", False), ("# Many GPUs or one", True)])
def test_a_comment_above_a_choice_that_goes_goes_if_it_speaks_of_the_parallel_model(comment: str, stays: bool) -> None:
    built = f"""
{comment}
if G > 1:
    with tf.device('/cpu:0'):
        model = Sequential([Dense(4, input_shape=(4,))])
    parallel = multi_gpu_model(model, gpus=G)
else:
    model = Sequential([Dense(4, input_shape=(4,))])
    parallel = model
"""
    assert comments(built=built) == ([comment] if stays else [])


def test_a_comment_that_says_nothing_of_gpus_stays_above_what_follows_the_wrap() -> None:
    built = "model = Sequential([Dense(4, input_shape=(4,))])\n\n# Train it.\nparallel = multi_gpu_model(model, gpus=G)"
    code = PROGRAM.format(above="", built=built, imports=IMPORTS)
    found = check_migrated(code).after
    assert (
        "    model = Sequential([Dense(4, input_shape=(4,))])\n\n    # Train it.\n    # Plain descent does.\n" in found
    )
    found = check_migrated(code.replace("Train it.", "On two cards.")).after
    assert "# On two cards.\nstrategy = tf.distribute.MirroredStrategy(" in found


@pytest.mark.parametrize("between", ["", "print(model)\n", "model.summary()\n\n"])
def test_a_comment_behind_the_wrap_goes_with_it(between: str) -> None:
    model = "model = Sequential([Dense(4, input_shape=(4,))])"
    assert comments(built=f"{model}\n{between}parallel = multi_gpu_model(model, gpus=G)  # two cards") == []
    assert comments(built=f"{model}\n{between}parallel = multi_gpu_model(model, gpus=G)  # x = f(2)") == ["# x = f(2)"]


CALL = """\
from tensorflow.keras.callbacks import TensorBoard
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(4, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
{call}
parallel.fit(batches)
"""


@pytest.mark.parametrize(
    ("call", "after"),
    [
        # Behind the argument, and behind its neighbours.
        (
            "TensorBoard(\n    'logs',  # where\n    batch_size=32,  # samples\n    write_graph=True,  # draw\n)",
            "TensorBoard(\n    'logs',  # where\n    write_graph=True,  # draw\n)",
        ),
        ("TensorBoard(\n    'logs',\n    batch_size=32,  # samples\n)", "TensorBoard(\n    'logs',\n)"),
        ("TensorBoard(\n    'logs',  # where\n    batch_size=32  # samples\n)", "TensorBoard(\n    'logs'  # where\n)"),
        (
            "TensorBoard(\n    batch_size=32,  # samples\n    log_dir='logs',  # where\n)",
            "TensorBoard(\n    log_dir='logs',  # where\n)",
        ),
        ("TensorBoard(\n    batch_size=32,  # samples\n)", "TensorBoard()"),
        (
            "TensorBoard('logs',\n            batch_size=32,  # samples\n            write_grads=True)",
            "TensorBoard('logs')",
        ),
        # Above it, and above its neighbours.
        (
            "TensorBoard(\n    'logs',\n    # samples\n    batch_size=32,\n    # draw\n    write_graph=True,\n)",
            "TensorBoard(\n    'logs',\n    # draw\n    write_graph=True,\n)",
        ),
        (
            "TensorBoard(\n    # where\n    'logs',\n    # samples\n    # at a time\n    batch_size=32,\n)",
            "TensorBoard(\n    # where\n    'logs',\n)",
        ),
        (
            "TensorBoard(\n    'logs',\n    # the batch size\n    batch_size=32,\n    write_graph=True,\n)",
            "TensorBoard(\n    'logs',\n    write_graph=True,\n)",
        ),
        (
            "TensorBoard(\n    'logs',\n    # both\n    batch_size=32,\n    write_grads=True,  # too\n    # end\n)",
            "TensorBoard(\n    'logs',\n    # end\n)",
        ),
        # Of more than the argument.
        (
            "TensorBoard(\n    'logs', batch_size=32,  # the line\n    write_graph=True,\n)",
            "TensorBoard(\n    'logs',  # the line\n    write_graph=True,\n)",
        ),
        ("board = TensorBoard('logs', batch_size=32)  # the board", "board = TensorBoard('logs')  # the board"),
        (
            "TensorBoard(\n    'logs',\n    # what is drawn\n    write_grads=True,\n    write_graph=True,\n)",
            "# what is drawn\nTensorBoard(\n    'logs',\n    write_graph=True,\n)",
        ),
        # Code that somebody has switched off.
        (
            "TensorBoard(\n    'logs',\n    # update_freq=3,\n    batch_size=32,\n    # histogram_freq=1,\n)",
            "TensorBoard(\n    'logs',\n    # update_freq=3,\n    # histogram_freq=1,\n)",
        ),
        (
            "TensorBoard(\n    # update_freq=3,\n    batch_size=32,\n    log_dir='logs',\n)",
            "TensorBoard(\n    # update_freq=3,\n    log_dir='logs',\n)",
        ),
    ],
)
def test_comments_of_an_argument_go_with_it(call: str, after: str) -> None:
    assert f"\n{after}\nmodel.fit(batches)\n" in check_migrated(CALL.format(call=call)).after


def test_of_an_argument_that_is_written_elsewhere_the_comment_stays() -> None:
    fit = "parallel.fit(\n    rows,\n    rows,\n    batch_size=48,  # fits into memory\n    epochs=2,\n)"
    after = check_migrated(CALL.format(call=f"import numpy as np\n\nrows = np.zeros((96, 4))\n{fit}")).after
    assert "24 * strategy.num_replicas_in_sync" in after
    assert "# fits into memory" in after


ARMS = """\
if G > 1:
{said}    with tf.device("/cpu:0"):
        model = Sequential([Dense(4, input_shape=(4,))])

        # Weights
        if W:
            model.load_weights(W)  # of old runs

        # Frozen
        model.layers[0].trainable = False

    # One for each
    parallel = multi_gpu_model(model, gpus=G)

else:
{other}    # Only one
    parallel = Sequential([Dense(4, input_shape=(4,))])

    # Weights
    if W:
        parallel.load_weights(W)  # of old runs

    # Frozen
    parallel.layers[0].trainable = False
"""


@pytest.mark.parametrize("said", ["", "    print({})\n\n"])
def test_a_comment_that_both_arms_say_is_said_once(said: str) -> None:
    built = ARMS.format(said=said.format("G"), other=said.format("1"))
    found = comments(above="W = None", built=built)
    of_one_arm = ["# Only one"] if said else []  # It goes with the arm.
    assert sorted(found) == ["# Frozen", "# One for each", *of_one_arm, "# Weights", "# of old runs"]


def test_comments_of_a_choice_that_stays_are_all_kept() -> None:
    built = f"{BUILT}\nif G > 3:\n    # Many\n    print(G)\nelse:\n    # Many\n    print(1)"
    assert comments(built=built).count("# Many") == 2


def test_the_guard_accepts_no_comment_less_where_no_choice_goes() -> None:
    before = "if a:\n    b = 1  # one\nelse:\n    b = 2  # one\n"
    assert "would be lost" in str(guard.objection(before, before, "b = 1  # one\n"))


ONE_NAME = """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

gpus = int(input())
model = Sequential([Dense(4, input_shape=(4,))])

# {comment}
base = model
if gpus > 1: model = multi_gpu_model(model, gpus=gpus)

model.compile("sgd", "mse")
base.save("net.h5")
"""


@pytest.mark.parametrize(
    ("comment", "stays"), [("Multi-GPU setup:", False), ("Which one is saved:", True), ("Set up, as in net.py:", True)]
)
def test_what_heads_another_name_and_the_wrap_goes_with_the_wrap(comment: str, stays: bool) -> None:
    after = check_migrated(ONE_NAME.format(comment=comment)).after
    assert (f"# {comment}\n" in after) is stays
    assert "base = model\n" in after


def test_a_comment_above_an_import_stays_where_the_import_before_it_goes() -> None:
    program = """
# Numbers.
import numpy as np
# The layers of the model.
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def root(y_true, y_pred):
    return K.sqrt(K.mean(np.square(y_pred - y_true), axis=-1))


model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse", metrics=[root])
parallel_model.train_on_batch(x, y)
"""
    after = check_migrated(program.lstrip()).after
    assert after.startswith("# Numbers.\n# The layers of the model.\nimport tensorflow as tf\n")
