"""Runs at the start of each Python of a test session that has PYTHONPATH from `forking`: where it is a
program on virtual devices or a command of torchport, a fork of a server does its work (`fork_servers`).

A session has a link to this file beside its servers. Whatever a fork would not have as this process has it
leaves this process as it is: other files than the three streams, a terminal, a limit, a signal that only it
ignores.
"""

import os
import sys


def as_ever(servers, fork_servers):
    """Whether this process has nothing that a fork would not have."""
    if sys.gettrace() or sys.getprofile() or sys.flags.inspect or sys.flags.isolated:
        return False
    # One of them reads this folder, and is closed.
    others = {f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd") if int(name) > 2}
    if any(map(os.path.lexists, others)) or any(map(os.isatty, range(3))):
        return False
    with open(f"{servers}/surroundings") as file:
        if file.read() != fork_servers.surroundings() or os.readlink("/proc/self/root") != "/":
            return False
    import resource
    import signal

    if signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        return False
    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU)
    return all(resource.getrlimit(limit)[0] == resource.RLIM_INFINITY for limit in limits)


def begin():
    devices = os.environ.get("TORCHPORT_VIRTUAL")
    words = sys.orig_argv[1:]
    if devices is None and not (
        words[:1] == ["-m"] and words[1:2] and words[1].startswith("torchport.")
    ):
        return
    servers = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    plugins = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    with open(f"{servers}/python") as file:
        if file.read() != sys.executable:
            return
    sys.path.insert(0, plugins)
    try:
        import fork_servers

        options = fork_servers.number_of_options(words)
        server = None
        if fork_servers.can_run(words[options:]) and as_ever(servers, fork_servers):
            server = fork_servers.running(servers, os.environ, ("torch",))
        if server is None:
            fork_servers.note(servers, "own")
            return
        import fork_client

        fork_client.become(server, words, options)
    finally:
        sys.path.remove(plugins)


if "TORCHPORT_TESTS_NO_HOOK" not in os.environ:
    begin()
