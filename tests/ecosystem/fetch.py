#!/usr/bin/env python3
"""Fetches the real packages that torchport is tested and measured on.

    fetch.py [--set small|research|bench|drawn|unread|later|last|fourth|kept|fifth|sealed|sixth|closed|all]
             [--only NAME...] [--into DIR] [--quiet | --paths]
    fetch.py --pin NAME[==VERSION]... [--sets research,small]     prints entries for packages.toml

Every package of packages.toml is pinned by its file's name and SHA-256, and is unpacked into
DIR/NAME-VERSION (DIR is build/ecosystem). What torchport reads is unpacked, and nothing else.

Nothing of a package is run here. That is why this is no call of `pip download`: for a source
distribution it runs setup.py to learn the metadata. pip's own index code finds the files and gets
them, so that indexes, proxies and certificates are those of pip's configuration. It is no public
interface of pip; deps/requirements.lock pins the pip it is used with.
"""

import argparse
import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

HERE = Path(__file__).resolve().parent
MANIFEST = HERE / "packages.toml"
DEFAULT_TARGET = HERE.parent.parent / "build" / "ecosystem"

# Part of what a finished package is marked with: raise it when the unpacking changes.
UNPACK_VERSION = 1
# What no test takes.
DRAWN = {
    "drawn",
    "unread",
    "later",
    "last",
    "fourth",
    "kept",
    "fifth",
    "sealed",
    "sixth",
    "closed",
}
MAX_FILE_BYTES = 32 << 20
MAX_PACKAGE_BYTES = 512 << 20

SUFFIXES = {".py", ".ipynb", ".cmake", ".dockerfile"}
NAMES = re.compile(
    r"setup\.cfg|pyproject\.toml|CMakeLists\.txt|Dockerfile.*|"
    r"[\w.-]*requirements[\w.-]*\.txt|environment[\w.-]*\.ya?ml",
    re.IGNORECASE,
)


class FetchError(Exception):
    """Something a person has to look at; the message says what."""


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    file: str
    sha256: str
    sets: tuple[str, ...]

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"


def load_manifest(path: Path = MANIFEST) -> list[Package]:
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["package"]
    return [Package(**{**entry, "sets": tuple(entry["sets"])}) for entry in entries]


def select(packages: list[Package], wanted: str) -> list[Package]:
    chosen = [
        p for p in packages if wanted in p.sets or (wanted == "all" and not DRAWN & set(p.sets))
    ]
    if not chosen:
        raise FetchError(f"no package is in the set '{wanted}'")
    return chosen


# --- unpacking ------------------------------------------------------------------------------------


def safe_path(member: str) -> PurePosixPath | None:
    """The path a member of an archive may be written to, or None where it may not be."""
    if "\0" in member or "\\" in member:
        return None
    path = PurePosixPath(member)
    if path.is_absolute() or not path.parts or ".." in path.parts or ":" in path.parts[0]:
        return None
    return path


def is_wanted(path: PurePosixPath) -> bool:
    return path.suffix.lower() in SUFFIXES or NAMES.fullmatch(path.name) is not None


def members(archive: Path) -> Iterator[tuple[str, int, BinaryIO]]:
    """Name, size and content of each regular file. Links and devices are left out."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                kind = (info.external_attr >> 16) & 0o170000
                if not info.is_dir() and kind in (0, 0o100000):
                    with opened.open(info) as content:
                        yield info.filename, info.file_size, content
    else:
        with tarfile.open(archive) as opened:
            for info in opened:
                content = opened.extractfile(info) if info.isreg() else None
                if content is not None:
                    yield info.name, info.size, content


Wanted = Callable[[PurePosixPath], bool]


def unpack(archive: Path, into: Path, wanted: Wanted = is_wanted) -> tuple[int, int]:
    """Writes what is wanted of `archive` beneath `into`; returns the files and bytes written."""
    files = total = 0
    for name, size, content in members(archive):
        path = safe_path(name)
        if path is None:
            raise FetchError(f"{archive.name}: a member would be written elsewhere: {name!r}")
        if not wanted(path):
            continue
        total += size
        if size > MAX_FILE_BYTES or total > MAX_PACKAGE_BYTES:
            raise FetchError(f"{archive.name}: too large to unpack: {name!r}")
        target = into.joinpath(*path.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        # "xb": two members of one name (or of one on this file system) are no accident.
        with contextlib.suppress(FileExistsError), target.open("xb") as out:
            shutil.copyfileobj(content, out)
            files += 1
    return files, total


# --- downloading ----------------------------------------------------------------------------------


class Index:
    """The indexes of pip's configuration."""

    def __init__(self) -> None:
        from pip._internal.commands import create_command

        # Its warnings are about index folders that lack a package: others have it.
        logging.getLogger("pip").setLevel(logging.ERROR)
        command = create_command("download")
        options, _ = command.parse_args(["--no-deps", "--disable-pip-version-check", "nothing"])
        self._session = command._build_session(options)
        self._finder = command._build_package_finder(
            options=options, session=self._session, ignore_requires_python=True
        )

    def links(self, name: str) -> list:
        """Every (version, link) of a package, oldest first."""
        found = [(c.version, c.link) for c in self._finder.find_all_candidates(name)]
        if not found:
            raise FetchError(f"{name}: no index of pip's configuration has it; is there a network?")
        return sorted(found, key=lambda pair: pair[0])

    def download(self, package: Package, target: Path) -> None:
        by_file = {link.filename: link for _, link in self.links(package.name)}
        if package.file not in by_file:
            raise FetchError(f"{package.name}: no index of pip's configuration has {package.file}")
        digest = hashlib.sha256()
        url = by_file[package.file].url_without_fragment
        with (
            self._session.get(url, stream=True, headers={"Accept-Encoding": "identity"}) as reply,
            target.open("wb") as out,
        ):
            reply.raise_for_status()
            while chunk := reply.raw.read(1 << 20):
                digest.update(chunk)
                out.write(chunk)
        if digest.hexdigest() != package.sha256:
            raise FetchError(
                f"{package.file}: SHA-256 is {digest.hexdigest()}, the manifest says "
                f"{package.sha256}"
            )


def make_project(folder: Path) -> None:
    """The files of the checkout around a package do not belong to its project."""
    (folder / ".git").mkdir(exist_ok=True)


def fetch_one(package: Package, into: Path, index: Index, wanted: Wanted) -> dict:
    """Downloads, verifies and unpacks one package; leaves nothing half done."""
    scratch = Path(tempfile.mkdtemp(prefix=".fetch-", dir=into))
    try:
        archive = scratch / package.file
        index.download(package, archive)
        tree = scratch / "tree"
        tree.mkdir()
        files, size = unpack(archive, tree, wanted)
        make_project(tree)
        final = into / package.folder
        shutil.rmtree(final, ignore_errors=True)
        tree.rename(final)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return {"sha256": package.sha256, "unpack": UNPACK_VERSION, "files": files, "bytes": size}


def fetch(
    packages: list[Package],
    into: Path = DEFAULT_TARGET,
    log=print,
    wanted: Wanted = is_wanted,
) -> list[dict]:
    """Brings all `packages` beneath `into`; those that are there already cost nothing."""
    marks = into / ".fetched"
    marks.mkdir(parents=True, exist_ok=True)
    index = None
    done = []
    for package in packages:
        mark = marks / f"{package.folder}.json"
        with contextlib.suppress(OSError, ValueError):
            state = json.loads(mark.read_text())
            current = (state["sha256"], state["unpack"]) == (package.sha256, UNPACK_VERSION)
            if current and (into / package.folder).is_dir():
                make_project(into / package.folder)
                done.append(state)
                continue
        log(f"fetching {package.file}")
        index = index or Index()
        mark.unlink(missing_ok=True)
        state = fetch_one(package, into, index, wanted)
        partial = mark.with_suffix(".partial")
        partial.write_text(json.dumps(state))
        partial.replace(mark)
        done.append(state)
    return done


def print_table(packages: list[Package], states: list[dict]) -> None:
    width = max(len(p.folder) for p in packages)
    print(f"{'package':{width}}  {'files':>6}  {'bytes':>12}  sets")
    for package, state in zip(packages, states, strict=True):
        row = f"{package.folder:{width}}  {state['files']:6}  {state['bytes']:12,}"
        print(f"{row}  {' '.join(package.sets)}")
    files, size = (sum(state[key] for state in states) for key in ("files", "bytes"))
    print(f"{f'{len(packages)} packages':{width}}  {files:6}  {size:12,}")


def pin(requirements: list[str], sets: str) -> None:
    """Prints the entries of packages.toml: the sdist where there is one, else a pure wheel."""
    index = Index()
    for requirement in requirements:
        name, _, version = requirement.partition("==")
        links = index.links(name)
        version = version or str([v for v, _ in links if not v.is_prerelease][-1])
        files = [link for v, link in links if str(v) == version]
        files.sort(key=lambda link: (link.is_wheel, "none-any" not in link.filename))
        if not files or not files[0].hash:
            raise FetchError(f"{requirement}: no file with a hash")
        if files[0].is_wheel and "none-any" not in files[0].filename:
            raise FetchError(f"{requirement}: neither a source distribution nor a pure wheel")
        fields = {"name": name, "version": version}
        fields |= {"file": files[0].filename, "sha256": files[0].hash}
        print("[[package]]")
        for key, value in fields.items():
            print(f'{key} = "{value}"')
        print(f"sets = {json.dumps(sets.split(','))}\n", flush=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--set", default="all", choices=["small", "research", "bench", *sorted(DRAWN), "all"]
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these packages of the set")
    parser.add_argument("--into", type=Path, default=DEFAULT_TARGET, metavar="DIR")
    parser.add_argument("--quiet", action="store_true", help="no table")
    parser.add_argument("--paths", action="store_true", help="print the folders, no table")
    parser.add_argument("--pin", nargs="+", metavar="NAME[==VERSION]")
    parser.add_argument("--sets", default="research", help="the sets that --pin writes")
    options = parser.parse_args(arguments)
    try:
        if options.pin:
            pin(options.pin, options.sets)
            return 0
        packages = select(load_manifest(), options.set)
        if options.only:
            packages = [p for p in packages if p.name in options.only]
        states = fetch(packages, options.into, lambda line: print(line, file=sys.stderr))
    except FetchError as error:
        print(f"fetch.py: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # the network, in any of the ways in which pip's code says so
        if os.environ.get("TORCHPORT_DEBUG"):
            raise
        print(f"fetch.py: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if options.paths:
        print(*(options.into / package.folder for package in packages), sep="\n")
    elif not options.quiet:
        print_table(packages, states)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
