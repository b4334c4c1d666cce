"""Losses and metrics of the user's own: which are given the whole batch, which are told, and which are left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.kit import check_migrated, migrate, migrate_files
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential, load_model
from keras.utils import multi_gpu_model
{imports}

def dice(t, p):
    return 2 * K.sum(t * p) / (K.sum(t) + K.sum(p))


model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
"""


def migrated(body: str, imports: str = "", **others: str) -> FileResult:
    texts = {"train.py": HEAD.format(imports=imports) + body, **{f"{name}.py": text for name, text in others.items()}}
    file = migrate_sources(texts, Settings())[0]
    assert file.status == "migrated", file
    return file


def actions(file: FileResult) -> list[str]:
    return [finding.action for finding in file.findings if finding.code == "TFM403"]


SQRT = "def loss(t, p):\n    return K.sqrt(K.mean(K.square(t - p)))\n"
FOCAL = "def focal(g):\n    def loss(t, p):\n        return -K.sum(K.pow(1 - p, g) * K.log(p))\n    return loss\n"
PAIRS = "def loss(t, p):\n    return K.maximum(0.0, p[::2] - p[1::2])\n"
LARGEST = "def loss(t, p):\n    return K.max(p, axis=(0, 1)) - t\n"
BOTH = "def loss(t, p):\n    return K.binary_crossentropy(t, p) + dice(t, p)\n"


@pytest.mark.parametrize(
    ("before", "arguments", "after"),
    [
        ("", "'sgd', dice", "'sgd', whole_batch(dice)"),
        ("", "'sgd', loss=[dice, 'mse']", "'sgd', loss=[whole_batch(dice), 'mse']"),
        ("", "'sgd', [dice] * 4", "'sgd', [whole_batch(dice)] * 4"),
        ("", "'sgd', 2 * [dice, 'mse']", "'sgd', 2 * [whole_batch(dice), 'mse']"),
        ("", "'sgd', [dice] * len(parts)", "'sgd', [whole_batch(dice)] * len(parts)"),
        ("", "'sgd', ['mse'] + [dice]", "'sgd', ['mse'] + [whole_batch(dice)]"),
        ("", "'sgd', {'a': dice, 'b': 'mse'}", "'sgd', {'a': whole_batch(dice), 'b': 'mse'}"),
        ("", "'sgd', lambda t, p: 1 - dice(t, p)", "'sgd', whole_batch(lambda t, p: 1 - dice(t, p))"),
        ("", "'sgd', 'mse', ['accuracy', dice]", "'sgd', 'mse', metrics=['accuracy', whole_batch(dice)]"),
        (SQRT, "'sgd', 'mse', metrics=[loss]", "'sgd', 'mse', metrics=[whole_batch(loss)]"),
        (FOCAL, "'sgd', focal(2.0)", "'sgd', whole_batch(focal(2.0))"),
        (PAIRS, "'sgd', loss", "'sgd', whole_batch(loss)"),
        (LARGEST, "'sgd', loss", "'sgd', whole_batch(loss)"),
        (BOTH, "'sgd', loss", "'sgd', whole_batch(loss)"),
    ],
)
def test_it_is_given_the_whole_batch(before: str, arguments: str, after: str) -> None:
    file = migrated(f"{before}parallel.compile({arguments})\n")
    assert f"model.compile({after})" in file.after
    assert actions(file) == ["rewrite"]
    assert file.after.count("def whole_batch(function):") == 1


@pytest.mark.parametrize(
    ("display", "compile_line", "becomes"),
    [
        ("{'a': dice, 'b': 'mse'}", "parallel.compile('sgd', known)", "known = {'a': whole_batch(dice), 'b': 'mse'}"),
        ("[dice, dice]", "parallel.compile('sgd', loss=known)", "known = [whole_batch(dice), whole_batch(dice)]"),
        ("[dice] * 3", "parallel.compile('sgd', loss=known)", "known = [whole_batch(dice)] * 3"),
        ("['acc', dice]", "parallel.compile('sgd', 'mse', metrics=known)", "known = ['acc', whole_batch(dice)]"),
        (
            "[dice]",
            "if K.epsilon():\n    parallel.compile('sgd', known)\nelse:\n    parallel.compile('adam', known)",
            "known = [whole_batch(dice)]",
        ),
    ],
)
def test_it_is_given_the_whole_batch_in_a_list_or_dict_with_a_name(
    display: str, compile_line: str, becomes: str
) -> None:
    file = migrated(f"known = {display}\n{compile_line}\n")
    assert becomes in file.after
    assert set(actions(file)) == {"rewrite"}
    assert not migrate_sources({"train.py": file.after}, Settings())[0].findings


def test_a_loss_of_another_module_is_read_too() -> None:
    part = "from keras import backend as K\ndef part(t):\n    return K.sum(t)\n"
    text = part + "def iou(t, p):\n    return part(t) / part(p)\n"
    file = migrated("parallel.compile('sgd', iou)\n", "from measures import iou\n", measures=text)
    assert "model.compile('sgd', whole_batch(iou))" in file.after


def test_a_model_that_is_loaded_goes_on_with_the_same_loss() -> None:
    line = "again = load_model('x.keras', custom_objects={'dice': dice, 'K': K})\n"
    file = migrated("parallel.compile('sgd', dice)\n" + line)
    assert "custom_objects={'dice': whole_batch(dice), 'K': K})" in file.after
    assert line in migrated("parallel.compile('sgd', 'mse')\n" + line).after


def test_a_taken_name_is_not_taken_twice() -> None:
    file = migrated("whole_batch = 32\nparallel.compile('sgd', dice)\n")
    assert "def whole_batch_2(function):" in file.after
    assert "whole_batch_2(dice)" in file.after


@pytest.mark.parametrize(
    "body",
    [
        "losses = {'a': dice, 'b': 'mse'}\nprint(losses)\nparallel.compile('sgd', losses)\n",
        "losses = {'b': 'mse'}\nlosses['a'] = dice\nparallel.compile('sgd', losses)\n",
        "losses = [dice]\nlosses = losses * 2\nparallel.compile('sgd', losses)\n",
        "import sys\nparallel.compile('sgd', dice if sys.argv else 'mse')\n",
        "parallel.compile('sgd', dice)\nparallel.train_on_batch(x, y)\n",
        "metrics = ['accuracy', dice]\nmetrics.append('mae')\nparallel.compile('sgd', 'mse', metrics=metrics)\n",
    ],
)
def test_where_compile_does_not_show_it_it_is_told(body: str) -> None:
    file = migrated(body)
    assert "whole_batch" not in file.after
    assert actions(file) == ["warn"]


@pytest.mark.parametrize(
    "body",
    [
        "parallel.compile('sgd', 'mse', metrics=['accuracy'])\n",
        "def loss(t, p):\n    return K.mean(K.square(t - p), axis=-1)\nparallel.compile('sgd', loss)\n",
        "def loss(t, p):\n    return K.sum(t * p, axis=[1, 2]) / t[:, 0]\nparallel.compile('sgd', loss)\n",
        "def loss(t, p):\n    return p[..., 1:]\nparallel.compile('sgd', loss)\n",
        "def hits(t, p):\n    return K.mean(K.equal(t, K.round(p)))\nparallel.compile('sgd', 'mse', metrics=[hits])\n",
        "def batches():\n    yield K.sum(1)\nparallel.compile('sgd', batches)\n",
        "other.compile('sgd', unknown)\n",
    ],
)
def test_it_is_left_alone(body: str) -> None:
    file = migrated(body)
    assert actions(file) == []
    assert "whole_batch" not in file.after


@pytest.mark.parametrize(
    ("uses", "instead"),
    [
        ("parallel.train_on_batch(x, y)\n", "train_on_batch() of Keras 3 gives"),
        ("parallel.train_on_batch(x, y)\n", "the whole batch: use fit()"),
        ("parallel.fit(x, y)\nparallel.test_on_batch(x, y)\n", "test_on_batch() of Keras 3 gives"),
        ("parallel.fit(x, y)\nparallel.test_on_batch(x, y)\n", "the whole batch: use evaluate()"),
    ],
)
def test_the_method_that_gives_single_batches_is_named(uses: str, instead: str) -> None:
    file = migrated("parallel.compile('sgd', dice)\n" + uses)
    assert [instead in finding.message for finding in file.findings if finding.code == "TFM403"] == [True]


METERED = "parallel.compile('sgd', 'mse', metrics=[dice])\n"


@pytest.mark.parametrize(
    "uses",
    [
        "parallel.train_on_batch(x, y)\n",
        "parallel.train_on_batch(x, y)\nparallel.test_on_batch(x, y)\n",
        "parallel.test_on_batch(x, y)\nparallel.predict(x)\n",
    ],
)
def test_a_metric_of_single_batches_sees_the_whole_of_each(uses: str) -> None:
    file = migrated(METERED + uses)
    assert actions(file) == []
    assert "whole_batch" not in file.after


@pytest.mark.parametrize(
    ("body", "action"),
    [
        (METERED, "rewrite"),
        (METERED + "parallel.fit(x, y)\n", "rewrite"),
        (METERED + "parallel.train_on_batch(x, y)\nparallel.evaluate(x, y)\n", "warn"),
        ("metrics = [dice]\nmetrics.append('mae')\nparallel.compile('sgd', 'mse', metrics=metrics)\n", "warn"),
    ],
)
def test_of_a_metric_nothing_is_said_of_losses(body: str, action: str) -> None:
    told = [finding for finding in migrated(body).findings if finding.code == "TFM403"]
    assert [finding.action for finding in told] == [action]
    assert "the mean over those parts is reported" in told[0].message
    assert "loss" not in told[0].message


def test_of_a_loss_that_is_a_metric_too_both_is_said() -> None:
    file = migrated("parallel.compile('sgd', dice, metrics=[dice])\nparallel.train_on_batch(x, y)\n")
    told = [finding.message for finding in file.findings if finding.code == "TFM403"]
    assert ["multiplies a scalar loss" in message for message in told] == [True]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("optimizer='sgd', loss=dice", ["Keras 3 multiplies a scalar loss"]),
        ("optimizer='sgd', loss={'a': dice, 'b': 'mse'}", ["Keras 3 multiplies a scalar loss"]),
        ("optimizer='sgd', loss='mse', metrics=['mae', dice]", ["the mean over those parts is reported"]),
        (
            "optimizer='sgd', loss=dice, metrics=[dice]",
            ["Keras 3 multiplies a scalar loss", "the mean over those parts is reported"],
        ),
        ("optimizer='sgd', loss='mse'", []),
    ],
)
def test_what_is_passed_among_settings_is_told(settings: str, told: list[str]) -> None:
    file = migrated(f"settings = dict({settings})\nparallel.compile(**settings)\nparallel.fit(x, y)\n")
    messages = [finding.message for finding in file.findings if finding.code == "TFM403"]
    assert len(messages) == len(told)
    assert all(part in message for part, message in zip(told, messages))
    assert "parallel.compile(**settings)" in file.after.replace("model.compile", "parallel.compile")


def test_it_can_be_left_out() -> None:
    text = HEAD.format(imports="") + "parallel.compile('sgd', dice)\n"
    file = migrate(text, Settings(ignore=("TFM403",)))
    assert "model.compile('sgd', dice)" in file.after
    assert "whole_batch" not in file.after


def test_one_mean_is_mended_where_it_is_one_of_several_losses() -> None:
    mean = "def mean(t, p):\n    return K.mean(p)\n\n\n"
    body = f"{mean}loss = mean if K.epsilon() else 'mse'\nparallel.compile('sgd', loss)\n"
    file = migrated(body)
    assert "    return K.mean(p, axis=-1)\n" in file.after
    assert not migrate_sources({"train.py": file.after}, Settings())[0].findings


BUILT = """\
from functools import partial

from keras.layers import Input
from keras.models import Model

inputs = Input((4,))
code = Dense(2)(inputs)
net = Model(inputs, Dense(4)(code))
weight = K.variable(0.5)


{loss}

parallel_net = multi_gpu_model(net, gpus=2)
parallel_net.compile("sgd", {name})
"""


@pytest.mark.parametrize(
    ("loss", "name", "read"),
    [
        ("def loss(t, p):\n    return K.abs(t - p) + K.mean(code, axis=-1, keepdims=True)\n", "loss", "code"),
        (
            "def penal(z):\n    def inner(t, p):\n        return K.abs(t - p) + z\n    return inner\n",
            "penal(code)",
            "z",
        ),
        ("def loss(t, p):\n    return K.abs(t - p) * net.outputs[0]\n", "[loss]", "net.outputs"),
        ("", "lambda t, p: K.abs(t - p) + code", "code"),
        (
            "def loss(t, p):\n    return K.abs(t - p)\n\n\nown = partial(loss, 2)\nprint(partial(loss, code))\n",
            "own",
            None,
        ),
        ("def loss(t, p, z):\n    return K.abs(t - p) * z\n", "partial(loss, z=weight)", None),
        ("def loss(t, p, z):\n    return K.abs(t - p) * z\n", "partial(loss, z=2.0)", None),
        ("def loss(t, p):\n    return K.abs(t - p) * weight\n", "loss", None),
        ("def loss(t, p):\n    code = t - p\n    return K.abs(code)\n", "loss", None),
        ("def loss(t, p):\n    return K.abs(t - p) * K.int_shape(code)[1]\n", "loss", None),
        ("def loss(t, p):\n    return K.abs(t - p) * net.output.shape[1]\n", "loss", None),
        ("def loss(t, p):\n    return K.abs(t - p) * K.shape(code)[1]\n", "loss", "code"),
        ("def loss(t, p):\n    return K.abs(net(t) - net(p))\n", "loss", None),
        ("def loss(t, p):\n    return K.abs(t - p)\n\n\nprint(loss(inputs, code))\n", "loss", None),
    ],
)
def test_a_loss_that_reads_a_tensor_of_the_model_is_told(loss: str, name: str, read: str | None) -> None:
    file = migrated(BUILT.format(loss=loss, name=name))
    told = [finding.message for finding in file.findings if finding.code == "TFM408"]
    assert len(told) == (read is not None)
    assert all(f"reads `{read}`" in message for message in told)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("partial(loss, z=code)", "z"),
        ("partial(partial(loss), z=code)", "z"),
        ("partial(partial(loss, z=code))", "z"),
        ("[partial(loss, z=code)]", "z"),
        ("{'a': partial(loss, z=code)}", "z"),
        ("partial(loss, code)", "z"),
    ],
)
def test_a_loss_that_is_given_a_tensor_of_the_model_beforehand_is_told(given: str, name: str) -> None:
    loss = "def loss(z, t, p):\n    return K.abs(t - p) * z\n\n\n"
    file = migrated(BUILT.format(loss=f"{loss}bound = {given}", name="bound"))
    told = [finding.message for finding in file.findings if finding.code == "TFM408"]
    assert [f"loss() gets a tensor of the model as `{name}`" in message for message in told] == [True]


@pytest.mark.parametrize(
    "given", ["net.get_layer('code').output", "net.layers[1].output", "layer.output", "net.input", "net.outputs[0]"]
)
def test_a_loss_that_is_made_for_a_tensor_that_a_layer_or_a_model_has_is_told(given: str) -> None:
    made = (
        "def made(z):\n    def loss(t, p):\n        return K.abs(t - p) * z\n\n    return loss\n\n\nlayer = Dense(4)\n"
    )
    file = migrated(BUILT.format(loss=made, name=f"made({given})"))
    told = [finding.message for finding in file.findings if finding.code == "TFM408"]
    assert ["loss() reads `z`, a tensor of the model" in message for message in told] == [True]


@pytest.mark.parametrize(
    ("size", "read", "told"),
    [
        ("K.shape(x)[0]", "rows", True),
        ("tf.shape(x)", "rows[0]", True),
        ("K.int_shape(x)[1]", "rows", False),
        ("K.shape(x)[0]", "K.shape(t)[0]", False),
    ],
)
def test_a_layer_that_reads_a_size_from_outside_is_told(size: str, read: str, told: bool) -> None:
    text = "import tensorflow as tf\nfrom keras import backend as K\nfrom keras.layers import Dense, Input, Lambda\n"
    text += "from keras.models import Model\nfrom keras.utils import multi_gpu_model\n\n\ndef wide(x):\n"
    text += f"    rows, high = x.get_shape().as_list()\n    rows = {size}\n"
    text += f"    return Lambda(lambda t: tf.reshape(t, ({read}, 2, high // 2)))(x)\n\n\ninputs = Input((4,))\n"
    text += "model = multi_gpu_model(Model(inputs, wide(Dense(4)(inputs))), 2)\nmodel.compile('sgd', 'mse')\n"
    messages = [finding.message for finding in migrate(text).findings if finding.code == "TFM408"]
    assert ["this layer reads `rows`" in message for message in messages] == [True] * told


def test_a_loss_of_an_object_that_keeps_a_tensor_is_told() -> None:
    net = "class Net:\n    def build(self):\n        self.x = Input((4,))\n"
    net += "        self.model = Model(self.x, Dense(4)(self.x))\n"
    net += "        self.model = multi_gpu_model(self.model, 2)\n        self.model.compile('sgd', self.loss)\n\n"
    net += "    def loss(self, t, p):\n        return K.abs(t - p) + self.x\n"
    file = migrated(f"\n{net}", imports="from keras.layers import Input\nfrom keras.models import Model\n")
    assert ["`self.x`" in finding.message for finding in file.findings if finding.code == "TFM408"] == [True]


@pytest.mark.parametrize(("read", "told"), [("code", [True]), ("scale", [])])
def test_a_loss_that_is_made_in_a_method_reads_what_the_method_made(read: str, told: list[bool]) -> None:
    net = "class Net:\n    def build(self):\n        x = Input((4,))\n        scale = 0.5\n        code = Dense(2)(x)\n"
    net += f"        def loss(t, p):\n            return K.mean(t - p) + K.mean({read})\n\n"
    net += "        model = multi_gpu_model(Model(x, Dense(4)(code)), 2)\n        model.compile('sgd', loss)\n"
    file = migrated(f"\n{net}", imports="from keras.layers import Input\nfrom keras.models import Model\n")
    assert [f"`{read}`" in finding.message for finding in file.findings if finding.code == "TFM408"] == told


CAST = "labels=tf.cast(t, tf.int32)"
SPARSE = "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=p)"


@pytest.mark.parametrize(
    ("body", "cast"),
    [
        (f"return {SPARSE}", f"return {SPARSE.replace('labels=t', CAST)}"),
        ("return K.abs(tf.one_hot(t, 3) - p)", "return K.abs(tf.one_hot(tf.cast(t, tf.int32), 3) - p)"),
        ("return K.abs(K.one_hot(t, 3) - p)", "return K.abs(K.one_hot(tf.cast(t, tf.int32), 3) - p)"),
        (f"t = tf.cast(t, tf.int64)\n    return {SPARSE}", None),
        (f"return {SPARSE.replace('labels=t', 'labels=K.cast(t, tf.int64)')}", None),
        ("return tf.nn.softmax_cross_entropy_with_logits(labels=t, logits=p)", None),
    ],
)
def test_targets_that_must_be_integers_are_cast(body: str, cast: str | None) -> None:
    text = f"\ndef loss(t, p):\n    {body}\n\nparallel.compile('sgd', loss)\n"
    assert f"    {cast or body}\n" in migrated(text).after
    assert f"    {body}\n" in migrated(text.replace("parallel.compile('sgd', loss)", "print(loss)")).after


METHODS = """\

class Net:
    def build(self):
        self.model = Sequential([Dense(1, input_shape=(4,))])
        self.model = multi_gpu_model(self.model, 2)
        self.model.compile("sgd", self.{loss})

    def overlap(self, t, p):
        return 1 - 2 * K.sum(t * p) / (K.sum(t) + K.sum(p))

    def error(self, t, p):
        return K.mean(K.square(t - p))

    @staticmethod
    def first(t, p):
        return K.abs(t[:2] - p[:2])

    def each(self, t, p):
        return K.abs(t - p) * self.weights[:2]

    def rest(self, t, p):
        return 1 - self.overlap(t, p)

    @classmethod
    def of_first(cls, t, p):
        return K.sqrt(cls.first(t, p))

    def twice_each(self, t, p):
        return 2 * self.each(t, p)
"""


@pytest.mark.parametrize(
    ("loss", "becomes"),
    [
        ("overlap", 'compile("sgd", whole_batch(self.overlap))'),
        ("error", "return K.mean(K.square(t - p), axis=-1)"),
        ("first", 'compile("sgd", whole_batch(self.first))'),
        ("rest", 'compile("sgd", whole_batch(self.rest))'),
        ("of_first", 'compile("sgd", whole_batch(self.of_first))'),
        ("each", 'compile("sgd", self.each)'),
        ("twice_each", 'compile("sgd", self.twice_each)'),
    ],
)
def test_a_loss_that_is_a_method_is_read_like_any_other(loss: str, becomes: str) -> None:
    file = migrated(METHODS.format(loss=loss))
    assert becomes in file.after
    assert actions(file) == (["rewrite"] if "each" not in loss else [])


def test_a_method_that_another_one_calls_goes_on_returning_one_number() -> None:
    whole = "\n    def twice(self, t, p):\n        return 2 * self.error(t, p)\n"
    file = migrated(METHODS.format(loss="error").rstrip("\n") + "\n" + whole)
    assert 'compile("sgd", whole_batch(self.error))' in file.after
    assert "axis=-1" not in file.after


@pytest.mark.parametrize(
    ("made", "loss", "action"),
    [
        ("part = partial(scaled, factor=2)\npart.__name__ = 'part'\n", "part", "rewrite"),
        ("", "Overlap()", "warn"),
        ("", "OverlapLoss()", "warn"),
        ("part = partial(each, factor=2)\npart.__name__ = 'part'\n", "part", None),
        ("", "Each()", None),
    ],
)
def test_a_loss_that_is_made_of_a_function_is_read_through(made: str, loss: str, action: str | None) -> None:
    functions = "\ndef scaled(t, p, factor):\n    return factor * dice(t, p)\n"
    functions += "\n\ndef each(t, p, factor):\n    return factor * K.abs(t - p)\n"
    functions += "\n\nclass Overlap:\n    def __call__(self, t, p):\n        return dice(t, p)\n"
    functions += "\n\nclass Each:\n    def __call__(self, t, p):\n        return K.abs(t - p)\n"
    functions += "\n\nclass OverlapLoss(Loss):\n    def call(self, t, p):\n        return dice(t, p)\n\n\n"
    imports = "from functools import partial\nfrom keras.losses import Loss\n"
    file = migrated(f"{functions}{made}parallel.compile('sgd', {loss})\n", imports)
    assert actions(file) == ([action] if action else [])


def test_a_model_that_no_strategy_has_to_do_with_keeps_its_loss() -> None:
    body = "def batches():\n    yield data\n\nalone = Sequential([Dense(1, input_shape=(4,))])\n"
    body += "alone.compile('sgd', dice)\nalone.fit_generator(batches(), steps_per_epoch=2)\n"
    file = migrated(body + "parallel.compile('sgd', 'mse')\nparallel.fit(data)\n")
    assert "alone.compile('sgd', dice)\nalone.fit(batches(), steps_per_epoch=2)\n" in file.after
    assert not {"TFM402", "TFM403"} & {finding.code for finding in file.findings}


def test_a_model_that_may_be_the_parallel_one_is_given_the_whole_batch() -> None:
    body = "alone = Sequential([Dense(1, input_shape=(4,))])\nchosen = parallel if several else alone\n"
    assert "whole_batch(dice)" in migrated(body + "chosen.compile('sgd', dice)\n").after


def test_a_model_that_a_builder_makes_beside_the_parallel_one_is_on_the_strategy_too() -> None:
    """Keras 3 returns each row of predict_on_batch() once per replica, whichever model of the scope predicts."""
    code = dedent(
        """
        from keras.layers import Dense, Input
        from keras.models import Model
        from keras.utils import multi_gpu_model


        def build():
            rows = Input((4,))
            hidden = Dense(3)(rows)
            return Model(rows, Dense(1)(hidden)), Model(rows, Dense(2)(hidden))


        trained, used = build()
        parallel = multi_gpu_model(trained, 2)
        parallel.compile("sgd", "mse")
        parallel.fit_generator(data)
        used.predict_on_batch(batch)
        """
    )
    file = migrate(code)
    assert "used.predict(batch, verbose=0)" in file.after


def test_a_loss_added_outside_of_a_layer_is_told_to_fail_on_keras_3() -> None:
    def messages(body: str) -> list[str]:
        return [finding.message for finding in migrated(body).findings if finding.code == "TFM407"]

    (outside,) = messages("parallel.add_loss(K.mean(model.output))\nparallel.compile('sgd')\n")
    assert "raises ValueError for such a loss" in outside
    layer = "class Own(Dense):\n    def call(self, x):\n        self.add_loss(K.mean(x))\n        return x\n"
    (inside,) = messages(layer)
    assert "ValueError" not in inside


PENALISED = """
from keras.layers import Dense
from keras.models import Sequential
from keras.regularizers import l2
from keras.utils import multi_gpu_model
model = Sequential([Dense(8, input_shape=(4,))])
{before}parallel = multi_gpu_model(model, 2)
{after}parallel.compile('sgd', 'mse')
parallel.fit(x, y)
"""
PENALTY = "for layer in model.layers:\n    layer.add_loss(l2(0.1)(layer.kernel))\n"


@pytest.mark.parametrize(
    ("before", "after", "version", "told"),
    [
        ("", PENALTY, None, True),
        ("", PENALTY, "keras==2.2.4", True),
        ("", PENALTY, "keras==2.3.1", False),
        (PENALTY, "", "keras==2.2.4", False),
    ],
)
def test_a_penalty_of_a_weight_counts_once_but_for_old_keras_behind_the_wrap(
    before: str, after: str, version: str | None, told: bool
) -> None:
    file = migrate(PENALISED.format(before=before, after=after), Settings(from_version=version))
    messages = [finding.message for finding in file.findings if finding.code == "TFM407"]
    assert bool(messages) == told
    assert all("ignored a loss" in message for message in messages)


IN_FUNCTIONS = """
from keras.layers import Dense
from keras.models import Sequential
from keras.regularizers import l2
from keras.utils import multi_gpu_model


def penalise(net):
    for layer in net.layers:
        layer.add_loss(l2(0.1)(layer.kernel))


def train():
    model = Sequential([Dense(8, input_shape=(4,))])
    {before}
    parallel = multi_gpu_model(model, 2)
    {after}
    parallel.compile('sgd', 'mse')
    parallel.fit(x, y)


train()
"""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("penalise(model)", "pass", False),
        ("pass", "penalise(model)", True),
        ("penalise(model)", "penalise(model)", True),
        ("late = penalise", "late(model)", True),
        ("pass", "pass", True),  # whoever calls it, and when
    ],
)
def test_a_function_adds_a_penalty_when_it_is_called(before: str, after: str, told: bool) -> None:
    file = migrate(IN_FUNCTIONS.format(before=before, after=after), Settings(from_version="keras==2.2.4"))
    messages = [finding.message for finding in file.findings if finding.code == "TFM407"]
    assert bool(messages) == told
    assert all("ignored a loss" in message for message in messages)


def test_a_penalty_that_another_module_adds_after_the_wrap_is_told() -> None:
    function = "def penalise(layer):\n    layer.add_loss(l2(0.1)(layer.kernel))\n"
    penalties = f"from keras.regularizers import l2\n\n\n{function}"
    late = "penalise(model.layers[0])"
    for before, after, told in (("pass", late, True), (late, "pass", False)):
        main = IN_FUNCTIONS.format(before=before, after=after)
        head, _, rest = main.partition("def penalise(net):")
        main = head + "from penalties import penalise\n\n\ndef train" + rest.partition("def train")[2]
        results = migrate_sources({"train.py": main, "penalties.py": penalties}, Settings(from_version="keras==2.2.4"))
        codes = [finding.code for file in results for finding in file.findings]
        assert ("TFM407" in codes) == told


METRIC = "\ndef metric(t, p):\n{body}\n\n\nparallel.compile('sgd', 'mse', metrics={metrics})\n"
DECLARED = "    t = tf.cast(t, p.dtype)\n"


@pytest.mark.parametrize(
    ("body", "cast"),
    [
        ("    return K.abs(t - p)", True),
        ('    """How far."""\n    return K.abs(t - p)', True),
        ("    # how far\n    return K.mean(K.equal(t, K.round(p)))", True),
        ("    t = K.flatten(t)\n    return K.mean(t * p)", True),
        ("    return far(t, p)", True),
        ("    return K.mean(K.cast(t > 0.5, 'float32'), axis=-1)", True),
        # It has the type that it needs, or needs none.
        ("    return K.abs(p)", False),
        ("    return K.abs(K.cast(t, 'float32') - p)", False),
        ("    t = tf.cast(t, tf.float32)\n    return K.abs(t - p)", False),
        ("    return K.cast(K.equal(K.argmax(t), K.argmax(p)), 'float32')", False),
        ("    return keras.metrics.categorical_accuracy(t, p)", False),
        ("    return K.abs(tf.one_hot(t, 3) - p)", False),
        ("    return K.abs(p) + t.shape[-1]", False),
        # Given the whole batch, which makes floats of it.
        ("    return 2 * K.sum(t * p) / K.sum(t + p)", False),
    ],
)
def test_the_targets_of_a_metric_are_of_the_type_of_the_predictions(body: str, cast: bool) -> None:
    imports = "import keras\nfrom elsewhere import far\n"
    after = migrated(METRIC.format(body=body, metrics="[metric, 'mae']"), imports=imports).after
    head, line, rest = after.partition(DECLARED)
    assert bool(line) is cast
    assert "def metric(t, p):\n" in head
    assert rest.startswith((body.split('"""\n')[-1]).lstrip("\n") + "\n") or not cast
    unused = METRIC.format(body=body, metrics="['mae']") + "print(metric)\n"
    assert DECLARED not in migrated(unused, imports=imports).after


def test_a_metric_of_another_module_or_of_one_line() -> None:
    metrics = "from keras import backend as K\n\n\ndef far(t, p):\n    return K.abs(t - p)\n"
    body = "\ndef near(t, p): return 1 - K.abs(t - p)\n\n\nparallel.compile('sgd', 'mse', metrics=[[far], [near]])\n"
    texts = {"train.py": HEAD.format(imports="from measures import far\n") + body, "measures.py": metrics}
    train, other = migrate_sources(texts, Settings())
    assert "def far(t, p):\n    t = tf.cast(t, p.dtype)\n    return K.abs(t - p)\n" in other.after
    assert other.after.startswith("import tensorflow as tf\n")
    assert "def near(t, p): return 1 - K.abs(t - p)\n" in train.after
    assert [finding.action for finding in train.findings if finding.code == "TFM215"] == ["warn"]


LAYER_LOSS = """\
from keras import backend as K
from keras.layers import Dense, Input, Lambda
from keras.models import Model
from keras.utils import multi_gpu_model


def normalised(tensors):
    {statements}


x, y = Input((4,)), Input((1,))
body = multi_gpu_model(Model(x, Dense(1)(x)), gpus=2)
loss = Lambda(normalised, output_shape=(1,), name="loss")([body(x), y])
model = Model([x, y], loss)
model.compile("sgd", {{"loss": {loss}}})
model.fit(batches)
"""


@pytest.mark.parametrize(
    ("statements", "loss", "told"),
    [
        ("return K.sum(tensors[0] - tensors[1]) / K.sum(tensors[1])", "lambda t, p: p", True),
        ("return K.square(tensors[0] - tensors[1])", "lambda t, p: p", False),
        ("return K.sum(K.square(tensors[0] - tensors[1]), axis=-1)", "lambda t, p: p", False),
        ("return K.square(tensors[:1][0])", "lambda t, p: p", False),
        ("return K.sum(tensors[0] - tensors[1]) * K.ones_like(tensors[1])", "'mse'", False),
    ],
)
def test_a_loss_that_is_made_in_a_layer_is_told(statements: str, loss: str, told: bool) -> None:
    code = LAYER_LOSS.format(statements=statements, loss=loss)
    file = check_migrated(code)
    assert actions(file) == (["warn"] if told else [])


def test_a_loss_that_a_layer_makes_for_a_model_on_one_device_is_none_of_ours() -> None:
    code = LAYER_LOSS.format(statements="return K.sum(tensors[0]) / K.sum(tensors[1])", loss="lambda t, p: p")
    code = code.replace("from keras.utils import multi_gpu_model\n", "from detect import detect\n")
    code = code.replace("multi_gpu_model(Model(x, Dense(1)(x)), gpus=2)", "Model(x, Dense(1)(x))") + "detect(rows)\n"
    detect = "from keras.models import load_model\nfrom keras.utils import multi_gpu_model\n\n\n"
    detect += "def detect(rows):\n    return multi_gpu_model(load_model('x.h5'), gpus=2).predict(rows)\n"
    train, other = migrate_sources({"train.py": code, "detect.py": detect}, Settings())
    assert (train.path, other.status) == ("train.py", "migrated")
    assert actions(train) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("def loss(t, p):\n    return 1 - overlap(t, p)\n", True),
        ("def part(t, p):\n    return overlap(t, p)\ndef loss(t, p):\n    return K.abs(t - p) + part(t, p)\n", True),
        ("def loss(t, p):\n    return K.abs(t - p)\n", False),
        ("def loss(t, p):\n    return math.log(2) * K.abs(t - p)\n", False),
    ],
)
def test_a_loss_that_calls_a_function_out_of_sight_is_told(body: str, told: bool) -> None:
    file = migrated(f"{body}parallel.compile('sgd', loss)\n", "import math\nfrom measures import overlap\n")
    assert actions(file) == (["warn"] if told else [])


def test_a_metric_that_calls_a_function_out_of_sight_is_not() -> None:
    body = "def share(t, p):\n    return overlap(t, p)\nparallel.compile('sgd', 'mse', [share])\n"
    assert actions(migrated(body, "from measures import overlap\n")) == []


def test_a_loss_of_another_module_is_told_where_compile_is_given_it() -> None:
    losses = """\
import tensorflow as tf


def make():
    def cross_entropy(y_true, y_pred):
        labels = tf.cast(tf.reshape(y_true, [-1]), tf.int32)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=y_pred))

    return cross_entropy
"""
    train = """\
import tensorflow as tf
from losses import make

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
    model.compile("adam", loss=make())
model.fit(data)
"""
    files = migrate_files({"losses.py": losses, "train.py": train})
    assert [(one.code, one.line, one.action) for one in files["train.py"].findings] == [("TFM403", 7, "warn")]
    assert all(file.before == file.after for file in files.values())


@pytest.mark.parametrize(
    ("body", "becomes"),
    [
        ("return K.mean(K.sum(K.square(t - p), 1))", "return K.sum(K.square(t - p), 1)"),
        ("return K.mean(K.sum(K.square(t - p), axis=[1, 2]))", "return K.sum(K.square(t - p), axis=[1, 2])"),
        ("one = K.mean(K.abs(t[:, 0] - p[:, 0]))\n    return one", "one = K.abs(t[:, 0] - p[:, 0])"),
        (
            "near = K.square(tf.norm(p[:, :4] - p[:, 4:], axis=-1))\n    return K.mean(K.maximum(0.0, near + margin))",
            "return K.maximum(0.0, near + margin)",
        ),
        ("return K.mean(K.square(t[:, :2] - p[:, :2]))", "return K.mean(K.square(t[:, :2] - p[:, :2]), axis=-1)"),
    ],
)
def test_the_mean_of_what_each_sample_has_is_left_to_keras(body: str, becomes: str) -> None:
    file = migrated(f"margin = 0.2\n\n\ndef loss(t, p):\n    {body}\n\n\nparallel.compile('sgd', loss)\n")
    assert f"    {becomes}\n" in file.after
    assert "whole_batch" not in file.after


@pytest.mark.parametrize(
    "body",
    [
        "return K.mean(K.sum(t - p, 0))",
        "return K.mean(K.sum(K.sum(t - p, -1), -1))",  # the second may be over the batch
        "return K.mean(t - K.sum(p, 1))",  # (8,) and (8, 8)
        "return K.mean(t[:4] - p[:4])",
        "near = t - p\n    near = near[::2]\n    return K.mean(near)",
        "return K.mean(tf.boolean_mask(p, t))",
        "return K.mean(p) * K.mean(t)",
    ],
)
def test_any_other_mean_is_given_the_whole_batch(body: str) -> None:
    file = migrated(f"def loss(t, p):\n    {body}\n\n\nparallel.compile('sgd', loss)\n")
    assert "model.compile('sgd', whole_batch(loss))" in file.after


def test_a_loss_that_the_program_calls_keeps_its_one_number() -> None:
    text = "def loss(t, p):\n    return K.mean(K.sum(t - p, 1))\n\n\nparallel.compile('sgd', loss)\n"
    assert "whole_batch(loss)" in migrated(text + "print(float(loss(x, y)))\n").after


@pytest.mark.parametrize(
    ("more", "wrapped"),
    [
        ("parallel.predict(x)", False),
        ("model.load_weights('a.h5')\nparallel.predict(x)", False),
        ("parallel.predict(x)\nparallel.fit_generator(x)", True),
        ("parallel.predict(x)\nparallel.evaluate(x, y)", True),
        ("parallel.predict(x)\nfrom trainer import train\ntrain(parallel)", True),
        ("", True),
    ],
)
def test_what_a_model_that_only_predicts_is_compiled_with_is_not_computed(more: str, wrapped: bool) -> None:
    file = migrated(f"parallel.compile('sgd', dice)\n{more}\n")
    assert ("whole_batch" in file.after) == wrapped


def test_a_loss_of_another_module_is_changed_there() -> None:
    texts = {
        "train.py": HEAD.format(imports="from measures import distance\n") + "parallel.compile('sgd', distance)\n",
        "measures.py": "from keras import backend as K\n\n\ndef distance(t, p):\n    return K.mean(K.sum(t - p, 1))\n",
    }
    train, measures = migrate_sources(texts, Settings())
    assert "model.compile('sgd', distance)" in train.after
    assert "    return K.sum(t - p, 1)\n" in measures.after
    assert [finding.action for finding in measures.findings if finding.code == "TFM403"] == ["rewrite"]


PASSED = """
def compiled(model{parameter}):
    model.compile('sgd', loss=loss)
    return model


compiled(parallel, {argument}).fit(x, y)
"""


@pytest.mark.parametrize(
    ("parameter", "argument", "after"),
    [
        (", loss='mse'", "loss=dice", "loss=whole_batch(loss) if callable(loss) else loss)"),
        (", *, loss='mse'", "loss=dice", "loss=whole_batch(loss) if callable(loss) else loss)"),
        (", loss=dice", "loss=dice", "loss=whole_batch(loss))"),
        (", loss=None", "loss=dice", "loss=whole_batch(loss))"),
        (", loss", "dice", "loss=whole_batch(loss))"),
    ],
)
def test_a_parameter_that_has_the_name_of_a_loss_by_default_may_still_have_it(
    parameter: str, argument: str, after: str
) -> None:
    assert f"model.compile('sgd', {after}\n" in migrated(PASSED.format(parameter=parameter, argument=argument)).after


LOSSES = """\
from keras import backend as K


def dice(y_true, y_pred, smooth=1.0):
    return 1 - (K.sum(y_true * y_pred) + smooth) / (K.sum(y_true + y_pred) + smooth)


def distance(y_true, y_pred):
    return K.sum(K.square(y_true - y_pred), axis=-1)


def load(folder):
    return K.sum(folder)


class Overlap:
    def __call__(self, y_true, y_pred):
        return -K.sum(y_true * y_pred)
"""


@pytest.mark.parametrize(
    "loss",
    [
        "getattr(losses, chosen)",
        "[getattr(losses, chosen)]",
        "vars(losses)[chosen]",
        "losses.__dict__[chosen]",
        "by_name(chosen)",
        "all_named([chosen])[0]",
    ],
)
def test_a_loss_that_is_looked_up_by_its_name_is_told(loss: str) -> None:
    helpers = "\n\ndef by_name(name):\n    return getattr(losses, name)\n\n\n"
    helpers += "def all_named(names):\n    return [getattr(losses, name) for name in names]\n"
    imports = "import losses\nimport sys\nchosen = sys.argv[1]" + helpers
    file = migrated(f"parallel.compile('sgd', {loss})\nparallel.fit(batches)\n", imports, losses=LOSSES)
    told = [finding for finding in file.findings if finding.code == "TFM403"]
    assert {finding.action for finding in told} == {"warn"}
    assert all("may be dice() or Overlap.__call__(), each of which computes" in finding.message for finding in told)


@pytest.mark.parametrize(
    "losses",
    [
        LOSSES.replace("1 - (K.sum(y_true * y_pred) + smooth) / (K.sum(y_true + y_pred) + smooth)", "y_true").replace(
            "-K.sum", "-K.abs"
        ),
        "def open_file(path, mode):\n    return path\n",
    ],
)
def test_a_module_without_such_losses_is_not(losses: str) -> None:
    imports = "import losses\nimport sys\nchosen = sys.argv[1]"
    file = migrated("parallel.compile('sgd', getattr(losses, chosen))\nparallel.fit(batches)\n", imports, losses=losses)
    assert not actions(file)


def test_nor_is_a_look_up_where_every_loss_is_known() -> None:
    imports = "import losses\nimport sys\nchosen = sys.argv[1]"
    body = "shown = getattr(losses, chosen)\nparallel.compile('sgd', 'mse')\nparallel.fit(batches)\n"
    assert not actions(migrated(body, imports, losses=LOSSES))


@pytest.mark.parametrize("loss", ["getattr(losses, chosen)", "{'mae': 'mae'}[chosen]"])
def test_the_name_of_a_loss_from_an_unknown_module_is_no_loss(loss: str) -> None:
    imports = "from settings import chosen\nimport losses"
    other = "def distance(y_true, y_pred):\n    return y_true - y_pred\n"
    assert not actions(migrated(f"parallel.compile('sgd', {loss})\nparallel.fit(batches)\n", imports, losses=other))


@pytest.mark.parametrize(
    "compiled",
    [
        "lambda t, p: overlap(t, p)",
        "lambda t, p: overlap(t, p) + share(t, p)",
        "[overlap, overlap]",
        "{'one': overlap, 'two': overlap}",
        "[loss, loss]",
        "[weighted(1), weighted(2)]",
    ],
)
def test_what_is_out_of_sight_is_told_once_for_a_compile(compiled: str) -> None:
    body = "def loss(t, p):\n    return overlap(t, p)\n\n\ndef weighted(by):\n    def inner(t, p):\n"
    body += f"        return by * overlap(t, p)\n\n    return inner\n\n\nparallel.compile('sgd', {compiled})\n"
    assert actions(migrated(body, "from measures import overlap, share\n")) == ["warn"]


def test_each_of_two_losses_out_of_sight_is_told() -> None:
    file = migrated("parallel.compile('sgd', [overlap, share])\n", "from measures import overlap, share\n")
    assert actions(file) == ["warn", "warn"]


REDUCED = """class Losses:
    def part(self, x, axis={default}):
        return K.mean(x, axis=axis)

    def loss(self, t, p):
        return self.part(K.square(t - p){passed})


parallel.compile("sgd", Losses().loss)
"""


@pytest.mark.parametrize(
    ("default", "passed", "done"),
    [
        ("None", "", ["rewrite"]),
        ("None", ", None", ["rewrite"]),
        ("-1", ", 0", ["rewrite"]),
        ("0", "", ["rewrite"]),
        ("-1", "", []),
        ("None", ", -1", []),
        ("None", ", axis=1", []),
    ],
)
def test_an_axis_that_a_caller_passes_or_leaves(default: str, passed: str, done: list[str]) -> None:
    assert actions(migrated(REDUCED.format(default=default, passed=passed))) == done


@pytest.mark.parametrize(
    ("body", "done"),
    [
        ("def loss(t, p, axis=None):\n    return K.mean(K.square(t - p), axis=axis)\n", ["rewrite"]),
        ("def loss(t, p, axis=-1):\n    return K.mean(K.square(t - p), axis=axis)\n", []),
        ("KINDS = {'mean': K.mean}\ndef loss(t, p):\n    return KINDS['mean'](K.square(t - p))\n", ["rewrite"]),
        ("KINDS = {'mean': K.mean}\ndef loss(t, p):\n    return KINDS['mean'](K.square(t - p), axis=-1)\n", []),
        ("KINDS = {'abs': K.abs}\ndef loss(t, p):\n    return KINDS['abs'](t - p)\n", []),
    ],
)
def test_a_reduction_by_another_name_or_along_a_default_axis(body: str, done: list[str]) -> None:
    assert actions(migrated(f"{body}parallel.compile('sgd', loss)\n")) == done
