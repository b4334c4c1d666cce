"""Entry point. Loads the probe as one private package, so that no module of it can shadow one of the script's."""

import importlib.util
import json
import os
import sys

PACKAGE = "_tfmigrate_probe"


def main(path):
    with open(path) as file:
        config = json.load(file)
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    session = importlib.import_module(PACKAGE + ".session")
    return session.run(config)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
