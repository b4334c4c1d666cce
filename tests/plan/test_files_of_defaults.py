"""Names of files in the defaults of methods, and files that the program only loads."""

from __future__ import annotations

from tests.kit import changed, check_migrated

NET = """
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Net:
    def __init__(self, weights=None):
        self.model = Sequential([Dense(1, input_shape=(4,))])
        if weights is not None:
            self.model.load_weights(weights)

    def save(self, path="net_saved.h5"):
        self.model.save_weights(path)

    def train(self, x, y):
        parallel = multi_gpu_model(self.model, gpus=2)
        parallel.compile("sgd", "mse")
        parallel.fit(x, y, batch_size=32)
        path = "{}_weights.h5".format(self.model.name)
        self.save(path)
        return Net(path)
"""


def test_a_method_may_be_called_without_the_argument_from_elsewhere() -> None:
    assert 'def save(self, path="net_saved.weights.h5"):' in check_migrated(NET).after


def test_another_default_stays() -> None:
    program = changed(NET, ('path="net_saved.h5"', "path=None"))
    assert "def save(self, path=None):" in check_migrated(program).after


def test_a_file_that_is_only_loaded_keeps_its_name() -> None:
    own, other = "Net('mine_weights.h5')\n", "Net('pretrained/reviews.h5')\n"
    after = check_migrated(f"{NET}\n\n{own}{other}").after
    assert "Net('mine_weights.weights.h5')" in after
    assert other in after


def test_a_load_without_names_has_none_to_tell_of() -> None:
    program = changed(
        NET,
        ("load_weights(weights)", "load_weights(weights, by_name=True)"),
        ("Dense(1, ", "Conv1D(1, 2, "),
        ("import Dense", "import Conv1D"),
        ("(4,)", "(4, 1)"),
    )
    found = {finding.code for finding in check_migrated(program).findings}
    assert "TFM281" not in found
    other = changed(program, ("return Net(path)", "return Net('pretrained/reviews.h5')"))
    assert "TFM281" in {finding.code for finding in check_migrated(other).findings}
