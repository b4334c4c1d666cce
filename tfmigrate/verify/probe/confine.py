"""Runs the script in a process that is kept from everything but its scratch folder, as far as the system allows.

How far, from the strongest level to the weakest:

- "namespaces": the script has processes, mounts and IPC of its own, and users where root did not start it. It sees
  no process but its own, all of which end with it; every file outside its scratch folder is read-only, to chmod,
  chown and utime too; /tmp, /dev, /dev/shm and /proc are its own.
- "bubblewrap": the same, made by bwrap(1), in which this interpreter was started.
- "landlock": writes and, from Linux 6.12, signals are refused by Landlock alone; /tmp is its own where that can be had.
- "none": the sizes of files are limited, nothing else.

Landlock is beneath the first two as well. Reading, the network and sockets in the file system stay free: data sets and
licence servers lie anywhere.
"""

import os
import resource
import signal
import struct
import sys

from . import landlock, mounts, system

NEW_USERS, NEW_MOUNTS, NEW_PROCESSES, NEW_IPC = 0x10000000, 0x00020000, 0x20000000, 0x08000000
STATUS = struct.Struct("=i")
LINUX = sys.platform.startswith("linux")
LIMITS_OF_PIDS = "/proc/sys/kernel/pid_max"
RESERVED_PIDS = 300
"""Numbers that the kernel gives no second time."""


class Confined(object):
    """What holds for a run, by name, and what does not, in words for the report."""

    def __init__(self):
        self.holds = []
        self.left = []


def begin(config):
    """Returns in a new process, which is confined, with a Confined. The calling process waits for it, ends what it left
    behind, and ends as it ended: no call returns there.

    In `config`: sandbox (the level), scratch, output (a folder that may be written to too), initial_weights (a folder
    that is shown as it becomes, or None), largest_file and shared_memory (bytes), tasks (processes and threads), and
    cgroup (a folder of cgroup v2, or None).
    """
    confined, level = Confined(), config["sandbox"] if LINUX else "none"
    writable = [os.path.realpath(config[name]) for name in ("scratch", "output")]
    changing = [os.path.realpath(config["initial_weights"])] if config["initial_weights"] else []
    if config.get("cgroup"):
        join(config["cgroup"], confined)
    users = False
    if level == "namespaces":
        try:
            users = leave_host(NEW_MOUNTS | NEW_PROCESSES | NEW_IPC)
        except OSError as error:
            confined.left.append("the script could see and change things outside its copy: no namespaces (%s)" % error)
            level = "landlock"
    in_a_new_process(level, config, confined, writable, changing)
    limit(config, users or level == "bubblewrap" and os.getuid() != 0)
    if level == "landlock":
        apart_in_part(confined, writable, changing)
    if LINUX and level != "none":
        restrict(level, confined, writable)
    if level == "none":
        confined.left.append(
            "the script was not confined"
            if LINUX
            else "only on Linux can a script be kept from writing outside its scratch folder"
        )
    if level == "bubblewrap":
        confined.holds.insert(0, level)
    return confined


# -- processes


def in_a_new_process(level, config, confined, writable, changing):
    """Comes back in the process that is to run the script."""
    if LINUX:
        system.prctl(system.ADOPT_ORPHANS, 1)  # a daemon is this process's child, and so can be found
    told, telling = os.pipe()
    child = os.fork()
    if child:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # meant for the script, which may still do something
        os.close(telling)
        os._exit(follow(child, told))  # what is loaded here has nothing to finish
    os.close(told)
    if level == "namespaces":
        first_of_namespace(telling, config, confined, writable, changing)
        os.setsid()
    os.close(telling)


def first_of_namespace(telling, config, confined, writable, changing):
    """Makes the namespace ready, and comes back in a child of this process; this one adopts and waits for whatever is
    left alone there. When it ends, everything in the namespace ends."""
    system.prctl(system.DIE_WITH_PARENT, signal.SIGKILL)
    own_files(config, confined, writable, changing)
    script = os.fork()
    if not script:
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # what the first process has no handler for cannot be sent to it
    child = None
    while child != script:
        child, status = os.wait()
    os.write(telling, STATUS.pack(status))
    os._exit(0)


def follow(child, told):
    """Waits for the script and ends as it ended, when all that it started has ended."""
    ended = None
    while ended != child:  # others are orphans
        ended, status = os.wait()
    data = os.read(told, STATUS.size)
    if data:
        status = STATUS.unpack(data)[0]
    if LINUX:
        end_orphans()
    if os.WIFSIGNALED(status):
        how = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if how != signal.SIGKILL:
            signal.signal(how, signal.SIG_DFL)
        os.kill(os.getpid(), how)
    return os.WEXITSTATUS(status)


def end_orphans():
    """Each process that is ended leaves its children to this one, until there are none."""
    while True:
        for child in children():
            os.kill(child, signal.SIGKILL)
        try:
            os.wait()
        except OSError:  # no child
            return


def children():
    mine = str(os.getpid())
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    parent = file.read().rpartition(")")[2].split()[1]
            except OSError:  # ended meanwhile
                continue
            if parent == mine:
                yield int(name)


def leave_host(namespaces):
    """Gives this process namespaces of its own; whether it has users of its own too. Raises OSError."""
    user, group = os.getuid(), os.getgid()
    if system.libc().unshare(namespaces) == 0:  # root alone may do that
        return False
    system.check(system.libc().unshare(namespaces | NEW_USERS))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", "%d %d 1" % (user, user)),
        ("gid_map", "%d %d 1" % (group, group)),
    ):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)
    return True


def join(group, confined):
    try:
        with open(os.path.join(group, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))
    except OSError as error:
        confined.left.append("memory and processes were watched, but not limited by the kernel: %s" % error)
    else:
        confined.holds.append("cgroup")


# -- files


def own_files(config, confined, writable, changing):
    """In the namespaces: what is there to be seen, and what of it can be changed."""
    failed = []

    def attempt(step, *arguments):
        try:
            step(*arguments)
        except OSError as error:
            failed.append(str(error))
            return False
        return True

    if not attempt(mounts.read_only, writable):
        confined.left.append("the script could change files outside its scratch folder: %s" % failed[-1])
    if not attempt(mounts.own_devices, writable[0], config["shared_memory"]):
        confined.left.append((
            "the script could use all devices, and shared /dev/shm with other programs: %s"
        ) % failed[-1])
    elif not attempt(mounts.own_temporary, writable[0], writable, changing):
        confined.left.append("the script could read the shared /tmp: %s" % failed.pop())  # which protects as well
    if not attempt(own_processes, config["tasks"]):
        confined.left.append("the script saw all processes: %s" % failed[-1])
    if not failed:
        confined.holds.insert(0, "namespaces")


def own_processes(tasks):
    mounts.mount_processes()
    if system.kernel() >= (6, 14):  # before, the number was that of the whole machine
        with open(LIMITS_OF_PIDS, "w") as file:
            file.write(str(tasks + RESERVED_PIDS))
    mounts.protect_processes()


def apart_in_part(confined, writable, changing):
    """A /tmp of its own, without the rest."""
    try:
        leave_host(NEW_MOUNTS)
        mounts.keep_to_itself()
        mounts.own_temporary(writable[0], writable, changing)
    except OSError as error:
        confined.left.append("the script could write to /tmp, because it could not get its own (%s)" % error)


# -- this process


def limit(config, users):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    largest = config["largest_file"] if hard == resource.RLIM_INFINITY else min(hard, config["largest_file"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    if users and system.kernel() >= (5, 14):  # from there on counted in each user namespace by itself
        resource.setrlimit(resource.RLIMIT_NPROC, (config["tasks"], config["tasks"]))


def restrict(level, confined, writable):
    """What an ordinary process can give up for good, in any namespace."""
    system.drop_privileges()
    if level == "landlock":
        places = mounts.devices() + [mounts.SHARED_MEMORY, "/dev/pts", "/proc/self"]
        confined.left.append(
            "the script could change modes, owners and times of files outside its scratch folder, write to /dev/shm,"
            " and see other processes%s" % ("" if landlock.version() >= landlock.KNOWS_SIGNALS else ", and end them")
        )
    else:
        places = ["/dev", "/proc"]
    try:
        landlock.write_only_to(writable + [mounts.TEMPORARY] + places)
    except OSError as error:
        if level == "landlock":
            confined.left.append("the script could write outside its scratch folder: %s" % error)
    else:
        confined.holds.append("Landlock")
