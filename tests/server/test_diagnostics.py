"""Diagnostics: those of `torchport check` for the same bytes, while they are typed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from editor import TORCHPORT, apply
from lsprotocol import types

pytestmark = pytest.mark.asyncio

LEGACY = Path(__file__).resolve().parents[2] / "examples/legacy"
CUDA = "import torch\n\nx = torch.zeros(3).cuda()\n"


def found_by_check(folder: Path) -> dict[str, list]:
    """path -> (code, line, column, end line, end column), one-based, columns in characters."""
    run = subprocess.run(
        [TORCHPORT, "check", "--format", "json", "--no-cache", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, list] = {}
    for d in json.loads(run.stdout)["findings"]:
        place = (d["code"], d["line"], d["column"], d["end_line"], d["end_column"])
        found.setdefault(d["path"], []).append(place)
    return found


async def test_the_same_findings_as_check_for_every_file_of_a_project(start):
    editor = await start(folders=[LEGACY])
    expected = found_by_check(LEGACY)
    names = [name for name in expected if not name.endswith(".ipynb")]
    assert len(names) > 5
    for name in names:
        path = LEGACY / name
        text = path.read_text()
        assert text.isascii()  # columns are the same in all units
        item = types.TextDocumentItem(path.as_uri(), "python", 1, text)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        shown = [
            (
                d.code,
                d.range.start.line + 1,
                d.range.start.character + 1,
                d.range.end.line + 1,
                d.range.end.character + 1,
            )
            for d in await editor.diagnostics(item.uri)
        ]
        assert shown == expected[name], name


async def test_they_follow_what_is_typed(start):
    editor = await start()
    uri = editor.open("a.py", "import torch\n")
    assert await editor.diagnostics(uri) == []
    text, version = "import torch\n", 1
    for character in "x = torch.zeros(3).cuda()":
        version += 1
        place = types.Position(1, len(text.split("\n")[1]))
        editor.change(uri, version, character, types.Range(place, place))
        text += character
    (diagnostic,) = await editor.diagnostics(uri)
    assert (diagnostic.code, diagnostic.source) == ("TP101", "torchport")
    assert diagnostic.message.endswith("[cuda-call]")
    editor.change(
        uri, version + 1, "cpu", types.Range(types.Position(1, 19), types.Position(1, 23))
    )
    assert await editor.diagnostics(uri) == []


async def test_dockerfiles_and_requirements_are_read_and_an_ipynb_as_text_is_not(start):
    editor = await start()
    image = "FROM python:3.11\nRUN pip install torch --index-url https://download.pytorch.org/whl/cu118\n"
    docker = editor.open("Dockerfile", image, "dockerfile")
    pins = editor.open("requirements.txt", "torch==2.0.0+cu118\n", "pip-requirements")
    cell = json.dumps({"cells": [{"cell_type": "code", "source": CUDA}], "nbformat": 4})
    notebook = editor.open("a.ipynb", cell, "json")
    assert [d.code for d in await editor.diagnostics(docker)] != []
    assert [d.code for d in await editor.diagnostics(pins)] != []
    assert await editor.diagnostics(notebook) == []


async def test_several_folders_have_their_own_settings(start, tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    (two / "torchport.toml").write_text('ignore = ["TP101"]\n')
    editor = await start(folders=[one])
    counts = {}

    async def count() -> None:
        for folder in (one, two):
            uri = (folder / "a.py").as_uri()
            counts[folder.name] = len(await editor.diagnostics(uri))

    for folder in (one, two):
        item = types.TextDocumentItem((folder / "a.py").as_uri(), "python", 1, CUDA)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    await count()
    assert counts == {"one": 1, "two": 0}  # a file outside of the folders has the settings above it
    # The second folder's settings would be those of the first if it was inside of it.
    editor.client.workspace_did_change_workspace_folders(
        types.DidChangeWorkspaceFoldersParams(
            types.WorkspaceFoldersChangeEvent(
                added=[types.WorkspaceFolder(two.as_uri(), "two")],
                removed=[types.WorkspaceFolder(one.as_uri(), "one")],
            )
        )
    )
    await editor.diagnostics((one / "a.py").as_uri())
    await count()
    assert counts == {"one": 1, "two": 0}


async def test_settings_of_the_editor(start):
    editor = await start(options={"ignore": ["TP101"]})
    uri = editor.open("a.py", CUDA)
    assert await editor.diagnostics(uri) == []
    editor.client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams({"torchport": {"select": ["placement"]}})
    )
    await editor.diagnostics(uri)  # the check after the change of settings waits behind this
    assert [d.code for d in await editor.diagnostics(uri)] == ["TP101"]


async def test_a_client_that_asks_for_its_settings_gets_them_used(start):
    editor = await start("visual-studio-code")
    editor.client.set_configuration({"torchport": {"ignore": ["TP101"]}})
    uri = editor.open("a.py", CUDA)
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
    for _ in range(200):
        if await editor.diagnostics(uri) == []:
            break
    else:
        pytest.fail("the settings were not used")


def notebook_with(folder: Path, sources: list[str]):
    uri = (folder / "n.ipynb").as_uri()
    cells = [f"vscode-notebook-cell:{uri}#{i}" for i in range(len(sources))]
    notebook = types.NotebookDocument(
        uri,
        "jupyter-notebook",
        1,
        [types.NotebookCell(types.NotebookCellKind.Code, cell) for cell in cells],
    )
    items = [
        types.TextDocumentItem(cell, "python", 1, source)
        for cell, source in zip(cells, sources, strict=True)
    ]
    return cells, types.DidOpenNotebookDocumentParams(notebook, items)


async def test_the_cells_of_a_notebook_are_one_program(start):
    editor = await start()
    sources = ["%matplotlib inline\nimport torch as th", "é = 1\nx = th.zeros(3).cuda()"]
    cells, params = notebook_with(editor.folder, sources)
    editor.client.notebook_document_did_open(params)
    assert await editor.diagnostics(cells[0]) == []
    (diagnostic,) = await editor.diagnostics(cells[1])
    assert diagnostic.code == "TP101"
    assert diagnostic.range.start == types.Position(1, 16)
    # A cell has the fixes of the whole program.
    (fix_all,) = await editor.actions(cells[1], only=["source.fixAll"])
    after = [apply(text, fix_all.edit, cell) for cell, text in zip(cells, sources, strict=True)]
    assert after[0].startswith("%matplotlib inline\nimport torch as th\n\nDEVICE = ")
    assert after[1] == "é = 1\nx = th.zeros(3, device=DEVICE)"
    # A cell that goes takes its diagnostics along.
    editor.client.notebook_document_did_change(
        types.DidChangeNotebookDocumentParams(
            types.VersionedNotebookDocumentIdentifier(2, params.notebook_document.uri),
            types.NotebookDocumentChangeEvent(
                cells=types.NotebookDocumentCellChanges(
                    structure=types.NotebookDocumentCellChangeStructure(
                        array=types.NotebookCellArrayChange(1, 1, []),
                        did_close=[types.TextDocumentIdentifier(cells[1])],
                    )
                )
            ),
        )
    )
    assert await editor.diagnostics(cells[0]) == []
    assert list(editor.client.diagnostics[cells[1]]) == []


async def test_a_change_inside_of_a_cell(start):
    editor = await start()
    cells, params = notebook_with(editor.folder, ["import torch\n", "y = 1\n"])
    editor.client.notebook_document_did_open(params)
    assert await editor.diagnostics(cells[1]) == []
    start_of = types.Position(0, 4)
    editor.client.notebook_document_did_change(
        types.DidChangeNotebookDocumentParams(
            types.VersionedNotebookDocumentIdentifier(2, params.notebook_document.uri),
            types.NotebookDocumentChangeEvent(
                cells=types.NotebookDocumentCellChanges(
                    text_content=[
                        types.NotebookDocumentCellContentChanges(
                            types.VersionedTextDocumentIdentifier(2, cells[1]),
                            [
                                types.TextDocumentContentChangePartial(
                                    range=types.Range(start_of, types.Position(0, 5)),
                                    text="torch.ones(1).cuda()",
                                )
                            ],
                        )
                    ]
                )
            ),
        )
    )
    assert [d.code for d in await editor.diagnostics(cells[1])] == ["TP101"]
