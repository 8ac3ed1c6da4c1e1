// Inline PTX: special registers, fields of bits, bytes, any logic of three inputs, wide products
// with carries, predicates, shuffles, atomics and loads with hints.
#include <cstdint>

#include "sample.h"

__device__ __forceinline__ unsigned lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

__global__ void registers(unsigned* out) {
  unsigned* mine = out + threadIdx.x * 6;
  unsigned warp, below, equal, block, threads;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  asm("mov.u32 %0, %%lanemask_eq;" : "=r"(equal));
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  asm("mov.u32 %0, %%ntid.x;" : "=r"(threads));
  mine[0] = lane_id(), mine[1] = warp < 64, mine[2] = below, mine[3] = equal, mine[4] = block,
  mine[5] = threads;
}

__global__ void bits(const unsigned* in, unsigned* out) {
  const unsigned a = in[threadIdx.x], b = in[threadIdx.x + 32], c = in[threadIdx.x + 64];
  unsigned* mine = out + threadIdx.x * 12;
  asm("bfe.u32 %0, %1, 5, 9;" : "=r"(mine[0]) : "r"(a));
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(mine[1]) : "r"(a), "r"(3), "r"(6));
  asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(mine[2]) : "r"(a), "r"(b));
  asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(mine[3]) : "r"(a), "r"(b));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(mine[4]) : "r"(a), "r"(b), "r"(c));
  asm("lop3.b32 %0, %1, %2, %3, (0xF0 & 0xCC) | 0xAA;" : "=r"(mine[5]) : "r"(a), "r"(b), "r"(c));
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(mine[6]) : "r"(a), "r"(b), "r"(7));
  asm("brev.b32 %0, %1;" : "=r"(mine[7]) : "r"(a));
  asm("{\n\t.reg .u32 t;\n\tmul.hi.u32 t, %1, %2;\n\tadd.u32 %0, t, 1;\n\t}"
      : "=r"(mine[8])
      : "r"(a), "r"(b));
  asm("{ .reg .pred p;\n setp.lt.u32 p, %1, %2;\n selp.u32 %0, 11, 22, p; }"
      : "=r"(mine[9])
      : "r"(a), "r"(b));
  asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;"
      : "=r"(mine[10]), "=r"(mine[11])
      : "r"(a), "r"(b));
}

// Of two integers of 16 bits each.
__global__ void pairs(const unsigned* in, unsigned* out) {
  const unsigned a = in[threadIdx.x], b = in[threadIdx.x + 32];
  unsigned* mine = out + threadIdx.x * 4;
  asm("add.u16x2 %0, %1, %2;" : "=r"(mine[0]) : "r"(a), "r"(b));
  asm("add.s16x2 %0, %1, %2;" : "=r"(mine[1]) : "r"(a), "r"(b));
  asm("min.s16x2 %0, %1, %2;" : "=r"(mine[2]) : "r"(a), "r"(b));
  asm("max.u16x2 %0, %1, %2;" : "=r"(mine[3]) : "r"(a), "r"(b));
}

__global__ void more(const unsigned* in, uint64_t* wide, unsigned* counter, float* floats) {
  const unsigned a = in[threadIdx.x], b = in[threadIdx.x + 32];
  uint64_t product;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(product) : "r"(a), "r"(b), "l"(5ULL));
  uint32_t low, high;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(product));
  asm("mov.b64 %0, {%1, %2};" : "=l"(wide[threadIdx.x]) : "r"(high), "r"(low));
  unsigned old;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(2) : "memory");
  asm volatile("red.global.max.u32 [%0], %1;" ::"l"(counter + 1), "r"(a) : "memory");
  unsigned loaded, ballot;
  asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(loaded) : "l"(in + threadIdx.x));
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(ballot)
               : "r"(loaded & 1));
  unsigned moved;
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(moved) : "r"(loaded));
  if (threadIdx.x == 0) counter[2] = ballot, counter[3] = moved;
  float f;
  asm("{ .reg .f32 t; fma.rn.f32 t, %1, %2, %3; sqrt.rn.f32 %0, t; }"
      : "=f"(f)
      : "f"(3.0f), "f"(float(threadIdx.x)), "f"(1.0f));
  asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(floats + threadIdx.x), "f"(f) : "memory");
  asm volatile("membar.gl;" ::: "memory");
}

int main() {
  Numbers numbers(103);
  std::vector<unsigned> in(96);
  for (unsigned& one : in) one = numbers.next() * 2654435761u;
  Array<unsigned> values(in), r(64 * 6), o(32 * 12), counter(4),
      two(32 * 4);
  Array<uint64_t> wide(32);
  Array<float> floats(32);
  counter.clear();
  registers<<<1, 64>>>(r);
  bits<<<1, 32>>>(values, o);
  pairs<<<1, 32>>>(values, two);
  more<<<1, 32>>>(values, wide, counter, floats);
  bool right = true;
  const auto id = r.host();
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned* m = &id[i * 6];
    right = right && m[0] == i % 32 && m[1] == 1 && m[2] == (1u << i % 32) - 1 &&
            m[3] == 1u << i % 32 && m[4] == 0 && m[5] == 64;
  }
  const auto pair = two.host();
  for (int i = 0; i < 32; ++i) {
    for (int half = 0; half < 32; half += 16) {
      const unsigned short a = in[i] >> half, b = in[i + 32] >> half;
      const short x = short(a), y = short(b);
      const unsigned short wanted[4] = {(unsigned short)(a + b), (unsigned short)(a + b),
                                        (unsigned short)(x < y ? x : y), a < b ? b : a};
      for (int k = 0; k < 4; ++k)
        right = right && (unsigned short)(pair[i * 4 + k] >> half) == wanted[k];
    }
  }
  const auto out = o.host();
  unsigned ballot = 0, most = 0;
  const auto products = wide.host();
  const auto roots = floats.host();
  for (int i = 0; i < 32; ++i) {
    const unsigned a = in[i], b = in[i + 32], c = in[i + 64];
    unsigned reversed = 0;
    for (int k = 0; k < 32; ++k) reversed |= (a >> k & 1) << (31 - k);
    const unsigned expected[12] = {a >> 5 & 511,
                                   unsigned(int(a << 23) >> 26),
                                   (b & ~(0xfffu << 8)) | (a & 0xfff) << 8,
                                   (a & 0xffff) | b << 16,
                                   a ^ b ^ c,
                                   (a & b) | c,
                                   b << 7 | a >> 25,
                                   reversed,
                                   unsigned(uint64_t(a) * b >> 32) + 1,
                                   a < b ? 11u : 22u,
                                   a + b,
                                   unsigned((uint64_t(a) + b) >> 32)};
    for (int k = 0; k < 12; ++k)
      if (out[i * 12 + k] != expected[k]) {
        std::fprintf(stderr, "instruction %d: %x, not %x\n", k, out[i * 12 + k], expected[k]);
        right = false;
      }
    const uint64_t product = uint64_t(a) * b + 5;
    right = right && products[i] == (product >> 32 | product << 32) &&
            roots[i] == std::sqrt(3.0f * i + 1);
    ballot |= (a & 1) << i;
    most = std::max(most, a);
  }
  const auto c = counter.host();
  return finish("inline_ptx",
                right && c[0] == 64 && c[1] == most && c[2] == ballot && c[3] == in[1]);
}
