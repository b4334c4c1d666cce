"""Runs the user's own file that makes stand-in data, before anything of the script's world is set up."""

import os
import random
import runpy
import sys
import traceback

FAILED = 1


def run(config):
    """Returns what went wrong, in words, or None.

    The file runs in a process of its own, confined as the script is, so that it leaves nothing behind but files. The
    streams of random and numpy.random are seeded: what is made without a seed is the same in every run.
    """
    path = config.get("setup")
    if not path:
        return None
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os._exit(in_child(config, path))
    _, status = os.waitpid(child, 0)
    if status == 0:
        return None
    how = "signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit code %d" % os.WEXITSTATUS(status)
    return "--setup %s ended with %s, so the script was not started (see stderr)" % (os.path.basename(path), how)


def in_child(config, path):
    code = 0
    try:
        os.chdir(config["cwd"])
        sys.argv = [path]
        sys.path[0] = os.getcwd()
        if config.get("stubs"):
            sys.path.insert(0, config["stubs"])
        random.seed(config["seed"])
        try:
            import numpy
            numpy.random.seed(config["seed"] % 2 ** 32)
        except ImportError:
            pass
        runpy.run_path(path, run_name="__main__")
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
        code = FAILED
    sys.stdout.flush()
    sys.stderr.flush()
    return code
