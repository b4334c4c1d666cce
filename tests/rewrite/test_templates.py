"""Templates and parallel models: which of them trains, and which is taken out of the other."""

from __future__ import annotations

import pytest

from tests.kit import codes
from tests.rewrite.files import migrated, one


def test_a_device_block_round_the_template_goes_wherever_it_stands() -> None:
    file = one(
        """
        import tensorflow as tf
        from tensorflow.keras import Input, Model
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.utils import multi_gpu_model


        def build(width):
            x = Input((4,))
            return Model(x, Dense(width)(x)), Model(x, x)


        def make(gpus):
            if gpus > 1:
                with tf.device("/cpu:0"):
                    model, other = build(8 // gpus)
            else:
                model, other = build(8)
            print(other)
            trainer = multi_gpu_model(model, gpus) if gpus > 1 else model
            trainer.compile("sgd", "mse")
            return trainer


        make(2)
        """
    )
    assert file.status == "migrated"
    assert "device(" not in file.after
    assert "        if gpus > 1:\n            model, other = build(8 // gpus)\n        else:\n" in file.after


def test_a_model_that_is_neither_compiled_nor_used_in_sight_is_told() -> None:
    build = """
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model


        def build(gpus):
            return multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=gpus)
    """
    assert codes(one(build), "warn") == ["TFM023"]
    assert codes(one(f"{build}\n\n        build(2).predict([[1, 2, 3, 4]])\n"), "warn") == []
    assert codes(one(f"{build}\n\n        build(2).compile('sgd', 'mse')\n"), "warn") == []


@pytest.mark.parametrize(
    ("loop", "compiled"),
    [
        ("for name, model in nets.items():\n    model", "for name, model in nets.items():\n        model"),
        ("for model in nets.values():\n    model", "for model in nets.values():\n        model"),
        ("nets.get('a')", "nets.get('a')"),
        ("nets['a']", "nets['a']"),
    ],
)
def test_models_in_a_dict_are_compiled_in_the_scope(loop: str, compiled: str) -> None:
    file = one(
        "from tensorflow.keras.layers import Dense\nfrom tensorflow.keras.models import Sequential\n"
        "from tensorflow.keras.utils import multi_gpu_model\n\nnets = {}\n"
        "nets['a'] = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)\n"
        f"{loop}.compile('sgd', 'mse')\n"
    )
    assert file.after.endswith(
        "with strategy.scope():\n    nets['a'] = Sequential([Dense(1, input_shape=(4,))])\n"
        f"    {compiled}.compile('sgd', 'mse')\n"
    )


def test_data_out_of_a_generator_is_no_part_of_the_model() -> None:
    file = one("""
        import numpy as np
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model


        def lines(path):
            for line in open(path):
                yield line.split()


        def read(path):
            rows = np.array(sorted(lines(path)))
            return rows, rows.shape


        def build(rows):
            width = (rows.shape[1],)
            model = Sequential()
            model.add(Dense(rows.max(), input_shape=width))
            return model


        rows, size = read("data.txt")
        model = multi_gpu_model(build(rows), gpus=2)
        model.compile("sgd", "mse")
    """)
    assert file.after.index('rows, size = read("data.txt")\n') < file.after.index("with strategy.scope():")


def test_a_template_that_is_taken_out_of_what_may_be_parallel_is_told() -> None:
    code = """
        import sys

        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model


        def plain(model):
            return model.layers[-2]


        gpus = int(sys.argv[1])
        model = Sequential([Dense(1, input_shape=(4,)), Dense(1)])
        if gpus > 1:
            model = multi_gpu_model(model, gpus=gpus)
        model.compile("sgd", "mse")
        if gpus > 1:
            model = plain(model)
    """
    assert codes(one(code), "warn") == ["TFM024"]
    sure = code.replace("model = multi_gpu_model(", "model = plain(multi_gpu_model(").replace(
        "gpus=gpus)", "gpus=gpus))"
    )
    assert "return model\n" in one(sure.rpartition("        if gpus")[0]).after


@pytest.mark.parametrize("gone", ["return parallel", "raise ValueError(parallel)"])
def test_a_template_compiled_behind_an_arm_that_left_is_compiled_instead(gone: str) -> None:
    """Never both: the arm with the parallel model has left the function."""
    file = one(f"""
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model


        def typed(model, gpus):
            if gpus > 1:
                parallel = multi_gpu_model(model, gpus)
                parallel.compile("sgd", "mse")
                {gone}
            model.compile("sgd", "mse")
            return model


        def train(batches, gpus):
            typed(Sequential([Dense(1, input_shape=(4,))]), gpus).fit(batches)


        train(batches, 2)
    """)
    assert file.status == "migrated"


def test_a_template_compiled_behind_an_arm_that_goes_on_still_wins() -> None:
    file = one("""
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model


        def train(batches, gpus):
            model = Sequential([Dense(1, input_shape=(4,))])
            if gpus > 1:
                parallel = multi_gpu_model(model, gpus)
                parallel.compile("sgd", "mse")
            model.compile("adam", "mse")
            parallel.fit(batches)


        train(batches, 2)
    """)
    assert codes(file, "refuse")[0] == "TFM105"


def test_an_attribute_that_two_methods_set_is_migrated_in_both_or_in_none() -> None:
    net = """
        from config import GPUS
        from keras.layers import Dense
        from keras.models import Sequential, model_from_json
        from keras.utils import multi_gpu_model


        class Net:
            def design(self, parallel=True):
                self.model = Sequential([Dense(1, input_shape=(4,))])
                if parallel is True:
                    self.parallel = multi_gpu_model(self.model, gpus=GPUS)

            def load(self, path):
                try:
                    self.model = model_from_json(open(path).read())
                except Exception:
                    self.design(parallel=False)
                self.parallel = multi_gpu_model(self.model, gpus=GPUS)

            def train(self, x, y):
                self.parallel.compile("sgd", "mse")
                self.parallel.fit(x, y, batch_size=16)
    """
    driver = "from net import Net\n\nnet = Net()\nnet.design()\nnet.train(x, y)\n"
    file = migrated({"net.py": net, "config.py": "GPUS = 2\n", "train.py": driver})["net.py"]
    assert file.status == "refused"
    assert file.after.count("multi_gpu_model(self.model") == 2
    assert "strategy" not in file.after
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM101"]
    assert message == "`self.parallel` is also set at line 18, which is not migrated"


@pytest.mark.parametrize(
    ("between", "status"),
    [
        ("", "migrated"),
        ("parallel.fit(batches)", "refused"),
        ("loss = 'mae'", "refused"),
        ("model.layers[0].trainable = False", "refused"),
    ],
)
def test_a_template_that_is_compiled_the_same_wins_nothing(between: str, status: str) -> None:
    file = one(f"""
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model

        loss = "mse"
        model = Sequential([Dense(1, input_shape=(4,))])
        parallel = multi_gpu_model(model, 2)
        parallel.compile("sgd", loss)
        {between}
        model.compile("sgd", loss)
        parallel.fit(batches)
    """)
    assert file.status == status
    assert file.after.count(".compile(") == (1 if status == "migrated" else 2)


@pytest.mark.parametrize("parallel", ["multi_gpu_model(self.net(), 2)", "multi_gpu_model((self.net()), gpus=2)"])
def test_a_template_that_is_built_in_the_call_is_built_still_where_its_name_is_the_builders(parallel: str) -> None:
    file = one(f"""
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model


        class Gan:
            def net(self):
                return Sequential([Dense(1, input_shape=(4,))])

            def train(self, batches):
                self.net = {parallel}
                self.net.compile("sgd", "mse")
                self.net.fit(batches)
    """)
    assert file.status == "migrated"
    assert "self.net = self.net()\n" in file.after.replace("(self.net())", "self.net()")


def test_the_template_is_taken_out_of_a_parallel_model_of_another_module() -> None:
    nets = """
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model


        def parallel(gpus):
            model = Sequential([Dense(3, input_shape=(4,)), Dense(2)])
            return multi_gpu_model(model, gpus)
    """
    save = """
        from nets import parallel

        net = parallel(2)
        net.load_weights("old.keras")
        net.layers[-2].save("plain.keras")
        print(net.layers[-1], other.layers[-2])
    """
    files = migrated({"nets.py": nets, "save.py": save})
    assert 'net.save("plain.keras")\nprint(net.layers[-1], other.layers[-2])\n' in files["save.py"].after


@pytest.mark.parametrize(
    ("between", "condition", "told"),
    [
        ("", "gpus > 1", False),
        ("", "gpus >= 2", True),
        ("", "gpus > 1 and keep", True),
        ("model = other", "gpus > 1", True),
    ],
)
def test_under_the_condition_of_the_wrap_the_template_is_taken_out_of_the_parallel_model(
    between: str, condition: str, told: bool
) -> None:
    code = f"""
        import sys

        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model

        number = int(sys.argv[1])
        keep = number > 4
        for gpus in (number,):
            other = Sequential([Dense(1, input_shape=(4,)), Dense(1)])
            model = Sequential([Dense(1, input_shape=(4,)), Dense(1)])
            if gpus > 1:
                model = multi_gpu_model(model, gpus=gpus)
            model.compile("sgd", "mse")
            if keep:
                {between or "pass"}
            if {condition}:
                plain = model.layers[-2]
    """
    file = one(code)
    assert ("plain = model.layers[-2]\n" in file.after, codes(file, "warn")) == (told, ["TFM024"] if told else [])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("for layer in parallel.layers: layer.trainable = False", True),
        ("parallel.layers[0].trainable = False", True),
        ("for layer in model.layers: layer.trainable = False", False),
        ("parallel.layers[-2].trainable = False", False),
    ],
)
def test_the_layers_of_the_parallel_model_are_told(line: str, told: bool) -> None:
    file = one(f"""
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model

        model = Sequential([Dense(1, input_shape=(4,)), Dense(1)])
        parallel = multi_gpu_model(model, gpus=2)
        {line}
        parallel.compile("sgd", "mse")
    """)
    assert codes(file, "warn") == (["TFM024"] if told else [])


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("return multi_gpu_model(m, gpus) if gpus > 1 else m", "return m"),
        ("return m if gpus <= 1 else multi_gpu_model(m, gpus)", "return m"),
        ("return (multi_gpu_model(m, gpus) if gpus > 1 else m), m", "return m, m"),
        ("return multi_gpu_model(m, gpus) if gpus > 1 else None", "return m if gpus > 1 else None"),
    ],
)
def test_a_choice_between_the_wrap_and_its_template_is_none(line: str, becomes: str) -> None:
    file = one(f"""
        import sys

        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model


        def build(gpus):
            m = Sequential([Dense(1, input_shape=(4,))])
            {line}


        print(build(int(sys.argv[1])))
    """)
    assert f"    {becomes}\n" in file.after
