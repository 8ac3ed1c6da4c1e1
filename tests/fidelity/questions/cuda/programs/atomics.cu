// Atomics of one thread: what they return and leave, in global and shared memory, and of many where order is no matter.
#include "told.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

// Does OPERATION on *p with v, in global and in shared memory; out: old, new, old (shared), new (shared).
template <class T, class Operation>
__global__ void once(T start, T v, Operation operation, T* out) {
  __shared__ alignas(16) unsigned char raw[sizeof(T)];
  T* kept = reinterpret_cast<T*>(raw);
  out[1] = start, *kept = start;
  __syncthreads();
  out[0] = operation(out + 1, v);
  out[2] = operation(kept, v);
  __syncthreads();
  out[3] = *kept;
}

#define OPERATION(NAME, CALL)                     \
  struct NAME {                                   \
    template <class T>                            \
    __device__ T operator()(T* p, T v) const {    \
      return CALL;                                \
    }                                             \
  };
OPERATION(Add, atomicAdd(p, v)) OPERATION(Sub, atomicSub(p, v)) OPERATION(Exchange, atomicExch(p, v))
OPERATION(Min, atomicMin(p, v)) OPERATION(Max, atomicMax(p, v)) OPERATION(Inc, atomicInc(p, v)) OPERATION(Dec, atomicDec(p, v))
OPERATION(And, atomicAnd(p, v)) OPERATION(Or, atomicOr(p, v)) OPERATION(Xor, atomicXor(p, v))
OPERATION(Swap, atomicCAS(p, v, static_cast<T>(v + 1))) OPERATION(AddBlock, atomicAdd_block(p, v))
OPERATION(AddSystem, atomicAdd_system(p, v))

template <class T, class Operation>
void ask(const std::string& name, std::vector<T> starts, std::vector<T> values, Operation operation) {
  std::vector<T> all;
  for (size_t i = 0; i < starts.size(); ++i) {
    Array<T> out(4);
    once<<<1, 1>>>(starts[i], values[i % values.size()], operation, static_cast<T*>(out));
    FINISH();
    for (const T& one : out.host()) all.push_back(one);
  }
  tell_bits(name, all, 64);
}

template <class T>
T of(float x, float y = 0) {
  if constexpr (std::is_same_v<T, __half2>) return __floats2half2_rn(x, y);
  else if constexpr (std::is_same_v<T, __nv_bfloat162>) return __floats2bfloat162_rn(x, y);
  else return T(x);
}

// float2 and float4: global memory alone.
template <class T>
__global__ void vectors(T v, T* p) {
#if __CUDA_ARCH__ >= 900
  p[0] = atomicAdd(p + 1, v);
#endif
}

__global__ void swap16(unsigned short* p, unsigned short* out) {
  out[0] = atomicCAS(p, static_cast<unsigned short>(7), static_cast<unsigned short>(9));
  out[1] = atomicCAS(p + 1, static_cast<unsigned short>(8), static_cast<unsigned short>(9));
}

struct alignas(16) Wide { unsigned long long low, high; };
__global__ void swap128(Wide* p, Wide* out) {
#if __CUDA_ARCH__ >= 900
  Wide seven{7, 70}, nine{9, 90};
  out[0] = atomicCAS(p, seven, nine);
  out[1] = atomicExch(p, seven);
  out[2] = *p;
#endif
}

// The usual tricks by bits.
__device__ float max_by_bits(float* p, float v) {
  return v >= 0 ? __int_as_float(atomicMax(reinterpret_cast<int*>(p), __float_as_int(v)))
                : __uint_as_float(atomicMin(reinterpret_cast<unsigned*>(p), __float_as_uint(v)));
}
__global__ void tricks(float* p, float* out) {
  const float values[] = {1.0f, -2.0f, 3.0f, -0.0f, 0.0f, NAN, -INFINITY};
  for (int i = 0; i < 7; ++i) out[i] = max_by_bits(p, values[i]);
  out[7] = *p;
}

__global__ void many(int* ints, unsigned* wraps, double* doubles, __half2* halves) {
  atomicAdd(ints, threadIdx.x), atomicMax(ints + 1, static_cast<int>(threadIdx.x * 37 % 101)), atomicOr(ints + 2, 1 << (threadIdx.x % 32));
  atomicInc(wraps, 100), atomicDec(wraps + 1, 100), atomicAdd(doubles, 0.5), atomicAdd(halves, __floats2half2_rn(1.0f, 2.0f));
}

__global__ void reductions(float* f, __half2* h, unsigned long long* u) {
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(f), "f"(1e-40f) : "memory");
  asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(h), "r"(0x00010001) : "memory");
  asm volatile("red.global.add.u64 [%0], %1;" ::"l"(u), "l"(~0ull) : "memory");
}

}  // namespace

int main() {
  const float inf = INFINITY, nan = NAN;
  ask<float>("add float", {1, 1e-40f, 1e-40f, 1.2e-38f, inf, nan, 3e38f, 16777216.0f, -0.0f, 0.0f},
             {0.1f, 1e-40f, -3e-41f, -1.19e-38f, -inf, 1, 3e38f, 1, -0.0f, -0.0f}, Add{});
  ask<double>("add double", {1, 5e-324, inf, 1e308, -0.0}, {0.1, 5e-324, -inf, 1e308, -0.0}, Add{});
  ask<__half>("add half", {of<__half>(1), of<__half>(6e-8f), of<__half>(65504), of<__half>(2048)},
              {of<__half>(0.1f), of<__half>(6e-8f), of<__half>(100), of<__half>(1)}, Add{});
  ask<__nv_bfloat16>("add bfloat16", {of<__nv_bfloat16>(1), of<__nv_bfloat16>(1e-40f), of<__nv_bfloat16>(3.38e38f), of<__nv_bfloat16>(256)},
                     {of<__nv_bfloat16>(0.1f), of<__nv_bfloat16>(1e-40f), of<__nv_bfloat16>(3e38f), of<__nv_bfloat16>(1)}, Add{});
  ask<__half2>("add half2", {of<__half2>(1, 6e-8f)}, {of<__half2>(0.1f, 6e-8f)}, Add{});
  ask<__nv_bfloat162>("add bfloat162", {of<__nv_bfloat162>(1, 256)}, {of<__nv_bfloat162>(0.1f, 1)}, Add{});
  std::vector<int> ints = {5, -5, 2147483647, -2147483647 - 1, 0}, with = {-7, 3, 1, -1, 0};
  std::vector<unsigned> words = {5, 0, 0xffffffff, 7, 9, 10}, other = {7, 7, 7, 7, 7, 0};
  std::vector<unsigned long long> wide = {5, 0, ~0ull, 1ull << 63}, wides = {7, 0, 1, (1ull << 63) - 1};
  std::vector<long long> longs = {5, -5, 0x7fffffffffffffffll, -1}, more = {-7, 3, -1, 0};
  ask("add int", ints, with, Add{});
  ask("add block int", ints, with, AddBlock{});
  ask("add system int", ints, with, AddSystem{});
  ask("sub int", ints, with, Sub{});
  ask("min int", ints, with, Min{});
  ask("max int", ints, with, Max{});
  ask("min unsigned", words, other, Min{});
  ask("max unsigned", words, other, Max{});
  ask("inc", words, other, Inc{});
  ask("dec", words, other, Dec{});
  ask("and", words, other, And{});
  ask("or", words, other, Or{});
  ask("xor", words, other, Xor{});
  ask("cas int", ints, {5, 4, 2147483647, 1, 0}, Swap{});
  ask("add unsigned long long", wide, wides, Add{});
  ask("min long long", longs, more, Min{});
  ask("max long long", longs, more, Max{});
  ask("max unsigned long long", wide, wides, Max{});
  ask("xor unsigned long long", wide, wides, Xor{});
  ask("cas unsigned long long", wide, {5, 1, 2, 3}, Swap{});
  ask<float>("exchange float", {1, nan}, {-0.0f, 2}, Exchange{});
  {
    std::vector<float2> two = {{0, 0}, {1.0f, 1e-40f}};
    std::vector<float4> four = {{0, 0, 0, 0}, {1.0f, 2.0f, 3.0f, 1e-40f}};
    Array<float2> a(two);
    Array<float4> b(four);
    vectors<<<1, 1>>>(float2{0.1f, 1e-40f}, static_cast<float2*>(a));
    vectors<<<1, 1>>>(float4{0.1f, 0.2f, 0.3f, 1e-40f}, static_cast<float4*>(b));
    FINISH();
    tell_bits("add float2", a.host());
    tell_bits("add float4", b.host());
  }
  Array<unsigned short> p16(std::vector<unsigned short>{7, 7}), out16(2);
  Array<Wide> p128(std::vector<Wide>{{7, 70}}), out128(3);
  Array<float> p(std::vector<float>{-5.0f}), out(8), f(std::vector<float>{1e-40f});
  Array<int> counted(3);
  Array<unsigned> wraps(2);
  Array<double> doubles(1);
  Array<__half2> halves(1), h(1);
  Array<unsigned long long> u(1);
  swap16<<<1, 1>>>(p16, out16);
  swap128<<<1, 1>>>(p128, out128);
  tricks<<<1, 1>>>(p, out);
  many<<<4, 256>>>(counted, wraps, doubles, halves);
  reductions<<<1, 1>>>(f, h, u);
  FINISH();
  tell_bits("cas 16 bits", out16.host());
  tell_bits("cas 16 bits left", p16.host());
  tell_bits("cas, exchange 128 bits", out128.host());
  tell_bits("max of floats by bits", out.host());
  tell("many ints", counted.host());
  tell("many wraps", wraps.host());
  tell_bits("many doubles", doubles.host());
  tell_bits("many halves", halves.host());
  tell_bits("red float", f.host());
  tell_bits("red half2", h.host());
  tell_bits("red u64", u.host());
  return 0;
}
