"""One run, from the configuration to the exit code."""

import importlib
import os
import runpy
import site
import sys
import traceback

from . import (
    aligned,
    calls,
    cudnn,
    devices,
    doubles,
    estimators,
    flavours,
    genuine,
    iterators,
    listed,
    logs,
    made_up,
    pipelines,
    remainder,
    restored,
    seeded,
    setup,
    standing,
    synthetic,
    towers,
)
from .recorder import Recorder

CRASHED = 1
LONGEST_ERROR = 2000


def run(config):
    """Runs the script; returns its exit code. Everything that was seen is in the trace, however the script ended."""
    recorder = Recorder(config)
    recorder.write("confined", by=config.get("confined", []))
    for remark in config["unconfined"]:
        recorder.note(remark)
    if config.get("packages"):
        site.addsitedir(config["packages"])
    trouble = setup.run(config)
    if trouble:
        recorder.finish(False, trouble)
        return CRASHED
    try:
        prepare(config, recorder)
    except Exception as error:
        traceback.print_exc()
        recorder.finish(
            False,
            "this interpreter (%s) could not be set up to run it: %s: %s"
            % (sys.executable, type(error).__name__, error),
        )
        return CRASHED
    if config.get("standing"):
        standing.tell(config["standing"])
    code, error = execute(config)
    if os.getpid() != recorder.lines.process:  # the script forked and its child came to the end too
        sys.stdout.flush()
        os._exit(code)
    try:
        recorder.close_calls()
    except Exception as failure:  # the script may have torn its session down
        recorder.note("final weights could not be read: %s" % failure)
    recorder.finish(error is None, error)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def prepare(config, recorder):
    """Makes the world the script will find: devices first, for TensorFlow fixes them at its first use."""
    import tensorflow as tf

    estimated = config["world"] == "genuine" and estimators.wanted(config)
    machine = devices.configure(
        tf, config["world"], config["replicas"], config.get("threads"), config["workers"], estimated
    )
    recorder.machine = machine
    kerases = flavours.find(tf)
    # A graph of TensorFlow 1 starts no device before its session; what an old script sets up is set up in time.
    begun = devices.in_use if config["world"] == "migrated" else devices.never
    devices.show_to_script(tf, machine, begun)
    listed.show_sessions(machine)
    if config.get("doubles"):
        doubles.install(tf, kerases)
    if config["world"] == "genuine":
        genuine.install(tf, machine)
        if recorder.shares_evenly:
            remainder.slice_evenly(tf)
    elif config["world"] == "restored":
        restored.install(tf, kerases, machine, config, recorder.shares_evenly)
    if config["world"] != "migrated":
        logs.install(kerases)
        cudnn.install(kerases, machine, recorder)
    if config.get("synthetic_data"):
        synthetic.install()
    for flavour in kerases:
        made_up.install(flavour, recorder)
    if recorder.aligned:
        aligned.install(tf, kerases, config["seed"], recorder)
        aligned.settle_arithmetic(tf, kerases, recorder, config.get("deterministic", True))
        iterators.install(config)
    else:
        seeded.install(tf, kerases, config["seed"])
    towers.install(tf, kerases)
    pipelines.install(tf, machine)
    for flavour in kerases:
        calls.install(flavour, recorder)
    if estimated:
        estimators.install(tf, recorder)


def execute(config):
    """Runs the script as `python SCRIPT ARGS` or `python -m MODULE ARGS` would; returns (exit code, error or None)."""
    script, program = os.path.abspath(config["script"]), config.get("program") or config["cwd"]
    os.chdir(config["cwd"])
    sys.argv = [config["script"]] + list(config["args"])
    sys.path[0] = os.getcwd() if config.get("module") else os.path.dirname(script)
    if config.get("stubs"):
        sys.path.insert(0, config["stubs"])
        give_to_keras(config["stubs"])
    try:
        if config.get("module"):
            runpy.run_module(config["module"], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(script, run_name="__main__")
    except SystemExit as leaving:
        if leaving.code in (None, 0):
            return 0, None
        code = leaving.code if isinstance(leaving.code, int) else CRASHED
        if not isinstance(leaving.code, int):
            sys.stderr.write("%s\n" % leaving.code)
        return code, "SystemExit: %s%s" % (both_ends_of(str(leaving.code)), place(leaving, program, script))
    except BaseException as error:
        show(error, script)
        where, error = place(error, program, script), behind(error)
        said = str(error).strip().replace(os.path.realpath(program) + os.sep, "")
        return CRASHED, "%s: %s%s" % (type(error).__name__, both_ends_of(said), where)
    return 0, None


def behind(error):
    """What went wrong. Inside a Lambda Keras 3 says of whatever it is that it could not tell the output's shape."""
    while "could not automatically infer the shape of the Lambda" in str(error) and error.__context__ is not None:
        error = error.__context__
    return error


def give_to_keras(stubs):
    """Keras was imported before the stand-ins were there, and keeps `pydot = None` where it found no module."""
    for name in sorted(set(entry.split(".")[0] for entry in os.listdir(stubs))):
        for module in list(sys.modules.values()):
            package = getattr(module, "__name__", "").split(".")[0]
            if package in ("keras", "tf_keras", "tensorflow", "tensorflow_core") and vars(module).get(name, 0) is None:
                setattr(module, name, importlib.import_module(name))


def both_ends_of(text):
    """What a script died of, as far as anyone would read: whole lines at its start, which say where, and at its end,
    where a graph says what."""
    if len(text) <= LONGEST_ERROR:
        return text
    half = LONGEST_ERROR // 2
    start, end = text[:half], text[-half:]
    return "%s\n...\n%s" % (start[: start.rfind("\n")] if "\n" in start else start, end[end.find("\n") + 1 :])


def show(error, script):
    """Prints the traceback as a plain run would: from the script's own first frame on."""
    whole = error.__traceback__
    start = whole
    while start is not None and os.path.realpath(start.tb_frame.f_code.co_filename) != os.path.realpath(script):
        start = start.tb_next
    traceback.print_exception(type(error), error, start or (None if isinstance(error, SyntaxError) else whole))


def place(error, folder, script):
    """ " (train.py:12)": the deepest frame that lies in the program's own folder."""
    root = os.path.realpath(folder)
    if isinstance(error, SyntaxError) and error.filename:
        return " (%s:%s)" % (os.path.relpath(os.path.realpath(error.filename), root), error.lineno)
    innermost = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = os.path.realpath(frame.f_code.co_filename)
        if path == os.path.realpath(script) or path.startswith(root + os.sep):
            innermost = " (%s:%d)" % (os.path.relpath(path, root), line)
    return innermost
