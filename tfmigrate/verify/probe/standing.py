"""Where the script stands when it is ended from outside: what loops can say nothing."""

import faulthandler
import os
import signal


def tell(path):
    """At SIGTERM the stacks of all threads go into a file, in whatever code they are, and then the script ends by it.
    What it forks says nothing: it would write into the same file."""
    file = open(path, "w")
    faulthandler.register(signal.SIGTERM, file=file, all_threads=True, chain=True)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: faulthandler.unregister(signal.SIGTERM))
