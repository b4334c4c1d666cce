"""Programs of several files through understand, plan, edit and guard."""

from __future__ import annotations

from tests.kit import codes
from tests.rewrite.files import DRESS, UTILITY, migrated, text


class TestSeveralFiles:
    def test_a_utility_sends_the_scope_to_its_caller(self) -> None:
        files = migrated(
            {
                "utils.py": UTILITY,
                "train.py": """
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from utils import to_parallel

                GPUS = 2
                model = Sequential([Dense(1, input_shape=(4,))])
                model = to_parallel(model, GPUS)
                model.compile(loss="mse", optimizer="sgd")
            """,
            }
        )
        assert files["train.py"].after == text("""
            import tensorflow as tf
            from tensorflow.keras.layers import Dense
            from tensorflow.keras.models import Sequential
            from utils import to_parallel

            GPUS = 2
            strategy = (
                tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(GPUS)])
                if GPUS > 1
                else tf.distribute.get_strategy()
            )
            with strategy.scope():
                model = Sequential([Dense(1, input_shape=(4,))])
                model = to_parallel(model, GPUS)
                model.compile(loss="mse", optimizer="sgd")
        """)
        assert files["utils.py"].after == text("""
            def to_parallel(model, gpus):
                if gpus <= 1:
                    return model
                return model
        """)

    def test_a_compile_in_another_file_stands_under_the_models_own_strategy(self) -> None:
        files = migrated(
            {
                "pkg/__init__.py": "from .nets import build\n",
                "pkg/nets.py": """
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from tensorflow.keras.utils import multi_gpu_model


                def build(gpus):
                    model = Sequential([Dense(1, input_shape=(4,))])
                    return multi_gpu_model(model, gpus=gpus)
            """,
                "train.py": """
                from pkg import build

                trainer = build(2)
                trainer.compile(loss="mse", optimizer="sgd")
            """,
            }
        )
        assert files["train.py"].after == text("""
            from pkg import build

            trainer = build(2)
            with trainer.distribute_strategy.scope():
                trainer.compile(loss="mse", optimizer="sgd")
        """)
        assert "return model\n" in files["pkg/nets.py"].after
        assert not files["pkg/__init__.py"].changed

    def test_a_refusal_in_one_caller_leaves_every_file_as_it_is(self) -> None:
        files = migrated(
            {
                "utils.py": UTILITY,
                "good.py": """
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from utils import to_parallel

                model = to_parallel(Sequential([Dense(1, input_shape=(4,))]), 2)
            """,
                "bad.py": """
                from network import model
                from utils import to_parallel

                model = to_parallel(model, 2)
            """,
            }
        )
        assert [file.changed for file in files.values()] == [False, False, False]
        assert codes(files["utils.py"], "refuse") == ["TFM104", "TFM003"] or codes(files["utils.py"], "refuse") == [
            "TFM104"
        ]

    def test_a_copy_of_the_function_is_known_by_what_it_does(self) -> None:
        files = migrated(
            {
                "utils/gpus.py": """
                import tensorflow as tf
                from keras.layers import Lambda, concatenate
                from keras.models import Model


                def spread(model, gpus):
                    outputs = []
                    for i in range(gpus):
                        with tf.device("/gpu:%d" % i):
                            inputs = [Lambda(lambda x: x)(x) for x in model.inputs]
                            outputs.append(model(inputs))
                    return Model(model.inputs, concatenate(outputs, axis=0))
            """,
                "train.py": """
                from keras.layers import Dense
                from keras.models import Sequential
                from utils.gpus import spread

                model = Sequential([Dense(1, input_shape=(4,))])
                parallel = spread(model, 2)
                parallel.compile(loss="mse", optimizer="sgd")
            """,
            }
        )
        assert "spread" not in files["train.py"].after
        assert "with strategy.scope():\n    model = " in files["train.py"].after
        assert "def spread(model, gpus):" in files["utils/gpus.py"].after

    def test_what_a_migrated_module_imports_leaves_the_old_keras_with_it(self) -> None:
        files = migrated(
            {
                "nets.py": """
                from keras.layers import GRU, Dense
                from keras.models import Sequential


                def build():
                    return Sequential([GRU(4, input_shape=(8, 2), recurrent_activation="sigmoid"), Dense(1)])
            """,
                "main.py": """
                import keras
                from train import run

                run(2)
                print(keras.backend.epsilon())
            """,
                "train.py": """
                from keras.utils import multi_gpu_model
                from nets import build


                def run(gpus):
                    model = multi_gpu_model(build(), gpus=gpus)
                    model.compile(loss="mse", optimizer="sgd")
            """,
                "other.py": "import keras\n",
            }
        )
        assert "from tensorflow.keras.layers import GRU" in files["nets.py"].after
        assert "reset_after=False" in files["nets.py"].after
        assert "from tensorflow import keras" in files["main.py"].after
        assert not files["other.py"].changed

    def test_a_module_whose_uses_are_refused_keeps_the_old_keras(self) -> None:
        files = migrated(
            {
                "nets.py": """
                from keras.layers import Dense
                from keras.models import Sequential


                def build():
                    return Sequential([Dense(1, input_shape=(4,))])
            """,
                "good.py": """
                from keras.utils import multi_gpu_model
                from nets import build

                model = multi_gpu_model(build(), gpus=2)
            """,
                "bad.py": """
                from keras.utils import multi_gpu_model
                from nets import build
                from somewhere import model

                print(build())
                model = multi_gpu_model(model, gpus=2)
            """,
            }
        )
        assert "tensorflow" in files["good.py"].after
        assert "tensorflow" in files["nets.py"].after
        assert not files["bad.py"].changed

    def test_a_class_that_only_dresses_up_the_parallel_model_goes(self) -> None:
        files = migrated(
            {
                "dress.py": f"{text(DRESS)}\n\nOTHER = 1\n",
                "train.py": """
                from keras.layers import Dense
                from keras.models import Sequential
                from dress import ModelMGPU

                model = Sequential([Dense(1, input_shape=(4,))])
                trainer = ModelMGPU(model, 2)
                trainer.compile(loss="mse", optimizer="sgd")
                trainer.save("all.h5")
            """,
            }
        )
        assert files["dress.py"].after == text("OTHER = 1\n")
        assert [f.line for f in files["dress.py"].findings if f.code == "TFM001"] == [7]
        assert files["train.py"].after == text("""
            import tensorflow as tf
            from tensorflow.keras.layers import Dense
            from tensorflow.keras.models import Sequential

            strategy = tf.distribute.MirroredStrategy(devices=["/gpu:0", "/gpu:1"])
            with strategy.scope():
                model = Sequential([Dense(1, input_shape=(4,))])
                model.compile(loss="mean_squared_error", optimizer="sgd")
            model.save("all.h5")
        """)

    def test_a_class_that_dresses_up_the_wrap_is_known_from_a_method_that_nothing_calls(self) -> None:
        files = migrated(
            {
                "dress.py": DRESS,
                "net.py": """
                from keras.layers import Dense
                from keras.models import Sequential
                from dress import ModelMGPU


                class Net:
                    def __init__(self):
                        model = Sequential([Dense(1, input_shape=(4,))])
                        model = ModelMGPU(model, 2)
                        model.compile(loss="mse", optimizer="sgd")
                        self.model = model
            """,
            }
        )
        assert [(file.status, codes(file, "refuse")) for file in files.values()] == [("migrated", [])] * 2

    def test_wraps_in_both_arms_of_an_if_need_no_condition(self) -> None:
        files = migrated(
            {
                "train.py": """
                import sys

                from tensorflow.keras.layers import Dense, Input
                from tensorflow.keras.models import Model, load_model
                from tensorflow.keras.utils import multi_gpu_model

                start = sys.argv[1]
                if start is None:
                    image = Input((4,))
                    outputs = list()
                    for name in ("age", "size"):
                        outputs.append(Dense(1, name=name)(image))
                    trainer = multi_gpu_model(Model(image, outputs), gpus=2)

                else:
                    trainer = multi_gpu_model(load_model(start), gpus=2)
                trainer.compile("sgd", "mse")
            """
            }
        )
        assert files["train.py"].after == text("""
            import sys

            import tensorflow as tf
            from tensorflow.keras.layers import Dense, Input
            from tensorflow.keras.models import Model, load_model

            start = sys.argv[1]
            strategy = tf.distribute.MirroredStrategy(devices=["/gpu:0", "/gpu:1"])
            with strategy.scope():
                if start is None:
                    image = Input((4,))
                    outputs = list()
                    for name in ("age", "size"):
                        outputs.append(Dense(1, name=name)(image))
                    trainer = Model(image, outputs)

                else:
                    trainer = load_model(start)
                trainer.compile("sgd", "mse")
        """)

    def test_what_is_compiled_far_from_the_strategy_shares_one_block_and_keeps_its_comments(self) -> None:
        files = migrated(
            {
                "net.py": """
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from tensorflow.keras.optimizers import SGD
                from tensorflow.keras.utils import multi_gpu_model


                class Net:
                    def build(self):
                        self.model = Sequential([Dense(1, input_shape=(4,))])

                    def train(self, gpus):
                        if gpus > 1:
                            # several cards
                            self.model = multi_gpu_model(self.model, gpus)
                        rate = SGD(0.1)
                        self.model.compile(rate, "mse")
                        self.model.fit(batches)


                net = Net()
                net.build()
                net.train(4)
            """
            }
        )
        assert (
            "        # several cards\n"
            "        with self.model.distribute_strategy.scope():\n"
            "            rate = SGD(0.1)\n"
            '            self.model.compile(rate, "mse")\n'
        ) in files["net.py"].after

    def test_a_model_class_that_nothing_instantiates_stands_in_its_own_module(self) -> None:
        files = migrated(
            {
                "first.py": """
                import tensorflow as tf
                import nets

                strategy = tf.distribute.MirroredStrategy()
            """,
                "nets.py": """
                import tensorflow as tf


                class Net(tf.keras.Model):
                    def start(self):
                        self.compile(loss="mse")
            """,
            }
        )
        assert {file.error for file in files.values()} <= {None}

    def test_two_such_classes_of_one_name_go_each_from_its_module(self) -> None:
        dress = DRESS.replace("ModelMGPU", "Trainer")
        script = """
            from keras.layers import Dense
            from keras.models import Sequential
            from {} import Trainer

            model = Sequential([Dense(1, input_shape=(4,))])
            trainer = Trainer(model, 2)
            trainer.compile(loss="mse", optimizer="sgd")
        """
        files = migrated(
            {
                "Trainer.py": dress,
                "flat.py": script.format("Trainer"),
                "deep.py": dress,
                "solid.py": script.format("deep"),
            }
        )
        assert [file.status for file in files.values()] == ["migrated"] * 4
        assert "Trainer" not in "".join(file.after for file in files.values())

    def test_what_is_loaded_together_is_mended_together(self) -> None:
        """In the builder's file a default has changed; in the caller's a method is gone."""
        files = migrated(
            {
                "nets.py": """
                from keras.layers import GRU, Dense
                from keras.models import Sequential
                from keras.optimizers import Adagrad


                def build():
                    return Sequential([GRU(4, input_shape=(4, 3)), Dense(1)])


                def compiled(model):
                    model.compile(Adagrad(lr=0.1), 'mse')
                """,
                "train.py": """
                from keras.utils import multi_gpu_model
                from nets import build, compiled


                def make(gpus):
                    model = multi_gpu_model(build(), gpus)
                    compiled(model)
                    return model
                """,
                "main.py": """
                from data import Batches
                from train import make

                make(4).fit_generator(Batches(), workers=4)
                """,
                "data.py": "from keras.utils import Sequence\n\nclass Batches(Sequence):\n    pass\n",
                "stranger.py": "from keras.layers import GRU\n",
            }
        )
        assert {path: file.status for path, file in files.items()} == {
            "nets.py": "migrated",
            "train.py": "migrated",
            "main.py": "migrated",
            "data.py": "migrated",
            "stranger.py": "unchanged",
        }
        assert "reset_after=False" in files["nets.py"].after
        assert "initial_accumulator_value=0.0" in files["nets.py"].after
        assert "fit(train_sequence)" in files["main.py"].after
        assert "from tensorflow.keras.utils import Sequence" in files["data.py"].after
