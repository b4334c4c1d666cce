"""Classes that inherit from keras.layers.merge._Merge, and other private names of Keras."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate, with_model

HEAD = "from keras.layers.merge import _Merge\n\n\n"
MIXED = HEAD + "class Mixed(_Merge):\n    def _merge_function(self, inputs):\n        return inputs[0] + inputs[1]\n"


def test_a_layer_that_only_merges_becomes_a_layer() -> None:
    file = check_migrated(with_model(MIXED))
    assert "class Mixed(tf.keras.layers.Layer):\n    def call(self, inputs):" in file.after
    assert "_Merge" not in file.after
    assert actions(file, "TFM501") == []


def test_the_layer_of_the_module_is_taken() -> None:
    file = check_migrated(
        with_model("from keras.engine.topology import Layer\n" + MIXED + "\n\nclass A(Layer): pass\n")
    )
    assert "class Mixed(Layer):" in file.after


def test_simple_methods_may_stand_beside() -> None:
    init = "    def __init__(self, size, **kwargs):\n        super().__init__(**kwargs)\n        self.size = size\n"
    file = check_migrated(with_model(MIXED.replace("class Mixed(_Merge):\n", f"class Mixed(_Merge):\n{init}\n")))
    assert actions(file, "TFM287") == ["rewrite"]


@pytest.mark.parametrize(
    "code",
    [
        MIXED + "\n    def compute_mask(self, inputs, mask=None):\n        return None\n",
        MIXED + "\n    def build(self, shape):\n        super().build(shape)\n",
        MIXED + "\n    def get_config(self):\n        return {'shape': self._compute_elemwise_op_output_shape(1, 2)}\n",
        MIXED + "\n    def __init__(self):\n        _Merge.__init__(self)\n",
        MIXED + "\n    scale = 2\n",
        MIXED.replace("(self, inputs)", "(self, inputs, mask=None)"),
        MIXED + "\n\nclass Other(Mixed):\n    pass\n",
        MIXED + "\n\nmasked = Masking(0.0)\n",
        HEAD + "class Mixed(_Merge):\n    pass\n",
    ],
)
def test_others_are_left_with_one_warning(code: str) -> None:
    file = migrate(with_model(code))
    assert "from keras.layers.merge import _Merge" in file.after
    assert "tensorflow.keras.layers import _Merge" not in file.after
    assert actions(file, "TFM287") == []
    assert actions(file, "TFM501") == ["warn"]
    assert "_Merge" not in "".join(f.message for f in file.findings if f.code == "TFM204")


@pytest.mark.parametrize(
    "code",
    [
        "from keras.layers.convolutional import _Conv\n\n\nclass Wide(_Conv):\n    pass\n",
        "from keras.layers.pooling import _Pooling2D\n\n\nclass Wide(_Pooling2D):\n    pass\n",
        "from keras.engine.topology import Container\n\n\nclass Wide(Container):\n    pass\n",
        "from keras.layers.recurrent import Recurrent\n\n\nclass Wide(Recurrent):\n    pass\n",
        "from keras.layers.recurrent import _time_distributed_dense\n\nprint(_time_distributed_dense)\n",
        "from keras.backend import _to_tensor\n\nprint(_to_tensor)\n",
    ],
)
def test_no_name_is_written_that_never_was(code: str) -> None:
    file = migrate(with_model(code))
    assert code.partition("\n")[0] in file.after
    assert actions(file, "TFM501") == ["warn"]


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("from keras.engine.topology import Layer\n\nprint(Layer)", "from tensorflow.keras.layers import Dense, Layer"),
        (
            "from keras.engine import InputSpec\n\nprint(InputSpec)",
            "from tensorflow.keras.layers import Dense, InputSpec",
        ),
        (
            "from keras.layers.wrappers import Wrapper\n\nprint(Wrapper)",
            "tensorflow.keras.layers import Dense, Wrapper",
        ),
    ],
)
def test_names_that_are_there_are_written(code: str, after: str) -> None:
    file = check_migrated(with_model(code))
    assert after.rpartition("import ")[2].split(", ")[1] in file.after
    assert "from keras." not in file.after
    assert actions(file, "TFM501") == []
