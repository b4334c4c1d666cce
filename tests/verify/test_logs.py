"""The keys under which an epoch's accuracy is logged."""

from __future__ import annotations

from tfmigrate.verify.probe import logs


class CallbackList:
    def __init__(self) -> None:
        self.seen: object = None

    on_epoch_end = logs.under_both_names(lambda self, epoch, logs: setattr(self, "seen", (epoch, logs)))


def test_accuracy_is_there_by_both_of_its_names() -> None:
    callbacks = CallbackList()
    given = {"loss": 1.0, "accuracy": 0.5, "val_accuracy": 0.25, "out_1_acc": 0.125, "categorical_crossentropy": 2.0}
    callbacks.on_epoch_end(3, given)
    assert callbacks.seen == (3, {**given, "acc": 0.5, "val_acc": 0.25, "out_1_accuracy": 0.125})
    assert "acc" not in given


def test_what_a_script_logs_itself_stays() -> None:
    assert logs.with_both({"accuracy": 0.5, "acc": 0.75}) == {"accuracy": 0.5, "acc": 0.75}
    assert logs.with_both(None) is None
