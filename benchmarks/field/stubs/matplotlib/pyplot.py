"""Every name of pyplot is there, and draws nothing."""


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
