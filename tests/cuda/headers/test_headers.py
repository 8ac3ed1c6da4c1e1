"""The toolkit's headers of the language: by themselves with g++, and against what a real GPU printed."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import recorded  # noqa: E402

INCLUDE = recorded.ROOT / "src" / "cuda" / "toolkit" / "include"
HEADERS = [
    "crt/host_defines.h",
    "vector_types.h",
    "vector_functions.h",
    "library_types.h",
    "math_constants.h",
    "cuComplex.h",
    "device_types.h",
    "builtin_types.h",
    "device_functions.h",
    "device_atomic_functions.h",
    "device_launch_parameters.h",
    "common_functions.h",
    "crt/common_functions.h",
    "host_config.h",
    "crt/host_config.h",
    "cuda_stdint.h",
    "math_functions.h",
    "sm_20_atomic_functions.h",
    "sm_32_atomic_functions.h",
    "sm_35_atomic_functions.h",
    "sm_60_atomic_functions.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "cuda_fp8.h",
    "cuda_fp6.h",
    "cuda_fp4.h",
    "curand.h",
    "curand_kernel.h",
    "cuda_pipeline.h",
    "mma.h",
]


# A toolkit has the bodies of some headers beside them, and programs name either.
BODIES = [
    "device_atomic_functions",
    "sm_20_atomic_functions",
    "sm_20_intrinsics",
    "sm_30_intrinsics",
    "sm_32_atomic_functions",
    "sm_32_intrinsics",
    "sm_60_atomic_functions",
    "sm_61_intrinsics",
    "vector_functions",
    "cuda_fp16",
    "cuda_bf16",
    "cuda_fp8",
    "cuda_fp6",
    "cuda_fp4",
    "crt/device_functions",
    "crt/device_double_functions",
    "crt/math_functions",
    "crt/mma",
]
HEADERS += [f"{name}.hpp" for name in BODIES]


def gcc(*words: str | Path) -> str:
    command = ["g++", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_headers_compile_without_warnings(tmp_path: Path, standard: str) -> None:
    source = tmp_path / "all.cpp"
    source.write_text("".join(f'#include "{name}"\n' for name in HEADERS))
    gcc(f"-std={standard}", "-fsyntax-only", source)


def test_headers_compile_alone(tmp_path: Path) -> None:
    for name in HEADERS:
        source = tmp_path / "one.cpp"
        source.write_text(f'#include "{name}"\n')
        gcc("-std=c++17", "-fsyntax-only", source)


def test_no_operators_of_half_where_torch_asks_for_none(tmp_path: Path) -> None:
    source = tmp_path / "none.cpp"
    source.write_text(
        '#include "cuda_bf16.h"\n#include <type_traits>\n'
        "static_assert(!std::is_convertible_v<float, __half>);\n"
        "static_assert(!std::is_convertible_v<__half, float>);\n"
        "template <class T, class = void> struct Adds : std::false_type {};\n"
        "template <class T> struct Adds<T, std::void_t<decltype(T() + T())>> : std::true_type {};\n"
        "static_assert(!Adds<__half>::value && !Adds<__half2>::value && Adds<__nv_bfloat162>::value);\n"
    )
    words = ["HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS"]
    gcc("-std=c++17", "-fsyntax-only", *(f"-D__CUDA_NO_{word}__" for word in words), source)


def test_numbers_of_both_ways_to_convert_halves(tmp_path: Path) -> None:
    said = []
    for name, flags in (("portable", []), ("f16c", ["-mavx2", "-mfma", "-mf16c"])):
        program = tmp_path / name
        gcc("-std=gnu++17", "-O1", *flags, "-o", program, HERE / "numbers.cpp")
        done = subprocess.run([program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        said.append(done.stdout)
    assert said[0] == said[1]


def answer(name: str) -> dict[str, str]:
    return next(value for _, title, value in recorded.answers() if title == name)


def words_that_differ(real: str | None, ours: str | None) -> list[tuple[str, str]]:
    one, other = (real or "").split(), (ours or "").split()
    assert len(one) == len(other), (real, ours)
    return [(a, b) for a, b in zip(one, other, strict=True) if a != b]


def test_instructions_of_ptx(tmp_path: Path) -> None:
    program = tmp_path / "instructions"
    source = HERE / "instructions.cu"
    command = [recorded.TORCHPORT, "nvcc", "-w", "-O0", "-std=c++17", source, "-o", program]
    subprocess.run(command, check=True, timeout=300)
    found = recorded.run(program, "")
    assert found == {"cudaSuccess": "0 of 1348 wrong"}


def test_an_instruction_that_is_not_there_is_refused_where_it_runs(tmp_path: Path) -> None:
    source, program = tmp_path / "a.cu", tmp_path / "a"
    source.write_text(
        "#include <cstdio>\n__global__ void k(int n) {\n"
        'if (n > 1) asm volatile("wgmma.fence.sync.aligned;");\n}\n'
        "int main(int count, char**) { k<<<1, 1>>>(count);\n"
        'printf("waited: %s\\n", cudaGetErrorName(cudaDeviceSynchronize())); }\n'
    )
    command = [recorded.TORCHPORT, "nvcc", source, "-o", program]
    subprocess.run(command, check=True, timeout=300)
    assert recorded.run(program, "") == {"waited": "cudaSuccess"}
    environment = dict(os.environ, TORCHPORT_VIRTUAL="cuda:1,profile=h100-80g")
    done = subprocess.run(
        [program, "reached"], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "waited: cudaErrorLaunchFailure\n"
    said = "the PTX instruction `wgmma.fence.sync.aligned` is not available on virtual devices"
    assert f"{said} ({source}:3)" in done.stderr


def test_halves(tmp_path: Path) -> None:
    found = recorded.run(recorded.build("half_functions", ["-O0"], tmp_path), "")
    different = {name for name, value in answer("half_functions").items() if found[name] != value}
    # The first is contracted by ptxas; tanh.approx is the unit's own table; the last two convert floats
    # that no int holds.
    known = {"x * y + z", "htanh_approx(x)", "htanh_approx(x) (2)"}
    known |= {name for name in different if name.startswith(("__int2half", "__int2bfloat16"))}
    assert different <= known


def test_random_numbers(tmp_path: Path) -> None:
    found = recorded.run(recorded.build("random_numbers", ["-O0"], tmp_path), "")
    for name, value in answer("random_numbers").items():
        different = words_that_differ(value, found[name])
        if name.endswith(" after"):
            # Numbers of Poisson with means of 64 to 4000, and what is drawn after them.
            assert not words_that_differ(
                " ".join(value.split()[:14]), " ".join(found[name].split()[:14])
            )
            assert not words_that_differ(
                " ".join(value.split()[22:]), " ".join(found[name].split()[22:])
            )
        elif "floats" in name:
            # Sines of normal numbers are approximations.
            assert all(
                abs(number(a) - number(b)) <= 2e-5 * max(1, abs(number(a))) for a, b in different
            ), name
        elif "doubles" in name:
            assert all(abs(int(a, 16) - int(b, 16)) <= 4 for a, b in different), name
        else:
            assert not different, name


def number(word: str) -> float:
    return float(struct.unpack(">f", bytes.fromhex(word))[0])


def steps(a: str, b: str) -> int:
    """Floats or doubles between two, by their bits; NaNs are one."""
    top = 1 << (4 * len(a) - 1)
    infinity = {8: 0x7F800000, 16: 0x7FF0000000000000}[len(a)]
    x, y = int(a, 16), int(b, 16)
    if x & (top - 1) > infinity and y & (top - 1) > infinity:
        return 0
    return abs((x if x < top else top - x) - (y if y < top else top - y))


# What the hardware approximates, or the C library computes differently near zeros of the function; casts
# are the compiler's.
OTHERS = (
    "__sinf",
    "__cosf",
    "__tanf",
    "__log",
    "__tanhf",
    "__sincosf",
    "j0",
    "j1",
    "y0",
    "y1",
    "lgamma",
    "(",
    "l",
)


@pytest.mark.parametrize("name", ["float_functions", "double_functions"])
def test_functions_within_few_steps(tmp_path: Path, name: str) -> None:
    found = recorded.run(recorded.build(name, ["-O0"], tmp_path), "")
    wrong = []
    for line, value in answer(name).items():
        if line.startswith(OTHERS) or line in ("x * y + z", "remquof quotient", "frexpf exponent"):
            continue
        pairs = zip(value.split(), found[line].split(), strict=True)
        # Number 32 is 16777217, which nvcc reads as another float than GCC.
        far = [
            (i, a, b) for i, (a, b) in enumerate(pairs) if i != 32 and a != b and steps(a, b) > 4
        ]
        if far:
            wrong.append((line, far))
    assert not wrong
