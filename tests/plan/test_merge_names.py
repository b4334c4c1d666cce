"""The two names of what is one model now: which one stays, and where both do."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, migrate

HEAD = "import keras\nfrom keras.utils import multi_gpu_model\nfrom mine import build, x, y\n\n\n"


def after(body: str) -> str:
    return migrate(HEAD + body).after


def test_the_template_keeps_its_name_in_each_of_two_wraps() -> None:
    """The wrap of another template is no alias of this one."""
    text = after(
        "one = build()\nother = build()\nparallel = multi_gpu_model(one, 2)\nparallel.compile('sgd', 'mse')\n"
        "parallel.fit(x, y)\nparallel = multi_gpu_model(other, 2)\nparallel.compile('sgd', 'mse')\nparallel.fit(x, y)\n"
    )
    assert "    parallel = build()\n    other = build()\n    parallel.compile(" in text
    assert "parallel = other\n" in text


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("print(model)", "model"),
        ("model = build()\nmodel.fit(x, y)", "model"),
        ("if more:\n    model = build()\n    model.fit(x, y)", "model"),
        ("model = build()\nmodel.fit(x, y)\nparallel.fit(x, y)", "parallel"),
        ("def later():\n    parallel.fit(x, y)\n\n\nmodel = build()\nlater()", "parallel"),
        ("for part in parts:\n    parallel.fit(x, part)\n    model = build()", "parallel"),
    ],
)
def test_a_template_that_is_bound_again_above_a_read_leaves_its_name(statement: str, kept: str) -> None:
    text = after(
        "model = build()\nparallel = multi_gpu_model(model, 2)\nparallel.compile('sgd', 'mse')\n"
        f"parallel.fit(x, y)\n{statement}\n"
    )
    assert f"{kept}.compile(" in text


def test_a_name_that_a_function_declares_global_stays() -> None:
    text = after(
        "model = build()\nparallel = multi_gpu_model(model, 2)\nparallel.compile('sgd', 'mse')\n"
        "parallel.fit(x, y)\n\n\ndef reset():\n    global parallel\n    parallel = None\n"
    )
    assert "parallel.compile(" in text
    assert "global parallel\n    parallel = None" in text


BUILT = (
    "def main(gpus):\n    model = build()\n    parallel = None\n    if gpus > 1:\n"
    "        parallel = multi_gpu_model(model, gpus)\n"
)


@pytest.mark.parametrize(
    "choice", ["parallel or model", "model if parallel is None else parallel", "parallel if gpus > 1 else model"]
)
def test_a_choice_between_the_two_goes_with_the_name_that_was_none(choice: str) -> None:
    """`final = parallel or model` is the model: neither of the other names is left."""
    text = after(f"{BUILT}    final = {choice}\n    final.compile('sgd', 'mse')\n    final.fit(x, y)\n")
    assert "        model = build()\n        model.compile('sgd', 'mse')\n" in text
    assert "parallel" not in text
    assert "final" not in text


def test_a_choice_that_has_no_name_is_the_model() -> None:
    text = after(f"{BUILT}    model.compile('sgd', 'mse')\n    return model, parallel or model\n")
    assert text.endswith("    return model, model\n")


@pytest.mark.parametrize("read", ["print(parallel)", "parallel = other", "model = other"])
def test_a_parallel_model_that_is_none_otherwise_stays(read: str) -> None:
    text = after(f"{BUILT}    {read}\n    final = parallel or model\n    final.compile('sgd', 'mse')\n")
    assert "    parallel = None\n" in text
    assert "final = parallel or model" in text


FOLDS = (
    "def main(gpus, ask):\n    for fold in range(2):\n        model = build()\n        trained = model\n{guard}"
    "        trained.compile('sgd', 'mse')\n        trained.fit(x, y)\n        model = trained = None\n"
)


def test_a_guard_that_would_repeat_the_line_above_goes() -> None:
    text = after(FOLDS.format(guard="        if gpus > 1:\n            trained = multi_gpu_model(model, gpus)\n"))
    assert "            trained = model\n            trained.compile('sgd', 'mse')\n" in text
    assert text.count("gpus > 1") == 1


@pytest.mark.parametrize(
    ("guard", "stays"),
    [
        (
            "        if gpus > 1:\n            trained = multi_gpu_model(model, gpus)\n        else:\n"
            "            print('one')\n",
            "print('one')",
        ),
        (
            "        if gpus > 1:\n            print('many')\n            trained = multi_gpu_model(model, gpus)\n",
            "        if gpus > 1:\n            print('many')\n            trained = model\n",
        ),
        ("        if ask():\n            trained = multi_gpu_model(model, 2)\n", "ask()"),
    ],
)
def test_a_guard_that_does_more_stays(guard: str, stays: str) -> None:
    assert stays in after(FOLDS.format(guard=guard))


def test_a_method_that_returns_the_model_either_way_asks_nothing() -> None:
    method = (
        "class Net:\n    def spread(self, model):\n        if self.gpus > 1:\n"
        "            return multi_gpu_model(model, self.gpus)\n        return {other}\n\n"
        "    def __init__(self, gpus):\n        self.gpus = gpus\n        model = build()\n"
        "        self.model = self.spread(model)\n        self.model.compile('sgd', 'mse')\n\n\n"
        "Net(2).model.fit(x, y)\n"
    )
    assert "def spread(self, model):\n        return model\n" in after(method.format(other="model"))
    assert "        if self.gpus > 1:\n            return " in after(method.format(other="self.made(model)"))


ARMS = """\
body = build()
if gpus > 1:
    model = multi_gpu_model(body, gpus)
    {first}
else:
    {second}
model.compile('sgd', 'mse')
model.fit(x, y)
body.save('body.h5')
"""
GPUS = "import sys\n\ngpus = int(sys.argv[1])\n"


def test_a_name_that_is_bound_again_at_once_is_the_template_until_then() -> None:
    text = after(GPUS + ARMS.format(first="model = mine.trained(model, n=2)", second="model = mine.trained(body, n=2)"))
    assert "\nmodel = mine.trained(body, n=2)\nmodel.compile('sgd', 'mse')\n" in text
    assert "else:" not in text
    assert "model = body" not in text


def test_what_stands_between_is_read_as_the_template_too() -> None:
    first = "model.summary()\n    model = mine.trained(model)"
    text = after(GPUS + ARMS.format(first=first, second="model = mine.trained(body)"))
    assert "body.summary()\n" in text
    assert "model = body\n" not in text


@pytest.mark.parametrize(
    "first",
    [
        "body = other()\n    model = mine.trained(model)",  # the template is another one by then
        "if deep:\n        model = mine.deeper(model)",  # not always bound again
        "make = lambda: model\n    model = mine.trained(model)",  # may be read later
        "model = before = mine.trained(model)",
    ],
)
def test_any_other_name_stays_the_alias(first: str) -> None:
    text = after(GPUS + ARMS.format(first=first, second="model = mine.trained(body)"))
    assert "model = body\n" in text


def test_arms_that_read_another_model_by_the_name_stay_two() -> None:
    first, second = "model = mine.trained(model)", "model = mine.trained(model)"
    text = after(GPUS + "model = other()\n" + ARMS.format(first=first, second=second))
    assert "model = mine.trained(body)\n" in text
    assert "model = mine.trained(model)\n" in text


HELD = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Trainer:
    def __init__(self, gpus):
        self.gpus = gpus
        self.net = Sequential([Dense(1, input_shape=(4,))])

    def train(self, rows):
        model = self.net
{between}        if self.gpus > 1:
            model = multi_gpu_model(self.net, gpus=self.gpus)
            model.compile("sgd", "mse")
        model.fit(rows)
"""


def test_a_name_that_holds_the_template_is_not_bound_to_it_again() -> None:
    text = check_migrated(HELD.format(between="")).after
    assert text.count("model = self.net") == 1
    assert "        if self.gpus > 1:\n            with model.distribute_strategy.scope():\n" in text


@pytest.mark.parametrize("between", ["self.net = other()", "self.renew()", "model = other()"])
def test_a_name_that_may_hold_another_is(between: str) -> None:
    assert "            model = self.net\n" in migrate(HELD.format(between=f"        {between}\n")).after


DELETED = (
    "def main(again):\n    model = build()\n    parallel = multi_gpu_model(model, 2)\n"
    "    parallel.compile('sgd', 'mse')\n    parallel.fit(x, y)\n{end}"
)


@pytest.mark.parametrize(
    ("end", "becomes"),
    [
        ("    del parallel\n    model.save('m.keras')\n", "    model.save('m.keras')\n"),
        ("    del parallel, model\n", "    del model\n"),
        ("    del model, parallel, again\n", "    del model, again\n"),
        ("    del (parallel, model)\n", "    del model\n"),
        ("    del model\n    del parallel\n", "    del model\n"),
        ("    if again:\n        del parallel\n    print(model)\n", "    print(model)\n"),
    ],
)
def test_a_name_that_is_deleted_goes_like_any_other(end: str, becomes: str) -> None:
    text = after(DELETED.format(end=end))
    assert "parallel" not in text
    assert text.endswith(becomes)


@pytest.mark.parametrize(
    "end",
    [
        "    del model\n    parallel.fit(x, y)\n",
        "    for _ in again:\n        parallel.fit(x, y)\n        if again:\n            del model\n",
        "    del model\n    return lambda: parallel\n",
    ],
)
def test_a_template_that_is_deleted_first_leaves_its_name(end: str) -> None:
    text = after(DELETED.format(end=end))
    assert "parallel.compile(" in text
    assert "parallel.fit(" in text or "lambda: parallel" in text


PAIR = (
    "def build_net(gpus):\n    model = build()\n    if gpus > 1:\n        return {several}\n    return {one}\n\n\n"
    "parallel, plain = build_net(2)\nparallel.compile('sgd', 'mse')\nparallel.fit(x, y)\nplain.save('m.keras')\n"
)


def test_a_pair_that_is_returned_either_way_is_returned_once() -> None:
    text = after(PAIR.format(several="multi_gpu_model(model, gpus), model", one="model, model"))
    assert "        model = build()\n    return model, model\n" in text


def test_pairs_that_differ_are_both_returned() -> None:
    text = after(PAIR.format(several="multi_gpu_model(model, gpus), model", one="model, None"))
    assert "    if gpus > 1:\n        return model, model\n    return model, None\n" in text


def test_a_template_of_one_arm_that_is_deleted_later_gives_way() -> None:
    text = after(
        "def main(folds, one):\n    for fold in folds:\n        if one:\n            model = build()\n        else:\n"
        "            single = build()\n            model = multi_gpu_model(single, 2)\n"
        "        model.compile('sgd', 'mse')\n        model.fit(x, y)\n"
        "        if one:\n            del model\n        else:\n            del model\n            del single\n"
    )
    assert "            model = build()\n            model.compile('sgd', 'mse')\n" in text
    assert "single" not in text
    assert text.endswith("        model.fit(train_dataset)\n        del model\n")


def test_a_template_that_is_built_in_further_arms_gives_way() -> None:
    choice = "        if weights:\n            {0} = build()\n            {0}.load_weights(weights)\n"
    choice += "        else:\n            {0} = build()\n"
    text = after(
        "def main(weights, gpus):\n    if gpus > 1:\n"
        + choice.format("model")
        + "        parallel = multi_gpu_model(model, gpus)\n    else:\n"
        + choice.format("parallel")
        + "    parallel.compile('sgd', 'mse')\n    parallel.fit(x, y)\n"
    )
    assert "    with strategy.scope():\n        if weights:\n            parallel = build()\n" in text
    assert text.count("build()") == 2
    assert " model" not in text
