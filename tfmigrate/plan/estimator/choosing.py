"""The features that a model reads, chosen of those that a dataset gives.

An Estimator's model function read what it wanted of the features. Keras takes every feature for an input of the model,
and strings among them stop the first step on several replicas, whether the model has such an input or not: "Value for
attr 'T' of string is not in the list of allowed values", in AddN (Keras 3.15).
"""

from __future__ import annotations

from dataclasses import dataclass

from tfmigrate.plan.change.calls import quoted
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert
from tfmigrate.plan.estimator.reader import Outcome
from tfmigrate.understand.module import Module
from tfmigrate.written import Written


@dataclass
class Choosing:
    """How the features of one model are chosen."""

    built: Outcome
    draft: Draft
    """Of the model function's module."""
    name: str
    """Of the function that chooses them; free in that module."""
    used: bool = False
    """Whether that function is called."""

    def of(self, dataset: Written, module: Module) -> Written:
        """A dataset that stands in some module, with the features alone that are read."""
        if not self.built.chosen:
            return dataset
        if module is not self.built.module:
            return Written.of(dataset, f".map(lambda features, *labels: {self._chosen})")
        self.used = True
        return Written.of(dataset, f".map({self.name})")

    def function(self) -> Insert | None:
        """The function that chooses them, where it is called."""
        if not self.used:
            return None
        indent = self.built.module.tree.default_indent
        comment = "# Keras treats every feature of a dataset as an input, and fails on strings on several replicas."
        code = f"def {self.name}(features, *labels):\n{indent}{comment}\n{indent}return {self._chosen}\n"
        return Insert(self.built.outermost, code)

    @property
    def _chosen(self) -> str:
        keys = [quoted(key, self.draft.quote) for key in self.built.chosen]
        if len(keys) == 1:
            return f"({{{keys[0]}: features[{keys[0]}]}}, *labels)"
        return f"({{key: features[key] for key in ({', '.join(keys)})}}, *labels)"
