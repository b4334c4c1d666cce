"""The names of what evaluate() returns: written where they are known, else told."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """
import keras
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model

def near(y_true, y_pred):
    return abs(y_true - y_pred)

x = Input((4,))
model = Model(x, {outputs})
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse"{metrics})
scores = parallel.evaluate(rows, targets)
{line}
"""


@pytest.mark.parametrize(
    ("metrics", "line", "new"),
    [
        ("", "print(model.metrics_names)", 'print(["loss"])'),
        (", metrics=['accuracy']", "print(model.metrics_names[1], scores[1])", 'print("accuracy", scores[1])'),
        (", metrics=['mae']", "print(parallel.metrics_names[-1])", 'print(["loss", "mae"][-1])'),
        (
            ", metrics=[near, keras.metrics.mean_absolute_error]",
            "d = dict(zip(parallel.metrics_names, scores))",
            'd = dict(zip(["loss", "near", "mean_absolute_error"], scores))',
        ),
        (", None", "for n in parallel.metrics_names: print(n)", 'for n in ["loss"]: print(n)'),
        (", ['mae']", "print(model.metrics_names[number])", 'print(["loss", "mae"][number])'),
    ],
)
def test_the_names_are_written(metrics: str, line: str, new: str) -> None:
    file = check_migrated(PROGRAM.format(outputs="Dense(1)(x)", metrics=metrics, line=line))
    assert f"\n{new}\n" in file.after
    assert actions(file, "TFM218") == ["rewrite"]


@pytest.mark.parametrize(
    ("outputs", "metrics", "line"),
    [
        ("[Dense(1)(x), Dense(1)(x)]", ", metrics=['mae']", "print(parallel.metrics_names)"),
        ("Dense(1)(x)", ", loss_weights=[1]", "print(parallel.metrics_names)"),
        ("Dense(1)(x)", ", weighted_metrics=['mae']", "print(parallel.metrics_names)"),
        ("Dense(1)(x)", ", metrics=chosen", "print(parallel.metrics_names)"),
        ("Dense(1)(x)", ", metrics=[chosen]", "print(parallel.metrics_names)"),
        ("Dense(1)(x)", ", metrics=[keras.metrics.MeanSquaredError()]", "print(parallel.metrics_names)"),
        ("Dense(1)(x)", ", metrics=['mae', 'mae']", "print(parallel.metrics_names)"),
        ("Dense(1)(x)", ", metrics=['mae']", "print(parallel.metrics_names[2])"),
        ("Dense(1)(x)", ", **settings", "print(parallel.metrics_names)"),
        ("Dense(1)(x)", ")\nparallel.compile('sgd', 'mae', metrics=['mse']", "print(parallel.metrics_names)"),
    ],
)
def test_what_is_open_is_told(outputs: str, metrics: str, line: str) -> None:
    file = check_migrated(PROGRAM.format(outputs=outputs, metrics=metrics, line=line))
    assert line.replace("parallel", "model") in file.after
    assert actions(file, "TFM218") == ["warn"]


def test_that_of_anything_else_stays() -> None:
    file = check_migrated(PROGRAM.format(outputs="Dense(1)(x)", metrics="", line="print(board.metrics_names)"))
    assert "print(board.metrics_names)" in file.after
    assert actions(file, "TFM218") == []
