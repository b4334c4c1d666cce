"""The network by the name of the package that the script imports it from; the repository has it in another folder."""

from model.minigooglenet import MiniGoogLeNet  # noqa: F401
