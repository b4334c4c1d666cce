"""The file of a trace, and the arrays beside it."""

import io
import json
import os

import numpy as np


class Lines(object):
    """Writes events as they happen, one JSON object a line, flushed, so that a killed run leaves a readable trace."""

    def __init__(self, folder):
        self.folder = folder
        if not os.path.isdir(folder):
            os.makedirs(folder)
        self.file = io.open(os.path.join(folder, "trace.jsonl"), "a", encoding="utf-8")
        self.process = os.getpid()
        self.notes = set()

    def write(self, event, **fields):
        if os.getpid() != self.process:  # a child the script forked; it has this file open too
            return
        fields["event"] = event
        self.file.write(json.dumps(clean(fields), sort_keys=True) + "\n")
        self.file.flush()

    def note(self, text):
        if text not in self.notes:
            self.notes.add(text)
            self.write("note", text=text)

    def save(self, name, values):
        """Arrays as a file of the trace, whole or not there: another run may wait for it."""
        path = os.path.join(self.folder, name)
        np.savez(path + ".npz", **{str(i): value for i, value in enumerate(values)})
        os.rename(path + ".npz", path)

    def close(self):
        self.file.close()


def clean(value):
    """As JSON can hold it: tensors and numpy scalars become numbers, functions their names."""
    if isinstance(value, dict):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.item() if value.size == 1 else value.tolist()
    if hasattr(value, "numpy"):
        try:
            return clean(value.numpy())
        except Exception:
            return repr(value)
    return getattr(value, "__name__", None) or repr(value)
