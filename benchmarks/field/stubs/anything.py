"""Stands in for a module that a script imports and then does nothing with that matters: every name of it is there, and
every module below it."""

import importlib.util
import sys

__path__ = []


class Below:
    """Finds modules below this one: they are this file again."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith(__name__ + "."):
            return None
        return importlib.util.spec_from_file_location(name, __file__, submodule_search_locations=[])


sys.meta_path.append(Below)


class Shape(type):
    def __getattr__(cls, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Anything


class Anything(Shape("Base", (object,), {})):
    def __init__(self, *arguments, **keywords):
        pass

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Anything

    def __call__(self, *arguments, **keywords):
        return arguments[0] if arguments else self

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    # What augments pictures gives them back as they were.
    def augment_image(self, picture, *arguments, **keywords):
        return picture

    augment_images = augment_image


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return Anything
