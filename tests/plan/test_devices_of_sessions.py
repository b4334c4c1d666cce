"""What a session lists of the machine, of which most programs count the GPUs."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

HEAD = """\
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{code}
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=n)
parallel.compile("sgd", "mse")
print(n)
"""
LISTED = "tf.config.list_logical_devices()"


@pytest.mark.parametrize(
    "code",
    [
        "n = len([d for d in {} if d.device_type == 'GPU'])",
        "n = len([d.name for d in {} if 'GPU' in d.name])",
        "n = sum('gpu' in d.name.lower() for d in {})",
        "n = np.count_nonzero([':GPU:' in str(d) for d in {}])",
        "n = sum(1 for d in {} if d.device_type == 'GPU')",
    ],
)
@pytest.mark.parametrize("session", ["K.get_session()", "tf.Session()"])
def test_devices_whose_names_are_compared_are_listed_by_the_configuration(code: str, session: str) -> None:
    listing = f"{session}.list_devices()"
    file = check_migrated(HEAD.format(code=code.format(listing)))
    assert code.format(LISTED) in file.after
    assert "TFM501" not in [finding.code for finding in file.findings if "session" in finding.message.lower()]


def test_the_session_goes_where_nothing_else_reads_it() -> None:
    code = "sess = K.get_session()\nn = sum(d.device_type == 'GPU' for d in sess.list_devices())"
    file = check_migrated(HEAD.format(code=code))
    assert "sess" not in file.after
    file = migrate(HEAD.format(code=code + "\nprint(sess.graph)"))
    assert "sess = K.get_session()" in file.after
    assert LISTED in file.after


@pytest.mark.parametrize(
    "code",
    [
        "print(K.get_session().list_devices())\nn = 2",
        "names = [d.name for d in K.get_session().list_devices() if 'GPU' in d.name]\nn = 2\nprint(names)",
        "n = len(K.get_session().list_devices())",
        "devices = K.get_session().list_devices()\nn = sum('GPU' in d.name for d in devices)",
        "n = sum('/job:localhost' in d.name for d in K.get_session().list_devices())",
        "n = sum(', GPU,' in str(d) for d in K.get_session().list_devices())",
        "n = sum(d.memory_limit_bytes > 1 for d in K.get_session().list_devices())",
        "n = len([d for d in K.get_session().list_devices() if 'GPU' in str(kind)])",
        "n = len([print(d) for d in K.get_session().list_devices() if d.device_type == 'GPU'])",
        "n = sum(d.device_type == 'GPU' for d in tf.Session('grpc://one:2222').list_devices())",
        "n = sum(d.device_type == 'GPU' for d in cluster.list_devices())",
    ],
)
def test_others_stay(code: str) -> None:
    file = migrate(HEAD.format(code=code))
    assert code in file.after
    assert actions(file, "TFM211") == []
