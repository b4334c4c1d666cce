"""Calls of Linux for which Python has no function, or not in every version that the probe runs in."""

import ctypes
import os

DIE_WITH_PARENT, NO_NEW_PRIVILEGES, ADOPT_ORPHANS = 1, 38, 36
DROP_FROM_BOUNDS, AMBIENT, CLEAR_ALL = 24, 47, 4
CAPABILITIES = 0x20080522
"""Version 3 of capset's header."""
FILE_CAPABILITIES = (1 << 0) | (1 << 1) | (1 << 3) | (1 << 4)
"""CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID: root's own way with the files that it can write at all."""


class Unable(OSError):
    """This system cannot do it; the message says what is missing."""


def libc():
    return ctypes.CDLL(None, use_errno=True)


def check(answer):
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer


def syscall(number, *arguments):
    """Numbers from 424 on are the same on every architecture."""
    return check(libc().syscall(ctypes.c_long(number), *arguments))


def prctl(option, *values):
    four = [ctypes.c_ulong(value) for value in values + (0,) * (4 - len(values))]
    return check(libc().prctl(option, *four))


def drop_privileges():
    """No capability is left but FILE_CAPABILITIES, and none can be gained, by executing a file either."""
    for capability in range(64):
        if not FILE_CAPABILITIES >> capability & 1:
            try:
                prctl(DROP_FROM_BOUNDS, capability)
            except OSError:  # not ours to drop, or past the last one
                continue
    prctl(NO_NEW_PRIVILEGES, 1)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES, 0)
    sets = (ctypes.c_uint32 * 6)()
    check(libc().capget(header, sets))
    for at in range(6):
        sets[at] &= FILE_CAPABILITIES if at < 3 else 0
    check(libc().capset(header, sets))
    prctl(AMBIENT, CLEAR_ALL)


def kernel():
    """(6, 1) for "6.1.0-18-amd64"."""
    parts = os.uname().release.replace("-", ".").split(".")
    return tuple(int(part) for part in parts[:2] if part.isdigit())
