"""Entry point. Loads the probe as one private package, so that no module of it can shadow one of the script's.

The script runs in a child of this process: what a script does to its parent it does to a process that only waits. It
runs in a new interpreter, or in a fork of one that has TensorFlow and this package already (see server.py).
"""

import importlib.util
import json
import os
import resource
import signal
import sys

PACKAGE = "_tfmigrate_probe"


def main(path):
    child = os.fork()
    if child:
        os._exit(follow(child))  # what is loaded here has nothing to finish
    with open(path) as file:
        config = json.load(file)
    load()
    confine = importlib.import_module(PACKAGE + ".confine")
    config["unconfined"] = confine.install(
        config["scratch"], [config["output"]], filter(None, [config["initial_weights"]]), config["largest_file"]
    )
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


def follow(child):
    """Waits for the script's process and ends as it ended."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        how = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if how != signal.SIGKILL:
            signal.signal(how, signal.SIG_DFL)
        os.kill(os.getpid(), how)
    return os.WEXITSTATUS(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
