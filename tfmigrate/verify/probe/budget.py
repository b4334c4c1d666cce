"""The training steps that a run may take, and where its script is ended for it."""

import time

FEWEST_STEPS = 5
"""That a run takes, however slow they are."""
ONE_OF_SEVERAL = 20
"""So many times the limit of steps one model may take while another that was trained has not reached it."""


class Budget(object):
    """What the limits of a run leave, step by step."""

    def __init__(self, config, lines):
        self.config = config
        self.lines = lines
        self.steps = config.get("budget")
        """Steps that the run takes at most, whatever it trains; None for no limit."""
        self.patience = config.get("patience")
        """Seconds after its first step in which it begins others; None for no limit."""
        self.exactly = config.get("exactly")
        """Steps after which it is ended amid a training call; None where it is not."""
        self.taken = 0
        self.first_step_over = None

    def count(self):
        """One more step was taken."""
        self.taken += 1
        self.first_step_over = self.first_step_over or time.time()

    @property
    def left(self):
        """Steps that the run may still take; None for no limit."""
        return None if self.steps is None else max(0, self.steps - self.taken)

    def limits(self, whole):
        """The limits of one training call whose epochs have `whole` steps (None where nobody knows)."""
        if self.left is None or (whole is not None and whole <= self.left):
            return self.config
        steps = self.config.get("steps_per_epoch")
        return dict(self.config, steps_per_epoch=min(steps or self.left, self.left))

    def is_over(self, call):
        """Whether a training call is to end with the epoch that just ended: one more would pass the budget."""
        call.epochs += 1
        asked = min(call.asked["epochs"], self.config.get("epochs") or call.asked["epochs"])
        if self.steps is None or call.epochs >= asked or self.taken + call.step <= self.steps:
            return False
        call.cut = True
        return True

    def end_of_call(self, call, left):
        """Ends the script after a training call that was cut. `left`: what was left of the budget when it
        began."""
        if left is None:
            return
        whole = call.whole
        steps = self.config.get("steps_per_epoch")
        whole_taken = whole is not None and (whole <= left or (steps is not None and steps <= left))
        if call.cut or (not whole_taken and call.step >= left):
            self.cut(call.index, call.asked["epochs"], whole, call.steps)

    def end_where_slow(self, call):
        """Ends the script amid a training call: where its steps take long, once it has taken a few, or after as many as
        another run was ended with. Not with the last step of an epoch, behind which its validation belongs."""
        if self.exactly is not None:
            over = self.taken >= self.exactly
        else:
            over = (
                self.patience is not None
                and self.taken >= FEWEST_STEPS
                and call.step != call.whole
                and time.time() - self.first_step_over > self.patience
            )
        if over:
            self.cut(call.index, call.asked["epochs"], call.whole, call.steps, True)

    def cut(self, index, epochs, steps_per_epoch, steps, slow=False):
        """Ends the script, which counts as a normal end: what it does with a shortened training is its own matter."""
        self.lines.write("cut", fit=index, epochs=epochs, steps_per_epoch=steps_per_epoch, steps=steps, slow=slow)
        raise SystemExit(0)

    def end_of_batches(self, begun, calls):
        """Ends the script where a loop of `train_on_batch` has taken the steps that the limits allow: of each model
        that it trained by now, or many times as many of one. No argument of such a loop could be made smaller.

        `begun`: how many training calls were; `calls`: those of `train_on_batch`."""
        if self.left == 0:
            first = min([call.index for call in calls] or [begun])
            self.cut(first, None, None, self.taken)
        limit = (self.config.get("steps_per_epoch") or 0) * (self.config.get("epochs") or 1)
        taken = [call.step for call in calls]
        if limit and taken and (min(taken) >= limit or max(taken) >= ONE_OF_SEVERAL * limit):
            self.lines.note(
                "ended after %d calls of train_on_batch on %d models, as --steps asks: what the script does "
                "after them was not run" % (sum(taken), len(taken))
            )
            raise SystemExit(0)
