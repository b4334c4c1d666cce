"""Runs a script in one of verify's worlds and records nothing: `python bare.py genuine|restored|migrated SCRIPT ARGS`.

Python 3.5 syntax, for it runs in old interpreters too.
"""

import importlib.util
import os
import runpy
import sys

PROBE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tfmigrate", "verify", "probe")
REPLICAS = int(os.environ.get("REPLICAS", "2"))


def probe(name):
    package = "_tfmigrate_probe"
    if package not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            package, os.path.join(PROBE, "__init__.py"), submodule_search_locations=[PROBE]
        )
        sys.modules[package] = importlib.util.module_from_spec(spec)
    return importlib.import_module(package + "." + name)


def main(world, script):
    import tensorflow as tf

    machine = probe("devices").configure(tf, world, REPLICAS, None)
    found = probe("flavours").find(tf)
    probe("devices").show_to_script(tf, machine, probe("devices").never)
    if world == "genuine":
        probe("genuine").install(tf, machine)
    elif world == "restored":
        probe("restored").install(tf, found, machine, {})
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:3])
