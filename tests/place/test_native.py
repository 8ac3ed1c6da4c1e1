"""The native parts: no file of them knows a Python, and nothing sees the calls into them."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import subprocess
import sys
import threading
import time
import weakref
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torchport._native import call
from torchport._native.checkpoints import (
    LoadReport,
    Mismatch,
    load_tensors,
    plan_load,
    save_safetensors,
    summarize,
    wrapped_attributes,
)
from torchport._native.devices import choose_device, free_memory, parse_size, run_profile
from torchport._native.observing import (
    Observation,
    ObservedThread,
    frames_of_location,
    storage_number,
    tensor_number,
)

pytestmark = [pytest.mark.devices(None), pytest.mark.usefixtures("own_folder")]

CPU = torch.device("cpu")


@pytest.fixture
def libraries(runtime_folder: Path) -> list[Path]:
    found = sorted(runtime_folder.glob("lib*.so"))
    assert len(found) == 5
    return found


def output(*words: object) -> str:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout


def test_no_library_needs_a_python(libraries) -> None:
    for library in libraries:
        needed = [
            line for line in output("readelf", "-d", library).splitlines() if "NEEDED" in line
        ]
        assert any("libc10" in line for line in needed), library
        assert not [line for line in needed if "python" in line], library
        undefined = output("nm", "-D", "--undefined-only", library).split()
        assert not [name for name in undefined if name.startswith(("Py", "_Py"))], library


def test_this_torch_has_the_wrappers() -> None:
    for name, attribute in wrapped_attributes().items():
        module, _, kind = name.rpartition(".")
        assert issubclass(getattr(import_module(module), kind), torch.nn.Module), name
        assert attribute.isidentifier(), name


class CountedFunctions(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class CountedOperators(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def use_everything() -> None:
    """Calls every function, with a tensor where one is taken."""
    weight = torch.Tensor._make_subclass(torch.nn.Parameter, WEIGHT)
    save_safetensors("net.safetensors", [("weight", weight)], [("by", "a test")])
    form, named = load_tensors("net.safetensors", CPU, map=True)
    assert form == "safetensors" and [name for name, _ in named] == ["weight"]
    assert summarize("net.safetensors").format == "safetensors"
    assert plan_load([("weight", weight)], named, False, [])[1].complete
    assert choose_device("cpu").device == CPU and free_memory(CPU) > 0
    assert parse_size("2KiB") == 2048 and run_profile() is None
    assert tensor_number(weight) and storage_number(weight) == storage_number(WEIGHT)
    assert frames_of_location(0) == frames_of_location(1 << 31) == []


WEIGHT = torch.ones(2, 3)


def test_modes_do_not_see_the_calls() -> None:
    with CountedFunctions() as functions, CountedOperators() as operators:
        use_everything()
    assert not [name for name in functions.seen + operators.seen if "torchport" in name]
    with FakeTensorMode():
        fake = torch.ones(2)
        assert choose_device("cpu").device == CPU
        assert tensor_number(fake) and summarize("nothing.pt").fault
        Observation([]).finish()
    with torch.device("meta"):
        assert load_tensors("net.safetensors", CPU, map=True)[1][0][1].device == CPU


def test_a_trace_does_not_see_the_calls() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        assert tensor_number(x)
        return x.to(choose_device("cpu").device) * 2

    traced = torch.jit.trace(scaled, torch.ones(2))
    assert "torchport" not in str(traced.graph)
    assert torch.vmap(scaled)(torch.ones(2, 2)).tolist() == [[2, 2], [2, 2]]


def test_observations_do_not_see_the_calls() -> None:
    observation = Observation([], every_place=True)
    torch.ones(2)
    before = use_everything_within(observation)
    observed = observation.finish()
    operators = {result.call.op for result in observed.intermediates}
    assert "aten::ones" in operators, operators
    assert not [op for op in operators if not op.startswith("aten::")], operators
    assert before == [False, False] and observed.mixed is None


def use_everything_within(observation: Observation) -> list[bool]:
    """What the operators themselves are told on a thread that joined and on one that did not."""
    told = []
    own = ObservedThread.current()

    def elsewhere(join: bool) -> None:
        if join:
            own.join()
        assert observation.watches_this_thread() == join
        assert observation.enter(1) == join
        torch.ops.torchport.parse_size("1KiB")  # through the dispatcher, as any operator
        use_everything()
        assert observation.leave() == join
        told.append(observation.leave())

    for join in (True, False):
        thread = threading.Thread(target=elsewhere, args=(join,))
        thread.start()
        thread.join()
    return told


def test_two_observations_share_their_places() -> None:
    outer = Observation([str(Path(torch.__file__).parent)])
    inner = Observation(["nothing"])
    torch.ones(3)
    of_inner = inner.finish().intermediates[0]
    of_outer = outer.finish().intermediates[0]
    assert of_inner.call.place == of_outer.call.place != 0
    del inner
    (frame, *_) = frames_of_location(of_outer.call.place)
    assert frame.file == __file__ and frame.line == frame.end_line
    text = Path(__file__).read_text().splitlines()[frame.line - 1]
    assert text.encode()[frame.column : frame.end_column] == b"torch.ones(3)"
    code = ctypes.cast(frame.code, ctypes.py_object).value
    assert code is test_two_observations_share_their_places.__code__
    (line,) = [n for start, end, n in code.co_lines() if start <= frame.instruction < end]
    assert line == frame.line
    del outer
    gc.collect()
    assert frames_of_location(of_outer.call.place) == []


def test_an_observation_is_one_object() -> None:
    observation = Observation([])
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            duplicate(observation)
    observation.finish()
    with pytest.raises(RuntimeError, match="finish\\(\\) was called twice on one Observation"):
        observation.finish()


def test_an_observation_that_nobody_finishes_ends_with_its_object() -> None:
    abandoned = Observation([])
    assert abandoned.watches_this_thread()
    ended = weakref.ref(abandoned)
    del abandoned
    gc.collect()
    following = Observation([])
    torch.ones(2)
    assert ended() is None and following.finish().operators == 1


AT_THE_END = """
import threading, time, torch
from torchport._native.observing import Observation, ObservedThread
observation = Observation([])
own = ObservedThread.current()
def hooks():
    own.join()
    while True:
        observation.enter(1)  # no operator: torch itself ends badly if one runs now
        observation.leave()
threading.Thread(target=hooks, daemon=True).start()
time.sleep(0.3)
print("the end")
"""


def test_the_interpreter_ends_while_a_thread_is_watched() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", AT_THE_END], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "the end\n", "")


def test_errors_are_those_of_python_and_have_no_stack_of_cpp() -> None:
    cases = [
        (ValueError, lambda: parse_size("much")),
        (ValueError, lambda: choose_device("toaster")),
        (RuntimeError, lambda: choose_device("mps")),
        (ValueError, lambda: run_profile("nobody")),
        (RuntimeError, lambda: load_tensors("nothing.pt", CPU, map=True)),
        (ValueError, lambda: save_safetensors("a", [("x", WEIGHT), ("x", WEIGHT)], [])),
        (RuntimeError, lambda: save_safetensors("no/folder/a", [("x", WEIGHT)], [])),
        (ValueError, lambda: call("plan_load", '[["a", [1], "int17"]]', "[]", False, "[]")),
    ]
    for kind, wrong in cases:
        with pytest.raises(kind) as caught:
            wrong()
        assert type(caught.value) is kind
        text = str(caught.value)
        assert text.startswith("torchport") and "raised from" not in text, text


def test_python_runs_while_a_file_is_read() -> None:
    large = torch.zeros(64 << 20, dtype=torch.uint8)
    save_safetensors("large.safetensors", [("x", large)], [])
    turns, done = 0, False

    def count() -> None:
        nonlocal turns
        while not done:
            turns += 1
            time.sleep(1e-4)

    thread = threading.Thread(target=count)
    thread.start()
    before = turns
    load_tensors("large.safetensors", CPU, map=False)
    during = turns - before
    done = True
    thread.join()
    assert during > 0


def test_a_report_is_a_value() -> None:
    plan = plan_load([("a", torch.ones(2)), ("b", WEIGHT)], [("a", torch.ones(3))], False, [])
    pairs, report = plan
    assert pairs == [(0, 0)] and not report.complete and report.missing == ["b"]
    assert report.shapes == [Mismatch("a", "[2]", "[3]")]
    assert str(report).strip() and isinstance(report, LoadReport)
    assert pickle.loads(pickle.dumps(report)) == report
