// Votes, matches, reductions of a warp, masks of lanes, divergence and barriers that count.
#include "told.h"

namespace {

constexpr unsigned kAll = 0xffffffffu;

__global__ void votes(unsigned bits, unsigned* out) {
  int lane = threadIdx.x, on = bits >> lane & 1;
  out[lane] = __ballot_sync(kAll, on);
  out[32 + lane] = __any_sync(kAll, on) * 2 + __all_sync(kAll, on);
  out[64 + lane] = 9;
  if (lane % 3 == 0) {
    const unsigned thirds = 0x49249249u;
    out[64 + lane] = __ballot_sync(thirds, on) ^ (__any_sync(thirds, on) ? 2u : 0u) ^ (__all_sync(thirds, on) ? 4u : 0u);
  }
}

template <class T>
__global__ void matches(const T* in, unsigned* out) {
  int lane = threadIdx.x, same = 7;
  out[lane] = __match_any_sync(kAll, in[lane]);
  out[32 + lane] = __match_all_sync(kAll, in[lane], &same);
  out[32 + lane] += same;
  out[64 + lane] = __match_all_sync(kAll, in[0], &same);
  out[96 + lane] = same;
  if (lane >= 20) out[lane] ^= __match_any_sync(0xfff00000u, in[lane]) << 1;
}

__global__ void reduced(const int* in, unsigned* out) {
  int lane = threadIdx.x;
  int x = in[lane];
  unsigned u = x;
  unsigned mask = lane < 11 ? 0x7ffu : ~0x7ffu;
  if (lane < 11) {
    out[lane] = __reduce_add_sync(mask, x), out[32 + lane] = __reduce_min_sync(mask, x);
    out[64 + lane] = __reduce_max_sync(mask, u), out[96 + lane] = __reduce_and_sync(mask, u);
  } else {
    out[lane] = __reduce_add_sync(mask, u), out[32 + lane] = __reduce_max_sync(mask, x);
    out[64 + lane] = __reduce_min_sync(mask, u), out[96 + lane] = __reduce_xor_sync(mask, u);
  }
  __syncwarp();
  out[128 + lane] = __reduce_or_sync(kAll, u);
  out[160 + lane] = __reduce_add_sync(kAll, x);
}

__global__ void masks(unsigned* out) {
  unsigned r;
  int t = threadIdx.x + threadIdx.y * blockDim.x, n = blockDim.x * blockDim.y;
#define REGISTER(K, NAME) \
  asm volatile("mov.u32 %0, %%" NAME ";" : "=r"(r)); \
  out[K * n + t] = r;
  REGISTER(0, "laneid")
  REGISTER(1, "lanemask_eq")
  REGISTER(2, "lanemask_lt")
  REGISTER(3, "lanemask_le")
  REGISTER(4, "lanemask_gt")
  REGISTER(5, "lanemask_ge")
  REGISTER(6, "warpid")
  REGISTER(7, "nwarpid")
  REGISTER(8, "nsmid")
  REGISTER(9, "dynamic_smem_size")
  REGISTER(10, "total_smem_size")
  REGISTER(11, "ntid.x")
  out[12 * n + t] = warpSize;
  out[13 * n + t] = __activemask();
}

__global__ void divergence(unsigned* out) {
  int lane = threadIdx.x;
  unsigned* mine = out + lane;
  mine[0] = __activemask();
  if (lane & 1) {
    mine[32] = __activemask();
    if (lane > 16) mine[64] = __activemask();
    mine[96] = __activemask();
  } else {
    mine[32] = __activemask();
  }
  __syncwarp();
  mine[128] = __activemask();
  unsigned seen = 0;
  for (int i = 0; i <= lane % 4; ++i) seen = seen * 33 + __activemask();
  mine[160] = seen;
  __syncwarp();
  switch (lane % 3) {
    case 0: mine[192] = __activemask(); break;
    case 1: mine[192] = __activemask() ^ 1; break;
    default: mine[192] = __activemask() ^ 2;
  }
  __syncwarp();
  if (lane == 5) return;
  mine[224] = __activemask();
}

__global__ void nth(unsigned* out) {
  const unsigned masks[] = {0xffffffffu, 0x0000f0f0u, 0x80000001u, 0u};
  int k = 0;
  for (unsigned mask : masks)
    for (unsigned base : {0u, 4u, 15u, 31u})
      for (int offset : {0, 1, 2, 5, -1, -3}) out[k++] = __fns(mask, base, offset);
}

__global__ void elected(unsigned* out) {
  int lane = threadIdx.x;
  unsigned mask = lane >= 8 ? 0xffffff00u : 0xffu, leader, is = 0;
  if (lane >= 8) {
    asm volatile("{.reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p;}" : "=r"(leader), "=r"(is) : "r"(mask));
  } else {
    asm volatile("{.reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p;}" : "=r"(leader), "=r"(is) : "r"(mask));
  }
  out[lane] = leader * 10 + is;
}

__global__ void counted(int* out) {
  int t = threadIdx.x;
  out[t] = __syncthreads_count(t % 3 == 0);
  out[100 + t] = __syncthreads_and(t < 90) + 2 * __syncthreads_or(t == 77) + 4 * __syncthreads_and(t < 100);
  if (t >= 70) return;
  out[200 + t] = __syncthreads_count(t % 2);
  out[300 + t] = __syncthreads_and(t < 70);
}

template <class T>
void ask_match(const char* name, std::vector<T> values) {
  Array<T> in(values);
  Array<unsigned> out(128);
  matches<T><<<1, 32>>>(in, out);
  FINISH();
  tell_bits(std::string("match ") + name, out.host(), 128);
}

}  // namespace

int main() {
  for (unsigned bits : {0u, 1u, 0xffffffffu, 0x80000000u, 0x12345678u, 0x49249249u}) {
    Array<unsigned> out(96);
    votes<<<1, 32>>>(bits, out);
    FINISH();
    char name[40];
    std::snprintf(name, sizeof name, "vote %08x", bits);
    tell_bits(name, out.host(), 96);
  }
  std::vector<int> ints(32);
  std::vector<unsigned long long> wide(32);
  std::vector<float> floats(32);
  std::vector<double> doubles(32);
  for (int i = 0; i < 32; ++i) {
    ints[i] = i % 5 - 2, wide[i] = (i % 4) * 0x100000000ull, floats[i] = i % 3 == 0 ? 0.0f : i % 3 == 1 ? -0.0f : NAN;
    doubles[i] = i % 2 ? 1.0 : 1.0 + 1e-15;
  }
  ask_match("int", ints);
  ask_match("unsigned long long", wide);
  ask_match("float 0 -0 nan", floats);
  ask_match("double", doubles);
  ask_match("equal", std::vector<int>(32, 4));
  Numbers numbers;
  for (int& x : ints) x = static_cast<int>(numbers.word()) >> (numbers.word() % 20);
  {
    Array<int> in(ints);
    Array<unsigned> out(192);
    reduced<<<1, 32>>>(in, out);
    FINISH();
    tell_bits("reduce in", ints);
    tell_bits("reduce", out.host(), 192);
  }
  {
    Array<unsigned> out(14 * 72);
    masks<<<1, dim3(12, 6), 1000>>>(out);
    FINISH();
    tell_bits("registers of 12 x 6 threads", out.host(), 0);
    const char* names[] = {"laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "warpid",
                           "nwarpid", "nsmid", "dynamic_smem_size", "total_smem_size", "ntid.x", "warpSize", "activemask"};
    auto all = out.host();
    for (int k = 0; k < 14; ++k)
      tell_bits(names[k], std::vector<unsigned>(all.begin() + k * 72, all.begin() + (k + 1) * 72), 72);
  }
  {
    Array<unsigned> out(256);
    divergence<<<1, 32>>>(out);
    FINISH();
    auto all = out.host();
    for (int k = 0; k < 8; ++k)
      tell_bits("divergence " + std::to_string(k), std::vector<unsigned>(all.begin() + k * 32, all.begin() + k * 32 + 32));
  }
  Array<unsigned> found(96), leaders(32);
  nth<<<1, 1>>>(found);
  elected<<<1, 32>>>(leaders);
  FINISH();
  tell_bits("fns", found.host(), 96);
  tell("elect", leaders.host());
  Array<int> counts(400);
  counted<<<1, 100>>>(counts);
  FINISH();
  tell("syncthreads counts", counts.host(), 400);
  return 0;
}
