"""Methods of models that are gone or take their arguments elsewhere; paths of whole models; stateful layers."""

from __future__ import annotations

import pytest

from tests.plan.test_companions import found, migrated


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("parallel_model.compile('sgd', 'mse', ['mae'])\n", "compile('sgd', 'mse', metrics=['mae'])"),
        ("parallel_model.compile('sgd', 'mse', m, w)\n", "compile('sgd', 'mse', metrics=m, loss_weights=w)"),
        ("model.predict_proba(x, 8)\n", "model.predict(x, 8)"),
        ("parallel_model.compile('sgd', loss='sparse_categorical_crossentropy')\nprint(model.predict_classes(x)[0])\n",
         "print(model.predict(x).argmax(axis=-1)[0])"),
        ("K.set_image_dim_ordering('tf')\n", "K.set_image_data_format('channels_last')"),
        ('if "th" != K.image_dim_ordering():\n    pass\n', 'if "channels_first" != K.image_data_format():'),
    ],
)  # fmt: skip
def test_it_is_rewritten(body: str, after: str) -> None:
    file = migrated(body)
    assert after in file.after
    assert "TFM501" not in found(file)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("parallel_model.compile('sgd', 'binary_crossentropy')\nmodel.predict_classes(x)\n", "TFM214"),
        ("parallel_model.compile('sgd', losses)\nmodel.predict_classes(x)\n", "TFM214"),
        ("model.predict_classes(x)\n", "TFM214"),
        ("name = 'folder'\nmodel.save(name)\n", "TFM216"),
        ("from keras.models import load_model\nload_model(filepath='folder/')\n", "TFM216"),
        ("from keras.models import save_model\nsave_model(model, 'x/%d' % 3)\n", "TFM216"),
        ("layer = LSTM(2, recurrent_activation='sigmoid', stateful=True)\n", "TFM404"),
        ("K.set_image_dim_ordering(ordering)\n", "TFM501"),
        ("parallel_model.compile('sgd', 'mse')\nprint(model.optimizer.decay)\n", "TFM212"),
    ],
)
def test_it_is_told(body: str, code: str) -> None:
    file = migrated(body)
    assert [finding.action for finding in file.findings if finding.code == code] == ["warn"]


@pytest.mark.parametrize(
    "body",
    [
        "parallel_model.compile('sgd', 'mse')\n",
        "other.compile('sgd', 'mse', ['mae'])\n",
        "parallel_model.compile(*arguments)\n",
        "forest.predict_classes(x)\nforest.predict_proba(x)\n",
        "model.save('all.h5')\nmodel.save('all.keras')\nmodel.save('all.hdf5')\nmodel.save(path)\n",
        "picture.save('folder')\nload_model('folder')\n",
        "layer = LSTM(2, recurrent_activation='sigmoid', stateful=False)\n",
        "name = {'tf': 1}['tf']\n",
    ],
)
def test_nothing_is_said_about(body: str) -> None:
    file = migrated(body)
    assert not found(file)
    assert body.replace("parallel_model", "model") in file.after.replace("    model", "model")
