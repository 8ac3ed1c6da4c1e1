#include "cuda/source/rewrite.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

namespace torchport::cuda {

namespace {

std::string rewritten(std::string_view text, RewriteOptions options = {}) {
  options.contract = false;
  const auto result = rewrite(text, options);
  REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().message));
  CHECK(std::count(result->begin(), result->end(), '\n') ==
        std::count(text.begin(), text.end(), '\n'));
  return *result;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a launch becomes a call behind its configuration") {
  CHECK(rewritten("void h() { k<<<g, b>>>(x, y); }") ==
        "void h() { (!::torchport::cuda::configure(g, b) ? (void)0 : (void)k(x, y)); }");
}

TEST_CASE("what is called before <<< may be any expression of a kernel") {
  for (const std::string callee :
       {"k", "a::k", "::a::k", "k<T>", "a::k<T, (1 > 2)>", "k<a<b<int>>, 3>", "A<T>::template k<U>",
        "o.k", "p->k", "(k)", "table[i]", "f(x)", "o.f(x)[2]", "A<sizeof(T)>::k"}) {
    const std::string text = rewritten("void h() { if (c) " + callee + "<<<g, b>>>(x); }");
    CHECK_MESSAGE(
        text == "void h() { if (c) (!::torchport::cuda::configure(g, b) ? (void)0 : (void)" +
                    callee + "(x)); }",
        text);
  }
}

TEST_CASE("clock() is the one of where it runs") {
  CHECK(contains(rewritten("__global__ void k(long* y) { *y = clock(); }"),
                 "= ::torchport::cuda::clock_here();"));
  CHECK(contains(rewritten("__device__ long f() { return clock (); }"),
                 "return ::torchport::cuda::clock_here ();"));
  for (const std::string text :
       {"__device__ long f(T t) { return t.clock(); }", "long f(T* t) { return t->clock(); }",
        "long f() { return std::clock(); }",
        "double clock() { return 1; } double f() { return clock(); }",
        "void f(double (*clock)()) { clock; }"})
    CHECK_FALSE_MESSAGE(contains(rewritten(text), "clock_here"), text);
}

TEST_CASE("a device function that no file has may be missing") {
  CHECK(contains(rewritten("extern \"C\" __device__ void only_on_sm_80();"), "weak"));
  CHECK_FALSE(contains(rewritten("extern \"C\" __device__ void f() { g(); }"), "weak"));
  CHECK_FALSE(contains(rewritten("extern \"C\" __host__ __device__ void f();"), "weak"));
  CHECK_FALSE(contains(rewritten("__device__ void f();"), "weak"));
  RewriteOptions linked;
  linked.relocatable = true;
  CHECK_FALSE(contains(rewritten("extern \"C\" __device__ void f();", linked), "weak"));
}

TEST_CASE("a launch over several lines keeps them, and its line markers") {
  const std::string text =
      rewritten("void h() {\n  k<<<g,\n# 3 \"a.cu\"\n      f(1, 2)>>>\n  (x,\n  y);\n}\n");
  CHECK(contains(text, "configure(g,        f(1, 2)) ? (void)0 : (void)k"));
}

TEST_CASE("what only looks like a launch stays") {
  for (const std::string text :
       {"const char* s = \"k<<<1, 2>>>(x)\";", "auto s = R\"(k<<<1>>>(x))\";",
        "bool b = x.operator<<<char>(y);", "int a = 1 << 2;", "a<b<c<int>>> x;"})
    CHECK(rewritten(text) == text);
}

TEST_CASE("a launch that is not whole is refused with its line") {
  for (const std::string text :
       {"void h() {\nk<<<1, 2; }", "void h() {\nk<<<1, 2>>>; }", "void h() {\n<<<1, 2>>>(x); }"}) {
    const auto result = rewrite("# 10 \"a.cu\"\n" + text, {});
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().path == "a.cu");
    CHECK(result.error().line == 11);
  }
}

TEST_CASE("a kernel runs its body for each thread") {
  const std::string text =
      rewritten("__global__ void k(const float* x, int n) { x[threadIdx.x]; }");
  CHECK(contains(text, "void k(const float* x, int n) { if (void** torchport_values"));
  CHECK(contains(text, "load_arguments(torchport_values, x, n)"));
  CHECK(contains(text, "(\"k\", [=](const ::uint3 threadIdx"));
  CHECK(contains(text, "{  x[threadIdx.x]; }}, ::torchport::cuda::Bounds());}"));
}

TEST_CASE("a kernel's parameters are found by their names") {
  const auto loads = [](const std::string& parameters) {
    const std::string text =
        rewritten("template <class... A> __global__ void k(" + parameters + ") {}");
    const std::size_t begin = text.find("torchport_values", text.find("load_arguments")) + 16;
    return text.substr(begin, text.find(')', begin) - begin);
  };
  CHECK(loads("") == "");
  CHECK(loads("void") == "");
  CHECK(loads("int") == ", ::torchport::cuda::Unnamed(");
  CHECK(loads("const int n, a::b<c, d> e") == ", n, e");
  CHECK(loads("unsigned long long n, float (*f)(int, int)") == ", n, f");
  CHECK(loads("T x = f(1, 2), A... rest") == ", x, rest...");
  CHECK(loads("std::array<T, (N > 3)> v") == ", v");
}

TEST_CASE("kernels are found behind their attributes, in templates and classes") {
  for (const std::string head :
       {"__global__ void __launch_bounds__(256, 2) ", "__launch_bounds__(256) __global__ void ",
        "extern \"C\" __global__ void ", "template <class T> static __global__ void ",
        "struct S { static __global__ void ", "__global__ __attribute__((used)) void "}) {
    const std::string text = rewritten(head + "k(int n) { }");
    CHECK_MESSAGE(contains(text, "(\"k\", [=]"), text);
    CHECK_FALSE(contains(text, "__launch_bounds__"));
  }
  CHECK(rewritten("template __global__ void k<int>(int);") == "template  void k<int>(int);");
}

TEST_CASE("the place of a thread is asked for outside of kernels") {
  CHECK(contains(rewritten("__device__ int f() { return threadIdx.x; }"),
                 "return (::torchport::cuda::thread_index()).x;"));
  CHECK(contains(rewritten("__device__ int f() { return ::blockDim.x; }"),
                 "return (::torchport::cuda::block_size()).x;"));
  // Variables and members of that name are the program's.
  CHECK(rewritten("struct S { int blockIdx; };") == "struct S { int blockIdx; };");
  CHECK(rewritten("int f(S s) { return s.blockIdx; }") == "int f(S s) { return s.blockIdx; }");
}

TEST_CASE("a variable with the name of a place of the grid is the program's where it is declared") {
  for (const char* own : {
           "void f() { dim3 blockDim, gridDim; blockDim.x = 32; gridDim.y = blockDim.x; }",
           "void f() { dim3 blockDim(1), gridDim{2}; g(blockDim.x, gridDim.x); }",
           "void f(const dim3& gridDim, dim3 *blockDim) { gridDim.x + blockDim->x; }",
           "void f(dim3 gridDim);",
           "struct S { int2 threadIdx; int f() { return threadIdx.x; } };",
           "void f() { for (int2 blockIdx = z; blockIdx.x < 3;) { blockIdx.x++; } }",
           "void f() { std::vector<int2> threadIdx(3); threadIdx[0]; }",
       })
    CHECK(rewritten(own) == own);
  // Not before it, not behind its block, not of another namespace, and no other name.
  const std::string text = rewritten(
      "int f() { int a = blockDim.x; { dim3 blockDim; a += blockDim.y; } return blockDim.z + "
      "::blockDim.x; } int g() { return g(gridDim.x, blockDim.y); }");
  CHECK(contains(text,
                 "int a = (::torchport::cuda::block_size()).x; { dim3 blockDim; a += "
                 "blockDim.y; } return (::torchport::cuda::block_size()).z"));
  CHECK(
      contains(text, "g((::torchport::cuda::grid_size()).x, (::torchport::cuda::block_size()).y)"));
  CHECK(contains(rewritten("void f() { dim3 blockDim; ::blockDim.x; }"), "block_size()).x"));
  CHECK(contains(rewritten("int f() { return a, blockDim.x; }"),
                 "a, (::torchport::cuda::block_size"));
  CHECK(contains(rewritten("extern dim3 blockDim; int f() { return blockDim.x; }"),
                 "block_size()).x"));
}

TEST_CASE("lambdas of a kernel that name what they capture ask, too") {
  const std::string text = rewritten(
      "__global__ void k() { auto f = [n](int i) { return threadIdx.x; }; auto g = [&] { return "
      "threadIdx.x; }; struct S { int f() { return blockIdx.x; } }; }");
  CHECK(contains(text, "[n](int i) { return (::torchport::cuda::thread_index()).x; }"));
  CHECK(contains(text, "[&] { return threadIdx.x; }"));
  CHECK(contains(text, "return (::torchport::cuda::block_index()).x;"));
}

TEST_CASE("shared memory belongs to the thread of the host that runs a block") {
  CHECK(contains(rewritten("__global__ void k() { __shared__ float s[2][3]; }"),
                 "static thread_local float s[2][3];"));
  CHECK(
      contains(rewritten("__global__ void k() { extern __shared__ __align__(16) char s[]; }"),
               " char (&s)[] = "
               "reinterpret_cast<decltype(s)>(::torchport::cuda::torchport_cuda_dynamic_shared);"));
  // Outside of functions the linker's name does it.
  CHECK(contains(rewritten("extern __shared__ float s[]; __global__ void k() {}"),
                 "extern __thread float s[] __asm__(\"torchport_cuda_dynamic_shared\");"));
}

TEST_CASE("each shared variable of a declaration is counted, and told to a checker") {
  RewriteOptions options;
  options.check = true;
  const std::string text = rewritten(
      "__global__ void k() { __shared__ int a, b[2], c; __shared__ Pair<int, 3> d; }", options);
  for (const char* name : {"a", "b", "c", "d"}) {
    CHECK(contains(text, std::string("note_shared(") + name + ", \"" + name + "\");"));
    CHECK(contains(text, std::string("sizeof(") + name + ")>::counted;"));
  }
  CHECK_FALSE(contains(text, "note_shared(int"));
}

TEST_CASE("a checker is told of copies, of the heap and of arguments") {
  RewriteOptions options;
  options.check = true;
  const std::string text = rewritten(
      "__global__ void k(int* x, int) { std::memcpy(x, x + 1, 4); if (x) delete x; x = new int; }",
      options);
  CHECK(contains(text, "note_arguments(::torchport::cuda::noted(\"x\", x));"));
  CHECK(contains(text, " ::torchport::cuda::checked_memcpy(x, x + 1, 4);"));
  CHECK(contains(text,
                 "if (x) { const volatile void* torchport_gone = x; delete x; "
                 "::torchport::cuda::forget_new(torchport_gone); }"));
  CHECK(contains(text, "x = new (::torchport::cuda::KernelHeap()) int;"));
  // Not in the host's code.
  CHECK(rewritten("int f(int* x) { delete x; memcpy(x, x, 4); }", options) ==
        "int f(int* x) { delete x; memcpy(x, x, 4); }");
}

TEST_CASE("device code of a file has internal linkage, but for -rdc=true") {
  CHECK(rewritten("__constant__ float c[4];").starts_with(" static float c[4]; static const bool"));
  CHECK(rewritten("__device__ A& operator=(B);") == " static A& operator=(B);");
  CHECK(rewritten("__device__ std::enable_if_t<N == 2, T> f(int);") ==
        " static std::enable_if_t<N == 2, T> f(int);");
  CHECK(rewritten("__device__ int f(int x) { return x; }") == " static int f(int x) { return x; }");
  CHECK(rewritten("__host__ __device__ int f(int x);") == "  int f(int x);");
  CHECK(rewritten("extern __device__ int x;") == "extern  int x;");
  CHECK(rewritten("[[nodiscard]] __device__ int f();") == "[[nodiscard]]  static int f();");
  CHECK(rewritten("__device__ int S::f() { return 1; }") == " int S::f() { return 1; }");
  CHECK(rewritten("struct S { __device__ int f(); };") == "struct S {  int f(); };");
  RewriteOptions relocatable;
  relocatable.relocatable = true;
  CHECK(rewritten("__device__ int x;", relocatable).starts_with(" int x;"));
}

TEST_CASE("assembler is translated, but for what is empty or the host's") {
  RewriteOptions options;
  options.translate_asm = [](const AsmStatement& statement) -> base::Result<std::string> {
    std::string text = statement.text;
    for (const AsmOperand& one : statement.outputs)
      text += " out " + one.constraint + one.expression;
    for (const AsmOperand& one : statement.inputs)
      text += " in " + one.name + one.constraint + one.expression;
    return text;
  };
  CHECK(rewritten("void f() { asm volatile(\"a %0;\" \"b\" : \"=r\"(x) : [n] \"r\"(g(y, z)) : "
                  "\"memory\"); }",
                  options) == "void f() { a %0;b out =r(x) in nr(g(y, z)); }");
  CHECK(rewritten("void f() { asm volatile(\"\" ::: \"memory\"); }", options) ==
        "void f() { asm volatile(\"\" ::: \"memory\"); }");
  const auto refused = rewrite("# 1 \"a.cu\"\n\nvoid f() { asm(\"bar.sync 0;\"); }", {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().line == 2);
  CHECK(rewritten("# 1 \"/usr/include/x.h\"\nvoid f() { asm(\"nop\"); }") ==
        "# 1 \"/usr/include/x.h\"\nvoid f() { asm(\"nop\"); }");
}

TEST_CASE("code for one target asks where it runs") {
  CHECK(rewritten("void f() { if target (nv::is_host) { a(); } else { b(); } }") ==
        "void f() { if (::torchport::cuda::runs_on (nv::is_host)) { a(); } else { b(); } }");
}

TEST_CASE("the head of a class begins with no ::, which GCC refuses") {
  CHECK(rewritten("template <> struct ::a::b<c<1>, d> : ::e {};") ==
        "template <> struct a::b<c<1>, d> : ::e {};");
  CHECK(rewritten("class ::a::b final {};") == "class a::b final {};");
  for (const std::string text :
       {"struct ::stat st;", "struct ::stat st{};", "struct ::a<(1 > 2)> f() {}",
        "int x = sizeof(struct ::stat);", "friend class ::a::b;", "T<struct ::a> v{};"})
    CHECK(rewritten(text) == text);
}

TEST_CASE("pragmas of nvcc are dropped, others stay") {
  CHECK(rewritten("#pragma unroll 4\nfor (;;) {}\n#pragma omp simd\n") ==
        "\nfor (;;) {}\n#pragma omp simd\n");
}

TEST_CASE("any text is rewritten or refused") {
  const std::string text =
      "__global__ void k<<<1>>>(x { [ __shared__ threadIdx ) asm( \"x\" : __launch_bounds__ }";
  for (std::size_t begin = 0; begin < text.size(); ++begin)
    for (std::size_t end = begin; end <= text.size(); ++end)
      (void)rewrite(text.substr(begin, end - begin), {});
}

}  // namespace torchport::cuda
