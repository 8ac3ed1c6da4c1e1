"""torchport.timed on two virtual devices."""

from __future__ import annotations

import asyncio
import json
import logging
import threading

import pytest
import torch
import torchport

pytestmark = pytest.mark.devices("cuda:2")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def waits(monkeypatch):
    """The devices that were waited for, in order."""
    devices = []
    real = torch.accelerator.synchronize
    monkeypatch.setattr(
        torch.accelerator, "synchronize", lambda device: (devices.append(device), real(device))[1]
    )
    return devices


def test_the_device_is_waited_for_before_and_after(waits, tmp_path, caplog):
    caplog.set_level(logging.INFO, "torchport.timed")
    with torchport.timed(
        "step", device="cuda:1", log=tmp_path / "t.jsonl", fields={"epoch": 3}
    ) as step:
        assert waits == [torch.device("cuda:1")] and step.seconds is None
        x = torch.ones(1 << 20, device="cuda:1")
    assert waits == [torch.device("cuda:1")] * 2
    (line,) = lines(tmp_path / "t.jsonl")
    assert line["name"] == "step" and line["epoch"] == 3 and line["error"] is None
    assert line["seconds"] == step.seconds > 0
    assert line["device"] == "cuda:1" and "A100" in line["device_name"]
    assert line["peak_bytes"] >= x.nbytes and line["synchronized"] is True
    assert "step on cuda:1 (NVIDIA A100" in caplog.text and "4.0 MiB" in caplog.text


def test_without_a_device_it_is_the_current_one(waits):
    with torchport.timed("a"), torch.cuda.device(1):
        pass
    assert waits == [torch.device("cuda:0")] * 2  # the one that was current at the beginning
    with torch.cuda.device(1), torchport.timed("b"):
        pass
    assert waits[2:] == [torch.device("cuda:1")] * 2


def test_the_cpu_needs_no_waiting(waits, tmp_path):
    with torchport.timed("a", device="cpu", log=tmp_path / "t.jsonl"):
        pass
    (line,) = lines(tmp_path / "t.jsonl")
    assert waits == [] and line["device"] == "cpu" and line["peak_bytes"] > 1 << 20


def test_each_call_of_a_function_has_its_line(tmp_path):
    log = tmp_path / "t.jsonl"

    @torchport.timed("factorial", log=log)
    def factorial(n: int) -> int:
        """Multiplies."""
        return n * factorial(n - 1) if n else 1

    @torchport.timed("wait", log=log)
    async def wait() -> int:
        await asyncio.sleep(0)
        return 7

    assert factorial(3) == 6 and factorial.__doc__ == "Multiplies."
    assert len(lines(log)) == 4
    assert asyncio.run(wait()) == 7
    threads = [threading.Thread(target=factorial, args=(9,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line["name"] for line in lines(log)] == ["factorial"] * 4 + ["wait"] + [
        "factorial"
    ] * 40


def test_an_error_is_in_the_line_and_goes_on(tmp_path):
    with (
        pytest.raises(ZeroDivisionError, match="zero"),
        torchport.timed("bad", log=tmp_path / "t.jsonl") as bad,
    ):
        raise ZeroDivisionError("by zero\nand more")
    (line,) = lines(tmp_path / "t.jsonl")
    assert line["error"] == "ZeroDivisionError: by zero\nand more" and bad.seconds > 0


def test_a_log_that_cannot_be_written_does_not_hide_the_error_of_the_operation(tmp_path, caplog):
    with (
        pytest.raises(ZeroDivisionError, match="mine"),
        torchport.timed("bad", log=tmp_path / "nowhere" / "t"),
    ):
        raise ZeroDivisionError("mine")
    assert "nowhere" in caplog.text


@pytest.mark.parametrize("name", ["cuda:9", "xpu"])
def test_a_device_that_is_not_there_is_refused_in_words(name):
    with (
        pytest.raises(ValueError, match=f"there is no device {name}"),
        torchport.timed("a", device=name),
    ):
        raise AssertionError("the operation began")


def test_a_field_cannot_replace_what_is_measured():
    with pytest.raises(ValueError, match="seconds"):
        torchport.timed("a", fields={"seconds": 1.0, "epoch": 3})


def test_a_capture_is_not_disturbed(tmp_path, waits):
    log = tmp_path / "t.jsonl"
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(3, device="cuda")
    with torch.cuda.graph(graph), torchport.timed("captured", log=log):
        x * 2
    (line,) = lines(log)
    assert line["synchronized"] is False


def test_what_cannot_be_timed_is_refused(tmp_path):
    with pytest.raises(TypeError, match="is a generator"):

        @torchport.timed("rows")
        def rows():
            yield 1

    with (
        pytest.raises(OSError, match="nowhere"),
        torchport.timed("a", log=tmp_path / "nowhere" / "t"),
    ):
        pass
