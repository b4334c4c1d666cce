"""Files of weights, whatever they are called."""

import functools
import importlib
import os
import shutil

from .restored_callbacks import new_name


def restore_weight_files(flavour):
    if not flavour.is_keras3:
        return
    model = flavour.root.models.Model
    model.save_weights = saving_as_asked(model.save_weights, flavour)
    model.load_weights = loading_as_asked(model.load_weights, flavour)


def saving_as_asked(original, flavour):
    """Keras 3 wants an ending of its own; the script may look for its file by the name that it gave."""

    @functools.wraps(original)
    def save_weights(self, filepath, *args, **kwargs):
        asked, path = str(filepath), new_name(str(filepath), True, flavour)
        original(self, path, *args, **kwargs)
        if path != asked:
            os.replace(path, asked)

    return save_weights


def loading_as_asked(original, flavour):
    """Keras 3 tells the formats apart by the ending."""

    @functools.wraps(original)
    def load_weights(self, filepath, *args, **kwargs):
        asked, path = str(filepath), new_name(str(filepath), True, flavour)
        if path == asked or not is_todays(asked):
            return original(self, path if os.path.exists(path) else asked, *args, **kwargs)
        shutil.copyfile(asked, path)
        try:
            return original(self, path, *args, **kwargs)
        finally:
            os.remove(path)

    return load_weights


def is_todays(path):
    """Whether weights are in the format of Keras 3, whatever the file is called."""
    h5py = importlib.import_module("h5py")
    if not os.path.isfile(path) or not h5py.is_hdf5(path):
        return False
    with h5py.File(path, "r") as file:
        return "layer_names" not in file.attrs and "model_weights" not in file
