"""The number of GPUs that a wrap gets, wherever it comes from."""

from __future__ import annotations

import pytest

from tests.kit import check_refused, codes
from tests.rewrite.files import one, text
from tfmigrate.settings import Settings


def test_gpus_is_carried_from_the_assignment_that_reaches_the_wrap() -> None:
    result = one(
        """
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model
        from setup import device

        def train(args, data):
            gpus = device(args)
            print(gpus)
            model = Sequential([Dense(1, input_shape=(4,))])
            gpus = len(args.gpu.split(","))
            if gpus > 1:
                model = multi_gpu_model(model, gpus=gpus)
            model.compile("sgd", "mse")
            model.fit_generator(data)
        """
    )
    assert 'for i in range(len(args.gpu.split(",")))' in result.after
    assert 'if len(args.gpu.split(",")) > 1' in result.after


def test_a_function_that_falls_back_asks_the_model_when_its_caller_has_the_strategy() -> None:
    file = one(
        """
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model


        def spread(net, gpus):
            try:
                net = multi_gpu_model(net, gpus)
                print("several")
            except ValueError:
                print("one")
            return net


        def main(gpus):
            model = spread(Sequential([Dense(1, input_shape=(4,))]), gpus)
            model.compile("sgd", "mse")


        main(2)
        """
    )
    assert '    if net.distribute_strategy.num_replicas_in_sync > 1:\n        print("several")\n' in file.after
    assert "    strategy = (\n        tf.distribute.MirroredStrategy(" in file.after.partition("def main")[2]


def test_a_number_of_gpus_that_is_none_is_compared_by_the_program_alone() -> None:
    file = one("""
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model


        def spread(model, gpus):
            if gpus > 1:
                model = multi_gpu_model(model, gpus=gpus)
            return model


        def load(gpus=None):
            model = Sequential([Dense(1, input_shape=(4,))])
            if gpus is not None:
                model = spread(model, gpus)
            return model


        load().predict([[1, 2, 3, 4]])
    """)
    assert file.status == "migrated"
    assert "gpus is not None and gpus > 1" in file.after


COUNTED = """
    from tensorflow.keras.layers import Dense
    from tensorflow.keras.models import Sequential
    from tensorflow.keras.utils import multi_gpu_model
    from tensorflow.python.client import device_lib


    def train(model, data, gpus=None):
        if gpus {test}:
            gpus = len([d for d in device_lib.list_local_devices() if d.device_type == "GPU"])
        if gpus >= 2:
            model = multi_gpu_model(model, gpus)
        model.compile("sgd", "mse")
        model.fit(data)


    model = Sequential([Dense(1, input_shape=(4,))])
    train(model, open("data"){given})
"""


@pytest.mark.parametrize("test", ["is None", "== None"])
def test_a_default_that_stands_in_for_none_is_what_the_wrap_gets(test: str) -> None:
    found = one(COUNTED.format(test=test, given=""))
    assert codes(found, "refuse") == []
    assert "MirroredStrategy()" in found.after


@pytest.mark.parametrize(("test", "given"), [("is not None", ""), ("is None", ", read()"), ("is 0", "")])
def test_what_may_stay_none_is_not_taken_for_its_default(test: str, given: str) -> None:
    found = one(COUNTED.format(test=test, given=given))
    assert "MirroredStrategy()" not in found.after
    assert "for i in range(gpus)]" in found.after


METHODS = """
    from keras.layers import Dense, Input
    from keras.models import Model
    from keras.utils import multi_gpu_model


    class Net:
        def __init__(self, size):
            inputs = Input((size,))
            self.model = Model(inputs, Dense(1)(inputs))

        def spread(self, number):
            self.model = multi_gpu_model(self.model, number)

        def compile(self):
            self.model.compile("adam", "mse")


    def main(args):
        {before}
        net = Net(4)
        {between}
        if args.gpus > 1:
            net.spread({number})
        net.compile()
        net.model.fit(batches)


    main(arguments)
"""


@pytest.mark.parametrize("number", ["args.gpus", "number"])
def test_a_number_of_gpus_that_comes_after_the_model_is_made_early_by_the_caller_that_knows_it(number: str) -> None:
    file = one(METHODS.format(before="number = args.gpus", between="pass", number=number))
    assert file.status == "migrated"
    main = file.after.partition("def main")[2]
    assert f"for i in range({number})" in main
    assert "    with strategy.scope():\n        net = Net(4)\n" in main
    assert "    with strategy.scope():\n        net.compile()\n" in main


def test_a_number_of_gpus_that_no_caller_knows_in_time_is_refused_where_the_model_is_built() -> None:
    code = text(METHODS.format(before="pass", between="number = find(net)", number="number"))
    file = check_refused(code, "TFM103", settings=Settings(ignore=("TFM026",)))
    (refusal,) = [finding for finding in file.findings if finding.code == "TFM103"]
    assert "at line 8, where the model or its optimizer is created" in refusal.message


def test_an_argument_that_was_switched_off_goes_with_its_call() -> None:
    file = one("""
        import numpy as np
        import tensorflow as tf
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model

        config = tf.compat.v1.ConfigProto(
            allow_soft_placement=True,
            # device_count={"GPU": 1}
        )
        tf.compat.v1.keras.backend.set_session(tf.compat.v1.Session(config=config))

        model = Sequential([Dense(1, input_shape=(4,))])
        model = multi_gpu_model(model, gpus=2)
        model.compile("sgd", "mse")
        model.fit(np.zeros((8, 4)), np.zeros((8, 1)), batch_size=4)
    """)
    assert "device_count" not in file.after
