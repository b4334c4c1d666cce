"""The import of multi_gpu_model beside the only wrap of a guard goes with it, and so does the guard."""

from __future__ import annotations

from tests.kit import check_migrated

CODE = """from keras.layers import Dense
from keras.models import Sequential
from data import x, y


def {name}(model, gpus):
    if gpus:
        from keras.utils import multi_gpu_model
        return multi_gpu_model(model, gpus=gpus)
    return model


{before}net = {call}(Sequential([Dense(1, input_shape=(2,))]), 2)
net.compile('sgd', 'mse')
net.train_on_batch(x, y)
"""


def test_a_function_that_only_wraps_goes_with_its_import() -> None:
    after = check_migrated(CODE.format(name="spread", before="", call="spread")).after
    assert "def " not in after
    assert "    net = Sequential([Dense(1, input_shape=(2,))])\n" in after


def test_the_guard_goes_where_the_function_stays() -> None:
    after = check_migrated(CODE.format(name="spread", before="wrap = spread\n", call="wrap")).after
    assert "def spread(model, gpus):\n    return model\n" in after


def test_another_import_stays() -> None:
    code = CODE.format(name="spread", before="", call="spread")
    after = check_migrated(code.replace("multi_gpu_model\n", "multi_gpu_model\n        import horses\n")).after
    assert "    if gpus:\n        import horses\n        return model\n    return model\n" in after
