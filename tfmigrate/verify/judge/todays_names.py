"""Rewrites names and arguments of old Keras where they stop the restored script, and runs it again."""

from __future__ import annotations

from dataclasses import replace

from tfmigrate.verify.judge import crash
from tfmigrate.verify.judge.lab import Lab
from tfmigrate.verify.run.world import Run


def run_again(lab: Lab, reference: Run) -> None:
    """Replaces each restored run that died where the new script trains, if the script then runs.

    The rewrites are the tool's own, so that such a run shows nothing about them: only that the strategy does what
    multi_gpu_model did. So it is made only beside a genuine run, which the new script is held to in all else.
    """
    write = lab.plan.options.with_todays_names
    if reference.world.kind != "genuine" or write is None:
        return
    died = [
        run
        for keras in lab.plan.modern
        if (run := lab.runs.get(f"restored on Keras {keras}")) is not None
        and run.outcome == "crashed"
        and not crash.has_other_weights(run.trace)
        and lab.runs[f"migrated on Keras {keras}"].ok
    ]
    files = write() if died else {}
    if not files:
        return
    again = lab.run(*(replace(run.world, overlay=files) for run in died), start=reference)
    lab.runs.update({old.world.role: old for old, new in zip(died, again, strict=True) if not new.ok})
    helped = [crash.shorten(old.message) for old, new in zip(died, again, strict=True) if new.ok]
    if helped:
        lab.remarks.append(
            f"{'; '.join(helped)}: names and arguments of old Keras were rewritten there by the same rules as in the "
            "new script. The genuine run confirms these rewrites"
        )
