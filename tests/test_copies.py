"""Copies of multi_gpu_model under the names that projects gave them before Keras had one, found on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import kit
from tfmigrate import migrate
from tfmigrate.settings import Settings

COPY = """\
import tensorflow as tf
from keras.layers import Lambda, concatenate
from keras.models import Model


def {name}(model, gpu_count):
    outputs = []
    for i in range(gpu_count):
        with tf.device("/gpu:%d" % i):
            part = [Lambda(lambda x, i=i: x[i::gpu_count])(x) for x in model.inputs]
            outputs.append(model(part))
    return Model(model.inputs, concatenate(outputs, axis=0))
"""
SCRIPT = """\
from keras.layers import Dense
from keras.models import Sequential
from split import {name}

model = Sequential([Dense(1, input_shape=(4,))])
model = {name}(model, 2)
model.compile(loss="mse", optimizer="sgd")
"""


@pytest.mark.parametrize("name", ["make_parallel", "to_multi_gpu"])
def test_a_copy_by_an_older_name_is_found_and_replaced(project: Path, name: str) -> None:
    Path("split.py").write_text(COPY.format(name=name), encoding="utf-8")
    Path("train.py").write_text(SCRIPT.format(name=name), encoding="utf-8")
    migrate.fix(["."], Settings(jobs=1))
    after = Path("train.py").read_text(encoding="utf-8")
    assert "with strategy.scope():\n    model = Sequential(" in after
    assert name not in after


def test_another_function_of_such_a_name_is_left_alone(project: Path) -> None:
    text = "from pool import make_parallel\n\njobs = make_parallel(list, 2)\n"
    Path("work.py").write_text(text, encoding="utf-8")
    assert migrate.fix(["."], Settings(jobs=1)).files == ()
    assert Path("work.py").read_text(encoding="utf-8") == text


def test_a_copy_that_counts_the_devices_itself_takes_all_that_are_visible(project: Path) -> None:
    split = COPY.format(name="make_parallel").replace("(model, gpu_count):", "(model):\n    gpu_count = len(gpus())")
    listing = (
        "\n\ndef gpus():\n    devices = K.get_session().list_devices()\n"
        "    return [device.name for device in devices if device.device_type == 'GPU']\n"
    )
    Path("split.py").write_text(f"from keras import backend as K\n{split}{listing}", encoding="utf-8")
    script = SCRIPT.format(name="make_parallel").replace("import make_parallel", "import gpus, make_parallel")
    script = script.replace("model = make_parallel(model, 2)", "if len(gpus()) > 1:\n    model = make_parallel(model)")
    Path("train.py").write_text(script, encoding="utf-8")
    migrate.fix(["."], Settings(jobs=1))
    after = Path("train.py").read_text(encoding="utf-8")
    assert "strategy = tf.distribute.MirroredStrategy()\nwith strategy.scope():\n    model = Sequential(" in after
    assert "make_parallel" not in after


@pytest.mark.parametrize(
    ("guard", "number", "strategy"),
    [
        ("if gpu_count <= 1:\n        return model", "count()", True),
        ("if gpu_count < 2:\n        print(1)\n        return model", "count()", True),
        ("if gpu_count <= 1:\n        return model", "2", False),
        ("if gpu_count <= 1:\n        raise ValueError()", "count()", False),
        ("if model is None:\n        return model", "count()", False),
    ],
)
def test_a_copy_that_gives_back_the_model_for_one_gpu_still_does(
    project: Path, guard: str, number: str, strategy: bool
) -> None:
    split = COPY.format(name="multi_gpu_model").replace("gpu_count):\n", f"gpu_count):\n    {guard}\n", 1)
    Path("split.py").write_text(split, encoding="utf-8")
    script = SCRIPT.format(name="multi_gpu_model").replace("model, 2)", "model, gpus)")
    script = script.replace("\nmodel =", f"\ngpus = {number}\nmodel =", 1)
    Path("train.py").write_text(script, encoding="utf-8")
    migrate.fix(["."], Settings(jobs=1))
    after = Path("train.py").read_text(encoding="utf-8")
    assert "MirroredStrategy" in after
    assert ("get_strategy()" in after) == strategy


def test_a_file_that_nothing_imports_any_more_stays_as_it_was(project: Path) -> None:
    Path("split.py").write_text(COPY.format(name="make_parallel"), encoding="utf-8")
    Path("train.py").write_text(SCRIPT.format(name="make_parallel"), encoding="utf-8")
    first = {file.path: file for file in migrate.fix(["."], Settings(jobs=1)).files}
    assert "split" not in Path("train.py").read_text(encoding="utf-8")
    assert Path("split.py").read_text(encoding="utf-8") == COPY.format(name="make_parallel")
    assert [(finding.code, finding.action) for finding in first["split.py"].findings] == [("TFM272", "warn")]
    assert not any(file.changed for file in migrate.fix(["."], Settings(jobs=1)).files)


HELPER = "\n\ndef rows(x, i, n):\n    return x[i::n]\n"


def test_a_file_with_functions_of_the_copy_alone_does_too(project: Path) -> None:
    text = COPY.format(name="make_parallel").replace("x[i::gpu_count]", "rows(x, i, gpu_count)") + HELPER
    Path("split.py").write_text(text, encoding="utf-8")
    Path("train.py").write_text(SCRIPT.format(name="make_parallel"), encoding="utf-8")
    migrate.fix(["."], Settings(jobs=1))
    assert Path("split.py").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("more", "reader"),
    [
        (HELPER, ""),
        ("\n\nclass Parts:\n    pass\n", ""),
        ("", "from split import *\n"),
        ("", "import keras\nimport split\n\nprint(keras, split.Lambda)\n"),
        ("", "import keras\nfrom split import Lambda\n\nprint(keras, Lambda)\n"),
    ],
)
def test_a_file_that_others_may_take_something_from_is_migrated(project: Path, more: str, reader: str) -> None:
    Path("split.py").write_text(COPY.format(name="make_parallel") + more, encoding="utf-8")
    Path("train.py").write_text(SCRIPT.format(name="make_parallel"), encoding="utf-8")
    Path("other.py").write_text(f"{reader}from train import model\n\nprint(model)\n", encoding="utf-8")
    files = {file.path: file for file in migrate.fix(["."], Settings(jobs=1)).files}
    assert "from tensorflow.keras.models import Model" in Path("split.py").read_text(encoding="utf-8")
    assert "TFM272" not in {finding.code for finding in files["split.py"].findings}


BUILT = """\
from keras.layers import Dense
from keras.models import Sequential
from split import make_parallel

model = Sequential([Dense(1, input_shape=(4,))])
"""
NEW = COPY.format(name="make_parallel").replace("return Model(", "new = Model(")


def with_returned(returned: str) -> str:
    return f"{NEW}    return {returned}\n"


@pytest.mark.parametrize(
    ("returned", "use", "left"),
    [
        ("new, model", "model, plain = make_parallel(model, 2)", "plain = model"),
        ("new, model", "(model, plain) = make_parallel(model, 2)", "plain = model"),
        ("new, model", "parallel, plain = make_parallel(model, 2)", "parallel, plain = model, model"),
        ("model, new", "plain, model = make_parallel(model, 2)", "plain = model"),
        ("[new, model]", "[model, plain] = make_parallel(model, 2)", "plain = model"),
        ("new, model, new", "a, model, b = make_parallel(model, 2)", "a, b = model, model"),
        ("new, model", "parallel = make_parallel(model, 2)[0]", "parallel = model"),
        ("new, model", "both = make_parallel(model, 2)", "both = (model, model)"),
        ("[new, model]", "both = make_parallel(model, 2)", "both = [model, model]"),
        ("new, model", "both = make_parallel(model, 2)[:1]", "both = (model, model)[:1]"),
        ("new, model", "first, *rest = make_parallel(model, 2)", "first, *rest = (model, model)"),
    ],
)
def test_each_name_for_what_a_copy_gives_back_is_one_for_the_model(returned: str, use: str, left: str) -> None:
    after = kit.check_migrated(f"{BUILT}{use}\nmodel.compile('sgd', 'mse')\n", split=with_returned(returned)).after
    assert f"\n    {left}\n" in after
    assert "make_parallel" not in after


@pytest.mark.parametrize("use", ["model, _ = make_parallel(model, 2)", "model, model = make_parallel(model, 2)"])
def test_nothing_is_left_where_only_the_model_is_kept(use: str) -> None:
    text = f"{BUILT}{use}\nmodel.compile('sgd', 'mse')\n"
    after = kit.check_migrated(text, split=with_returned("new, model")).after
    assert "input_shape=(4,))])\n    model.compile(" in after


def test_a_name_of_no_meaning_that_is_read_is_kept() -> None:
    text = f"{BUILT}model, _ = make_parallel(model, 2)\nmodel.compile('sgd', 'mse')\nprint(_)\n"
    assert "    _ = model\n" in kit.check_migrated(text, split=with_returned("new, model")).after


def test_a_condition_goes_where_both_arms_are_the_same_then() -> None:
    text = (
        f"{BUILT}gpus = 2\nif gpus > 1:\n    model, plain = make_parallel(model, gpus)\nelse:\n    plain = model\n"
        "model.compile('sgd', 'mse')\n"
    )
    text = text.replace("\nmodel =", "\ngpus = 2\nmodel =", 1)
    after = kit.check_migrated(text, split=with_returned("new, model")).after
    assert "\n    plain = model\n    model.compile(" in after
    assert "if gpus > 1:" not in after


def test_a_copy_that_several_names_stand_for_is_read_too() -> None:
    split = f"{NEW}    both = new, model\n    return both\n"
    text = f"{BUILT}model, plain = make_parallel(model, 2)\nmodel.compile('sgd', 'mse')\n"
    assert "    plain = model\n" in kit.check_migrated(text, split=split).after


@pytest.mark.parametrize(
    "returned",
    ["{'new': new, 'old': model}", "dict(new=new)", "new, outputs", "new, model, gpu_count", "new, copy(model)"],
)
def test_a_copy_that_gives_back_more_than_models_is_refused(returned: str) -> None:
    text = f"{BUILT}made = make_parallel(model, 2)\nmade[0].compile('sgd', 'mse')\n"
    file = kit.check_refused(text, "TFM106", split=with_returned(returned))
    assert file.after == text


def test_a_copy_that_gives_back_one_or_two_is_refused() -> None:
    split = with_returned("new, model").replace(
        "    outputs = []\n", "    if gpu_count < 2:\n        return model\n    outputs = []\n"
    )
    text = f"{BUILT}model, plain = make_parallel(model, 2)\nmodel.compile('sgd', 'mse')\n"
    assert kit.check_refused(text, "TFM106", split=split).after == text


def test_what_a_function_in_a_copy_returns_is_its_own() -> None:
    split = NEW.replace("    outputs = []\n", "    def pair(x):\n        return x, x\n\n    outputs = []\n", 1)
    text = f"{BUILT}model = make_parallel(model, 2)\nmodel.compile('sgd', 'mse')\n"
    assert "make_parallel" not in kit.check_migrated(text, split=f"{split}    return new\n").after


def test_a_copy_that_gives_back_the_model_twice_for_one_gpu_still_does() -> None:
    alone = "    if gpu_count < 2:\n        return model, model\n    outputs = []\n"
    split = with_returned("new, model").replace("    outputs = []\n", alone)
    text = f"{BUILT}model, plain = make_parallel(model, gpus)\nmodel.compile('sgd', 'mse')\n"
    text = text.replace("\nmodel =", "\ngpus = count()\nmodel =", 1)
    assert "get_strategy()" in kit.check_migrated(text, split=split).after
