"""Random kernels without races, in the language that is split into phases, as a program.

Each kernel writes its variables, and the program prints a number made of them for each launch. All
arithmetic is of unsigned integers, so a kernel has one right answer.
"""

from __future__ import annotations

import random

HEAD = """
#include <cstdio>
int *a, *b;
unsigned long long* out;
constexpr int kOut = 3 * 128 * 8;
template <class Launch>
void run(int kernel, int n, Launch launch) {
  for (int i = 0; i < kOut; ++i) out[i] = 77;
  launch();
  cudaError_t error = cudaDeviceSynchronize();
  unsigned long long sum = 0;
  for (int i = 0; i < kOut; ++i) sum = (sum ^ out[i]) * 1099511628211ull;
  std::printf("kernel %d, n %d: %llx %s\\n", kernel, n, sum, cudaGetErrorName(error));
}
"""
MAIN = """
int main() {
  cudaMallocManaged(&a, 512);
  cudaMallocManaged(&b, 512);
  cudaMallocManaged(&out, kOut * 8);
  for (int i = 0; i < 128; ++i) a[i] = i * 7 % 11, b[i] = i * 5 % 7;
"""


class Kernel:
    def __init__(self, number: int, choices: random.Random) -> None:
        self.number = number
        self.choices = choices
        self.block = choices.choice((32, 64, 96, 128))
        self.two_dimensions = choices.random() < 0.25
        self.variables: list[str] = []
        self.count = 0
        self.in_loop = False

    def one_of(self, *what: str) -> str:
        return self.choices.choice(what)

    def value(self, depth: int = 0) -> str:
        roll = self.choices.random()
        if depth > 2 or roll < 0.35:
            if self.variables and self.choices.random() < 0.7:
                return self.one_of(*self.variables)
            return self.one_of("lane", "t", "n", "warp", "3", "8", "a[t]", "a[t * 3 % 64]", "B")
        left, right = self.value(depth + 1), self.value(depth + 1)
        if roll < 0.8:
            return f"({left} {self.one_of('+', '-', '*')} {right})"
        if roll < 0.9:
            return f"(unsigned)min((int)({left}), (int)({right}))"
        return f"({self.condition()} ? {left} : {right})"

    def condition(self) -> str:
        return self.one_of(
            "lane < 16",
            "t % 3 > 0",
            "(t & 5) > 1",
            "a[t] > 2",
            f"{self.value(2)} > {self.value(2)}",
        )

    def of_warp(self) -> str:
        return self.one_of(
            "warp == 1",
            "t / 32 == 0",
            "warp > n",
            "t < 64",
            "b[warp] > 2",
            "warp + 1 < n && t < 96",
        )

    def shuffle(self) -> str:
        variable = self.one_of(*self.variables)
        width = self.one_of("", "", ", 32", ", 16", ", 8")
        form = self.one_of("", "_up", "_down", "_xor")
        lanes = ["1", "3", "n", "16", "7", *(["k"] if self.in_loop else [])]
        if form == "":
            lanes += ["lane ^ 1", "lane * 5 % 32"]
        return f"__shfl{form}_sync(0xffffffffu, {variable}, {self.one_of(*lanes)}{width})"

    def declaration(self, value: str) -> str:
        name = f"v{self.count}"
        self.count += 1
        kind = self.one_of("unsigned", "unsigned long long", "size_t")
        text = f"{kind} {name} = {value};\n"
        self.variables.append(name)
        return text

    def statements(self, depth: int, guarded: bool, count: int) -> str:
        known = len(self.variables)
        text = "".join(self.statement(depth, guarded) for _ in range(count))
        if depth > 0:
            del self.variables[known:]
        return text

    def statement(self, depth: int, guarded: bool) -> str:
        if not self.variables:
            return self.declaration(self.value())
        forms = [
            "declare",
            "change",
            "shuffle",
            "shuffle",
            "leave",
            "condition",
            "syncwarp",
            "grid",
        ]
        forms += [] if guarded else ["block"]
        forms += ["branch"] if depth < 3 else []
        forms += ["choice"] if depth < 2 and not guarded else []
        forms += ["loop"] if depth < 2 and not self.in_loop else []
        return getattr(self, f"make_{self.one_of(*forms)}")(depth, guarded)

    def make_declare(self, _depth: int, _guarded: bool) -> str:
        return self.declaration(self.value())

    def make_leave(self, _depth: int, _guarded: bool) -> str:
        return self.declaration(self.shuffle())

    def make_change(self, _depth: int, _guarded: bool) -> str:
        return f"{self.one_of(*self.variables)} {self.one_of('=', '+=', '-=')} {self.value()};\n"

    def make_shuffle(self, _depth: int, _guarded: bool) -> str:
        name = self.one_of(*self.variables)
        return self.one_of(
            f"{name} += {self.shuffle()};\n",
            f"{name} = {self.shuffle()} + {self.value()};\n",
            f"{name} = {name} * 2 - {self.shuffle()};\n",
        )

    def make_condition(self, _depth: int, _guarded: bool) -> str:
        return f"if ({self.condition()}) {self.one_of(*self.variables)} += {self.value()};\n"

    def make_syncwarp(self, _depth: int, _guarded: bool) -> str:
        return "__syncwarp();\n"

    def make_block(self, _depth: int, _guarded: bool) -> str:
        name = self.one_of(*self.variables)
        other = self.choices.randint(1, 70)
        return (
            f"s[t] = (int)({self.value()});\n__syncthreads();\n"
            f"{name} += s[(t + {other}) % B];\n__syncthreads();\n"
        )

    def make_branch(self, depth: int, _guarded: bool) -> str:
        count = self.choices.randint(1, 3)
        text = f"if ({self.of_warp()}) {{\n{self.statements(depth + 1, True, count)}}}"
        if self.choices.random() < 0.4:
            text += f" else {{\n{self.statements(depth + 1, True, 2)}}}"
        return text + "\n"

    def make_choice(self, depth: int, guarded: bool) -> str:
        condition = self.one_of("n > 2", "B > 32", "n % 2 == 0", "n < 3 && blockDim.x < 96")
        return f"if ({condition}) {{\n{self.statements(depth + 1, guarded, 2)}}}\n"

    def make_loop(self, depth: int, guarded: bool) -> str:
        self.in_loop = True
        body = self.statements(depth + 1, guarded, self.choices.randint(1, 3))
        self.in_loop = False
        head = f"int k = {self.one_of('0', '1', 'n % 2')}; k < {self.one_of('n', '3')}; "
        return f"for ({head}{self.one_of('++k', 'k += 2')}) {{\n{body}}}\n"

    def make_grid(self, _depth: int, _guarded: bool) -> str:
        name = self.one_of(*self.variables)
        first, index = self.one_of("t", "t + n", "warp * 40 + lane", "t * 3 - 50"), "int"
        if "-" not in first:
            index = self.one_of("int", "long", "size_t")
        bound = self.one_of("n", "200", "n * 30", "B * 2")
        step = self.one_of("blockDim.x", "B", "32", "gridDim.x * blockDim.x", "n + 20")
        body = self.one_of(
            f"{name} = {name} * 2 + (unsigned)i;",
            f"{name} += a[(unsigned)i % 64] * (unsigned)i;",
            f"{{ unsigned w = i * 2; if (w % 3 > 0) {name} -= w; else {name} += a[w % 64]; }}",
        )
        return f"for ({index} i = {first}; i < {bound}; i += {step}) {body}\n"

    def text(self) -> str:
        head = (
            f"template <int B>\n__global__ void k{self.number}(const int* a, const int* b, "
            "unsigned long long* out, int n) {\n__shared__ int s[128];\n"
        )
        if self.two_dimensions:
            head += "const int t = threadIdx.y * blockDim.x + threadIdx.x;\nint warp = t / 32;\n"
            head += "const int lane = t % 32;\n"
        else:
            head += "int t = threadIdx.x;\nconst int lane = t & 31, warp = t / 32;\n"
        if self.choices.random() < 0.25:
            head += f"if (warp >= {self.one_of('n', '2', '3')}) return;\n"
        body = self.statements(0, False, self.choices.randint(4, 9))
        ends = [
            f"out[(blockIdx.x * 128 + t) * 8 + {place}] = {name};\n"
            for place, name in enumerate(self.variables[:8])
        ]
        return f"{head}{body}{''.join(ends)}}}\n"

    def launches(self) -> str:
        block = f"dim3({self.block // 8}, 8)" if self.two_dimensions else f"{self.block}"
        launch = f"[&] {{ k{self.number}<{self.block}><<<3, {block}>>>(a, b, out, n); }}"
        return f"  for (int n = 0; n < 5; ++n) run({self.number}, n, {launch});\n"


def program(seed: int, count: int) -> str:
    """The source of a program with `count` kernels, each launched five times."""
    choices = random.Random(seed)
    kernels = [Kernel(number, choices) for number in range(count)]
    texts = "".join(kernel.text() for kernel in kernels)
    return HEAD + texts + MAIN + "".join(kernel.launches() for kernel in kernels) + "}\n"
