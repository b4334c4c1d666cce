"""Lines that assign to a variable and whose result nothing uses, which a graph never ran."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate, with_model

IMPORTS = "import tensorflow as tf\nfrom keras import backend as K\n"


@pytest.mark.parametrize(
    "code",
    [
        "total = K.zeros((2,))\ntotal.assign(values)\n",
        "total = K.variable(0)\ntotal.assign_add(1)\n",
        "total = K.variable(0)\nK.update(total, 1)\n",
        "tf.assign(total, 1)\n",
        "class Loss:\n    def __init__(self):\n        self.scale = K.ones(3)\n        self.scale.assign(values)\n",
    ],
)
def test_a_line_that_a_graph_never_ran_is_told(code: str) -> None:
    file = migrate(with_model(IMPORTS + code))
    assert actions(file, "TFM273") == ["warn"]
    assert "assign" in file.after or "update" in file.after


@pytest.mark.parametrize(
    "code",
    [
        "total = K.zeros((2,))\nset_total = total.assign(values)\n",
        "total = K.zeros((2,))\nK.get_session().run(total.assign(values))\n",
        "total = K.zeros((2,))\nK.set_value(total, values)\n",
        "table = Table()\ntable.assign(values)\n",
        "frame = frame.assign(a=1)\nframe.assign(b=2)\n",
    ],
)
def test_others_are_not(code: str) -> None:
    assert actions(migrate(with_model(IMPORTS + code)), "TFM273") == []


def test_a_variable_of_tensorflow_2_is_not() -> None:
    code = "from tensorflow.keras import backend as K\ntotal = K.zeros(2)\ntotal.assign(values)\n"
    assert actions(migrate(with_model(code)), "TFM273") == []
