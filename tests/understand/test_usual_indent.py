"""What is written into a file is indented as most of its blocks are."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, with_model
from tfmigrate.understand.module import Module

ODD = "if x:\n     print(x)\n"
USUAL = (
    "def f():\n    # above\n    return (1,\n  2)\n\n  # between\n\n"
    "class A:\n    ''' x\n y'''\n    def g(self):\n        pass\n"
)


@pytest.mark.parametrize(
    ("text", "indent"),
    [
        (ODD + USUAL, "    "),
        (USUAL + ODD, "    "),
        (ODD, "     "),
        (ODD + "if y:\n  pass\n", "     "),
        (ODD + ODD + USUAL.replace("    ", "\t"), "\t"),
        ("x = 1\n", "    "),
        ("if x: pass\n", "    "),
    ],
)
def test_the_indentation_of_most_blocks(text: str, indent: str) -> None:
    module = Module("train.py", text)
    assert module.tree.default_indent == indent
    assert module.printed == text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_scope_is_indented_so(end: str) -> None:
    text = with_model(ODD + USUAL).replace("\n", end)
    after = check_migrated(text).after
    assert f"with strategy.scope():{end}    model = Sequential(" in after
    assert ODD.replace("\n", end) in after
    assert USUAL.replace("\n", end) in after


def test_a_scope_in_an_odd_block_is_indented_as_that() -> None:
    built = "if x:\n  model = Sequential(layers)\n  parallel_model = multi_gpu_model(model, gpus=2)\n"
    text = (
        "from keras.layers import Dense\nfrom keras.models import Sequential\nfrom keras.utils import multi_gpu_model\n"
    )
    after = check_migrated(text + built + USUAL).after
    assert "  with strategy.scope():\n    model = Sequential(" in after
