"""The test modules of tests/: what each drives, imports and mentions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from gate.driven import DRIVEN, EVERYTHING, MODULES, Drives
from gate.layers import closure
from gate.parts import FACADE, TOP, Parts, imported, named_parts

CODE = (".py", ".h", ".cpp", ".md", "CMakeLists.txt")
READS_FOLDERS = re.compile(r"\bi?glob\(|iterdir\(|rglob\(|walk\(|listdir\(|copytree\(")
SCOPES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_module(path: str) -> bool:
    return path.startswith("tests/") and Path(path).match("test_*.py")


def folder_of(path: str) -> str:
    """`virtual` of tests/virtual/programs/x.py; nothing for a file of tests/ itself."""
    words = path.split("/")
    return words[1] if len(words) > 2 else ""


def mentions(text: str, path: str) -> bool:
    """Whether a program names the file, or a folder that it is in. What has its own way to be found (the
    code of src/ and python/, the folders of tests/) counts only where the path is written out."""
    *folders, name = path.split("/")
    top = folders[0] if folders else ""
    if path in text:
        return True
    if top in ("src", "python"):
        deep = any("/".join(folders[:count]) in text for count in range(3, len(folders) + 1))
        return deep or (name in text and not name.endswith(CODE))
    if top == "tests":
        if len(folders) < 2:
            return name in text
        before = r"(?:tests[\"']?\s*/\s*[\"']?|parents\[\d\]\s*/\s*[\"']|parent\s*/\s*[\"']|\.\./)"
        return bool(re.search(rf"{before}{re.escape(folders[1])}\b", text))
    quoted = bool(top) and bool(re.search(rf"[\"'/]{re.escape(top)}[\"'/]", text))
    return name in text or (quoted and bool(READS_FOLDERS.search(text)))


class Modules:
    """The test modules of a tree, of which `files` are all paths."""

    def __init__(self, root: Path, files: Iterable[str], parts: Parts):
        self.parts = parts
        own = sorted(path for path in files if path.startswith("tests/") and path.endswith(".py"))
        self.modules = [path for path in own if is_module(path)]
        self.texts: dict[str, str] = {}  # without what describes them
        self.imports: dict[str, set[str]] = {}
        for path in own:
            text = (root / path).read_text(encoding="utf-8", errors="replace")
            self.texts[path], self.imports[path] = code_and_imports(text)
        self.public = public_names(root)
        self.used_beside: dict[str, set[str]] = {}  # by folder: the parts that its programs import
        self.importers: dict[str, set[str]] = {}
        by_name: dict[str, set[str]] = {}
        for path in own:
            for name in names_of(path):
                by_name.setdefault(name, set()).add(path)
        for path, names in self.imports.items():
            for other in set().union(*(by_name.get(name, set()) for name in names)) - {path}:
                self.importers.setdefault(other, set()).add(path)

    def of_folder(self, folder: str) -> list[str]:
        return [path for path in self.modules if folder_of(path) == folder]

    def parts_of(self, path: str) -> set[str]:
        """The parts of the package that a file of tests/ imports; a public name is one of its part."""
        found = {self.public.get(name, name) for name in named_parts(self.imports[path])}
        return found & self.parts.names

    def drives(self, path: str) -> Drives:
        """What a module drives: what the table says, and what it and the programs beside it import."""
        folder = folder_of(path)
        given = MODULES.get(path) or DRIVEN.get(folder, EVERYTHING)
        if folder not in self.used_beside:
            beside = [p for p in self.texts if folder_of(p) == folder and not is_module(p)]
            self.used_beside[folder] = set().union(*map(self.parts_of, beside))
        used = self.used_beside[folder] | self.parts_of(path)
        return Drives(given.layers, (*given.parts, *sorted(used)))

    def needing(self, path: str) -> dict[str, str]:
        """The modules that need a file of tests/, each with the reason."""
        found = {path: "it is changed"} if path in self.modules else {}
        if path not in self.modules:
            found |= dict.fromkeys(self.of_folder(folder_of(path)), f"{path} is in its folder")
        users = closure([path], self.importers)
        found |= {p: f"it imports {path}" for p in users if p in self.modules and p != path}
        return found if path in self.modules else self.mentioning(path) | found

    def mentioning(self, path: str) -> dict[str, str]:
        """The modules that name a file, or whose helpers do."""
        named = [p for p, text in self.texts.items() if p != path and mentions(text, path)]
        found = {p: f"it names {path}" for p in named if is_module(p)}
        for helper in (p for p in named if not is_module(p)):
            users = {p for p in closure([helper], self.importers) if is_module(p)}
            for module in users or self.of_folder(folder_of(helper)):
                found.setdefault(module, f"{helper} names {path}")
        return found


def names_of(path: str) -> list[str]:
    """The dotted names by which a file of tests/ may be imported: its folders are on no fixed path."""
    words = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return [".".join(words[start:]) for start in range(len(words))]


def code_and_imports(text: str) -> tuple[str, set[str]]:
    """The text without docstrings, and the names that it imports."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a program that is meant to be broken
        return text, set()
    lines, nodes = text.splitlines(), list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, SCOPES) and ast.get_docstring(node, clean=False) is not None:
            described = node.body[0]
            for number in range(described.lineno - 1, described.end_lineno or described.lineno):
                lines[number] = ""
    return "\n".join(lines), imported(nodes)


def public_names(root: Path) -> dict[str, str]:
    """The part of each name that the package itself has."""
    path = root / TOP / f"{FACADE}.py"
    if not path.exists():
        return {}
    return {
        name.asname or name.name: node.module.split(".")[1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torchport.")
        for name in node.names
    }
