"""torchport.loader: order, nesting, errors, leaving, workers, streams."""

from __future__ import annotations

import threading
import time
import traceback
from dataclasses import dataclass

import pytest
import torch
import torchport
from torch.nn.utils.rnn import PackedSequence, pack_sequence
from torch.utils.data import DataLoader, Dataset, IterableDataset

pytestmark = pytest.mark.devices("cuda:2", None)


DEVICE = torch.device("cuda:1") if torch.cuda.is_available() else torch.device("cpu")
on_a_gpu = pytest.mark.skipif(DEVICE.type == "cpu", reason="there is no GPU")


@dataclass
class Sample:
    x: torch.Tensor
    name: str


class Numbers(Dataset):
    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> dict[str, object]:
        if index == self.fails_at:
            raise ValueError(f"sample {index} is broken")
        return {"x": torch.full((3,), float(index)), "pair": (torch.tensor(index), str(index))}


def numbers(**options: object) -> DataLoader:
    return DataLoader(Numbers(), batch_size=2, **options)


def is_thread_there() -> bool:
    return any(thread.name == "torchport.loader" for thread in threading.enumerate())


def test_batches_are_the_same_and_in_order() -> None:
    for plain in (numbers(), numbers(num_workers=2), numbers(num_workers=1, pin_memory=True)):
        want = list(plain)
        for thread in (None, True, False):
            ours = torchport.loader(plain, DEVICE, depth=3, thread=thread)
            assert len(ours) == 5 and ours.batch_size == 2
            for _ in range(2):  # again and again
                got = list(ours)
                assert [g["x"].cpu().tolist() for g in got] == [w["x"].tolist() for w in want]
                assert [g["pair"][1] for g in got] == [w["pair"][1] for w in want]
                assert all(g["x"].device == DEVICE and g["pair"][0].device == DEVICE for g in got)
        assert not is_thread_there()


def test_every_kind_of_batch_moves() -> None:
    x = torch.ones(2)
    packed = pack_sequence([torch.ones(3), torch.ones(2)])
    batches = [x, [x, {"a": (x,)}], Sample(x, "n"), packed, "text", 3, None]
    got = list(torchport.loader(batches, DEVICE, thread=True))
    assert got[0].device == DEVICE and got[1][1]["a"][0].device == DEVICE
    assert got[2].x.device == DEVICE and got[2].name == "n" and x.device.type == "cpu"
    assert isinstance(got[3], PackedSequence) and got[3].data.device == DEVICE
    assert got[4:] == ["text", 3, None]


@on_a_gpu
def test_it_is_ahead_of_the_program() -> None:
    for thread in (False, True):
        fetched = []

        def source(fetched: list[int] = fetched):  # type: ignore[no-untyped-def]
            for number in range(10):
                fetched.append(number)
                yield torch.tensor(number)

        batches = iter(torchport.loader(source(), DEVICE, depth=2, thread=thread))
        assert next(batches).item() == 0
        deadline = time.monotonic() + 10
        while len(fetched) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)  # a thread that did not stop would go on
        assert 3 <= len(fetched) <= 4, fetched  # one may be in the thread's hands
        assert [b.item() for b in batches] == list(range(1, 10))


def test_leaving_the_loop_ends_it() -> None:
    for options in ({}, {"num_workers": 2}):
        for batch in torchport.loader(numbers(**options), DEVICE, thread=True):
            assert batch["x"].device == DEVICE
            break
        del batch
        assert not is_thread_there()
    with pytest.raises(KeyError):
        for batch in torchport.loader(numbers(), DEVICE, thread=True):  # noqa: B007
            raise KeyError("of the program")
    del batch
    assert not is_thread_there()
    if DEVICE.type == "cuda":
        torch.cuda.synchronize(DEVICE)
        assert torch.cuda.memory_allocated(DEVICE) == 0


def test_errors_come_after_the_batches_before_them() -> None:
    for thread in (True, False):
        seen = []
        with pytest.raises(ValueError) as caught:
            for batch in torchport.loader(DataLoader(Numbers(5), 2), DEVICE, thread=thread):
                seen.append(batch["x"][0, 0].item())
        assert str(caught.value) == "sample 5 is broken"
        assert "__getitem__" in "".join(traceback.format_exception(caught.value))
        assert seen == [0.0, 2.0], seen
    with pytest.raises(
        ValueError, match="Caught ValueError in DataLoader worker process 0"
    ) as caught:
        list(torchport.loader(DataLoader(Numbers(5), 2, num_workers=1), DEVICE))
    assert "sample 5" in str(caught.value)
    assert not is_thread_there()


def test_random_numbers_are_those_of_a_plain_loop() -> None:
    def drawn(batches: object) -> list[float]:
        torch.manual_seed(3)
        return [float(b["x"].sum()) for b in batches for _ in [torch.rand(1)]]

    shuffled = numbers(shuffle=True)
    want = drawn(shuffled)
    assert drawn(torchport.loader(shuffled, DEVICE)) == want


def test_what_has_no_length_says_so() -> None:
    class Endless(IterableDataset):
        def __iter__(self):  # type: ignore[no-untyped-def]
            yield from (torch.tensor(n) for n in range(3))

    ours = torchport.loader(DataLoader(Endless(), batch_size=None), DEVICE)
    assert [t.item() for t in ours] == [0, 1, 2]
    with pytest.raises(TypeError, match="has no length"):
        len(torchport.loader((n for n in range(3)), DEVICE))
    with pytest.raises(ValueError, match="depth=0"):
        torchport.loader([], DEVICE, depth=0)
    with pytest.raises(AttributeError):
        ours.no_such_name  # noqa: B018


@on_a_gpu
def test_memory_is_kept_for_the_stream_that_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    monkeypatch.setattr(
        torch.Tensor, "record_stream", lambda tensor, stream: used.append((tensor, stream))
    )
    with torch.Stream(device=DEVICE) as mine:
        list(torchport.loader([{"a": torch.ones(1)}, Sample(torch.ones(1), "")], DEVICE))
    assert len(used) == 2 and all(stream == mine for _, stream in used), used
