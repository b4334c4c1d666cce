"""Entry point. Loads the probe as one private package, so that no module of it can shadow one of the script's.

The script runs in a child of this process (see confine.py), which only waits: in a new interpreter, or in a fork of one
that has TensorFlow and this package already (see server.py).
"""

import importlib.util
import json
import os
import sys

PACKAGE = "_tfmigrate_probe"


def main(path):
    with open(path) as file:
        config = json.load(file)
    load()
    confined = importlib.import_module(PACKAGE + ".confine").begin(config)
    config["confined"], config["unconfined"] = confined.holds, confined.left
    session = importlib.import_module(PACKAGE + ".session")
    return session.run(config)


def load():
    """Loads this package under its private name, which is returned."""
    if PACKAGE not in sys.modules:
        folder = os.path.dirname(os.path.abspath(__file__))
        spec = importlib.util.spec_from_file_location(
            PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        package = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = package
        spec.loader.exec_module(package)
    return PACKAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
