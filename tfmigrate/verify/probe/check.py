"""Tries a level of confinement in a folder: prints, as JSON, what holds and what could not be kept from a script.

Started as `python check.py LEVEL FOLDER`; the folder holds an empty one, tmp.
"""

import importlib
import json
import sys


def main(level, folder):
    confine = importlib.import_module(importlib.import_module("run").load() + ".confine")
    confined = confine.begin({
        "sandbox": level, "scratch": folder, "output": folder, "initial_weights": None,
        "largest_file": 1 << 20, "shared_memory": 1 << 20, "tasks": 1000,
    })
    print(json.dumps({"holds": confined.holds, "left": confined.left}))


if __name__ == "__main__":
    main(*sys.argv[1:])
