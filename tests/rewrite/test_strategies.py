"""Where strategies and their scopes are made."""

from __future__ import annotations

import pytest

from tests.kit import codes
from tests.rewrite.files import DRESS, migrated, one


def test_a_guard_whose_other_arm_raises_is_no_condition() -> None:
    result = one(
        """
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model

        def train(lines, num_gpus):
            model = Sequential([Dense(1, input_shape=(4,))])
            steps = len(lines) // 32
            if steps == 0:
                raise ValueError("too few")
            if True:
                parallel = multi_gpu_model(model, gpus=num_gpus)
                parallel.compile("sgd", "mse")
                parallel.fit_generator(lines, steps_per_epoch=steps)
        """
    )
    assert 'strategy = tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(num_gpus)])\n' in result.after


def test_an_arm_that_ends_in_a_loop_is_read() -> None:
    result = one(
        """
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model

        def train(gpus):
            model = Sequential([Dense(1, input_shape=(4,))])
            if gpus > 1:
                model = multi_gpu_model(model, gpus=gpus)
            else:
                for line in ("one", "GPU"):
                    print(line)
            model.compile("sgd", "mse")
        """
    )
    assert result.status == "migrated"


def test_validation_data_stand_where_their_share_stood() -> None:
    file = one("""
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model
        from data import x, y

        model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
        model.compile("sgd", "mse")
        model.fit(x, y, epochs=3, validation_split=0.2, verbose=2)
    """)
    assert "model.fit(train_dataset, epochs=3, validation_data=validation_dataset, verbose=2)\n" in file.after


def test_an_if_between_layers_stands_in_their_scope() -> None:
    file = one("""
        from tensorflow.keras.layers import Dense, Input, add
        from tensorflow.keras.models import Model
        from tensorflow.keras.utils import multi_gpu_model


        def build(wide):
            x = Input((4,))
            y = Dense(4)(x)
            if wide:
                z = add([x, y])
            else:
                z = None
            model = Model(x, y if z is None else z)
            model = multi_gpu_model(model, gpus=2)
            model.compile("sgd", "mse")
            return model
    """)
    assert file.after.count("with strategy.scope():") == 1
    assert "        else:\n            z = None\n        model = Model(" in file.after


TWO_BUILDERS = """
    import os

    import numpy as np
    from tensorflow.keras.layers import Dense
    from tensorflow.keras.models import Sequential
    from tensorflow.keras.utils import multi_gpu_model


    def small():
        gpus = int(os.environ["SMALL"])
        model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=gpus)
        {}
        return model


    def large():
        gpus = int(os.environ["LARGE"])
        model = multi_gpu_model(Sequential([Dense(8, input_shape=(4,)), Dense(1)]), gpus=gpus)
        {}
        return model


    model = small() if os.path.exists("small") else large()
    {}
    model.fit(np.load("x.npy"), np.load("y.npy"))
"""


def test_models_that_only_share_their_training_have_a_strategy_each() -> None:
    compiled = 'model.compile("sgd", "mse")'
    found = one(TWO_BUILDERS.format(compiled, compiled, ""))
    assert codes(found, "refuse") == []
    assert (found.after or "").count("MirroredStrategy(devices=[") == 2
    assert (found.after or "").count(".shuffle(") == 1
    assert "num_replicas_in_sync" not in (found.after or "")


def test_models_that_share_their_compile_have_one_strategy() -> None:
    found = one(TWO_BUILDERS.format("", "", 'model.compile("sgd", "mse")'))
    assert codes(found, "refuse") == ["TFM107", "TFM107"]


LOCAL_IMPORT = """
    from keras.layers import Dense
    from keras.models import Sequential
    from keras.utils import multi_gpu_model


    def build(gpus):
        model = Sequential([Dense(1, input_shape=(4,))])
        if gpus > 1:
            import tensorflow as tf
            with tf.device("/cpu:0"):
                print(tf.__version__)
            model = multi_gpu_model(model, gpus)
        model.compile("sgd", "mse")
        return model


    def version():
        import tensorflow as tf
        return tf.__version__
"""


@pytest.mark.parametrize("head", ["", "    import tensorflow as tf\n"])
def test_an_import_of_tensorflow_inside_the_function_hides_no_name_from_the_strategy(head: str) -> None:
    file = one(head + LOCAL_IMPORT.lstrip("\n"))
    assert file.after.count("import tensorflow as tf\n") == 2
    before, _, after = file.after.partition("strategy = ")
    assert "\nimport tensorflow as tf\n" in f"\n{before}"
    assert "def version():\n    import tensorflow as tf" in after


OWN_OPTIMIZER = """
    from keras.layers import Dense
    from keras.models import Sequential
    from keras.optimizers import Adam, Optimizer
    from keras.utils import multi_gpu_model


    class Slow(Optimizer):
        def get_updates(self, loss, params):
            return []


    class Net:
        def build(self, model, gpus=1, **settings):
            self.model = multi_gpu_model(model, gpus=gpus)
            self.model.compile(**settings)


    model = Sequential([Dense(1, input_shape=(4,))])
    print("one")
    print("two")
    print("three")
    print("four")
    optimizer = {optimizer}
    print("five")
    print("six")
    print("seven")
    print("eight")
    Net().build(model, loss="mse", optimizer=optimizer, gpus=2)
"""


@pytest.mark.parametrize("optimizer", ["Adam()", "Slow()", "Adam() if model else Slow()"])
def test_an_optimizer_that_is_handed_on_or_of_the_programs_own_class_is_made_in_the_scope(optimizer: str) -> None:
    file = one(OWN_OPTIMIZER.format(optimizer=optimizer))
    assert file.status == "migrated"
    assert f"with strategy.scope():\n    optimizer = {optimizer}" in file.after


CALLED_IN_THE_SCOPE = """
    from keras.layers import Dense
    from keras.models import Sequential, load_model
    from keras.utils import multi_gpu_model


    def typed(model, gpu=1):
        if gpu > 1:
            typed_model = multi_gpu_model(model, gpu)
        else:
            typed_model = model
        typed_model.compile("sgd", "mse")
        return typed_model


    def load_models(paths, gpu=1):
        models = []
        for path in paths:
            models.append(typed(load_model(path), gpu))
        return models


    def train(paths, batches, gpu=1):
        if paths is not None:
            model = load_models(paths, gpu)[0]
        else:
            model = Sequential([Dense(1, input_shape=(4,))])
        typed(model, gpu).fit(batches)


    def predict(paths, x, number):
        models = load_models(paths, number)
        return [model.predict(x) for model in models]


    train(None, batches, 2)
    predict(["a", "b"], x, 4)
"""


def test_a_function_that_is_called_in_a_scope_makes_no_strategy_of_its_own() -> None:
    """Two strategies, one in the scope of the other, are an error on every TensorFlow."""
    file = one(CALLED_IN_THE_SCOPE)
    assert file.status == "migrated"
    loading = file.after.partition("def load_models")[2].partition("def train")[0]
    assert "strategy" not in loading
    training, _, predicting = file.after.partition("def train")[2].partition("def predict")
    assert training.count("for i in range(gpu)])") == 1
    assert predicting.count("range(number)") == 1
    assert "with strategy.scope():\n        models = load_models(paths, number)" in predicting


def test_a_class_round_the_wrap_stays_with_all_its_uses_while_one_of_them_is_refused() -> None:
    found = migrated(
        {
            "dress.py": DRESS,
            "a.py": """
                from keras.layers import Dense
                from keras.models import Sequential

                from dress import ModelMGPU

                model = ModelMGPU(Sequential([Dense(1, input_shape=(4,))]), 2)
                model.compile("sgd", "mse")
            """,
            "b.py": """
                from dress import ModelMGPU
                from elsewhere import count, model

                parallel = ModelMGPU(model, count())
                parallel.compile("sgd", "mse")
            """,
        }
    )
    assert not any(file.changed for file in found.values())
    assert codes(found["a.py"], "refuse") == ["TFM101"]
    assert codes(found["b.py"], "refuse") == ["TFM104"]
    assert codes(found["dress.py"], "refuse") == ["TFM101"]
