"""Which of the ways a run can end it was, in words for the user."""

from __future__ import annotations

import re
import signal
from contextlib import suppress
from pathlib import Path

from tfmigrate.printable import both_ends, uncoloured
from tfmigrate.verify.run.child import Ended
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Limits, Outcome, World

STOPPED = "was stopped"
PACKAGES = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "imblearn": "imbalanced-learn",
    "mpl_toolkits": "matplotlib",
    "PIL": "pillow",
    "pywt": "pywavelets",
    "scikitplot": "scikit-plot",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "skopt": "scikit-optimize",
    "yaml": "pyyaml",
}
"""Packages whose module has another name."""
LIMITS = {
    "disk": ("wrote more than", "--disk"),
    "memory": ("took more than", "--memory"),
    "processes": ("started more than", "--processes"),
}
"""What the one that goes over a limit did, and the option that raises it."""


def standing(file: Path, program: Path) -> str:
    """ "train.py:12": where in the program a script stood when it was ended; empty where nobody knows. `file`: what
    probe/standing left, the innermost frame of each thread first."""
    with suppress(OSError):
        for path, line in re.findall(r'File "([^"]+)", line (\d+)', file.read_text(encoding="utf-8", errors="replace")):
            if Path(path).is_relative_to(program.resolve()):
                return f"{Path(path).relative_to(program.resolve())}:{line}"
    return ""


def outcome_of(
    world: World, recorded: Trace, ended: Ended, limits: Limits, stderr: Path, stood: str = ""
) -> tuple[Outcome, str]:
    """Which of the ways a run can end this was, and what to tell the user. `stood`: where the script was when it was
    ended; see `standing`."""
    who = f"{world.role}: {world.script}"
    if ended.reason == "still":
        seconds = f"{limits.still_seconds:g} seconds"
        return "stood still", f"{who} used no processor time for {seconds}, {_how_far(recorded, stood)}"
    if ended.reason == "time":
        return (
            "timed out",
            f"{who} was ended after {limits.seconds:g} seconds, {_how_far(recorded, stood)}; allow more time "
            "(--timeout) or fewer steps (--steps, --epochs)",
        )
    if ended.reason in LIMITS:
        words, option = LIMITS[ended.reason]
        amount = {
            "disk": f"{limits.disk_bytes >> 20} MiB",
            "memory": f"{limits.memory_bytes >> 20} MiB of memory",
            "processes": f"{limits.processes} processes",
        }[ended.reason]
        whose = f", together with {ended.beside} concurrent runs," if ended.beside else ""
        return "over a limit", f"{who} {words} {amount}{whose} and was ended ({option} allows more)"
    if ended.reason == "stopped":
        return "crashed", f"{who} {STOPPED}"
    error = recorded.error
    if error:
        words = f"crashed: {error}{hint(error, world, _last_line(stderr))}{_trained(recorded)}"
        return "crashed", f"{who} {words}{_cut_short(error, recorded, limits)}"
    if ended.exit_code or recorded.end is None:
        return "crashed", f"{who} {_died(ended.exit_code, stderr)}{_trained(recorded)}"
    if recorded.predictions:
        return "predicted", ""
    if not recorded.steps:
        what = "never trained a model with fit or train_on_batch, nor called predict"
        few = f"; it may have too little data for {world.replicas} replicas: see --replicas"
        return "trained nothing", f"{who} finished but {what}{few if world.replicas > 2 else ''}"
    return "trained", ""


def _how_far(recorded: Trace, stood: str) -> str:
    """How far a script had come when it was ended."""
    step = f"after {len(recorded.steps)} training steps" if recorded.steps else "before its first training step"
    if recorded.predictions:
        step = f"after {len(recorded.predictions)} calls that predict"
    return step + (f", at {stood}" if stood else "")


def _trained(recorded: Trace) -> str:
    return f"; it had taken {len(recorded.steps)} training steps by then" if recorded.steps else ""


def _cut_short(error: str, recorded: Trace, limits: Limits) -> str:
    """What an error may have to do with a limit of epochs or of their steps."""
    if not recorded.epochs or not error.startswith("IndexError") or not (limits.epochs or limits.steps_per_epoch):
        return ""
    return "; a script that relies on all its epochs fails like this when they are cut short: --budget ends it instead"


def hint(error: str, world: World, last: str = "") -> str:
    """What an error may have to do with the way the script was run, and what to do about it; `last`: see _last_line."""
    if error.startswith("--setup "):
        return last
    if error.startswith("SystemExit: 2"):  # as argparse leaves, which says why on stderr
        return f"{last}; --args gives a script its command line"
    if error.startswith("ImportError: attempted relative import"):
        return (
            "; verify runs a file, as `python FILE` does, not a module of a package: pass a script that imports the "
            "package, and the folder that contains both with --cwd"
        )
    missing = re.match(r"(?:ModuleNotFound|Import)Error: No module named '([^'.]+)'?", error)
    if missing and missing[1] not in ("keras", "tensorflow"):
        package = PACKAGES.get(missing[1], missing[1])
        how = f"uv pip install --python {world.runtime.python} {package}"
        if world.kind == "genuine":
            how = f"add {package} to the program's requirements.txt, and these runs get it"
        return f"; if it is a package: {how}; if it is a file of the program, pass its folder with --cwd"
    if error.startswith(("PermissionError", "OSError: [Errno 30]")):
        return "; verify only lets a script write to its own copy of the program, home folder and /tmp"
    if error.startswith("FileNotFoundError"):
        return "; verify runs a script in a copy of its folder, with an empty home folder (see --cwd, --env)"
    return ""


def _died(exit_code: int | None, stderr: Path) -> str:
    """Words for an end that the probe did not see: a signal, or os._exit."""
    last = _last_line(stderr)
    if exit_code is not None and exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = f"signal {-exit_code}"
        return f"was killed by {name}{last}"
    return f"ended with exit code {exit_code} without reporting to the probe{last}"


def _last_line(stderr: Path) -> str:
    lines = uncoloured(stderr.read_text(encoding="utf-8", errors="replace")).strip().splitlines()
    return f"; its last line on stderr: {both_ends(lines[-1], 300)}" if lines else ""
