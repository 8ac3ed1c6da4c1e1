"""Checks whether the build uses the torch that the target has.

An extension works only with the build of torch whose headers it was compiled with. With build
isolation this is the torch of the isolated environment, which often differs from the torch that the
package will run with. These sources determine the target's torch, in this order:

1. ``TORCHPORT_TARGET_TORCH``: a version (``2.13.0+cu130``), a specifier (``>=2.12,<2.14``), or the
   path of an environment, of its Python, or of a torch;
2. the project's run-time requirement of torch;
3. the environment that the build was started from, if it can be determined: pip's isolation keeps
   ``sys.prefix``; with ``python -m build`` it is the activated environment.

A torch that contradicts one of them is refused.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from torchport._releases import version_in
from torchport.build._plan import BuildRefused

SETTING = "TORCHPORT_TARGET_TORCH"
_HOOKS = ("_PYPROJECT_HOOKS_BUILD_BACKEND", "PEP517_BUILD_BACKEND")


def torch_version(root: Path) -> str | None:
    """The version and the build in the files of a torch, such as ``2.13.0+cpu``; or None."""
    try:
        text = (root / "version.py").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return version_in(text)


def _packaging() -> tuple[type, type]:
    """The classes Requirement and SpecifierSet, from packaging or from the copy in setuptools.

    packaging is the only reader of requirements and versions in Python; src/versions is the one in
    C++. src/versions neither evaluates markers nor distinguishes pre-releases, and a build needs both.
    """
    try:
        from packaging.requirements import Requirement
        from packaging.specifiers import SpecifierSet
    except ImportError:
        from setuptools._vendor.packaging import requirements, specifiers

        return requirements.Requirement, specifiers.SpecifierSet
    return Requirement, SpecifierSet


def project_requirements(folder: Path) -> list[str]:
    """``project.dependencies`` of pyproject.toml; empty if they are missing or dynamic."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        from setuptools._vendor import tomli as tomllib
    try:
        with (folder / "pyproject.toml").open("rb") as file:
            project = tomllib.load(file).get("project", {})
    except FileNotFoundError:
        return []
    except tomllib.TOMLDecodeError as error:
        raise BuildRefused(f"torchport: {folder / 'pyproject.toml'}: {error}") from None
    return [one for one in project.get("dependencies", []) if isinstance(one, str)]


def _sites(prefix: Path) -> list[Path]:
    return sorted(prefix.glob("lib/python3*/site-packages"))


def environment_torches() -> list[Path]:
    """The torches of the environment that the build was started from, if it can be determined."""
    paths = sysconfig.get_paths()
    sites = [Path(paths["purelib"]), Path(paths["platlib"])]
    if any(name in os.environ for name in _HOOKS):
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            if prefix := os.environ.get(name):
                sites += _sites(Path(prefix))
    roots = (site / "torch" for site in dict.fromkeys(sites))
    return [root for root in roots if (root / "version.py").is_file()]


def _refuse(version: str, root: Path, why: str, remedy: str) -> BuildRefused:
    return BuildRefused(
        f"torchport: refusing to build against torch {version} in {root}: {why}\n  {remedy}"
    )


def _matches(version: str, specifier: str) -> bool:
    _, specifiers = _packaging()
    text = specifier if re.match(r"\s*[<>=!~]", specifier) else f"=={specifier}"
    try:
        return bool(specifiers(text).contains(version, prereleases=True))
    except ValueError:
        raise BuildRefused(
            f"torchport: {SETTING}={specifier} is neither a version, nor a specifier such as "
            ">=2.12, nor a path with a torch in it"
        ) from None


def _check_setting(root: Path, version: str, setting: str) -> None:
    if os.sep not in setting:
        if not _matches(version, setting):
            raise _refuse(
                version, root, f"{SETTING}={setting} names another torch", "install that torch"
            )
        return
    path = Path(setting)
    prefix = path.parent.parent if path.is_file() else path
    candidates = [path, path / "torch", *(site / "torch" for site in _sites(prefix))]
    for candidate in candidates:
        if (other := torch_version(candidate)) is not None:
            if other != version:
                why = f"the target has torch {other}, in {candidate}"
                raise _refuse(version, root, why, f"install torch {other}")
            return
    raise BuildRefused(
        f"torchport: torch was not found at {SETTING}={setting}; set it to a version, or to the path "
        "of an environment that has torch"
    )


def _check_requirements(root: Path, version: str, requirements: Iterable[str]) -> bool:
    """Returns whether the requirements pin torch. BuildRefused if they exclude this torch."""
    requirement_of, _ = _packaging()
    pinned = False
    for text in requirements:
        try:
            one = requirement_of(text)
        except ValueError:
            continue  # the build tool reports an invalid requirement itself
        if one.name.lower() != "torch" or (one.marker and not one.marker.evaluate()):
            continue
        if not one.specifier.contains(version, prereleases=True):
            raise _refuse(
                version,
                root,
                f"the project requires {one}",
                "name the same torch in build-system.requires, or build with --no-build-isolation "
                "in an environment that has it",
            )
        pinned = pinned or any(part.operator in ("==", "===") for part in one.specifier)
    return pinned


def check_target(root: Path, requirements: Iterable[str] = ()) -> list[str]:
    """Raises BuildRefused if the torch in `root` is known not to be the target's.

    Returns:
        Notes for the build's log.
    """
    version = torch_version(root)
    if version is None:
        raise BuildRefused(
            f"torchport: {root} has no torch with a readable version; install torch again"
        )
    setting = os.environ.get(SETTING, "").strip()
    if setting:
        _check_setting(root, version, setting)
    pinned = _check_requirements(root, version, requirements)
    if setting:
        return []
    others = environment_torches()
    for other in others:
        if other.resolve() == root.resolve():
            return []
        if (found := torch_version(other)) != version:
            raise _refuse(
                version,
                root,
                f"the environment that the build was started from has torch {found}, in {other}",
                "build with --no-build-isolation, or name that version in build-system.requires; "
                f"set {SETTING}={version} if this torch is intended",
            )
    if others or pinned:
        return []
    return [
        "torchport: the target's torch is unknown, and this build works only with torch "
        f"{version}. Require torch=={version.split('+')[0]} in the project, or set {SETTING}"
    ]
