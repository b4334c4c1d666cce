"""Where `import tensorflow as tf` stands: below the variables of the environment that a program sets for it."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, migrate

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


INSIDE = """
import os

from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def main():
    {first}
    {second}
    model = Sequential([Dense(1, input_shape=(4,))])
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile("sgd", "mse")
    parallel.train_on_batch(x, y)


main()
"""
OWN = "import tensorflow as tf"


def test_an_import_in_the_function_that_needs_it_stays_the_only_one() -> None:
    after = check_migrated(INSIDE.format(first=OWN, second="os.environ['A'] = '1'")).after
    assert after.count(IMPORT) == 1
    assert f"def main():\n    {OWN}\n    os.environ" in after


def test_an_import_under_main_stays_the_only_one() -> None:
    body = BODY.replace("def main():", "if __name__ == '__main__':\n    import tensorflow as tf").replace(
        "\nmain()\n", ""
    )
    after = check_migrated(body).after
    assert after.count(IMPORT) == 1
    assert f"    {OWN}\n" in after


def test_one_that_need_not_have_run_is_not_enough() -> None:
    first = "if os.environ:\n        import tensorflow as tf\n        print(tf)"
    after = check_migrated(INSIDE.format(first=first, second="pass")).after
    assert f"import os\n\n{OWN}\n" in after


def test_there_is_no_blank_line_where_an_import_in_a_function_goes() -> None:
    first = "if os.environ:\n        import tensorflow as tf\n\n        config = tf.ConfigProto()"
    second = (
        "    config.gpu_options.allow_growth = True\n"
        "        tf.keras.backend.set_session(tf.Session(config=config))\n\n    pass"
    )
    after = check_migrated(f"import tensorflow as tf\n{INSIDE.format(first=first, second=second)}").after
    assert "    if os.environ:\n        for gpu in tf.config" in after


TAKEN = """
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{taken}

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", lambda t, p: tf.square(t - p))
parallel.train_on_batch(x, y)
"""


def test_a_name_that_is_tensorflow_already_becomes_the_import() -> None:
    after = check_migrated(TAKEN.format(taken="tf = K.tf")).after
    assert after.startswith(f"\n{IMPORT}")
    assert "tf = " not in after
    assert "lambda t, p: tf.square(t - p)" in after
    assert "strategy = tf.distribute." in after


@pytest.mark.parametrize(
    "taken", ["tf = K.tf  # tfmigrate: skip", "tf = K.tf\ntf = tf.nn", "tf = other = K.tf", "for tf in files:\n    0"]
)
def test_a_name_that_is_something_else_too_stays(taken: str) -> None:
    after = migrate(TAKEN.format(taken=taken)).after
    assert "import tensorflow as tf_2\n" in after
    assert "tf = " in after or "for tf in" in after
