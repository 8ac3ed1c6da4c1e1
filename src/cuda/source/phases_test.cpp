#include "cuda/source/phases.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "cuda/source/rewrite.h"

namespace torchport::cuda {

namespace {

std::string result_of(const std::string& text, bool split = true) {
  RewriteOptions options;
  options.split = split;
  const auto result = rewrite("# 1 \"/home/a.cu\"\n" + text, options);
  REQUIRE(result.has_value());
  CHECK(std::count(result->begin(), result->end(), '\n') ==
        std::count(text.begin(), text.end(), '\n') + 1);
  return *result;
}

bool is_split(const std::string& text) {
  return result_of(text).find("run_kernel_in_phases") != std::string::npos;
}

// A kernel with these statements before a barrier, and these behind it.
std::string kernel(const std::string& before,
                   const std::string& behind = "a[threadIdx.x] = s[0];") {
  return "__global__ void k(int* a, const float* b, int n, float f) { __shared__ int s[64];\n" +
         before + "\n__syncthreads();\n" + behind + "\n}";
}

}  // namespace

TEST_CASE("a kernel is split at its barriers, and keeps what its threads know") {
  const std::string text = result_of(kernel("int x = threadIdx.x; int v = a[x]; s[x] = v;"));
  CHECK(text.find("run_kernel_in_phases<torchport_kernel>(\"k\"") != std::string::npos);
  CHECK(text.find("__syncthreads") == std::string::npos);
  // The index is computed again, the value is kept.
  const std::string again =
      result_of(kernel("int x = threadIdx.x; int v = a[x]; s[x] = v;", "a[x] = v + s[x ^ 1];"));
  const std::string index = "int const x = threadIdx.x; ";
  const std::size_t first = again.find(index);
  REQUIRE(first != std::string::npos);
  CHECK(again.find(index, first + 1) != std::string::npos);
  CHECK(again.find("v = a[x];") != std::string::npos);
  CHECK(again.find("int  torchport_") != std::string::npos);
}

TEST_CASE("kernels that are split") {
  for (const std::string& text :
       {kernel("s[threadIdx.x] = a[threadIdx.x];"),
        kernel("float v = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) v += b[i];"
               "s[threadIdx.x] = (int)v;"),
        kernel("",
               "for (int k = blockDim.x / 2; k > 0; k >>= 1) { if (threadIdx.x < k) "
               "s[threadIdx.x] += s[threadIdx.x + k]; __syncthreads(); }"),
        kernel("",
               "if (blockDim.x >= 64) { s[threadIdx.x] = 1; __syncthreads(); } else if (n) "
               "{ __syncthreads(); } else { s[0] = 1; }"),
        kernel("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; s[0] = i;"),
        kernel("s[0] = 1;", "for (int i = 0; i < n; ++i) if (a[i]) return;"),
        kernel("const int m = 4; constexpr int q = 8; s[m] = q;"),
        kernel("unsigned x = threadIdx.x, y = threadIdx.y; s[x] = y;"),
        kernel("int v[4]; for (int i = 0; i < 4; ++i) v[i] = i;", "a[0] = 1;"),
        kernel("atomicAdd(&s[0], 1); s[1] = max(n, 2); s[2] = std::min(n, 3);"),
        kernel("for (int i = 0; i < n; ++i) atomicAdd(&s[i], 1);"),
        kernel("const float* p = b + threadIdx.x; s[0] = static_cast<int>(*p);"),
        kernel("#pragma unroll 4\nfor (int i = 0; i < 4; ++i) s[i] = i;"),
        kernel("__syncwarp();"),
        kernel("", "__syncwarp(0xff);"),
        kernel("int v = a[threadIdx.x]; v += __shfl_xor_sync(~0u, v, 1); s[0] = v;"),
        kernel("int v = n; const int o = __shfl_up_sync(~0u, v, 1, 16); s[0] = min(v, o);"),
        kernel("float v = 0; for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(~0u, v, k);"),
        kernel("int v = n; if (threadIdx.x < 32) v -= __shfl_sync(~0u, v, 0); else s[0] = v;"),
        kernel("int v = n; if (b[threadIdx.x] > f) { v -= __shfl_sync(~0u, v, 0); s[0] = v; }"),
        std::string("__global__ void k(int* a) { int v = a[threadIdx.x]; "
                    "v += __shfl_xor_sync(~0u, v, 1); a[threadIdx.x] = v; }"),
        std::string(
            "template <typename T, int N> __global__ void k(T* a, T x) { __shared__ T s[N]; "
            "T v = a[threadIdx.x] * x; s[threadIdx.x] = v; __syncthreads(); "
            "a[threadIdx.x] = s[N - 1 - threadIdx.x] + v; }")})
    CHECK_MESSAGE(is_split(text), text);
}

TEST_CASE("kernels that stay on fibers") {
  for (const std::string& text :
       {// Barriers that only some threads may reach.
        kernel("if (threadIdx.x < 32) { __syncthreads(); }"),
        kernel("int x = threadIdx.x; for (int i = 0; i < x; ++i) { __syncthreads(); }"),
        kernel("int x = a[threadIdx.x]; if (x) { __syncthreads(); }"),
        kernel("for (int i = 0; i < n; ++i) { __syncthreads(); i += threadIdx.x; }"),
        kernel("for (int i = 0; i < n; ++i) { __syncthreads(); if (s[i]) break; }"),
        kernel("while (true) { __syncthreads(); }"), kernel("do { __syncthreads(); } while (n);"),
        // What may wait, or do anything.
        kernel("f(a);"), kernel("s[0] = __syncthreads_or(n);"),
        kernel("s[0] = atomicCAS(&s[1], 0, 1);"), kernel("b->run();"),
        kernel("auto f = [&] { return 1; }; s[0] = f();"), kernel("asm volatile(\"\");"),
        kernel("goto end; end:;"), kernel("T<int>(n);"), kernel("(*f)(n);"),
        // Loops that wait for another thread.
        kernel("while (atomicAdd(a, 0) < n) {}"),
        kernel("do { s[0] += 1; } while (atomicOr(a, 0));"),
        kernel("for (int i = 0; atomicAdd(a, 0) < n; ++i) s[0] = i;"),
        kernel("int v = 0; while (v < n) v = atomicAdd(a, 0);"),
        kernel("for (;;) if (atomicAdd(a, 0) > n) return;"),
        // Variables that have no place in an array.
        kernel("T v; v = 1;"), kernel("auto v = b[0]; s[0] = v;"), kernel("int& v = s[0]; v = 1;"),
        kernel("auto&& v = n; v = 1;"), kernel("float4 v = c[0];"), kernel("struct S { int x; };"),
        kernel("volatile int v = 1;"), kernel("static int v;"), kernel("int v(3);"),
        kernel("int v{3};"), kernel("int v[n];"), kernel("const int m = sizeof(int);"),
        kernel("double v[64];"),
        // Parameters are one for all threads.
        kernel("n -= 1;"), kernel("a += threadIdx.x;"), kernel("++n;"),
        kernel("int* p = &n; *p = 1;"), kernel("(n) = 2;"),
        // A name that means something else at another place.
        kernel("s[0] = m; int m = 2; s[1] = m;"),
        kernel("for (int k = 0; k < n; ++k) { int m = 1; s[m] = k; __syncthreads(); } s[m] = 1;"),
        // The program's own function of a known name.
        "__device__ int max(int a, int b) { __syncthreads(); return a; }\n" +
            kernel("s[0] = max(n, 1);"),
        // No barrier: the loop over threads is there already.
        std::string("__global__ void k(int* a) { a[threadIdx.x] = 1; }")})
    CHECK_FALSE_MESSAGE(is_split(text), text);
  CHECK(result_of(kernel("s[0] = 1;"), false).find("in_phases") == std::string::npos);
}

TEST_CASE("shuffles that stay on fibers") {
  for (const std::string& text :
       {// Of what has no known type, or of something that changes meanwhile.
        kernel("s[0] = __shfl_sync(~0u, n, 0);"), kernel("s[0] = __shfl_sync(~0u, b[0], 0);"),
        kernel("int v = n; s[0] = __shfl_sync(~0u, v * 2, 0);"),
        kernel("int v = n; s[0] = __shfl_sync(~0u, v, v++);"),
        kernel("int v = n; s[0] = v = __shfl_sync(~0u, v, 0);"),
        kernel("int v = n; v = __shfl_sync(~0u, v, __shfl_sync(~0u, v, 0));"),
        // In a condition, or in a loop that each thread runs as often as it likes.
        kernel("int v = n; if (__shfl_sync(~0u, v, 0)) s[0] = 1;"),
        kernel("int v = n; for (int i = threadIdx.x; i < n; ++i) v += __shfl_sync(~0u, v, 0);"),
        kernel("int v = n; while (v) v = __shfl_sync(~0u, v, 0);"),
        kernel("int v = n; for (int i = 0; i < n; ++i) { v += __shfl_sync(~0u, v, 0); "
               "if (v > 9) break; }"),
        // What would be read or divided although no thread comes there.
        kernel("int v = n; if (threadIdx.x < n) for (int i = 0; i < a[0]; ++i) "
               "v += __shfl_sync(~0u, v, 0);"),
        kernel("int v = n; if (threadIdx.x < n) for (int i = 0; i < 9 / n; ++i) "
               "v += __shfl_sync(~0u, v, 0);"),
        // A barrier of the block in a branch of some threads.
        kernel("int v = n; if (threadIdx.x < 32) { v += __shfl_sync(~0u, v, 0); "
               "__syncthreads(); }"),
        // Other functions of a warp.
        kernel("s[0] = __ballot_sync(~0u, n);"), kernel("s[0] = __activemask();"),
        kernel("int v = n; v = __reduce_add_sync(~0u, v);")})
    CHECK_FALSE_MESSAGE(is_split(text), text);
}

TEST_CASE("loops over a grid run in rounds of all threads") {
  const std::string rounds = "torchport_round";
  for (const std::string head :
       {"int i = threadIdx.x; i < n; i += blockDim.x",
        "int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x",
        "size_t i = threadIdx.x; i < 100; i += 64", "long i = threadIdx.x * 4; i < n / 2; i += n"})
    CHECK_MESSAGE(
        result_of(kernel("for (" + head + ") a[i] = 1;")).find(rounds) != std::string::npos, head);
  for (const std::string loop :
       {// The neighbours of a thread's own part, all threads alike, each its own way.
        "for (int i = threadIdx.x * 8; i < n; i += 1) a[i] = 1;",
        "for (int i = 0; i < n; i += blockDim.x) a[i] = 1;",
        "for (int i = threadIdx.x; i < n; i += threadIdx.x + 1) a[i] = 1;",
        "for (int i = threadIdx.x; i < n + threadIdx.x; i += blockDim.x) a[i] = 1;",
        "for (int i = threadIdx.x; i < a[0]; i += blockDim.x) s[i] = 1;",
        "for (unsigned i = threadIdx.x; i < n; i += blockDim.x) a[i] = 1;",
        "for (int i = threadIdx.x; i <= n; i += blockDim.x) a[i] = 1;",
        "for (int i = threadIdx.x; i < 9 / n; i += blockDim.x) a[i] = 1;",
        // Something in the body depends on the order, or leaves.
        "for (int i = threadIdx.x; i < n; i += blockDim.x) { a[i] = 1; i += 2; }",
        "for (int i = threadIdx.x; i < n; i += blockDim.x) if (a[i]) break;",
        "for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(a, i);",
        "for (int i = threadIdx.x; i < n; i += blockDim.x) printf(\"%d\", i);"}) {
    const std::string text = result_of(kernel(loop));
    CHECK_MESSAGE(text.find("in_phases") != std::string::npos, loop);
    CHECK_MESSAGE(text.find(rounds) == std::string::npos, loop);
  }
}

TEST_CASE("what is not the same in each phase is kept") {
  for (const std::string value : {"a[0]", "s[0]", "mutable_number", "1.5f", "*a", "n++", "f"}) {
    const std::string text = result_of("int mutable_number = 3;\n" +
                                       kernel("int v = " + value + "; s[0] = v;", "a[0] = v;"));
    if (value == "n++") {
      CHECK(text.find("in_phases") == std::string::npos);
      continue;
    }
    CHECK_MESSAGE(text.find("v = " + value + "; ") != std::string::npos, text);
    CHECK_MESSAGE(text.find("auto& v = torchport_") != std::string::npos, text);
  }
  // A constant of a namespace and an index that is changed.
  CHECK(result_of("constexpr int kSide = 3;\n" + kernel("int v = kSide * 2; s[0] = v;"))
            .find("int const v = kSide * 2;") != std::string::npos);
  CHECK(result_of(kernel("int v = threadIdx.x; v += 2; s[0] = v;")).find("auto& v = torchport_") !=
        std::string::npos);
}

TEST_CASE("a phase looks at the threads of a row that its condition may let pass") {
  const auto most = [](const std::string& statement) {
    const std::string text =
        result_of(kernel("const int t = threadIdx.x; s[t] = 0;", statement + " __syncthreads();"));
    REQUIRE(text.find("run_kernel_in_phases") != std::string::npos);
    const std::string begin = "const unsigned torchport_most = ";
    const std::size_t at = text.rfind(begin) + begin.size();
    return text.substr(at, text.find(';', at) - at);
  };
  const std::string below = "::torchport::cuda::threads_below";
  CHECK(most("if (threadIdx.x < n) s[t] = 1;") == below + "<unsigned>(blockDim.x, n)");
  CHECK(most("if (t < n / 2 && a[t] > 3) s[t] = 1;") == below + "<int>(blockDim.x, n / 2)");
  CHECK(most("if (threadIdx.x == 0) { s[t] = 1; }") == "1U");
  for (const std::string text :
       {"if (threadIdx.x < n) s[t] = 1; else s[t] = 2;",
        "if (threadIdx.x < n) s[t] = 1; s[t] += 1;", "s[t] += 1; if (threadIdx.x < n) s[t] = 1;",
        "if (threadIdx.x < n || t > 60) s[t] = 1;",
        "if (threadIdx.x < n ? t > 3 : t > 60) s[t] = 1;", "if (threadIdx.x <= n) s[t] = 1;",
        "if (threadIdx.x << 1 < n) s[t] = 1;", "if (threadIdx.x < a[3]) s[t] = 1;",
        "if (threadIdx.x < f) s[t] = 1;", "if (threadIdx.x < 8 / n) s[t] = 1;",
        "if (threadIdx.x == 1) s[t] = 1;", "if (t < t / 2 + 1) s[t] = 1;",
        "if (threadIdx.x == 0 | t > 60) s[t] = 1;"})
    CHECK_MESSAGE(most(text) == "blockDim.x", text);
}

}  // namespace torchport::cuda
