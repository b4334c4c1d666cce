"""What the probe changes in every aligned run so that two can be compared step by step (see probe/aligned)."""

from __future__ import annotations

from collections.abc import Iterable

from tfmigrate.verify.judge.optimizers import optimizer_name
from tfmigrate.verify.run.trace import Trace

ALWAYS = (
    "every run starts from the old run's initial weights; each script's own initial values are compared by mean and "
    "spread, and value by value if they come from a file",
    "batches come in a fixed order: shuffling is off, and Python's and NumPy's random streams restart at each "
    "training call, and for each batch of an iterator in the script; the shuffling that was asked for is compared",
    "dropout and noise are off; the rates asked for are compared. What the script's own code draws in a model "
    "(K.random_normal, tf.random.uniform, tf.nn.dropout) comes from a fixed table",
    "TF32 is off, and kernels are deterministic if this TensorFlow supports it",
)
PREDICTING = (
    "weights that do not come from a file are the old run's, so initializers are not compared",
    "Python's and NumPy's random streams start from one seed",
    *ALWAYS[-1:],
)
"""Where nothing is trained."""
ADAMS = frozenset({"adam", "adamw", "adamax", "nadam"})
WITH_RATES = ADAMS | {"rmsprop", "adadelta"}
ROUNDED = "beta_1, beta_2 and rho are rounded to float32 on every side, as old Keras keeps them"
HIDDEN = (
    "; this hides that TensorFlow 1.15 and 2.3 compute Adam's 1 - beta_2 in float32 and today's in float64, which "
    "makes the old steps 6.4e-6 longer"
)
COUNTER = (
    "standalone Keras reads its optimizer's step counter before incrementing it, and weights before updating them; "
    "normally it leaves this order to chance"
)
PROBABILITIES = (
    "crossentropy is computed from probabilities on every side, as it was after multi_gpu_model, cut off at 1e-7. "
    "This hides that today's Keras uses the logits before a softmax or sigmoid, so that a sample whose loss was cut "
    "off, at 16.1, counts for more"
)


BETWEEN_EPOCHS = (
    "Keras 3 calls on_epoch_end of a Sequence once more, before the first epoch, so one that shuffles there "
    "shuffles once more: that call is skipped"
)


def made(traces: Iterable[Trace]) -> tuple[str, ...]:
    """Those that were made in any of the runs; none where nothing ran."""
    ran = [trace for trace in traces if trace.start is not None]
    if not ran:
        return ()
    if any(trace.predictions for trace in ran):
        return PREDICTING
    optimizers = {optimizer_name(compiled) for trace in ran for compiled in trace.compiles}
    adjustments = list(ALWAYS)
    if optimizers & WITH_RATES:
        adjustments.append(ROUNDED + (HIDDEN if optimizers & ADAMS else ""))
    if any(trace.start is not None and trace.start.flavour == "keras" for trace in ran):
        adjustments.append(COUNTER)
    if any("crossentropy" in compiled.loss for trace in ran for compiled in trace.compiles):
        adjustments.append(PROBABILITIES)
    if any(fit.source == "sequence" for trace in ran for fit in trace.fits):
        adjustments.append(BETWEEN_EPOCHS)
    return tuple(adjustments)
