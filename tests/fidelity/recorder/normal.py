"""Texts without what legitimately varies from one machine or run to the next."""

from __future__ import annotations

import re

# What says something about a machine or a person. Written into no recording. The sources of
# torch's own builds stay: they lie in /pytorch on every machine.
PRIVATE = [
    (re.compile(r"\b0x[0-9a-fA-F]{3,}"), "ADDRESS"),
    (re.compile(r"\bGPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"(?<![\w.:/])/(?!pytorch/|/)(?:[\w.+@~-]+/)+(?=[\w.+-])"), "PATH/"),
    (re.compile(r"(?i)\b(process|pid)([ :=]+)\d+"), r"\1\2NUMBER"),
    # A compiler's error with the program that it was given, which is somebody's code.
    (re.compile(r"\n\s*#ifdef __HIPCC__\n.*", re.DOTALL), "PROGRAM"),
]
SIZE = r"\d+(?:\.\d+)? (?:bytes|[KMGTPE]?iB)"
# What depends on other processes and on the driver. Left in recordings, not compared.
VARYING = [
    (re.compile(rf"Process NUMBER has {SIZE} memory in use\. "), ""),
    (re.compile(rf"total capacity of {SIZE} of which {SIZE} is free"), "total capacity of SIZE"),
    (re.compile(rf"this process has {SIZE} memory in use"), "this process has SIZE memory in use"),
    # Which backends have an operator, and where they were registered.
    (re.compile(r" '[\w:.]+' is only available for these backends: .*", re.DOTALL), ""),
    # The sources of a build whose folder is not /pytorch lie in PATH.
    (re.compile(r"\"/pytorch/(?:[\w.+-]+/)+(?=[\w.+-]+\":\d)"), '"PATH/'),
    # The line that virtual devices add to an error of a kernel.
    (re.compile(r"(?m)^torchport: it happened .*\n?"), ""),
    # Where in the sources of a release.
    (re.compile(r" \(Triggered internally at [^\s)]+\)"), ""),
    (re.compile(r"block: \[\d+,\d+,\d+\], thread: \[\d+,\d+,\d+\]"), "block: B, thread: T"),
]


def public(text: str) -> str:
    """The text without paths, addresses, numbers of processes and of devices."""
    for pattern, word in PRIVATE:
        text = pattern.sub(word, text)
    return text


def comparable(text: str) -> str:
    """The text as it is compared."""
    text = public(text)
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text.rstrip()
