"""Where `import tensorflow as tf` stands: below the variables of the environment that a program sets for it."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

BODY = """
def main():
    from keras.layers import Dense
    from keras.models import Sequential
    from keras.utils import multi_gpu_model

    model = Sequential([Dense(1, input_shape=(4,))])
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile("sgd", "mse")
    parallel.train_on_batch(x, y)


main()
"""
IMPORT = "import tensorflow as tf\n"


def above(text: str) -> str:
    """What stands above the import."""
    after = check_migrated(text).after
    assert after.count(IMPORT) == 1
    return after[: after.index(IMPORT)]


@pytest.mark.parametrize(
    "setting",
    [
        'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n',
        'os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")\n',
        'os.environ.update(TF_CPP_MIN_LOG_LEVEL="3")\n',
        'os.putenv("OMP_NUM_THREADS", "1")\n',
        'if GPUS:\n    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"\n',
        'def choose(gpus):\n    os.environ["CUDA_VISIBLE_DEVICES"] = gpus\n\n\nchoose("0,1")\n',
    ],
)
def test_it_stands_below_the_settings(setting: str) -> None:
    head = f"import os\nimport numpy as np\n\nGPUS = 2\n{setting}"
    assert above(head + BODY).rstrip() == head.rstrip()
    at_the_top = BODY.replace("def main():", "if True:").replace("main()", "")
    assert above(head + at_the_top).rstrip() == head.rstrip()


@pytest.mark.parametrize(
    ("head", "before"),
    [
        ("import os\nimport numpy as np\n\nGPUS = 2\n", "import os\n"),
        ("import os\nimport numpy as np\n\nGPUS = os.environ['GPUS']\n", "import os\n"),
        ("import os\n\nimport keras\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n", "import os\n\n"),
        ("import os\n\n\ndef choose(gpus):\n    os.environ['CUDA_VISIBLE_DEVICES'] = gpus\n", ""),
        ("import os\n\n\nclass Settings:\n    environ = {}\n", ""),
    ],
)
def test_without_settings_it_stands_where_imports_do(head: str, before: str) -> None:
    assert above(head + BODY) == before


def test_settings_below_the_first_use_do_not_count() -> None:
    text = "import os\n" + BODY + "os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"
    assert above(text) == ""
