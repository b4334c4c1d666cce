"""The files that a run sees in a mount namespace of its own: everything to be read, little to be written.

/tmp shows what lies in the real one, and keeps what is written there in the run's scratch folder: old scripts name
/tmp outright, and runs side by side must not meet there. That takes one overlay where the scratch folder lies
elsewhere, and one for each folder in /tmp where it lies there: no layer may lie in another. /dev has the devices that
programs need, and GPUs; /dev/shm and /proc are new.
"""

import ctypes
import glob
import os
import shutil
import stat
import struct

from . import system

READ_ONLY, NO_SETUID, NO_DEVICES, NO_EXECUTION, REMOUNT = 1, 2, 4, 8, 32
BIND, RECURSIVE, PRIVATE = 4096, 16384, 1 << 18
SET_ATTRIBUTES, HERE, ALL_BENEATH, READ_ONLY_ATTRIBUTE = 442, -100, 0x8000, 1

TEMPORARY = "/tmp"
MANY = 5000
"""With more than this in /tmp, it is left as it is: to show so much takes a second, measured."""
SMALL = 1 << 18
"""Files in /tmp up to this size are copied, larger ones can be read."""
USUAL_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
ACCELERATORS = ("nvidia*", "dri", "kfd", "dxg", "accel*", "vfio", "infiniband")
"""GPUs and TPUs of every maker, and what NCCL sends over."""
SHARED_MEMORY = "/dev/shm"


def devices():
    """Paths of the devices that a run may use."""
    paths = [os.path.join("/dev", name) for name in USUAL_DEVICES]
    for pattern in ACCELERATORS:
        paths.extend(sorted(glob.glob(os.path.join("/dev", pattern))))
    return [path for path in paths if os.path.exists(path)]


def read_only(writable):
    """Nothing can be changed from now on but what lies in the folders in `writable`. Raises OSError."""
    keep_to_itself()
    for place in writable:
        mount(place, place, BIND | RECURSIVE)
    set_read_only("/", True, everywhere=True)
    for place in writable:
        set_read_only(place, False)


def keep_to_itself():
    """What is mounted from now on is seen in this namespace alone."""
    mount(None, "/", RECURSIVE | PRIVATE)


def set_read_only(place, wanted, everywhere=False):
    """`everywhere`: what is mounted beneath too."""
    if system.kernel() < (5, 12):
        raise system.Unable("this needs mount_setattr (Linux 5.12 or later)")
    attributes = struct.pack("=4Q", READ_ONLY_ATTRIBUTE * wanted, READ_ONLY_ATTRIBUTE * (not wanted), 0, 0)
    system.syscall(SET_ATTRIBUTES, ctypes.c_int(HERE), place.encode(), ctypes.c_uint(ALL_BENEATH * everywhere),
                   attributes, ctypes.c_size_t(len(attributes)))


def own_temporary(scratch, writable, changing):
    """Gives this process a /tmp of its own. Folders in `changing` are shown as they become. Raises OSError."""
    folder = show_all(scratch)
    for place in writable:
        if beneath(place, TEMPORARY):
            mount(place, folder + place[len(TEMPORARY):], BIND | RECURSIVE)
    for place in changing:
        if beneath(place, TEMPORARY):
            bind_to_read(place, folder + place[len(TEMPORARY):])
    mount(folder, TEMPORARY, BIND | RECURSIVE)
    os.chdir(os.getcwd())  # the same name, in the namespace's own tree


def show_all(scratch):
    """A folder that shows what lies in /tmp."""
    if not beneath(scratch, TEMPORARY):
        folder = os.path.join(scratch, "merged")
        os.mkdir(folder)
        try:
            overlay(TEMPORARY, folder, os.path.join(scratch, "layers"))
            return folder
        except OSError:  # such as where the scratch folder lies on an overlay itself
            pass
    folder, names = os.path.join(scratch, "tmp"), os.listdir(TEMPORARY)
    if len(names) > MANY:
        raise system.Unable("there is too much in it")
    for name in names:
        try:
            show(os.path.join(TEMPORARY, name), os.path.join(folder, name), os.path.join(scratch, "layers", name))
        except OSError:  # gone meanwhile, or another user's
            continue
    return folder


def show(there, here, layers):
    """Lets `there` be seen as `here`, where what is written goes to `layers` or, failing that, nowhere."""
    if os.path.islink(there):
        os.symlink(os.readlink(there), here)
    elif os.path.isdir(there):
        os.mkdir(here)
        try:
            overlay(there, here, layers)
        except OSError:
            bind_to_read(there, here)
    elif os.path.isfile(there) and os.path.getsize(there) <= SMALL:
        shutil.copyfile(there, here)
    elif os.path.isfile(there):
        open(here, "w").close()
        bind_to_read(there, here)


def overlay(there, here, layers):
    options = "lowerdir=%s,upperdir=%s/upper,workdir=%s/work" % (there, layers, layers)
    if options.count(",") != 2 or ":" in there:  # they separate options and folders
        raise system.Unable("a name with commas or colons")
    for part in ("upper", "work"):
        os.makedirs(os.path.join(layers, part))
    for more in (",volatile", ",volatile,userxattr", "", ",userxattr"):
        # Volatile from Linux 5.10: to write everything to disk for each of them at the end takes seconds. The other is
        # the way of ordinary users.
        try:
            return mount_new("overlay", here, options + more)
        except OSError as error:
            failed = error
    raise failed


def own_devices(scratch, shared_memory):
    """A /dev of the devices that programs need, with a /dev/shm of `shared_memory` bytes. Raises OSError."""
    folder = os.path.join(scratch, "dev")
    os.mkdir(folder)
    mount_new("tmpfs", folder, "mode=755,size=64k", NO_SETUID)
    for path in devices():
        place = folder + path[len("/dev"):]
        if stat.S_ISDIR(os.stat(path).st_mode):
            os.mkdir(place)
        else:
            open(place, "w").close()
        mount(path, place, BIND | RECURSIVE)
    for name, target in (("fd", "self/fd"), ("stdin", "self/fd/0"), ("stdout", "self/fd/1"), ("stderr", "self/fd/2")):
        os.symlink("/proc/" + target, os.path.join(folder, name))
    for name in ("pts", "shm"):
        os.mkdir(os.path.join(folder, name))
    os.symlink("pts/ptmx", os.path.join(folder, "ptmx"))
    try:
        mount_new("devpts", os.path.join(folder, "pts"), "newinstance,ptmxmode=0666,mode=620",
                  NO_SETUID | NO_EXECUTION)
    except OSError:  # a script that opens a terminal finds none
        pass
    mount_new("tmpfs", os.path.join(folder, "shm"), "mode=1777,size=%d" % shared_memory, NO_SETUID | NO_DEVICES)
    mount(folder, "/dev", BIND | RECURSIVE)


def mount_processes():
    """A /proc of this PID namespace. Raises OSError."""
    mount_new("proc", "/proc", None, NO_SETUID | NO_DEVICES | NO_EXECUTION)


def protect_processes():
    """Nothing of the kernel's can be set there. Raises OSError."""
    for name in os.listdir("/proc"):
        path = os.path.join("/proc", name)
        if not name.isdigit() and not os.path.islink(path) and (os.path.isdir(path) or os.stat(path).st_mode & 0o222):
            bind_to_read(path, path)


def beneath(place, folder):
    return place.startswith(folder + os.sep)


def bind_to_read(there, here):
    mount(there, here, BIND)
    flags = os.statvfs(here).f_flag & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC)  # the same bits in mount(2)
    mount(None, here, BIND | REMOUNT | READ_ONLY | flags)


def mount(source, target, flags):
    system.check(system.libc().mount(source.encode() if source else None, target.encode(), None,
                                     ctypes.c_ulong(flags), None))


def mount_new(kind, target, options, flags=0):
    system.check(system.libc().mount(kind.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags),
                                     options.encode() if options else None))
