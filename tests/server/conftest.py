"""Starts editors for the tests of the language server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import ClientServerConfig, client_capabilities

pytest.register_assert_rewrite("editor")

from editor import TORCHPORT, Editor  # noqa: E402


@pytest_asyncio.fixture
async def start(tmp_path: Path) -> AsyncIterator:
    """Starts an editor in a project: start(client, options, folders)."""
    clients = []

    async def begin(
        client: str = "neovim@0.9", options: dict | None = None, folders: list[Path] | None = None
    ) -> Editor:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        server = await ClientServerConfig([str(TORCHPORT), "server"]).start()
        clients.append(server)
        await server.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities(client),
                workspace_folders=[
                    types.WorkspaceFolder(path.as_uri(), path.name) for path in folders or [folder]
                ],
                initialization_options=options,
            )
        )
        return Editor(server, folder)

    yield begin
    for client in clients:
        await client.shutdown_session()
