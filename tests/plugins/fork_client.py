"""Stands for one start of Python, which it asks a fork server for. `forking` writes its command.

    python -I -S fork_client.py FOLDER OPTIONS [OPTION...] PROGRAM [ARGUMENT...]

FOLDER is the server's, and OPTIONS the number of options of Python. The program gets the streams, the
environment and the current folder of this process, which then ends as the program did, by a signal too.
Signals go to the program. If there is no server, or it refuses, this process becomes Python itself.

It imports nothing that takes long: it is started some hundred times.
"""

import _signal as signal
import _socket as socket
import marshal
import os
import sys

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)  # fmt: skip


def connected(folder, options, words):
    """The connection, after the request."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.connect(folder + "/socket")
    umask = os.umask(0)
    os.umask(umask)
    body = marshal.dumps(
        {
            "options": options,
            "words": words,
            "folder": os.getcwd(),
            "environment": dict(os.environb),
            "umask": umask,
            "process": os.getpid(),
        }
    )
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)]
    server.sendmsg([len(body).to_bytes(4, "little")], ancillary)
    server.sendall(body)
    return server


def number_from(server):
    data = b""
    while len(data) < 4:
        part = server.recv(4 - len(data))
        if not part:
            return None
        data += part
    return int.from_bytes(data, "little", signed=True)


def note(folder, word):
    """Counts this start; the line of the session's summary is made of these."""
    with open(os.path.dirname(folder) + "/starts", "a") as file:
        file.write(word + "\n")


def become(folder, words, options):
    """Asks the server to run the words, of which the first are options, and ends as the program does.
    Returns if there is no server, or it refuses."""
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    try:
        server = connected(folder, words[:options], words[options:])
        process = number_from(server)
    except OSError:
        process = None
    if process is None:
        note(folder, "refused")
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        return
    note(folder, "forked")
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(process, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    status = number_from(server)
    if status is None:
        os.write(2, b"the fork server ended before the program\n")
        os.killpg(process, signal.SIGKILL)
        os._exit(70)
    if status < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's core is the one to look at
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    become(sys.argv[1], sys.argv[3:], int(sys.argv[2]))
    os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
