"""The headers of a release of torch, as deps/check_releases.py asks for them: no compiler, only text.

A name is what the headers write, outside of comments. Macros that put names together (AutogradCUDA of
DispatchKey) are not followed, so a name that no release writes says nothing; one that some releases write
and others do not is a difference.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

ROOTS = ("torch/include/", "torch/include/torch/csrc/api/include/")
# The folders whose names count: what our sources include, and what that includes.
NAMED = re.compile(r"torch/include/(ATen|c10|torch)/")
# Generated headers repeat the operators' names thousands of times, and take most of the time.
REPEATED = re.compile(
    r"torch/include/ATen/(ops/\w+_(native|\w+_dispatch|ops)\.h|\w+Functions(_inl)?\.h)"
)
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Other literals may hold what looks like a comment.
LITERALS_AND_COMMENTS = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.){1,4}\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)
ENUM = re.compile(r"\benum\s+(?:class\s+|struct\s+)?(?:[A-Z0-9_]+_API\s+)?(\w+)[^{;()]*\{([^}]*)\}")
FORWARDED = re.compile(r"#\s*include <(torch/headeronly/[^>]+)>")
WORD = re.compile(r"[A-Za-z_]\w+")


def code_of(text: str) -> str:
    """A text of C++ without its comments; literals become empty. Lines stay where they are."""

    def kept(match: re.Match[str]) -> str:
        found = match[0]
        return found[0] * 2 if found[0] in "\"'" else "\n" * found.count("\n") or " "

    return LITERALS_AND_COMMENTS.sub(kept, text)


def in_one_line(text: str) -> str:
    """A text of which lines may be broken anywhere."""
    return " ".join(text.split())


class Headers:
    """The headers of one release."""

    def __init__(self, version: str, files: dict[str, str]):
        """`files` are texts by their path in the wheel, torch/include/..."""
        self.version = version
        self._files = files
        self._lines: dict[str, str] = {}

    @staticmethod
    def of_pack(version: str, pack: Path) -> Headers:
        """The headers in a file that deps/fetch_torch.py keeps."""
        with zipfile.ZipFile(pack) as archive:
            return Headers(
                version,
                {
                    name: archive.read(name).decode(errors="replace")
                    for name in archive.namelist()
                    if name.startswith("torch/include/")
                },
            )

    @property
    def release(self) -> tuple[int, int]:
        """The major and the minor number."""
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    def has(self, path: str) -> bool:
        """Whether `#include <path>` finds a header."""
        return any(root + path in self._files for root in ROOTS)

    def says(self, path: str, text: str) -> bool:
        """Whether a header has a text outside of comments, however its lines are broken.

        What of a header has been moved to torch/headeronly counts as its own, if it includes that.
        """
        line = self._line(path)
        moved = FORWARDED.findall(line)
        return any(in_one_line(text) in one for one in (line, *map(self._line, moved)))

    def _line(self, path: str) -> str:
        """A header without comments in one line; empty if there is none."""
        if path not in self._lines:
            found = next((self._files[r + path] for r in ROOTS if r + path in self._files), "")
            self._lines[path] = in_one_line(COMMENTS.sub(" ", found))
        return self._lines[path]

    def _texts(self) -> Iterable[str]:
        for path, text in self._files.items():
            if NAMED.match(path) and not REPEATED.match(path):
                yield COMMENTS.sub(" ", text)

    @cached_property
    def _words_and_enums(self) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
        words: set[str] = set()
        enums: dict[str, set[str]] = {}
        for text in self._texts():
            words.update(WORD.findall(text))
            if "enum" in text:
                for name, body in ENUM.findall(text):
                    enums.setdefault(name, set()).update(WORD.findall(body))
        return frozenset(words), {name: frozenset(of) for name, of in enums.items()}

    @property
    def words(self) -> frozenset[str]:
        """Every name that the headers write."""
        return self._words_and_enums[0]

    @property
    def enums(self) -> dict[str, frozenset[str]]:
        """The names between the braces of each enum."""
        return self._words_and_enums[1]
