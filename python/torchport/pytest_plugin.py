"""Runs pytest on virtual devices: ``pytest --torchport-devices cuda:2``.

Tests that hard-code CUDA run unchanged. Tests that use the fixture ``virtual_cuda`` are skipped if
there are no virtual devices, or fewer than ``@pytest.mark.virtual_cuda(devices=N)`` asks for.
With ``devices=[1, 2, 4]`` a test runs once with each number of devices and sees only these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("torchport", "virtual devices")
    group.addoption(
        "--torchport-devices",
        metavar="KIND:N",
        help="run the tests on virtual devices, such as cuda:2 or mps; none hides CUDA",
    )
    group.addoption("--torchport-memory", metavar="SIZE", help="memory of each device, e.g. 8GiB")
    group.addoption(
        "--torchport-profile", metavar="NAME", help="model of the devices, e.g. a100-80g"
    )
    group.addoption(
        "--torchport-random",
        choices=("device", "cpu"),
        help="draw the random numbers of the real device, or those of the CPU",
    )
    group.addoption(
        "--torchport-streams",
        choices=("at-once", "late"),
        help="late: report work of one CUDA stream that does not wait for another one",
    )
    group.addoption(
        "--torchport-tf32",
        choices=("off", "on"),
        help="on: float32 loses bits in products and convolutions that may use TF32, as on a GPU",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Sets up the virtual devices before a conftest.py can import torch."""
    options = early_config.known_args_namespace
    if not options.torchport_devices:
        return
    from torchport import virtual

    try:
        virtual.enable(
            options.torchport_devices,
            memory=options.torchport_memory,
            profile=options.torchport_profile,
            random=options.torchport_random,
            streams=options.torchport_streams,
            tf32=None if options.torchport_tf32 is None else options.torchport_tf32 == "on",
        )
    except (RuntimeError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "virtual_cuda(devices): the number of virtual devices that the test needs; a list runs "
        "the test with each number",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    devices = config.getoption("--torchport-devices")
    if not devices:
        return None
    random = config.getoption("--torchport-random")
    return f"torchport: virtual {devices}" + (f", random numbers of the {random}" if random else "")


@dataclass(frozen=True)
class VirtualCuda:
    """The virtual devices of a test.

    Attributes:
        count: The number of devices that the test sees.

    Example:
        >>> VirtualCuda(2).devices
        ['cuda:0', 'cuda:1']
    """

    count: int

    @property
    def devices(self) -> list[str]:
        """The names of the devices.

        Returns:
            "cuda:0", "cuda:1", ...

        Example:
            >>> VirtualCuda(2).devices
            ['cuda:0', 'cuda:1']
        """
        return [f"cuda:{index}" for index in range(self.count)]


def _asked(node: pytest.Item) -> int | list[int]:
    """The argument of a test's mark: the number of devices that it needs, or a list of numbers."""
    mark = node.get_closest_marker("virtual_cuda")
    asked: int | list[int] = mark.kwargs.get("devices", 1) if mark else 1
    return asked


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    counts = _asked(metafunc.definition)
    if isinstance(counts, int):
        return
    if "virtual_cuda" not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: a test that runs with several numbers of devices must "
            "use the fixture virtual_cuda"
        )
    metafunc.parametrize("virtual_cuda", counts, indirect=True, ids=[f"devices{n}" for n in counts])


@pytest.fixture
def virtual_cuda(request: pytest.FixtureRequest) -> Iterator[VirtualCuda]:
    """Gives a test the virtual devices. Memory peaks are reset before the test, and the current
    device is cuda:0 again after it.

    A test is skipped if there are no virtual devices, or fewer than its mark
    ``@pytest.mark.virtual_cuda(devices=N)`` asks for.

    Args:
        request: The fixture request of pytest.

    Yields:
        The devices.

    Example:
        ::

            @pytest.mark.virtual_cuda(devices=2)
            def test_both(virtual_cuda: VirtualCuda) -> None:
                for device in virtual_cuda.devices:
                    assert torch.ones(1, device=device).item() == 1
    """
    from torchport import virtual

    shown = getattr(request, "param", None)
    asked = _asked(request.node)
    needed: int = shown if shown is not None else asked if isinstance(asked, int) else max(asked)
    if not virtual.enabled():
        pytest.skip(f"needs virtual devices: pytest --torchport-devices cuda:{needed}")
    import torch

    count = torch.cuda.device_count()
    if count < needed:
        pytest.skip(f"needs {needed} virtual devices, but there are {count}")
    with nullcontext() if shown is None else virtual.visible(shown):
        for index in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(index)
        yield VirtualCuda(torch.cuda.device_count())
        torch.cuda.set_device(0)
