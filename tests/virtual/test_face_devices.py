"""torch.cuda: devices, streams, events, the build that is answered for."""

from __future__ import annotations

from pathlib import Path


def test_devices_streams_and_events(run_virtual) -> None:
    run_virtual(Path("face_streams.py"))


def test_the_default_build(run_virtual) -> None:
    run_virtual(Path("face_build.py"), args=["13.0", 13000, 92000, True])


def test_older_devices_have_the_older_build(run_virtual) -> None:
    run_virtual(
        Path("face_build.py"),
        devices="cuda:1,profile=v100-16g",
        args=["12.6", 12060, 91002, False],
    )
