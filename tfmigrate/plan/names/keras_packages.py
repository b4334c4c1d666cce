"""`from keras_radam import RAdam`: packages that were written for standalone Keras and do not run beside Keras 3."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import PurePath

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.syntax import dotted

_IMPORT = "importing it fails with Keras 3"
_USE = "using it fails with Keras 3"
_BY_TF_KERAS = "; with Keras 2 (tf_keras) its networks run if TF_KERAS=1 is set in the environment"
_PACKAGES = {
    "bert4keras": f"{_USE} (no keras.engine){_BY_TF_KERAS}",
    "innvestigate": f"{_IMPORT} (no conv_utils in keras.utils)",
    "keras_adamw": f"{_IMPORT} (no keras.legacy.interfaces); tf.keras.optimizers.AdamW has weight_decay",
    "keras_bert": f"{_USE}{_BY_TF_KERAS}",
    "keras_efficientnets": f"{_IMPORT} (no keras.utils.generic_utils); tf.keras.applications has EfficientNetB0 to B7",
    "keras_gradient_accumulation": f"{_USE}; optimizers of Keras 3 take gradient_accumulation_steps",
    "keras_lookahead": f"{_IMPORT} (no keras.engine)",
    "keras_lr_multiplier": f"{_USE}",
    "keras_metrics": f"{_USE}; tf.keras.metrics has Precision and Recall",
    "keras_radam": f"{_IMPORT} (no keras.engine)",
    "keras_resnet": f"{_USE} (its BatchNormalization has no shape); tf.keras.applications has ResNet50 and others",
    "keras_squeezenet": f"{_IMPORT} (no _obtain_input_shape)",
    "keras_transformer": f"{_USE}{_BY_TF_KERAS}",
    "keras_vggface": f"{_IMPORT} (no layer_utils in keras.utils)",
    "textgenrnn": f"{_IMPORT} (no multi_gpu_model in tensorflow.keras.utils)",
}
"""Tried with Keras 3.15 and tf_keras 2.21: see the page of TFM254 for the versions."""


def check(context: Context) -> Iterator[CallChange]:
    """The first import of each of them, unless the program has a package of that name itself."""
    told = set[str]()
    for node, name in imported_from(_PACKAGES, context):
        package = name.partition(".")[0]
        if package not in told:
            told.add(package)
            message = (
                f"{package} was written for standalone Keras: {_PACKAGES[package]}. Copy the code that you use into "
                "the program, with tensorflow.keras in place of keras, or use what Keras has"
            )
            yield CallChange(codes.KERAS_PACKAGES, node, message, action="warn")


def imported_from(packages: Collection[str], context: Context) -> Iterator[tuple[cst.CSTNode, str]]:
    """What a module imports from packages, or of them, with its dotted name; a `*` has that of the package alone.

    A package that the program has itself is left out.
    """
    own = {part for module in context.modules for part in (*PurePath(module.path).parts, PurePath(module.path).stem)}
    for statement, _ in context.facts.module.imports:
        found: list[tuple[cst.CSTNode, str]]
        if isinstance(statement, cst.Import):
            found = [(alias, dotted(alias.name)) for alias in statement.names]
        elif statement.relative:
            continue
        elif isinstance(statement.names, cst.ImportStar):
            found = [(statement, dotted(statement.module))]
        else:
            found = [(alias, f"{dotted(statement.module)}.{dotted(alias.name)}") for alias in statement.names]
        for node, name in found:
            package = name.partition(".")[0]
            if package in packages and package not in own:
                yield node, name
