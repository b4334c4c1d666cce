"""What goes into the user's interpreter: runs one training script and records a trace.

Started as `python .../probe/run.py CONFIG.json`. Standard library, and the numpy that TensorFlow brings; Python 3.5
syntax, because the interpreter is the one the old script was written for. Only this package imports TensorFlow.

The names in CONFIG.json: script, args, cwd, output (the trace's folder), world ("genuine", "restored", "migrated"),
replicas, initial_weights (another trace's folder, or null; running, in it, is there while that run goes on),
synthetic_data, epochs and steps_per_epoch (limits, or null), threads (or null), seed, doubles (whether it computes in
float64), deterministic (whether an operation without a deterministic form is an error), and for the restored world
defaults (class name -> parameter -> the old default value) and places (optimizer -> its positional parameters in lower
and in higher versions). What confine.py reads is listed there.
"""
