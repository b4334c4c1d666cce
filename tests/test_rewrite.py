"""Whole programs through understand, plan, edit and guard: what a rule's one-file examples cannot show."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.kit import check_migrated, check_refused, codes, migrate
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings


def migrated(files: dict[str, str]) -> dict[str, FileResult]:
    """The outcome per file, for path -> text."""
    sources = {path: text(code) for path, code in files.items()}
    return {file.path: file for file in migrate_sources(sources, Settings())}


def one(code: str) -> FileResult:
    """The outcome for a program of one file."""
    return migrated({"train.py": code})["train.py"]


def text(code: str) -> str:
    return dedent(code).lstrip("\n")


DRESS = """
    from keras.models import Model
    from keras.utils import multi_gpu_model


    class ModelMGPU(Model):
        def __init__(self, ser_model, gpus):
            pmodel = multi_gpu_model(ser_model, gpus)
            self.__dict__.update(pmodel.__dict__)
            self._smodel = ser_model

        def __getattribute__(self, attrname):
            if "load" in attrname or "save" in attrname:
                return getattr(self._smodel, attrname)
            return super(ModelMGPU, self).__getattribute__(attrname)
"""

UTILITY = """
    from tensorflow.keras.utils import multi_gpu_model


    def to_parallel(model, gpus):
        if gpus <= 1:
            return model
        return multi_gpu_model(model, gpus=gpus)
"""


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


class TestOneFile:
    def test_what_the_pipeline_reads_stays_imported(self) -> None:
        (file,) = migrated(
            {
                "train.py": """
                from data import batch, x, y
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from tensorflow.keras.utils import multi_gpu_model

                model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
                model.compile('sgd', 'mse')
                model.fit(x, y, batch_size=batch)
                """
            }
        ).values()
        assert file.after.startswith("from data import batch, x, y\n")

    def test_a_string_takes_the_defaults_of_the_keras_that_made_the_model(self) -> None:
        """Also where the model comes out of a function, and the wrap out of a class that dresses it up."""
        (file,) = migrated(
            {
                "train.py": """
                from keras.layers import Dense, Input
                from keras.models import Model
                from keras.utils import multi_gpu_model


                class Parallel(Model):
                    def __init__(self, serial, gpus):
                        parallel = multi_gpu_model(serial, gpus)
                        self.__dict__.update(parallel.__dict__)
                        self._serial = serial

                    def __getattribute__(self, name):
                        if 'load' in name or 'save' in name:
                            return getattr(self._serial, name)
                        return super(Parallel, self).__getattribute__(name)


                def build():
                    inputs = Input((4,))
                    return Model(inputs, Dense(1)(inputs))


                model = Parallel(build(), 2)
                model.compile('adadelta', 'mse')
                """
            }
        ).values()
        assert "Adadelta(learning_rate=1.0" in file.after

    def test_a_class_that_dresses_up_a_refused_wrap_says_so_on_its_line(self) -> None:
        files = migrated(
            {
                "dress.py": """
                from tensorflow.keras.models import Model
                from tensorflow.keras.utils import multi_gpu_model


                class Parallel(Model):
                    def __init__(self, serial, gpus):
                        parallel = multi_gpu_model(serial, gpus)
                        self.__dict__.update(parallel.__dict__)
                """,
                "train.py": """
                from dress import Parallel


                def train(model, gpus):
                    one = Parallel(model, gpus)
                    two = Parallel(model, gpus)
                """,
            }
        )
        assert [(f.line, f.code) for f in files["train.py"].findings] == [(5, "TFM102"), (6, "TFM102")]
        told = {f.line: f for f in files["dress.py"].findings if f.action == "refuse"}
        assert (told[7].code, "line 5 of train.py" in told[7].message) == ("TFM102", True)

    def test_the_model_lives_on_an_object(self) -> None:
        (file,) = migrated(
            {
                "train.py": """
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from tensorflow.keras.utils import multi_gpu_model


                class Trainer:
                    def __init__(self, gpus):
                        self.gpus = gpus
                        self.model = Sequential([Dense(1, input_shape=(4,))])
                        if self.gpus > 1:
                            self.model = multi_gpu_model(self.model, gpus=self.gpus)
                        self.prepare()

                    def prepare(self):
                        self.model.compile(loss="mse", optimizer="sgd")

                    def train(self, batches):
                        self.model.fit_generator(batches, steps_per_epoch=3)
            """
            }
        ).values()
        assert file.after == text("""
            import tensorflow as tf
            from tensorflow.keras.layers import Dense
            from tensorflow.keras.models import Sequential


            class Trainer:
                def __init__(self, gpus):
                    self.gpus = gpus
                    strategy = (
                        tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(self.gpus)])
                        if self.gpus > 1
                        else tf.distribute.get_strategy()
                    )
                    with strategy.scope():
                        self.model = Sequential([Dense(1, input_shape=(4,))])
                        self.prepare()

                def prepare(self):
                    self.model.compile(loss="mse", optimizer="sgd")

                def train(self, batches):
                    self.model.fit(batches, steps_per_epoch=3)
        """)

    OBJECT = """
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model


        class Net:
            def __init__(self, gpus):
                self.gpus = gpus
                self.model = self.build()

            def build(self):
                return Sequential([Dense(1, input_shape=(4,))])

            def spread(this):
                if this.gpus > 1:
                    this.model = multi_gpu_model(this.model, this.gpus)

            def prepare(self):
                self.model.compile(loss="mse", optimizer="sgd")
    """

    @pytest.mark.parametrize("caller", ["", "\n\nnet = Net(2)\nnet.spread()\n"])
    def test_built_wrapped_and_compiled_in_three_methods(self, caller: str) -> None:
        (file,) = migrated({"train.py": text(self.OBJECT) + caller}).values()
        assert "        strategy = (\n            tf.distribute.MirroredStrategy(" in file.after
        assert "range(self.gpus)])\n            if self.gpus > 1\n" in file.after
        assert "        with strategy.scope():\n            return Sequential(" in file.after
        assert "    def spread(this):\n        pass\n" in file.after
        assert "        with self.model.distribute_strategy.scope():\n            self.model.compile(" in file.after

    def test_an_attribute_that_is_set_after_the_model_is_built_is_too_late(self) -> None:
        code, old, new = text(self.OBJECT), "def spread(this):", "def spread(this, gpus):\n        this.gpus = gpus"
        assert old in code
        check_refused(code.replace(old, new) + "\n\nnet = Net(2)\n", "TFM103", settings=Settings(ignore=("TFM026",)))

    def test_the_template_taken_out_of_the_parallel_model_is_the_model(self) -> None:
        (file,) = migrated(
            {
                "train.py": """
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from tensorflow.keras.utils import multi_gpu_model

                model = Sequential([Dense(1, input_shape=(4,))])
                parallel = multi_gpu_model(model, gpus=2)
                parallel.layers[-2].save("inner.h5")
                parallel.get_layer("sequential_1").save("named.h5")
                first = parallel.layers[0]
            """
            }
        ).values()
        assert 'model.save("inner.h5")\nmodel.save("named.h5")\nfirst = model.layers[0]\n' in file.after

    def test_gpus_defined_later_by_a_constant_is_written_where_it_is_needed(self) -> None:
        (file,) = migrated(
            {
                "train.py": """
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from tensorflow.keras.utils import multi_gpu_model

                model = Sequential([Dense(1, input_shape=(4,))])
                gpus = 4
                parallel = multi_gpu_model(model, gpus=gpus)
            """
            }
        ).values()
        assert "gpus = 4\nstrategy = " in file.after

    def test_gpus_computed_in_the_device_block_that_goes_is_too_late(self) -> None:
        (file,) = migrated(
            {
                "train.py": """
                import tensorflow as tf
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from tensorflow.keras.utils import multi_gpu_model
                from cluster import count

                with tf.device("/cpu:0"):
                    gpus = count()
                    model = Sequential([Dense(1, input_shape=(4,))])
                parallel = multi_gpu_model(model, gpus=gpus)
            """
            }
        ).values()
        assert "TFM103" in codes(file, "refuse")
        assert not file.changed

    def test_a_wrap_in_the_scope_of_a_strategy_leaves_one_strategy(self) -> None:
        code = """
            import tensorflow as tf
            from tensorflow.keras.layers import Dense
            from tensorflow.keras.models import Sequential
            from tensorflow.keras.utils import multi_gpu_model
            from settings import gpus

            model = Sequential([Dense(1, input_shape=(4,))])
            if gpus > 1:
                strategy = tf.distribute.MirroredStrategy()
                with strategy.scope():
                    model = multi_gpu_model(model, gpus=gpus)
            model.compile(loss="mse", optimizer="sgd")
        """
        (file,) = migrated({"train.py": code}).values()
        assert file.after == text("""
            import tensorflow as tf
            from tensorflow.keras.layers import Dense
            from tensorflow.keras.models import Sequential
            from settings import gpus

            strategy = (
                tf.distribute.MirroredStrategy(devices=[f"/gpu:{i}" for i in range(gpus)])
                if gpus > 1
                else tf.distribute.get_strategy()
            )
            with strategy.scope():
                model = Sequential([Dense(1, input_shape=(4,))])
                model.compile(loss="mse", optimizer="sgd")
        """)

    def test_a_strategy_that_something_else_uses_stays_and_leaves_no_room_for_another(self) -> None:
        code = """
            import tensorflow as tf
            from tensorflow.keras.layers import Dense
            from tensorflow.keras.models import Sequential
            from tensorflow.keras.utils import multi_gpu_model

            strategy = tf.distribute.MirroredStrategy()
            with strategy.scope():
                model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
            model.compile(loss="mse", optimizer="sgd")
            print(strategy.num_replicas_in_sync)
        """
        (file,) = migrated({"train.py": code}).values()
        assert codes(file, "refuse") == ["TFM107"]
        assert file.after == file.before

    def test_a_model_that_only_predicts_keeps_its_devices(self) -> None:
        code = """
            from keras import backend as K
            from keras.models import load_model
            from keras.utils import multi_gpu_model


            class Detector:
                def __init__(self, path, gpu_num=1):
                    self.model = load_model(path, compile=False)
                    if gpu_num >= 2:
                        self.model = multi_gpu_model(self.model, gpus=gpu_num)
                    self.boxes = K.max(self.model.output, axis=-1)

                def detect(self, image):
                    return self.model.predict(image)
        """
        (file,) = migrated({"detect.py": code}).values()
        assert "with strategy.scope():\n            self.model = load_model(path, compile=False)\n" in file.after
        assert "self.boxes = K.max(self.model.output, axis=-1)" in file.after
        assert not codes(file, "refuse")

    def test_the_batch_of_a_device_in_the_model_stays_that_of_a_replica(self) -> None:
        code = """
            from tensorflow.keras.layers import Dense, Input
            from tensorflow.keras.models import Model
            from tensorflow.keras.utils import multi_gpu_model
            from data import x

            image = Input(batch_shape=(32, 4))
            model = Model(image, Dense(4)(image))
            parallel = multi_gpu_model(model, gpus=2)
            parallel.compile(loss="mse", optimizer="sgd")
            parallel.fit(x, x, batch_size=64)
        """
        (file,) = migrated({"train.py": code}).values()
        assert "Input(batch_shape=(32, 4))" in file.after
        assert "global_batch_size = 32 * strategy.num_replicas_in_sync" in file.after

    def test_two_guards_with_the_same_devices_share_a_strategy(self) -> None:
        (file,) = migrated(
            {
                "train.py": """
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from tensorflow.keras.utils import multi_gpu_model
                from settings import first, second

                model = Sequential([Dense(1, input_shape=(4,))])
                if first:
                    model = multi_gpu_model(model, gpus=2)
                if second:
                    model = multi_gpu_model(model, gpus=2)
                model.compile(loss="mse", optimizer="sgd")
            """
            }
        ).values()
        assert file.after.count("MirroredStrategy") == 1
        assert "if first or second" in file.after

    @pytest.mark.parametrize(
        "code",
        [
            "model = None  # multi_gpu_model(model, gpus=2)\n",
            's = "multi_gpu_model(model)"\n',
            "def f(multi_gpu_model):\n    return multi_gpu_model(1, 2)\n",
            "class A:\n    def multi_gpu_model(self, m, gpus):\n        return m\n\nA().multi_gpu_model(1, gpus=2)\n",
            "multi_gpu_model = lambda model, gpus: model\n",
            "import torch.nn as nn\nmodel = nn.DataParallel(nn.Linear(1, 1))  # not multi_gpu_model\n",
        ],
    )
    def test_what_only_looks_like_it_stays_byte_for_byte(self, code: str) -> None:
        (file,) = migrate_sources({"x.py": code}, Settings())
        assert file.after == code
        assert not codes(file, "rewrite")

    def test_a_syntax_error_is_told(self) -> None:
        (file,) = migrate_sources({"x.py": "def f(:\n"}, Settings())
        assert file.status == "error"
        assert "line 1" in (file.error or "")

    MIXED = (
        "from keras import Sequential\nfrom keras.utils import multi_gpu_model\n"
        'if 1:\n    \tif 2:\n\t\t    y = multi_gpu_model(%s)\n    \tz = """\n\tkept\n"""\n'
    )

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    @pytest.mark.parametrize("end", ["", "\n", "        \n        \n\n  \n", "\n\t\n \n    ", "    # end\n\n  "])
    def test_blank_lines_at_the_end_stay_as_they_are(self, end: str, newline: str) -> None:
        code = (
            "from tensorflow.keras import Sequential\nfrom tensorflow.keras.utils import multi_gpu_model\n\n\n"
            "class Task:\n    def run(self):\n        return multi_gpu_model(Sequential(), 2)\n"
        )
        code = (code + end).replace("\n", newline)
        (file,) = migrate_sources({"x.py": code}, Settings())
        assert file.status == "migrated"
        assert file.after.endswith(f"return Sequential(){newline}" + end.replace("\n", newline))

    def test_tabs_mixed_with_spaces_become_spaces_with_a_rewrite(self) -> None:
        (file,) = migrate_sources({"x.py": self.MIXED % "Sequential(), 2"}, Settings())
        assert file.before == self.MIXED % "Sequential(), 2"
        assert (file.status, set(codes(file, "rewrite"))) == ("migrated", {"TFM001", "TFM003", "TFM004", "TFM203"})
        assert '        z = """\n\tkept\n' in file.after
        (again,) = migrate_sources({"x.py": file.after}, Settings())
        assert not again.findings

    TWO_WAYS = (
        "from tensorflow.keras import Sequential\nfrom tensorflow.keras.utils import multi_gpu_model\n\n\n"
        "def run(spread):\n    if spread:\n    \tm = multi_gpu_model(Sequential(), 2)\n    \tfor layer in m.layers:\n"
        "    \t\tprint(layer)\n\t    \tdel layer\n    \ts = '''\n\t    \tkept'''\n    \treturn m, s\n    return None\n"
    )

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_lines_of_one_block_that_are_indented_in_two_ways_get_one(self, newline: str) -> None:
        code = self.TWO_WAYS.replace("\n", newline)
        (file,) = migrate_sources({"x.py": code}, Settings())
        assert (file.status, file.before) == ("migrated", code)
        assert {finding.line for finding in file.findings if finding.code == "TFM004"} == {10}
        block = "    \t\tprint(layer)\n    \t\tdel layer\n    \ts = '''\n\t    \tkept'''"
        assert block.replace("\n", newline) in file.after
        (again,) = migrate_sources({"x.py": file.after}, Settings())
        assert not again.findings

    def test_they_stay_where_nothing_is_rewritten(self) -> None:
        code = self.TWO_WAYS.replace("Sequential()", "spread")
        (file,) = migrate_sources({"x.py": code}, Settings())
        assert (file.before, file.after) == (code, code)
        assert "TFM004" not in {finding.code for finding in file.findings}

    PYTHON_2 = (
        "def spread(model, n):\n    if n == 1:\n\treturn model\n    text = '''\n\tkept\n'''\n"
        "    return copies(model, n)\n"
    )

    def test_what_python_3_refuses_for_its_tabs_is_read_as_python_2_did(self) -> None:
        (file,) = migrate_sources({"multi_gpu.py": self.PYTHON_2}, Settings())
        assert (file.status, file.before) == ("migrated", self.PYTHON_2)
        assert file.after == self.PYTHON_2.replace("\treturn", "        return")
        (finding,) = file.findings
        assert (finding.code, finding.line) == ("TFM004", 3)
        assert "Python 3 refuses" in finding.message
        (again,) = migrate_sources({"multi_gpu.py": file.after}, Settings())
        assert (again.status, again.findings) == ("unchanged", ())

    @pytest.mark.parametrize(
        "code",
        [
            "if a:\n    b\n\tprint 'c'\n",  # Python 2 in more than its tabs
            "if a:\n        b\n\tc\n\t  d\n",  # no block in Python 2 either
        ],
    )
    def test_more_than_tabs_is_an_error(self, code: str) -> None:
        (file,) = migrate_sources({"x.py": code}, Settings())
        assert (file.status, file.after) == ("error", code)

    def test_tabs_mixed_with_spaces_stay_where_nothing_is_rewritten(self) -> None:
        code = self.MIXED % "unknown, 2"
        (file,) = migrate_sources({"x.py": code}, Settings())
        assert (file.status, file.before, file.after) == ("refused", code, code)
        (refused,) = (finding for finding in file.findings if finding.code == "TFM104")
        assert code.split("\n")[refused.line - 1][refused.column - 1 :].startswith("multi_gpu_model(")

    def test_nothing_is_done_to_a_file_that_would_lose_a_comment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tfmigrate import guard

        monkeypatch.setattr(guard, "objection", lambda *_: "the comment '# why' would be lost")
        code = (
            "from keras.utils import multi_gpu_model\nimport keras\nm = multi_gpu_model(keras.Sequential(), 2)  # why\n"
        )
        (file,) = migrate_sources({"x.py": code}, Settings())
        assert (file.status, file.after) == ("refused", code)
        assert "would be lost" in file.findings[0].message


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


class TestTheWholeProgram:
    def test_all_visible_gpus_need_no_count_where_the_model_is_built(self) -> None:
        files = migrated(
            {
                "devices.py": """
                from tensorflow.python.client import device_lib
                from tensorflow.keras.utils import multi_gpu_model


                def gpus():
                    devices = device_lib.list_local_devices()
                    return [x.name for x in devices if x.device_type == 'GPU']


                def compiled(model):
                    count = len(gpus())
                    if count >= 2:
                        parallel = multi_gpu_model(model, gpus=count)
                        parallel.compile('adam', 'mse')
                        return parallel
                    model.compile('adam', 'mse')
                    return model
            """,
                "train.py": """
                from tensorflow.keras.layers import Dense
                from tensorflow.keras.models import Sequential
                from devices import compiled

                model = Sequential([Dense(1, input_shape=(4,))])
                model = compiled(model)
            """,
            }
        )
        assert "strategy = tf.distribute.MirroredStrategy()\n" in files["train.py"].after
        assert "multi_gpu_model" not in files["devices.py"].after

    def test_an_optimizer_that_is_a_default_argument_is_made_again_in_the_scope(self) -> None:
        file = one("""
            from keras.layers import Dense
            from keras.models import Sequential
            from keras.optimizers import SGD
            from keras.utils import multi_gpu_model


            def train(gpus, optimizer=SGD(0.1)):
                model = Sequential([Dense(1, input_shape=(4,))])
                model = multi_gpu_model(model, gpus)
                model.compile(loss='mse', optimizer=optimizer)
        """)
        assert not codes(file, "refuse")
        assert codes(file, "warn") == []
        assert "if isinstance(optimizer, str) else type(optimizer).from_config(" in file.after

    def test_an_object_whose_base_class_is_in_a_library_can_be_the_model(self) -> None:
        files = migrated(
            {
                "nets.py": """
                import library


                class Net(library.LoadableModel):
                    def __init__(self, width):
                        super().__init__(width)
            """,
                "train.py": """
                from keras.utils import multi_gpu_model
                from nets import Net

                model = Net(3)
                model = multi_gpu_model(model, gpus=2)
                model.compile('sgd', 'mse')
            """,
            }
        )
        assert "with strategy.scope():\n    model = Net(3)\n    model.compile('sgd', 'mse')" in files["train.py"].after

    def test_what_a_migrated_module_imports_is_migrated_with_it(self) -> None:
        files = migrated(
            {
                "nets.py": """
                from keras.layers.core import Dense
                from keras.models import Sequential


                def build():
                    return Sequential([Dense(1, input_shape=(4,))])
            """,
                "other.py": "from keras.layers.core import Dense\n",
                "train.py": """
                from keras.utils import multi_gpu_model
                from nets import build

                model = multi_gpu_model(build(), gpus=2)
                model.compile('sgd', 'mse')
            """,
            }
        )
        assert "from tensorflow.keras.layers import Dense" in files["nets.py"].after
        assert not files["other.py"].changed

    def test_a_variable_of_another_function_that_is_called_the_same_keeps_its_name(self) -> None:
        file = one("""
            from tensorflow.keras.layers import Dense
            from tensorflow.keras.models import Sequential
            from tensorflow.keras.utils import multi_gpu_model


            class Task:
                def run(self, data):
                    base = Sequential([Dense(1, input_shape=(4,))])
                    model = self.spread(base, 2)
                    model = self.compiled(model)
                    model.fit_generator(data)

                def spread(self, base, gpus):
                    if gpus > 1:
                        model = multi_gpu_model(base, gpus=gpus)
                    else:
                        model = base
                    return model

                def compiled(self, model):
                    model.compile("sgd", "mse")
                    return model


            Task().run([])
        """)
        assert "return base\n" in file.after
        assert "base.compile" not in file.after
        assert "base.distribute_strategy" not in file.after


def test_a_package_that_is_installed_under_another_name_than_its_folder() -> None:
    build = "from tensorflow.keras import Input, Model\n\n\ndef build():\n    x = Input((4,))\n    return Model(x, x)\n"
    train = (
        "from tensorflow.keras.utils import multi_gpu_model\nfrom %s import build\n\n"
        "model = multi_gpu_model(build(), 2)\nmodel.compile('sgd', 'mse')\n"
    )
    for name, followed in (("seer.nets.plain", True), ("nets.plain", True), ("seer.plain", False)):
        files = migrated({"seer_v2/nets/plain.py": build, "seer_v2/plain.py": build, "seer_v2/train.py": train % name})
        (told,) = (finding for finding in files["seer_v2/train.py"].findings if finding.code == "TFM001")
        assert ("built at line 6 of seer_v2/nets/plain.py" in told.message) is followed, name


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


@pytest.mark.parametrize(("line", "told"), [("", ["TFM025"]), ("from .helpers import *\n", [])])
def test_a_call_that_nothing_defines_is_told_unless_a_star_may_bring_it(line: str, told: list[str]) -> None:
    call = "model = multi_gpu_model(Sequential(), 2)\nmodel.compile('sgd', 'mse')\n"
    file = migrate(f"from keras import Sequential\n{line}\n{call}")
    assert "TFM001" in codes(file, "rewrite")
    assert codes(file, "warn") == told


def test_a_function_of_that_name_that_the_module_defines_is_not_kerass() -> None:
    own = "def multi_gpu_model(model, gpus):\n    return model\n"
    call = "model = multi_gpu_model(Sequential(), 2)\nmodel.compile('sgd', 'mse')\n"
    file = migrate(f"from keras import Sequential\n{own}\n\n{call}")
    assert "TFM025" not in codes(file, "warn")
    assert "MirroredStrategy" not in file.after


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


def test_a_name_that_two_arms_import_has_always_the_same_meaning() -> None:
    file = one("""
        try:
            from tensorflow.python.keras import backend as K
        except ImportError:
            from keras import backend as K
        from keras.layers import Dense
        from keras.models import Sequential
        from keras.utils import multi_gpu_model

        model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
        model.compile(loss=lambda t, p: K.tf.log(p), optimizer="sgd")
    """)
    assert "tf.math.log(p)" in file.after


def test_a_comma_at_the_end_of_the_arguments_becomes_one_between_two() -> None:
    file = one("""
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.utils import multi_gpu_model
        from data import x, y

        model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
        model.compile("sgd", "mse")
        model.fit(x,
                  y,
                  validation_data=held(x),
                  epochs=3,)
    """)
    assert "          epochs=3,\n          validation_batch_size=32,)\n" in file.after


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
    assert message == "`self.parallel` is set at line 18 too, which is not migrated"


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
    assert "at line 8, where the model or its optimizer is made" in refusal.message


FITTED = """\
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(4, input_shape=(4,))])
model = multi_gpu_model(model, gpus=2)
model.compile("sgd", "mse")
rows = np.zeros((8, 4))
"""


def test_comments_among_arguments_that_go_stay_in_the_call() -> None:
    fit = """\
# one pass
model.fit(rows, rows,
          batch_size=8,
          # validation_split=0.1,
          shuffle=False,
          # class_weight={0: 1},
          epochs=3)
"""
    file = check_migrated(FITTED + fit)
    assert file.after.index("# one pass\n") < file.after.index("train_dataset = (\n")
    kept = "          # validation_split=0.1,\n          # class_weight={0: 1},\n          epochs=3)\n"
    assert file.after.endswith("model.fit(train_dataset,\n" + kept)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rows, rows,\n          epochs=3, verbose=0", "train_dataset,\n          epochs=3, verbose=0"),
        ("rows,rows, batch_size=8, epochs=3", "train_dataset, epochs=3"),
        ("rows, rows, batch_size=8,\n          verbose=0", "train_dataset,\n          verbose=0"),
        ("rows, rows, epochs=3, batch_size=8,\n          verbose=0", "train_dataset, epochs=3,\n          verbose=0"),
        ("rows,  # what\n          rows, batch_size=8, epochs=3", "train_dataset,  # what\n          epochs=3"),
        ("rows,\n          rows, batch_size=8, epochs=3", "train_dataset,\n          epochs=3"),
    ],
)
def test_lines_of_arguments_end_where_they_did(before: str, after: str) -> None:
    file = migrate(f"{FITTED}model.fit({before})\n")
    assert f"\nmodel.fit({after})\n" in file.after


def test_a_scope_is_as_deep_as_the_block_round_it() -> None:
    text = FITTED[: FITTED.index("model =")] + "\n\ndef far(rows):\n        return rows\n\n\ndef ready():\n"
    text += "    model = Sequential([Dense(4, input_shape=(4,))])\n    model = multi_gpu_model(model, gpus=2)\n"
    file = migrate(text + "    model.compile('sgd', 'mse')\n    return model\n")
    assert "    with strategy.scope():\n        model = Sequential(" in file.after


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


def test_an_import_of_the_wrapper_in_the_guard_goes_with_the_guard() -> None:
    files = {
        "parallel.py": DRESS,
        "train.py": """
            from keras.layers import Dense
            from keras.models import Sequential


            def build(gpus):
                model = Sequential([Dense(1, input_shape=(4,))])
                if gpus > 1:
                    from parallel import ModelMGPU
                    model = ModelMGPU(model, gpus)
                return model


            model = build(int(input()))
            model.compile("sgd", "mse")
            model.train_on_batch(x, y)
        """,
    }
    after = migrated(files)["train.py"].after
    assert "pass" not in after
    assert "        model = Sequential([Dense(1, input_shape=(4,))])\n    return model\n" in after


def test_a_package_in_the_folder_of_sources_is_found_by_the_scripts_beside_it() -> None:
    build = "from tensorflow.keras import Input, Model\n\n\ndef build():\n    x = Input((4,))\n    return Model(x, x)\n"
    train = (
        "from tensorflow.keras.utils import multi_gpu_model\nfrom seer import build\n\n"
        "model = multi_gpu_model(build(), 2)\nmodel.compile('sgd', 'mse')\n"
    )
    for folder, followed in (("src/", True), ("../src/", False), ("sources/", False)):
        files = migrated({f"{folder}seer/__init__.py": build, "examples/mnist/train.py": train})
        (told,) = (finding for finding in files["examples/mnist/train.py"].findings if finding.code == "TFM001")
        assert ("built at line 6" in told.message) is followed, folder


@pytest.mark.parametrize(
    ("listed", "left"),
    [
        ("('ModelMGPU',)", "()"),
        ("['ModelMGPU', 'devices']", "['devices']"),
        ("('devices', 'ModelMGPU')", "('devices',)"),
        ("['devices', 'rows']", "['devices', 'rows']"),
    ],
)
def test_what_is_gone_is_exported_no_more(listed: str, left: str) -> None:
    """`from parallel import *` would fail on a name in __all__ that nothing defines."""
    files = {
        "tools/parallel.py": f"{text(DRESS)}\n\n__all__ = {listed}\n\n\ndef devices():\n    return 2\n\n\nrows = 3\n",
        "tools/__init__.py": "from .parallel import *",
        "train.py": f"""
            from keras.layers import Dense
            from keras.models import Sequential
            from tools{".parallel" if "ModelMGPU" not in listed else ""} import ModelMGPU

            model = ModelMGPU(Sequential([Dense(1, input_shape=(4,))]), 2)
            model.compile("sgd", "mse")
            model.train_on_batch(x, y)
        """,
    }
    results = migrated(files)
    assert "strategy.scope()" in results["train.py"].after
    assert f"__all__ = {left}\n" in results["tools/parallel.py"].after
    assert ("__all__" in str(results["tools/parallel.py"].findings)) is (listed != left)
