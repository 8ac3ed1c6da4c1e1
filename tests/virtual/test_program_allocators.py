"""Allocators that a program brings: CUDAPluggableAllocator, alone and for a MemPool."""

import ctypes
import gc
import subprocess
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")

MIB = 1 << 20
# Writes each call down: +bytes@device:stream for memory that was taken, - for what was given back.
SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
using Stream = void*;
static std::string told, copy;
static std::map<char*, size_t> live;
static int failing = 0;
static void tell(const char* format, long number, int device, Stream stream) {
  char text[100];
  snprintf(text, sizeof text, format, number, device, (long)stream);
  told += text;
}
extern "C" {
void* my_malloc(ssize_t size, int device, Stream stream) {
  if (failing) return nullptr;
  tell("+%ld@%d:%ld ", size, device, stream);
  char* data = (char*)malloc(size ? size : 1);
  live[data] = size;
  return data;
}
void my_free(void* data, ssize_t size, int device, Stream stream) {
  tell("-%ld@%d:%ld ", size, device, stream);
  live.erase((char*)data);
  free(data);
}
const char* calls() {
  copy.swap(told);
  told.clear();
  return copy.c_str();
}
int holds(char* data) {
  auto next = live.upper_bound(data);
  if (next == live.begin()) return 0;
  --next;
  return data < next->first + next->second;
}
void fail(int on) { failing = on; }
void reset() { told += "reset "; }
void fraction(double part, int device) {
  char text[100];
  snprintf(text, sizeof text, "fraction%g@%d ", part, device);
  told += text;
}
void record(void*, Stream stream) { told += "record:" + std::to_string((long)stream) + " "; }
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("allocator")
    source, built = folder / "allocator.cpp", folder / "allocator.so"
    source.write_text(SOURCE)
    subprocess.run(["c++", "-w", "-shared", "-fPIC", "-o", built, source], check=True)
    return str(built)


@pytest.fixture
def calls(library: str) -> ctypes.CDLL:
    calls = ctypes.CDLL(library)
    calls.calls.restype = ctypes.c_char_p
    calls.calls()
    return calls


def told(calls: ctypes.CDLL) -> list[str]:
    return calls.calls().decode().split()


def test_it_takes_the_place_of_the_caching_allocator(library: str, run_virtual) -> None:
    done = run_virtual(Path("pluggable_allocator.py"), args=[library])
    assert done.stdout == "done\n"


def test_a_used_allocator_is_not_swapped(library: str) -> None:
    torch.ones(1, device="cuda")
    own = torch.cuda.memory.CUDAPluggableAllocator(library, "my_malloc", "my_free")
    with pytest.raises(RuntimeError, match="Can't swap an already initialized allocator"):
        torch.cuda.memory.change_current_allocator(own)
    with pytest.raises(TypeError, match="No constructor defined"):
        torch._C._cuda_CUDAAllocator()
    with pytest.raises(AttributeError):
        torch.cuda.memory.CUDAPluggableAllocator(library, "missing", "my_free")


def test_a_pool_gets_its_segments_there(library: str, calls: ctypes.CDLL) -> None:
    own = torch.cuda.memory.CUDAPluggableAllocator(library, "my_malloc", "my_free")
    pool = torch.cuda.MemPool(own.allocator())
    assert pool.allocator is own.allocator() and pool.use_count() == 1
    before = torch.cuda.memory_reserved()
    with torch.cuda.use_mem_pool(pool):
        x = torch.ones(MIB // 4, device="cuda")
        assert told(calls) == [f"+{2 * MIB}@0:0"]
        y = x * 2
        assert told(calls) == []  # the rest of the segment
        z = torch.full((3 * MIB,), 7, device="cuda", dtype=torch.uint8)
        assert told(calls) == [f"+{20 * MIB}@0:0"]
    outside = torch.ones(MIB, device="cuda")
    assert told(calls) == []
    assert torch.cuda.memory_reserved() - before >= 22 * MIB
    assert [calls.holds(ctypes.c_void_p(t.data_ptr())) for t in (x, y, z, outside)] == [1, 1, 1, 0]
    assert y.data_ptr() - x.data_ptr() == MIB  # where the caching allocator puts it
    assert y.sum().item() == 2 * MIB // 4 and z[-1].item() == 7
    x[1:].fill_(3)
    assert x[:3].tolist() == [1.0, 3.0, 3.0] and y[0].item() == 2
    del x, y, z
    torch.cuda.empty_cache()
    assert told(calls) == []  # the pool is in use
    del pool
    gc.collect()
    assert sorted(told(calls)) == [f"-{20 * MIB}@0:0", f"-{2 * MIB}@0:0"]


def test_a_pool_whose_allocator_has_no_memory(library: str, calls: ctypes.CDLL) -> None:
    own = torch.cuda.memory.CUDAPluggableAllocator(library, "my_malloc", "my_free")
    pool = torch.cuda.MemPool(own.allocator())
    calls.fail(1)
    try:
        with (
            torch.cuda.use_mem_pool(pool),
            pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"),
        ):
            torch.ones(4, device="cuda")
    finally:
        calls.fail(0)


def test_functions_of_python_are_an_allocator() -> None:
    held = {}

    def take(size: int, device: int, stream: int | None) -> int:
        memory = ctypes.create_string_buffer(size)
        held[ctypes.addressof(memory)] = memory
        return ctypes.addressof(memory)

    def give(data: int, size: int, device: int, stream: int | None) -> None:
        del held[data]

    number, address = ctypes.c_size_t, ctypes.c_void_p
    functions = (
        ctypes.CFUNCTYPE(address, number, ctypes.c_int, address)(take),
        ctypes.CFUNCTYPE(None, address, number, ctypes.c_int, address)(give),
    )
    made = torch._C._cuda_customAllocator(*(ctypes.cast(f, address).value for f in functions))
    pool = torch.cuda.MemPool(made)
    with torch.cuda.use_mem_pool(pool):
        x = torch.arange(4, device="cuda")
    assert list(held) == [x.data_ptr()] and len(held[x.data_ptr()]) == 2 * MIB
    assert x.tolist() == [0, 1, 2, 3]
    del x, pool
    gc.collect()
    assert not held


MANAGED = """
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>
extern "C" void* take(size_t size, int device, void* stream) {
  void* data;
  C10_CUDA_CHECK(cudaMallocManaged(&data, size));
  return data;
}
extern "C" void give(void* data, size_t size, int device, void* stream) {
  C10_CUDA_CHECK(cudaFree(data));
}
"""


def test_one_that_is_compiled_with_cudas_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch.utils.cpp_extension import load_inline

    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    path = load_inline(
        "managed", MANAGED, with_cuda=True, is_python_module=False, no_implicit_headers=True
    )
    own = torch.cuda.memory.CUDAPluggableAllocator(path, "take", "give")
    pool = torch.cuda.MemPool(own.allocator())
    with torch.cuda.use_mem_pool(pool):
        x = torch.arange(5, device="cuda")
    assert (x + 1).tolist() == [1, 2, 3, 4, 5]
