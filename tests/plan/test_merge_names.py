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
