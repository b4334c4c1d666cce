"""Programs of one file through understand, plan, edit and guard: what the examples of one rule cannot show."""

from __future__ import annotations

import pytest

from tests.kit import check_refused, codes
from tests.rewrite.files import migrated, text
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings


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
        assert "Python 3 rejects" in finding.message
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
