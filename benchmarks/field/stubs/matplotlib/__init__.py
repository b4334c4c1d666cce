"""A matplotlib that draws nothing; its conversions of colours are real."""

__version__ = "0"


def use(*arguments, **keywords):
    pass
