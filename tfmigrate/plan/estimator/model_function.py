"""Reads a model function, statement by statement, with what each name stands for and for which modes a statement runs.

Layers stay where they are, as Keras layers (`network`); the loss, the optimizer, the metrics and the specs go.
"""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan.estimator.expressions import read_expression
from tfmigrate.plan.estimator.model_reader import ModelReader
from tfmigrate.plan.estimator.statements import read_statement
from tfmigrate.plan.estimator.things import Thing
from tfmigrate.understand.blocks import Unit


class ModelFunction(ModelReader):
    """Each kind of statement, expression and call is read in a module of its own, which asks for its parts here."""

    def statement(self, unit: Unit, modes: frozenset[str]) -> frozenset[str]:
        return read_statement(self, unit, modes)

    def read(self, node: cst.BaseExpression) -> Thing:
        return read_expression(self, node)
