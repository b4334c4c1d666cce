"""Which Keras a model came from."""

from __future__ import annotations

from tfmigrate.understand import names
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.values import Parallel, options


def flavour_of(use: Use, facts: Facts) -> str:
    """Which Keras the compiled model came from."""
    values = set()
    for option in options(use.receiver):
        if isinstance(option, Parallel):
            values.add(names.flavour(facts.called(option.wrap.call)))
    values.update(names.flavour(model.maker) for model in use.models)
    if not any(values):
        # Nothing is known of the model: the module's imports decide.
        imported = [full for statement, _ in facts.module.imports for _, _, full in imports_of(statement)]
        values.update(map(names.flavour, imported))
    values.discard("")
    return "keras" if "keras" in values else (values.pop() if values else "")
