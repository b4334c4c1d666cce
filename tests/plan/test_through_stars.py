"""What a star import of Keras brought by the way is imported by its own name."""

from __future__ import annotations

import ast

import pytest

from tests.kit import migrate

PROGRAM = """{imports}
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
{use}
"""
STARS = "from keras.models import *\nfrom keras.layers import *"


@pytest.mark.parametrize(
    ("imports", "use", "imported"),
    [
        (STARS, "K.mean(np.zeros(3))", ["from tensorflow.keras import backend as K", "import numpy as np"]),
        (STARS, "def f():\n    return os.sep", ["import os"]),
        (f"import numpy as np\n{STARS}", "np.zeros(3)", []),
        (STARS, "def f(np):\n    return np.zeros(3)", []),
        (STARS, "model.K", []),
        ("from keras.models import Sequential\nfrom keras.layers import Dense", "np.zeros(3)", []),
        (STARS.replace("keras.", "tensorflow.keras."), "np.zeros(3)", []),
    ],
)
def test_names_that_a_star_brought_are_imported(imports: str, use: str, imported: list[str]) -> None:
    file = migrate(PROGRAM.format(imports=imports, use=use))
    ast.parse(file.after)
    lines = ["from tensorflow.keras import backend as K", "import numpy as np", "import os"]
    new = [line for line in lines if line in file.after and line not in imports]
    assert new == imported
