"""What is found only in the whole program."""

from __future__ import annotations

from tests.kit import codes
from tests.rewrite.files import migrated, one


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
