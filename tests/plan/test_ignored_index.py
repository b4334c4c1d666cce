"""Sequences whose batches do not depend on the index that Keras asks for."""

from __future__ import annotations

import pytest

from tests.kit import migrate

PROGRAM = """\
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import Sequence, multi_gpu_model


class Groups(Sequence):
    def __init__(self, groups):
        self.groups, self.at, self.rows = groups, 0, iter(groups)

    def __len__(self):
        return len(self.groups)

    def step(self):
        self.at = (self.at + 1) % len(self.groups)
        return self.at

    def __getitem__(self, index):
        {body}
        return x, y


model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
parallel_model.fit_generator(Groups(groups), epochs=2)
"""


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        ("x, y = self.groups[self.at]; self.at += 1", True),
        ("x, y = next(self.rows)", True),
        ("x, y = self.groups[self.step()]", True),
        ("x, y = self.groups[index]; self.at += 1", False),
        ("x, y = self.groups[np.random.randint(9)]", False),  # as random as it was
        ("x, y = self.groups[0]", False),
    ],
)
def test_a_sequence_that_counts_itself_is_told(body: str, is_told: bool) -> None:
    findings = migrate(PROGRAM.replace("{body}", body)).findings
    told = [finding for finding in findings if finding.code == "TFM436"]
    assert len(told) == is_told
    assert all("return batch `index`" in finding.message for finding in told)
