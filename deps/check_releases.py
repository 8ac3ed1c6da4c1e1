"""Checks the sources of the libraries against the headers of every release of torch, without a compiler.

    check_releases.py [--fetch] [--root FOLDER] [RELEASE...]

Each layer that includes torch's headers has all that differs between releases in its torch_releases.h
(src/runtime/torch_releases/since.h has the form). This script checks

  - that each of their records is true of every release: the text is in the header from that release on,
    or before it, and not otherwise;
  - that nothing else asks for torch's version;
  - that what the sources name, where it is compiled for a release, is in the headers of that release:
    headers that they include, members of enums, methods that they override, names in torch's namespaces,
    members that they call. A name counts if some releases have it and others do not. Types and numbers of
    arguments are not seen; only a compiler sees them (`make runtime-in-turn`).

Releases whose headers are not kept (deps/fetch_torch.py says where) are reported and left out; --fetch
fetches them, some 10 MB each.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import fetch_torch
from release_headers import Headers, code_of, in_one_line
from torch_wheel import FetchError

RECORDS = "torch_releases.h"
FORM = "torch_releases/since.h"
FACT = re.compile(
    r"(?:#define (\w+) |constexpr bool (\w+) =\s+)(!?)TORCHPORT_TORCH_SINCE\((\d+), (\d+)\)"
)
RECORD = re.compile(
    r"(since|before) (\d+)\.(\d+)(?:: (\S+) has `([^`]+)`|, in no header: (?=\S))"
)  # fmt: skip
ASKS_VERSION = re.compile(
    r"\bTORCH_VERSION_(?:MAJOR|MINOR|PATCH)\b|\bTORCHPORT_TORCH_SINCE\b"
    r"|__has_include\s*\(\s*<(?:ATen|c10|torch)/"
)
INCLUDE = re.compile(r"^\s*#\s*include\s*<((?:ATen|c10|torch|caffe2)/[^>]+)>")
QUALIFIED = re.compile(r"\b(?:at|c10|torch)(?:::\w+)+")
MEMBER_OF_TYPE = re.compile(r"\b([A-Z]\w*)::(\w+)")
CALLED = re.compile(r"(?:\.|->)(?:template )?(\w+)\s*(?:\(|<)")
OVERRIDE = re.compile(
    r"(\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*(?:const\s*)?(?:noexcept\s*)?override\b"
)
# Members of strings, views of them and paths, which torch's headers use in some releases.
STANDARD = frozenset(
    re.findall(
        r"\w+",
        """
        append assign at back begin c_str capacity cbegin cend clear compare contains copy
        crbegin crend data emplace_back empty end ends_with erase extension filename find
        find_first_not_of find_first_of find_last_not_of find_last_of front generic_string
        has_extension has_filename has_parent_path insert is_absolute is_relative length
        lexically_normal lexically_relative make_preferred native parent_path pop_back push_back
        rbegin relative_path remove_filename remove_prefix remove_suffix rend replace
        replace_extension replace_filename reserve resize rfind root_path shrink_to_fit size
        starts_with stem string substr swap
        """,
    )
)
Release = tuple[int, int]


@dataclass(frozen=True)
class Fact:
    """What a definition of a torch_releases.h says of the release that is compiled for."""

    name: str
    since: Release
    is_negated: bool

    def holds(self, release: Release) -> bool:
        return (release >= self.since) != self.is_negated


@dataclass(frozen=True)
class Record:
    """In which header a text came or went with a release."""

    place: str
    word: str  # since, before
    release: Release
    header: str  # empty: no header says it
    text: str


def blocks_of_comment(text: str) -> Iterator[tuple[int, str, str]]:
    """The line after each comment, the comment in one line, and the code of that line and the next."""
    lines = text.splitlines()
    comment: list[str] = []
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith("//"):
            comment.append(stripped.removeprefix("//"))
            continue
        if comment:
            yield number, in_one_line(" ".join(comment)), "\n".join(lines[number - 1 : number + 1])
        comment = []


def read_records(path: Path, name: str) -> tuple[list[Record], list[Fact], list[str]]:
    """The records and facts of a torch_releases.h, and what is wrong with their form."""
    text = path.read_text()
    records, facts, wrong = [], [], []
    described = set()
    for line, comment, code in blocks_of_comment(text):
        found = [
            Record(f"{name}:{line}", word, (int(major), int(minor)), header, of)
            for word, major, minor, header, of in (
                m.group(1, 2, 3, 4, 5) for m in RECORD.finditer(comment)
            )
        ]
        records += found
        fact = FACT.match(code.strip())
        if fact is None:
            if found:
                wrong.append(
                    f"{name}:{line}: a record stands above what is no TORCHPORT_TORCH_SINCE"
                )
            continue
        release = (int(fact[4]), int(fact[5]))
        described.add(fact[1] or fact[2])
        facts.append(Fact(fact[1] or fact[2], release, bool(fact[3])))
        if not found or any(record.release != release for record in found):
            wrong.append(
                f"{name}:{line}: {facts[-1].name} has no record of {release[0]}.{release[1]} above it"
            )
    total = len(re.findall(r"\bTORCHPORT_TORCH_SINCE\(", text))
    if total != len(described):
        wrong.append(
            f"{name}: {total - len(described)} of {total} uses of TORCHPORT_TORCH_SINCE have no record"
        )
    return records, facts, wrong


def untrue(record: Record, headers: Headers) -> str | None:
    """What is wrong with a record in a release; None if it is true."""
    if not record.header:
        return None
    wanted = (headers.release >= record.release) == (record.word == "since")
    if headers.says(record.header, record.text) == wanted:
        return None
    major, minor = record.release
    return (
        f"{record.place}: `{record.text}` is {'not ' if wanted else ''}in {record.header} of torch "
        f"{headers.version}, but the record says {record.word} {major}.{minor}"
    )


def compiled_for(code: str, facts: dict[str, Fact], release: Release) -> str:
    """Code whose lines that are not compiled for a release are empty. Other conditions hold both ways."""
    kept = []
    active: list[bool | None] = []  # None: not ours
    for line in code.splitlines():
        directive = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*(!?)\s*(\w*)", line)
        if directive is None:
            kept.append(line if False not in active else "")
            continue
        word, negated, name = directive.groups()
        if word in ("if", "ifdef", "ifndef"):
            fact = facts.get(name)
            active.append(None if fact is None else fact.holds(release) != bool(negated))
        elif word == "endif" and active:
            active.pop()
        elif word == "else" and active and active[-1] is not None:
            active[-1] = not active[-1]
        kept.append("")
    return "\n".join(kept)


@dataclass(frozen=True)
class Use:
    """What a source asks of torch's headers: `kind` says how `name` is looked up."""

    kind: str
    name: str

    def where(self, releases: list[Headers]) -> list[Headers]:
        """The releases that have it."""
        if self.kind == "header":
            return [headers for headers in releases if headers.has(self.name)]
        scope, _, name = self.name.rpartition("::")
        if any(scope in headers.enums for headers in releases):
            return [headers for headers in releases if name in headers.enums.get(scope, ())]
        return [headers for headers in releases if name in headers.words]


def uses_of(code: str, own: frozenset[str]) -> Iterator[tuple[int, Use]]:
    """What code asks, with lines. `own` are names that this project declares itself."""
    for line, text in enumerate(code.splitlines(), 1):
        if include := INCLUDE.match(text):
            yield line, Use("header", include[1])
        for scope, name in MEMBER_OF_TYPE.findall(text):
            if scope not in own:
                yield line, Use("name", f"{scope}::{name}")
        for names in QUALIFIED.findall(text):
            *_, scope, name = names.split("::")
            if not scope[0].isupper():
                yield line, Use("name", name)
        for name in CALLED.findall(text):
            if name not in own and name not in STANDARD:
                yield line, Use("name", name)
    for match in OVERRIDE.finditer(code):
        if match[1] not in own:
            yield code.count("\n", 0, match.start()) + 1, Use("name", match[1])


def declared_in(code: str) -> set[str]:
    """Names that code of this project declares: types, functions, variables, members."""
    types = re.findall(r"\b(?:struct|class|enum(?: class)?|using|concept|namespace)\s+(\w+)", code)
    # A name after a type, or after its decoration: `int name`, `std::string& name(`, `auto* name =`.
    # Not the method of a class that overrides one of torch's.
    rest = OVERRIDE.sub(" ", code)
    names = re.findall(r"(?:\b\w+|[>&*\]])[&*]*\s+[&*]*(\w+)\s*(?=[({;=,):\[])", rest)
    names += re.findall(r"\(\*\s*(\w+)\)\s*\(", rest)  # pointers to functions
    keywords = {"return", "new", "delete", "throw", "case", "else", "co_return"}
    of_keywords = set(re.findall(rf"\b(?:{'|'.join(keywords)})\s+(\w+)", rest))
    return set(types) | (set(names) - of_keywords)


def sources(root: Path) -> list[Path]:
    """What is compiled for every release. Tests are compiled for one."""
    folders = ("src/runtime", "src/bindings", "include")
    found = [
        path
        for folder in folders
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".h", ".cpp") and not path.name.endswith("_test.cpp")
    ]
    return found


@dataclass
class Sources:
    """What was read of a checkout: code without comments by path, facts by name, and what is wrong."""

    codes: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, path: Path, name: str) -> None:
        self.codes[name] = code_of(path.read_text())
        if name.endswith(FORM):
            return
        if path.name != RECORDS:
            self.wrong += [
                f"{name}:{line}: asks for torch's version; {RECORDS} of its layer may"
                for line, text in enumerate(self.codes[name].splitlines(), 1)
                if ASKS_VERSION.search(text)
            ]
            return
        records, facts, wrong = read_records(path, name)
        self.records += records
        self.wrong += wrong
        for fact in facts:
            if self.facts.setdefault(fact.name, fact) != fact:
                self.wrong.append(f"{name}: {fact.name} is another one elsewhere")


def missing_names(read: Sources, releases: list[Headers]) -> tuple[list[str], int]:
    """Names that a release lacks for which they are compiled, in lines; and how many there are."""
    own = frozenset(word for code in read.codes.values() for word in declared_in(code))
    verdicts: dict[Use, list[Headers]] = {}
    wrong: dict[str, None] = {}  # in order
    for name, code in read.codes.items():
        uses: dict[str, list[tuple[int, Use]]] = {}  # most code is the same for all releases
        for headers in releases:
            active = compiled_for(code, read.facts, headers.release)
            if active not in uses:
                uses[active] = list(uses_of(active, own))
            for line, use in uses[active]:
                if use not in verdicts:
                    verdicts[use] = use.where(releases)
                there = verdicts[use]
                if headers not in there and (there or use.kind == "header"):
                    lacking = ", ".join(one.version for one in releases if one not in there)
                    wrong[f"{name}:{line}: {use.name} is not in torch {lacking}"] = None
    return list(wrong), len(verdicts)


def check(root: Path, releases: list[Headers]) -> tuple[list[str], int]:
    """What is wrong, in lines, and how many records and names were compared."""
    read = Sources()
    for path in sources(root):
        read.add(path, path.relative_to(root).as_posix())
    untrues = [untrue(record, headers) for record in read.records for headers in releases]
    missing, names = missing_names(read, releases)
    wrong = [*read.wrong, *(line for line in untrues if line), *missing]
    return wrong, len(read.records) + names


def kept_headers(wanted: list[str], fetch: bool) -> tuple[list[Headers], list[str]]:
    """The headers of releases, and what could not be had of them, in lines."""
    there, missing = [], []
    for version in wanted:
        pack = fetch_torch.pack_of(version, "headers")
        if not pack.is_file() and not fetch:
            missing.append(f"not checked: torch {version}: its headers are not kept; --fetch")
            continue
        try:
            there.append(Headers.of_pack(version, *fetch_torch.fetched(version, "headers")))
        except FetchError as error:
            missing.append(f"not checked: torch {version} cannot be fetched: {error}")
    return there, missing


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--fetch", action="store_true", help="fetch headers that are not kept")
    parser.add_argument("--root", type=Path, default=fetch_torch.ROOT, help="another checkout")
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    options = parser.parse_args()
    releases, missing = kept_headers(options.releases or fetch_torch.releases(), options.fetch)
    wrong, compared = check(options.root, releases)
    print(*missing, *wrong, sep="\n", end="\n" if missing or wrong else "")
    names = ", ".join(headers.version for headers in releases) or "no release"
    print(f"{compared} records and names compared with the headers of torch {names}: ", end="")
    print(f"{len(wrong)} wrong" if wrong else "all there")
    return 1 if wrong or not releases or (options.fetch and missing) else 0


if __name__ == "__main__":
    sys.exit(main())
