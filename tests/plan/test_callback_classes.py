"""Callbacks of the program's own: what they assign to `model`, and the epochs they count like ModelCheckpoint."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, check_unchanged, migrate
from tfmigrate.result import FileResult

HEAD = """\
import numpy as np
from keras.callbacks import Callback, CSVLogger, ModelCheckpoint, TensorBoard
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


{classes}

model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
model.compile("sgd", "mse")
model.fit(batches)
"""


def migrated(classes: str) -> FileResult:
    return check_migrated(HEAD.format(classes=classes))


def actions(file: FileResult) -> list[str]:
    return [finding.action for finding in file.findings if finding.code == "TFM220"]


@pytest.mark.parametrize("base", ["Callback", "ModelCheckpoint", "Base"])
def test_the_model_of_a_callback_is_set_as_fit_sets_it(base: str) -> None:
    own = "class Base(Callback):\n    pass\n\n\n" if base == "Base" else ""
    own += f"class Keep({base}):\n    def __init__(self, net):\n        # the template\n        self.model = net\n"
    own += "        self.best = np.inf\n"
    file = migrated(own)
    assert "        # the template\n        super().set_model(net)\n        self.best = np.inf\n" in file.after
    assert actions(file) == ["rewrite"]


@pytest.mark.parametrize(
    "own",
    [
        "class Keep(TensorBoard):\n    def __init__(self, net):\n        self.model = net\n",
        "class Keep(Callback):\n    def __init__(self, net):\n        self.model = self.best = net\n",
        "class Base(Callback):\n    def set_model(self, model):\n        pass\n\n\n"
        "class Keep(Base):\n    def __init__(self, net):\n        self.model = net\n",
    ],
)
def test_a_model_that_set_model_would_do_more_with_is_told(own: str) -> None:
    file = migrated(own)
    assert own in file.after
    assert actions(file) == ["warn"]


@pytest.mark.parametrize(
    "own",
    [
        "class Keep(Callback):\n    def __init__(self, net):\n        self.net = net\n",
        "class Keep(Callback):\n    def __init__(self, net):\n        net.model = self\n",
        "class Keep(object):\n    def __init__(self, net):\n        self.model = net\n",
        "class Keep(ModelCheckpoint):\n    def on_epoch_end(self, epoch, logs=None):\n        print(self.best)\n",
    ],
)
def test_other_attributes_and_other_classes_are_left_alone(own: str) -> None:
    file = migrated(own)
    assert own in file.after
    assert actions(file) == []


COUNTS = """\
class Keep(ModelCheckpoint):
    def __init__(self, net, path, monitor="loss", period={default}):
{kept}        super(Keep, self).__init__({passed})
        self.net = net

    def on_epoch_end(self, epoch, logs=None):
        self.epochs_since_last_save += 1
        if self.epochs_since_last_save >= self.period:
            self.epochs_since_last_save = 0
            self.net.save("all.keras")
"""


@pytest.mark.parametrize(
    ("passed", "period", "left"),
    [
        ("path, period=period", "period", "path"),
        ("path, monitor", "1", "path, monitor"),
        ("path, monitor, 0, False, False, 'auto', period", "period", "path, monitor, 0, False, False, 'auto'"),
    ],
)
def test_the_epochs_that_a_checkpoint_counted_are_counted_by_the_class(passed: str, period: str, left: str) -> None:
    classes = COUNTS.format(default=1, passed=passed, kept="") + "\n\nkeep = Keep(None, 'a.keras')\n"
    file = migrated(classes)
    begun = f"        self.epochs_since_last_save = 0\n        self.period = {period}\n"
    assert f"{begun}        super(Keep, self).__init__({left})\n" in file.after
    assert actions(file) == ["rewrite"]


@pytest.mark.parametrize(
    "declared", ["self, /, net, path", "self, net, path, /", "self, net, *, path", "this, /, net, path"]
)
def test_the_object_is_the_first_parameter_of_whatever_kind(declared: str) -> None:
    own = declared.partition(",")[0]
    classes = COUNTS.format(default=1, passed="path, period=period", kept="").replace("super(Keep, self)", "super()")
    classes = classes.replace('self, net, path, monitor="loss"', declared).replace("self.net = net", f"{own}.net = net")
    place = "path='a.keras'" if "*" in declared else "'a.keras'"
    file = migrated(classes + f"\n\nkeep = Keep(None, {place})\n")
    begun = f"        {own}.epochs_since_last_save = 0\n        {own}.period = period\n"
    assert f"{begun}        super().__init__(path)\n" in file.after
    assert actions(file) == ["rewrite"]


def test_the_model_is_set_on_an_object_that_only_has_a_place() -> None:
    file = migrated("class Keep(Callback):\n    def __init__(self, /, net):\n        self.model = net\n")
    assert "        super().set_model(net)\n" in file.after
    other = "class Keep(Callback):\n    def __init__(self, /, net):\n        net.model = self\n"
    file = migrated(other)
    assert other in file.after
    assert actions(file) == []


def test_a_beginning_that_names_no_object_is_told() -> None:
    classes = COUNTS.replace('self, net, path, monitor="loss", period={default}', "*all").replace("Keep, self", "")
    file = migrated(classes.format(passed="*all", kept="").replace("self.net = net", "pass"))
    assert "super().__init__(*all)\n" in file.after
    assert actions(file) == ["warn"]


def test_epochs_that_the_class_counts_already_are_left_alone() -> None:
    kept = "        self.epochs_since_last_save = 0\n        self.period = period\n"
    assert actions(migrated(COUNTS.format(default=1, passed="path", kept=kept))) == []


def test_epochs_of_a_class_that_passes_on_what_is_not_in_sight_are_told() -> None:
    file = migrated(COUNTS.format(default=1, passed="path, **more", kept=""))
    assert actions(file) == ["warn"]


HANDED_ON = """\
class Keep(ModelCheckpoint):
    def __init__(self, net, **more):
        super().__init__(**more)
        self.net = net

    def on_epoch_end(self, epoch, logs=None):
        self.epochs_since_last_save += 1
        if self.epochs_since_last_save >= self.period and self.monitor_op(logs["loss"], self.best):
            self.net.save("all.keras")


{made}
"""


@pytest.mark.parametrize(
    ("made", "comparison"),
    [
        ("Keep(None, filepath='a.keras', mode='min', period=1)", "np.less, np.inf"),
        ("Keep(None, filepath='a.keras', monitor='val_acc')", "np.greater, -np.inf"),
        ("Keep(None, filepath='a.keras')\nKeep(1, filepath='b.keras', mode='min')", "np.less, np.inf"),
    ],
)
def test_a_class_begins_as_modelcheckpoint_did_for_all_its_objects(made: str, comparison: str) -> None:
    file = migrated(HANDED_ON.format(made=made))
    begun = "        self.epochs_since_last_save = 0\n        self.period = 1\n        super().__init__(**more)\n"
    begun += f"        self.monitor_op, self.best = {comparison}\n        self.net = net\n"
    assert begun in file.after
    assert actions(file) == ["rewrite", "rewrite"]


SAID = """\
class Keep(ModelCheckpoint):
    def __init__(self, path):
        super().__init__(path, {said})
        self.net = None

    def on_epoch_end(self, epoch, logs=None):
        if self.monitor_op(logs["val_acc"], self.best):
            self.net.save("all.keras")


keep = Keep("a.keras")
"""


@pytest.mark.parametrize(
    ("said", "comparison"),
    [
        ("monitor='val_acc'", "np.greater, -np.inf"),
        ("'val_acc'", "np.greater, -np.inf"),
        ("mode='max'", "np.greater, -np.inf"),
        ("monitor='val_loss'", "np.less, np.inf"),
        ("monitor=chosen", None),
        ("monitor='val_' + chosen", None),
        ("mode=chosen", None),
    ],
)
def test_what_the_class_says_itself_is_the_direction(said: str, comparison: str | None) -> None:
    file = migrate(HEAD.format(classes=SAID.format(said=said)))
    assert actions(file) == ["rewrite" if comparison else "warn"]
    assert (f"self.monitor_op, self.best = {comparison}\n" in file.after) is (comparison is not None)
    assert ("self.monitor_op, self.best" in file.after) is (comparison is not None)


def test_a_class_begins_so_without_numpy() -> None:
    classes = HANDED_ON.format(made="Keep(None, filepath='a.keras', mode='min')")
    file = check_migrated(HEAD.format(classes=classes).replace("import numpy as np\n", ""))
    assert '        self.monitor_op, self.best = (lambda value, best: value < best), float("inf")\n' in file.after


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("Keep(None, filepath='a.keras')\nKeep(1, filepath='b.keras', mode='max')", ["rewrite", "warn"]),
        ("Keep(None, filepath='a.keras', mode=chosen)", ["rewrite", "warn"]),
        ("Keep(None, filepath='a.keras', monitor=chosen)", ["rewrite", "warn"]),
        ("Keep(None, **chosen)", ["warn", "warn"]),
        ("", ["warn", "warn"]),
    ],
)
def test_what_objects_differ_in_or_hide_is_told(made: str, said: list[str]) -> None:
    file = migrate(HEAD.format(classes=HANDED_ON.format(made=made)))
    assert sorted(actions(file)) == said
    assert "self.monitor_op, self.best =" not in file.after


def test_a_period_that_the_class_counts_itself_is_told() -> None:
    file = migrate(HEAD.format(classes=HANDED_ON.format(made="Keep(None, filepath='a.keras', mode='min', period=5)")))
    assert sorted(actions(file)) == ["rewrite", "warn"]
    assert "self.epochs_since_last_save = 0\n        self.period" not in file.after


COMPARED = """\
class Keep({base}):
    def __init__(self, **more):
        super().__init__(**more){kept}

    def on_epoch_end(self, epoch, logs=None):
        if {compared}:
            self.best = logs["loss"]
"""


@pytest.mark.parametrize(
    ("base", "kept", "compared", "told"),
    [
        ("ModelCheckpoint", "", "self.monitor_op(logs['loss'], self.best)", ["warn"]),
        ("EarlyStopping", "", "self.monitor_op(logs['loss'], self.best)", ["warn"]),
        ("ModelCheckpoint", "", "logs['loss'] < 1", []),
        ("ModelCheckpoint", "\n        self.monitor_op = np.less", "self.monitor_op(logs['loss'], self.best)", []),
        ("ModelCheckpoint", "\n        self.monitor_op, self.best = np.less, 1", "self.monitor_op(1, self.best)", []),
        ("Callback", "", "self.monitor_op(logs['loss'], self.best)", []),
    ],
)
def test_what_keras_3_has_not_set_when_a_class_compares_is_told(
    base: str, kept: str, compared: str, told: list[str]
) -> None:
    own = "from keras.callbacks import EarlyStopping\n\n\n" + COMPARED.format(base=base, kept=kept, compared=compared)
    assert actions(migrated(own)) == told


HELD = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
other = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
{line}
parallel.compile("sgd", "mse")
parallel.fit(batches)
"""


@pytest.mark.parametrize(
    ("line", "left", "action"),
    [
        ("parallel.callback_model = model", "", ["rewrite"]),
        ("parallel.callback_model = parallel.layers[-2]", "", ["rewrite"]),
        ("parallel.__setattr__('callback_model', model)", "", ["rewrite"]),
        ("setattr(parallel, 'callback_model', model)", "", ["rewrite"]),
        ("setattr(parallel, 'inner', model)", "setattr(model, 'inner', model)", ["warn"]),
        ("setattr(parallel, 'inner', other)", "setattr(model, 'inner', other)", []),
        ("parallel.inner = model", "model.inner = model", ["warn"]),
        ("parallel.inner = other", "model.inner = other", []),
        ("parallel.stop_training = True", "model.stop_training = True", []),
    ],
)
def test_a_model_is_not_hung_into_itself(line: str, left: str, action: list[str]) -> None:
    file = migrate(HELD.format(line=line))
    assert actions(file) == action
    assert left in file.after
    assert "callback_model" not in file.after


def test_a_parallel_model_that_stays_keeps_its_template() -> None:
    late = HELD.format(line="parallel.callback_model = model").replace("gpus=2", "gpus=number")
    late = late.replace("other = ", "number = count(model)\nother = ").replace(
        "from keras.layers", "from cluster import count\nfrom keras.layers"
    )
    done = (
        "\n\ndef again(data):\n    net = Sequential([Dense(1, input_shape=(4,))])\n    net = multi_gpu_model(net, 2)\n"
    )
    file = migrate(late + done + "    net.compile('sgd', 'mse')\n    net.fit(data)\n")
    assert file.status == "refused"
    assert "parallel.callback_model = model\n" in file.after


TOLD = """\
class Told(Callback):
    def on_epoch_end(self, epoch, logs=None):
        {line}
"""


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("x, y = self.validation_data[0], self.validation_data[1]", "validation_data"),
        ("if self.validation_data:\n            print(epoch)", "validation_data"),
        ("print(self.params['metrics'])", "'metrics' on Keras 2 and 3 (KeyError)"),
        ('print(self.params["samples"] // 2)', "'samples'"),
        ("print(self.params.get('batch_size', 32))", "'batch_size' on Keras 2 and 3 (the default instead)"),
        ("params = self.params\n        print(params['do_validation'])", "'do_validation'"),
    ],
)
@pytest.mark.parametrize("base", ["Callback", "CSVLogger", "ModelCheckpoint"])
def test_what_fit_no_longer_tells_a_callback_is_reported(line: str, says: str, base: str) -> None:
    file = migrated(TOLD.format(line=line).replace("Callback", base))
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM220"]
    assert says in message
    assert actions(file) == ["warn"]
    again = check_unchanged(file.after)
    assert actions(again) == ["warn"]


def test_each_of_it_is_reported_once_for_a_class_and_what_it_inherits() -> None:
    both = "print(self.params['metrics'], self.params['samples'], self.params['metrics'])"
    heirs = "\n\nclass One(Told):\n    pass\n\n\nclass Two(Told):\n    pass\n"
    assert actions(migrated(TOLD.format(line=both) + heirs)) == ["warn", "warn"]
    mixed = TOLD.format(line=both).replace("Callback", "object") + "\n\nclass One(Told, Callback):\n    pass\n"
    assert actions(migrated(mixed)) == ["warn", "warn"]


@pytest.mark.parametrize(
    "line",
    [
        "print(self.params['epochs'], self.params['steps'], self.params.get('verbose'))",
        "print(self.params)",
        "if 'metrics' in self.params:\n            print(self.params['metrics'])",
        "print(logs['metrics'], self.model.params['metrics'], logs.validation_data)",
        "self.params['metrics'] = sorted(logs)\n        print(self.params['metrics'])",
        "key = 'samples'\n        print(self.held[key])",
    ],
)
def test_what_fit_still_tells_is_no_question(line: str) -> None:
    assert actions(migrated(TOLD.format(line=line))) == []


READS = (
    "    def on_epoch_end(self, epoch, logs=None):\n        print(self.validation_data[0], self.params['metrics'])\n"
)


@pytest.mark.parametrize(
    "classes",
    [
        "class Own:\n" + READS,
        "class Own(Callback):\n    def __init__(self, data, params):\n        super().__init__()\n"
        "        self.validation_data, self.params = data, params\n\n" + READS,
        "class Own(Callback):\n    validation_data = params = None\n\n" + READS,
        "class Own(Callback):\n    def __init__(self, **given):\n        self.__dict__.update(given)\n\n" + READS,
        "class Own(Callback):\n" + READS + "\n\nclass Heir(Own):\n    def __init__(self, data, params):\n"
        "        self.validation_data: tuple = data\n        self.params: dict = params\n",
        "class Own(Callback):\n" + READS + "\n\nown = Own()\nown.validation_data = load()\nown.params = {}\n",
        "class Own(Callback):\n"
        + READS
        + "\n\nfor own in callbacks():\n    own.validation_data = own.params = load()\n",
        "class Own(Callback):\n" + READS + "\n\nown = Own()\nfor name in data:\n    setattr(own, name, data[name])\n",
    ],
)
def test_what_the_program_gives_a_callback_itself_is_no_question(classes: str) -> None:
    assert actions(migrated(classes)) == []


def test_what_another_object_is_given_is_no_answer() -> None:
    other = "class Other:\n    pass\n\n\nother = Other()\nother.validation_data = other.params = {}\n\n\n"
    assert actions(migrated(other + "class Own(Callback):\n" + READS)) == ["warn", "warn"]


OWN_CALLBACK = """\
class Base({base}):
    def set_params(self, params):
        self.params = params

    def set_model(self, model):
        self.model = model

    def on_batch_end(self, batch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        pass
{more}

class Keep(Base):
    def on_epoch_end(self, epoch, logs=None):
        print(epoch)
"""


def test_a_copy_of_a_callback_that_lacks_what_fit_asks_today_is_reported_once() -> None:
    own = OWN_CALLBACK.format(base="object", more="")
    file = migrated(own)
    assert own in file.after
    assert actions(file) == ["warn"]


@pytest.mark.parametrize(
    ("base", "more"),
    [
        ("Callback", ""),
        ("Trainer.Callback", ""),
        ("object", "\n    def on_train_batch_begin(self, batch, logs=None):\n        pass\n"),
    ],
)
def test_a_callback_of_keras_or_of_elsewhere_is_not(base: str, more: str) -> None:
    file = migrated(OWN_CALLBACK.format(base=base, more=more))
    assert not any("that this class lacks" in finding.message for finding in file.findings)


def test_a_class_that_only_listens_is_none() -> None:
    own = "class Trainer(object):\n    def set_model(self, model):\n        self.model = model\n"
    assert actions(migrated(own + "\n    def on_epoch_end(self, epoch):\n        pass\n")) == []
