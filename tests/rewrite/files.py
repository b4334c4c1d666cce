"""What the tests of whole programs share."""

from __future__ import annotations

from textwrap import dedent

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
