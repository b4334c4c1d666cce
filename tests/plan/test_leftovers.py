"""What a migration would leave for a reviewer to tidy up: choices between one model and itself, warnings of no file."""

from __future__ import annotations

import json

import pytest

from tests.kit import check_migrated, migrate, migrate_files
from tfmigrate.migrate import migrate_bytes
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
import sys

from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Model, Sequential
from tensorflow.keras.utils import multi_gpu_model

G = int(sys.argv[1])
"""
BUILT = """\
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, G)
parallel.compile("sgd", "mse")
"""


def migrated(body: str) -> FileResult:
    file = migrate_bytes((HEAD + body).encode(), "program.py", Settings())
    assert file.error is None, file.error
    assert file.status == "migrated"
    assert not migrate_bytes(file.after.encode(), "program.py", Settings()).changed
    return file


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        ("chosen = parallel if G > 1 else model\nchosen.fit(x)\n", "chosen = model\nchosen.fit(x)\n"),
        ("if G > 1:\n    parallel.fit(x)\nelse:\n    model.fit(x)\n", "model.fit(x)\n"),
        (
            "if G > 1:\n    # trains\n    parallel.fit(x)\nelse:\n    model.fit(x)\n",
            "# trains\n    model.fit(x)\nelse:",
        ),
        ("if G > 1:\n    parallel.fit(x)\nelse:\n    model.fit(y)\n", "else:\n    model.fit(y)\n"),
        ("if ask():\n    parallel.fit(x)\nelse:\n    model.fit(x)\n", "else:\n    model.fit(x)\n"),
        ("print(1 if G > 1 else 1, parallel)\n", "print(1 if G > 1 else 1, model)\n"),
    ],
)
def test_a_choice_between_the_model_and_itself_goes(choice: str, left: str) -> None:
    assert left in migrated(BUILT + choice).after


DRESS = """\
class Parallel(Model):
    def __init__(self, template, gpus):
        self.__dict__.update(multi_gpu_model(template, gpus).__dict__)
        self.template = template
{method}

model = Sequential([Dense(1, input_shape=(4,))])
parallel = Parallel(model, 2)
parallel.compile("sgd", "mse")
parallel.save_weights("a.weights.h5")
"""
CHOOSER = """
    def __getattribute__(self, name):
        if {test}:
            return getattr(self.template, name)
        return super().__getattribute__(name)
"""


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("", 1),
        ("\n    def save_weights(self, path):\n        self.template.save_weights(path)\n", 0),
        ("\n    def save(self, path):\n        self.template.save(path)\n", 1),
        (CHOOSER.format(test="'load' in name or 'save' in name"), 0),
        (CHOOSER.format(test="name == 'load_weights'"), 1),
    ],
)
def test_a_wrapper_that_saves_its_template_wrote_no_file_of_the_parallel_model(method: str, told: int) -> None:
    file = migrated(DRESS.format(method=method))
    assert [one.code for one in file.findings].count("TFM022") == told


@pytest.mark.parametrize(("more", "empty"), [("", True), ("LIMIT = 3\n", False)])
def test_a_file_of_which_nothing_is_left_is_named_for_deletion(more: str, empty: bool) -> None:
    imports, _, dress = HEAD.partition("G = ")[0], "", DRESS.format(method="")
    own, _, script = dress.partition("\nmodel = ")
    script = f"{imports}from dress import Parallel\n\nmodel = {script}"
    sources = {"dress.py": f'"""Dress."""\n{imports.replace("import sys", "")}{more}{own}', "train.py": script}
    files = migrate_files(sources)
    (message,) = [finding.message for finding in files["dress.py"].findings if finding.code == "TFM001"]
    assert message.endswith("; this file contains nothing else: delete it" if empty else "is removed")
    assert "class Parallel" not in files["dress.py"].after


def test_arms_that_built_the_same_in_two_places_are_one() -> None:
    body = """\
import tensorflow as tf
if G > 1:
    with tf.device("/cpu:0"):
        model = Sequential([Dense(1,
                                  input_shape=(4,))])
else:
    model = Sequential([Dense(1,
                              input_shape=(4,))])
if G > 1:
    parallel = multi_gpu_model(model, G)
else:
    parallel = model
parallel.compile("sgd", "mse")
"""
    body = body.replace("(4,))])\nif G", "(4,))])  \nif G")
    after = migrated(body).after
    assert after.count("model = Sequential([Dense(1,") == 1
    assert "if G > 1:" not in after
    assert "if G > 1:" in migrated(body.replace("Dense(1,", "Dense(2,", 1)).after


def test_a_remark_stands_with_its_statement() -> None:
    after = migrated(
        "from tensorflow.keras.optimizers import RMSprop\n# Trains\n" + BUILT.replace('"sgd"', "RMSprop(G)")
    ).after
    assert "    # 1e-7 squared: epsilon is now inside the square root\n    model.compile(" in after
    body = BUILT.replace('"sgd"', "rate") + "parallel.fit(x)\nparallel.compile('rmsprop', 'mse')\n"
    assert "with strategy.scope():\n    # 1e-7 squared: epsilon is now inside the square root\n" in migrated(body).after


SPREAD = """
def spread(model, gpus=2):
    \"\"\"On several GPUs.\"\"\"
    if gpus > 1:
        model = multi_gpu_model(model, gpus)
    return model
"""


def with_spread(lines: str, **modules: str) -> str:
    head = "import keras\nfrom keras.utils import multi_gpu_model\nfrom data import batches\nfrom mine import build\n\n"
    return migrate(f"{head}{SPREAD}\n\n{lines}", **modules).after


def test_a_function_that_would_give_its_model_back_goes_with_its_calls() -> None:
    text = with_spread("model = build()\nmodel = spread(model, gpus=4)\nmodel.compile('sgd', 'mse')\n")
    assert "spread" not in text
    assert text.endswith("with strategy.scope():\n    model = build()\n    model.compile('sgd', 'mse')\n")


def test_the_guard_of_such_a_call_goes_too() -> None:
    text = with_spread(
        "def main(n):\n    base = build()\n    if n > 1:\n        model = spread(base, n)\n"
        "    else:\n        model = base\n"
        "    model.compile('sgd', 'mse')\n    model.fit_generator(batches)\n"
    )
    assert text.endswith(
        "    with strategy.scope():\n        model = build()\n        model.compile('sgd', 'mse')\n"
        "    model.fit(batches)\n"
    )


def test_its_import_goes_too() -> None:
    helpers = f"from keras.utils import multi_gpu_model\n\nBATCH = 8\n{SPREAD}"
    text = migrate(
        "from helpers import BATCH, spread\nfrom mine import build\n\n"
        "model = spread(build(), 2)\nmodel.compile('sgd', 'mse')\n",
        helpers=helpers,
    ).after
    assert "from helpers import BATCH\n" in text
    assert "    model = build()\n" in text


@pytest.mark.parametrize(
    "lines",
    [
        "model = spread(build(), gpus=ask())\nmodel.compile('sgd', 'mse')\n",
        "model = spread(build())\nmodel.compile('sgd', 'mse')\nkeep = spread\n",
        "model = spread(*[build()])\nmodel.compile('sgd', 'mse')\n",
    ],
)
def test_a_function_with_other_uses_stays(lines: str) -> None:
    assert "def spread(" in with_spread(lines)


def test_a_function_that_does_something_else_stays() -> None:
    text = with_spread("model = spread(build())\nmodel.compile('sgd', 'mse')\n")
    assert "def spread(" not in text
    head = SPREAD.replace("    return model", "    print(gpus)\n    return model")
    text = migrate(
        "from keras.utils import multi_gpu_model\nfrom mine import build\n\n"
        f"{head}\n\nmodel = spread(build())\nmodel.compile('sgd', 'mse')\n"
    ).after
    assert "def spread(" in text


AGAIN = """import keras
from keras.utils import multi_gpu_model
from data import batches


def main(gpus, metrics):
    serial = keras.Sequential([keras.layers.Dense(1, input_shape=(4,))])
    serial.compile('sgd', 'mse', metrics=metrics)
    {between}
    parallel = multi_gpu_model(serial, gpus)
    parallel.compile('sgd', 'mse',  metrics=metrics)
    parallel.fit_generator(batches)
"""


@pytest.mark.parametrize(
    ("between", "compiles"),
    [
        ("serial.summary()", 1),
        ("metrics = ['mae']", 2),
        ("serial.trainable = False", 2),
        ("serial.fit_generator(batches)", 2),
    ],
)
def test_what_is_compiled_again_in_the_same_words_is_compiled_once(between: str, compiles: int) -> None:
    assert migrate(AGAIN.format(between=between)).after.count(".compile(") == compiles


def test_a_block_for_a_device_round_the_first_is_no_reason_for_a_second() -> None:
    text = AGAIN.format(between="serial.summary()").replace(
        "    serial.compile(", "    with tf.device('/cpu:0'):\n        serial.compile("
    )
    assert migrate("import tensorflow as tf\n" + text).after.count(".compile(") == 1


UNKNOWN = """from keras.utils import multi_gpu_model
from data import batches
from elsewhere import build


def main(gpus, rate):
    {built}
    {between}
    if gpus > 1:
        parallel = multi_gpu_model(serial, gpus)
        parallel.compile('sgd', {{'a': 'mse', 'b': 'mae'}}, metrics=['mae'])
        serial.compile('sgd', {loss}, metrics=['mae'])
        parallel.fit_generator(batches)
"""
LOSSES = "{'a': 'mse', 'b': 'mae'}"


@pytest.mark.parametrize("between", ["pass", f"serial.compile('sgd', {LOSSES}, metrics=['mae'])"])
def test_a_template_that_is_made_out_of_sight_is_compiled_once_and_in_the_scope(between: str) -> None:
    file = migrate(UNKNOWN.format(built="serial = build(rate)", between=between, loss=LOSSES))
    assert file.status == "migrated"
    assert file.after.count(".compile(") == 1
    assert ["metrics={'a': ['mae'], 'b': ['mae']}" in file.after] == [True]
    compiled = file.after.index("serial.compile(")
    assert file.after.rindex(".scope():", 0, compiled) > file.after.rfind("if gpus > 1:", 0, compiled)


def test_a_template_that_is_made_out_of_sight_keeps_no_second_loss() -> None:
    file = migrate(UNKNOWN.format(built="serial = build(rate)", between="pass", loss="'mae'"))
    assert [finding.code for finding in file.findings if finding.action == "refuse"] == ["TFM105"]


def test_parts_of_what_one_unknown_call_gives_are_told_apart() -> None:
    text = UNKNOWN.format(built="serial, coder = build(rate)", between="coder.compile('sgd', 'mae')", loss=LOSSES)
    text = text.replace("        serial.compile(", "        coder.compile(")
    after = migrate(text).after
    assert after.count("coder.compile(") == 2
    assert (
        "coder.fit(rate, gpus, batch_size=gpus)"
        in migrate(text + "        coder.fit(rate, gpus, batch_size=gpus)\n").after
    )


def test_what_either_arm_compiles_is_compiled_whichever_runs() -> None:
    text = HEAD + (
        "model = Sequential([Dense(1, input_shape=(4,))])\n"
        "if G > 1:\n    parallel = multi_gpu_model(model, G)\n    parallel.compile('sgd', 'mse')\n"
        "    trained = parallel\nelse:\n    model.compile('sgd', 'mse')\n    {last}\ntrained.fit(batches)\n"
    )
    after = migrate(text.format(last="trained = model")).after
    assert "    model.compile('sgd', 'mse')\n    trained = model\ntrained.fit(" in after
    assert "    if G > 1:" not in after
    both = migrate(text.format(last="trained = other(model)")).after
    assert both.index("model.compile('sgd', 'mse')") < both.index("    if G > 1:")


def test_what_is_compiled_in_other_words_is_compiled_anew() -> None:
    text = AGAIN.format(between="pass").replace("'mse',  metrics", "'mae', metrics")
    assert migrate(text).after.count(".compile(") == 2


def test_another_model_is_compiled_in_the_same_words() -> None:
    text = migrate(
        "import keras\nfrom keras.utils import multi_gpu_model\nfrom data import batches\n\n"
        "small = multi_gpu_model(keras.Sequential([keras.layers.Dense(1, input_shape=(4,))]), gpus=2)\n"
        "large = multi_gpu_model(keras.Sequential([keras.layers.Dense(8, input_shape=(4,))]), gpus=2)\n"
        "small.compile('sgd', 'mse')\nlarge.compile('sgd', 'mse')\nsmall.fit(batches)\nlarge.fit(batches)\n"
    ).after
    assert "small.compile('sgd', 'mse')\n" in text
    assert "large.compile('sgd', 'mse')\n" in text


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("if G > 1:\n    plain.save(f)\nelse:\n    model.save(f)\n", 0),
        ("if G > 1:\n    model.save(f)\nelse:\n    plain.save(f)\n", 1),
        ("if G > 2:\n    plain.save(f)\nelse:\n    model.save(f)\n", 1),
        ("if G <= 1:\n    model.save(f)\nelse:\n    plain.save(f)\n", 0),
        ("if not G > 1:\n    model.save(f)\n", 0),
        ("if G <= 1:\n    plain.save(f)\nelse:\n    model.save(f)\n", 1),
        ("if G < 1:\n    model.save(f)\n", 1),
        ("model.save(f)\n", 1),
    ],
)
def test_what_the_arm_without_a_wrap_saves_is_no_file_of_the_parallel_model(lines: str, told: int) -> None:
    made = "plain = Sequential([Dense(1, input_shape=(4,))])\nif G > 1:\n    model = multi_gpu_model(plain, G)\n"
    made += "else:\n    model = plain\nmodel.compile('sgd', 'mse')\nf = 'a.keras'\n"
    assert [one.code for one in migrated(made + lines).findings].count("TFM022") == told


@pytest.mark.parametrize(
    "statement",
    [
        "multi_gpu_model(model, gpus=G)",
        "K.tensorflow_backend._get_available_gpus()",
        "parallel.get_layer('sequential_1')",
    ],
)
def test_a_statement_that_would_do_nothing_any_more_goes(statement: str) -> None:
    head = HEAD.replace("import sys\n", "import sys\n\nfrom keras import backend as K\n")
    file = migrate(head + BUILT + f"print(1)\n{statement}\nprint(2)\n")
    assert '    model.compile("sgd", "mse")\nprint(1)\nprint(2)\n' in file.after
    assert ("backend" in file.after) == ("K." not in statement)


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("parallel.get_layer('sequential_1').summary()", "model.summary()"),
        ("parallel.predict_proba(x)", "model.predict(x)"),
        ("gpus = K.tensorflow_backend._get_available_gpus()", "gpus = [device.name for device in "),
        ("print(K.tensorflow_backend._get_available_gpus())", "print([device.name for device in "),
        ("model.input_names", "[each.name for each in model.inputs]"),
        ("K.clear_session()", "K.clear_session()"),
        ("len(x)", "len(x)"),
        ("model", "model"),
    ],
)
def test_any_other_statement_stays(statement: str, left: str) -> None:
    head = HEAD.replace("import sys\n", "import sys\n\nfrom keras import backend as K\n")
    after = migrate(head + BUILT + f"print(1)\n{statement}\nprint(2)\n").after
    assert f"print(1)\n{left}" in after


def test_a_notebook_shows_the_value_of_a_statement() -> None:
    sources = ["from keras import backend as K\n" + HEAD + BUILT, "K.tensorflow_backend._get_available_gpus()"]
    cells = [
        {"cell_type": "code", "execution_count": None, "id": f"{n}", "metadata": {}, "outputs": [], "source": [source]}
        for n, source in enumerate(sources)
    ]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    file = migrate_bytes(notebook.encode(), "program.ipynb", Settings())
    assert "[device.name for device in " in file.after


BY_GPU = """\
import tensorflow as tf

if G > 1:
    with tf.device({device}):
        model = Sequential([Dense(1, input_shape=(4,))])
else:
    model = Sequential([Dense(1, input_shape=(4,))])
if G > 1:
    with tf.device({device}):
        parallel = multi_gpu_model(model, G)
else:
    parallel = model
parallel.compile("sgd", "mse")
"""


@pytest.mark.parametrize("device", ["'/cpu:0'", "'/gpu:1'", "'/device:GPU:3'", "'/gpu:%d' % (G - 1)", "sys.argv[2]"])
def test_a_device_round_what_is_always_spread_goes(device: str) -> None:
    after = migrated(BY_GPU.format(device=device)).after
    assert "tf.device" not in after
    assert "if G > 1:" not in after
    assert after.count("model = ") == 1


@pytest.mark.parametrize(
    "device", ["'/gpu:0'", "'/device:GPU:0'", "'/CPU:0'", "'/cpu:0' if G > 1 else '/gpu:0'", "'/gpu:0' if A else D"]
)
def test_the_first_gpu_needs_no_naming(device: str) -> None:
    body = f"with tf.device({device}):\n    model = Sequential([Dense(1, input_shape=(4,))])\n"
    body = f"import tensorflow as tf\nD = '/cpu:0' if G > 1 else '/gpu:0'\n{body}"
    wrapped = "parallel = multi_gpu_model(model, G) if G > 1 else model\nparallel.compile('sgd', 'mse')\n"
    after = migrated(body + wrapped).after
    assert "tf.device" not in after


ARMS = """\
import tensorflow as tf

if G > 1:
    with tf.device("/cpu:0"):
        model = Sequential([Dense(1, input_shape=(4,))])
    parallel = multi_gpu_model(model, G)
else:
    with tf.device({device}):
        parallel = Sequential([Dense(1, input_shape=(4,))])
{after}parallel.compile("sgd", "mse")
"""


def test_nor_does_it_where_nothing_is_wrapped() -> None:
    after = migrated(ARMS.format(device="'/gpu:0'", after="")).after
    assert "tf.device" not in after
    assert "if G > 1:" not in after


@pytest.mark.parametrize(
    ("device", "after"), [("'/cpu:0'", ""), ("'/gpu:1'", ""), ("D", "with tf.device('/gpu:0'):\n    x = 1\n")]
)
def test_another_device_there_counts(device: str, after: str) -> None:
    text = ARMS.format(device=device, after=after)
    assert f"with tf.device({device}):\n" in migrated(text).after
    assert after in migrated(text).after


@pytest.mark.parametrize(
    "wrap",
    [
        "parallel = multi_gpu_model(model, G) if G > 1 else model\n",
        "parallel = model\nif G > 1:\n    parallel = multi_gpu_model(model, G)\n",
        "try:\n    parallel = multi_gpu_model(model)\nexcept ValueError:\n    parallel = model\n",
    ],
)
@pytest.mark.parametrize("device", ["'/gpu:1'", "'/cpu:0' if G > 1 else '/gpu:1'", "'/cpu:0' if ask() else '/gpu:0'"])
def test_another_gpu_counts_where_one_may_be_used(wrap: str, device: str) -> None:
    body = f"import tensorflow as tf\nwith tf.device({device}):\n    model = Sequential([Dense(1, input_shape=(4,))])\n"
    after = migrated(body + wrap + "parallel.compile('sgd', 'mse')\n").after
    assert f"with tf.device({device}):\n" in after


@pytest.mark.parametrize(
    "block",
    [
        "with tf.device('/gpu:1'):\n    total = tf.zeros(())\n",
        "with tf.device('/cpu:0'):\n    total = tf.zeros(())\n",
        "with tf.device('/cpu:0'):\n    pass\n",
        "with tf.name_scope('a'):\n    total = tf.zeros(())\n",
    ],
)
def test_a_device_that_no_wrap_is_concerned_with_stays(block: str) -> None:
    assert block in migrated("import tensorflow as tf\n" + block + BUILT + block).after


def test_a_device_round_the_compile_goes() -> None:
    compiled = "with tf.device('/cpu:0'):\n    model.compile('sgd', 'mse')\nparallel = multi_gpu_model(model, G)\n"
    built = BUILT.partition("\n")[0]
    after = migrated(f"import tensorflow as tf\n{built}\n{compiled}parallel.fit_generator(batches)\n").after
    assert "tf.device" not in after
    assert "    model.compile('sgd', 'mse')\n" in after


def test_a_device_that_is_asked_for_stays() -> None:
    body = "import tensorflow as tf\nwith tf.device(choose()):\n    model = Sequential([Dense(1, input_shape=(4,))])\n"
    after = migrated("from devices import choose\n" + body + BUILT.partition("\n")[2]).after
    assert "with tf.device(choose()):\n" in after


TRIED = """\
class Net:
    def __init__(self):
        self.inner = Sequential([Dense(1, input_shape=(4,))])
        try:
            {body}
        except ValueError{name}:
            {handler}
        self.model.compile("sgd", "mse")
"""
WRAPPED = "self.model = multi_gpu_model(self.inner)"
KEPT = "self.model = self.inner"


def tried(body: str, handler: str, name: str = "") -> str:
    lines = (part.replace("\n", "\n            ") for part in (body, handler))
    body, handler = lines
    return migrated(TRIED.format(body=body, handler=handler, name=name)).after


@pytest.mark.parametrize("name", ["", " as error"])
@pytest.mark.parametrize(
    ("body", "handler", "left"),
    [
        (
            f"{WRAPPED}\nprint('several')",
            f"{KEPT}\nprint('one')",
            f"        {KEPT}\n        if strategy.num_replicas_in_sync > 1:\n            print('several')\n"
            "        else:\n            print('one')\n",
        ),
        (
            f"print('several')\n{WRAPPED}",
            f"print('one')\n{KEPT}",
            "        if strategy.num_replicas_in_sync > 1:\n            print('several')\n"
            f"        else:\n            print('one')\n        {KEPT}\n",
        ),
        (
            WRAPPED,
            f"{KEPT}\nprint('one')",
            f"        {KEPT}\n        if strategy.num_replicas_in_sync == 1:\n            print('one')\n",
        ),
        (
            f"{WRAPPED}\nprint('several')",
            KEPT,
            f"        {KEPT}\n        if strategy.num_replicas_in_sync > 1:\n            print('several')\n",
        ),
        (f"{WRAPPED}\nprint(1)", f"{KEPT}\nprint(1)", f"            {KEPT}\n            print(1)\n"),
        (
            f"{WRAPPED}\nself.wide = self.model",
            f"{KEPT}\nself.wide = self.model\nprint('one')",
            f"        {KEPT}\n        self.wide = self.model\n        if strategy.num_replicas_in_sync == 1:\n",
        ),
    ],
)
def test_a_try_that_cannot_fail_any_more_goes(body: str, handler: str, left: str, name: str) -> None:
    after = tried(body, handler, name)
    assert left in after
    assert "try:" not in after


@pytest.mark.parametrize(
    ("body", "handler", "name"),
    [
        (f"{WRAPPED}\nprint('several')", f"{KEPT}\nprint(error)", " as error"),
        (f"{WRAPPED}\nself.wide = True", f"{KEPT}\nself.wide = False", ""),
        (f"{WRAPPED}\nself.wide = int(G)", f"{KEPT}\nself.wide = int(G)\nprint('one')", ""),
        (f"{WRAPPED}\nself.wide = self.model", f"{KEPT}\nprint('one')", ""),
        (f"{WRAPPED}\nfor x in y:\n    print(x)", f"{KEPT}\nprint('one')", ""),
    ],
)
def test_a_try_that_may_fail_or_chooses_stays(body: str, handler: str, name: str) -> None:
    after = tried(body, handler, name)
    assert "        try:\n" in after
    assert f"except ValueError{name}:\n" in after


def test_what_is_told_of_the_error_needs_it() -> None:
    body = "model = Sequential([Dense(1, input_shape=(4,))])\ntry:\n    model = multi_gpu_model(model)\n    print(1)\n"
    after = migrated(f"{body}except ValueError as error:\n    print(error)\nmodel.compile('sgd', 'mse')\n").after
    assert "try:\n    print(1)\nexcept ValueError as error:\n    print(error)\n" in after


def test_what_a_try_does_afterwards() -> None:
    body = "model = Sequential([Dense(1, input_shape=(4,))])\ntry:\n    model = multi_gpu_model(model)\n"
    tail = "except ValueError:\n    print('one')\nelse:\n    print('several')\nmodel.compile('sgd', 'mse')\n"
    after = migrated(body + tail).after
    assert "if strategy.num_replicas_in_sync > 1:\n    print('several')\nelse:\n    print('one')\n" in after
    same = migrated(body + tail.replace("several", "one")).after
    assert "    print('one')\n    model.compile(" in same
    assert "try" not in same


def _at_the_top(lines: str, gpus: str, *, path: str = "train.py", **others: str) -> str:
    program = f"""
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
{lines}
parallel_model = multi_gpu_model(model, gpus={gpus})
parallel_model.compile("sgd", "mse")
"""
    files = migrate_sources({path: program, **others}, Settings())
    return next(file.after for file in files if file.path == path)


_VISIBLE = 'nb_gpu = len(tf.config.experimental.list_physical_devices("GPU"))'


@pytest.mark.parametrize("line", [_VISIBLE, f"# All of them.\n{_VISIBLE}"])
def test_a_number_of_gpus_that_only_the_wrap_read_goes(line: str) -> None:
    after = _at_the_top(f"import tensorflow as tf\n{line}", "nb_gpu")
    assert "nb_gpu" not in after
    assert "strategy = tf.distribute.MirroredStrategy()\n" in after


def test_so_does_one_of_each_turn_of_a_loop() -> None:
    after = check_migrated(
        """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

for rate in (0.1, 0.01):
    model = Sequential([Dense(1, input_shape=(4,))])
    G = 2
    parallel_model = multi_gpu_model(model, gpus=G)
    parallel_model.compile("sgd", "mse")
"""
    ).after
    assert "G = 2" not in after


@pytest.mark.parametrize(
    "lines",
    [
        f"{_VISIBLE}\nprint(nb_gpu)",
        f"{_VISIBLE}\n\n\ndef tell():\n    print(nb_gpu)\n\n",
        f"{_VISIBLE}\n__all__ = ['nb_gpu']",
        f"{_VISIBLE}\nprint(globals())",
    ],
    ids=["read", "read in a function", "exported", "read by name"],
)
def test_one_that_is_read_stays(lines: str) -> None:
    assert _VISIBLE in _at_the_top(f"import tensorflow as tf\n{lines}", "nb_gpu")


def test_one_that_another_file_imports_stays() -> None:
    other = "from train import nb_gpu\nprint(nb_gpu)\n"
    assert _VISIBLE in _at_the_top(f"import tensorflow as tf\n{_VISIBLE}", "nb_gpu", **{"other.py": other})
    other = "import train\nprint(train.nb_gpu)\n"
    assert _VISIBLE in _at_the_top(f"import tensorflow as tf\n{_VISIBLE}", "nb_gpu", **{"other.py": other})


def test_one_that_was_read_by_nothing_before_stays() -> None:
    assert "other_number = 4\n" in _at_the_top("other_number = 4", "2")


def test_one_that_a_warning_tells_to_use_stays() -> None:
    after = check_migrated(
        """
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

jobs = 4
parallel_model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
parallel_model.compile("sgd", "mse")
parallel_model.fit_generator(batches, steps_per_epoch=2, workers=jobs)
"""
    )
    assert "(`workers=jobs`)" in next(finding.message for finding in after.findings if finding.code == "TFM271")
    assert "jobs = 4\n" in after.after


@pytest.mark.parametrize("line", ["nb_gpu = 2", "G = len([0, 1])"])
def test_a_number_of_gpus_that_nothing_ever_read_is_not_put_in_the_scope(line: str) -> None:
    assert line not in _at_the_top(line, "2")


@pytest.mark.parametrize("line", ["rate = 2", "nb_gpu = count()", "model.gpus = 2", "gpus = number = 2\nprint(number)"])
def test_other_lines_between_stay(line: str) -> None:
    after = _at_the_top(line, "2")
    assert all(part in after for part in line.splitlines())


def test_a_number_of_gpus_outside_the_scope_stays() -> None:
    after = migrate(f"{HEAD}nb_gpu = 2\n{BUILT}").after
    assert "nb_gpu = 2\n" in after


_LOCAL = "from tensorflow.python.client import device_lib\n"


def test_so_does_a_number_that_a_function_counts() -> None:
    count = "def count():\n    return len([d for d in device_lib.list_local_devices() if d.device_type == 'GPU'])\n\n"
    assert "n = count()" not in _at_the_top(f"{_LOCAL}\n\n{count}\nn = count()", "n")


def test_one_that_is_told_on_the_way_stays() -> None:
    body = "    found = [d for d in device_lib.list_local_devices() if d.device_type == 'GPU']\n    print(found)\n"
    count = f"def count():\n{body}    return len(found)\n\n"
    assert "n = count()" in _at_the_top(f"{_LOCAL}\n\n{count}\nn = count()", "n")


@pytest.mark.parametrize("other", ["import dress\n", "import dress as clothes\nprint(clothes)\n"])
def test_a_file_that_another_one_imports_is_not(other: str) -> None:
    imports, dress = HEAD.partition("G = ")[0], DRESS.format(method="")
    own, _, script = dress.partition("\nmodel = ")
    script = f"{imports}{other}from dress import Parallel\n\nmodel = {script}"
    sources = {"dress.py": f"{imports.replace('import sys', '')}{own}", "train.py": script}
    files = migrate_files(sources)
    assert "class Parallel" not in files["dress.py"].after
    assert not [finding for finding in files["dress.py"].findings if "delete it" in finding.message]


@pytest.mark.parametrize("above", ["", "# Builds one.\n", "@cache\n"])
def test_a_value_in_a_default_is_explained_above_the_function(above: str) -> None:
    program = f"""
from functools import cache
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import RMSprop
from keras.utils import multi_gpu_model


{above}def build(units, optimizer=RMSprop(4e-3)):
    model = multi_gpu_model(Sequential([Dense(units, input_shape=(4,))]), gpus=2)
    model.compile(loss="mse", optimizer=optimizer)
    return model


build(3)
"""
    after = check_migrated(program).after
    comment = "# 1e-7 squared: epsilon is now inside the square root\n"
    assert f"\n\n\n{above}{comment}def build(units, optimizer=RMSprop(4e-3, epsilon=1e-14)" in after
