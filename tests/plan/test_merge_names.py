"""The two names of what is one model now: which one stays, and where both do."""

from __future__ import annotations

import pytest

from tests.kit import migrate

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
        ("model = build()\nmodel.fit(x, y)", "parallel"),
    ],
)
def test_a_template_that_is_bound_again_leaves_its_name(statement: str, kept: str) -> None:
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
