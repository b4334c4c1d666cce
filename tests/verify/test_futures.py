"""Ctrl-C while the main thread waits for others."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tfmigrate.verify.run.futures import results_of

ANOTHER_THREAD_IS_HANDED_IT = """
import signal, threading, time
from concurrent.futures import ThreadPoolExecutor
from tfmigrate.verify.run.futures import results_of
signal.signal(signal.SIGINT, signal.default_int_handler)
over = threading.Event()

def work():
    time.sleep(0.2)  # until the main thread waits
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    over.wait()

pool = ThreadPoolExecutor(1)
try:
    results_of([pool.submit(work)])
except KeyboardInterrupt:
    print("interrupted")
finally:
    over.set()
"""


def test_ctrl_c_ends_the_wait_whichever_thread_the_kernel_hands_it_to() -> None:
    command = [sys.executable, "-c", ANOTHER_THREAD_IS_HANDED_IT]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).stdout == "interrupted\n"


def test_results_come_in_the_order_of_the_futures_and_errors_are_raised() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert results_of([pool.submit(pow, number, 2) for number in (3, 1, 2)]) == [9, 1, 4]
        with pytest.raises(ZeroDivisionError):
            results_of([pool.submit(pow, 2, 2), pool.submit(divmod, 1, 0)])
