// Instructions of PTX as extensions write them, against plain C++. nvcc compiles it, too.
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__device__ int bad;
__device__ int count;
#define IS(what, got, want) do { ++count; auto g_ = (got); auto w_ = (want); if (!(g_ == w_)) { if (atomicAdd(&bad, 1) < 20) printf("wrong: %s: %llx, not %llx (thread %d)\n", what, (unsigned long long)g_, (unsigned long long)w_, threadIdx.x); } } while (0)
__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned fbits(float f) { return __float_as_uint(f); }

__global__ void scalars(const float* in, float* out) {
  unsigned r, r2; unsigned long long l; float f; double d; unsigned short h;
  // vectors and caches
  float a, b, c, e;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(e) : "l"(in));
  IS("ld.v4", fbits(a + b + c + e), fbits(10.0f));
  asm volatile("st.global.cs.v2.f32 [%0+8], {%1,%2};" ::"l"(out), "f"(e), "f"(1.5f) : "memory");
  IS("st.v2", fbits(out[2] + out[3]), fbits(5.5f));
  asm("{ .reg .u64 a; .reg .pred p; setp.ne.s32 p, %2, 0; mov.u32 %0, %3; @p ld.global.b32 %0, [%1+4]; }" : "=r"(r) : "l"(in), "r"(1), "r"(77));
  IS("guarded ld", r, fbits(2.0f));
  asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; mov.u32 %0, %3; @p ld.global.b32 %0, [%1+4]; }" : "=r"(r) : "l"(in), "r"(0), "r"(77));
  IS("guarded ld off", r, 77u);
  signed char small[4] = {-3, 5, -7, 9};
  int si; asm volatile("ld.s8 %0, [%1];" : "=r"(si) : "l"(small)); IS("ld.s8", si, -3);
  asm volatile("ld.u8 %0, [%1+2];" : "=r"(r) : "l"(small)); IS("ld.u8", r, 249u);
  // 64-bit carry chain
  unsigned lo, hi;
  asm("add.cc.u32 %0, %2, %4; addc.u32 %1, %3, %5;" : "=r"(lo), "=r"(hi) : "r"(0xffffffffu), "r"(1u), "r"(2u), "r"(3u));
  IS("add.cc", lo, 1u); IS("addc", hi, 5u);
  asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, 0;" : "=r"(lo), "=r"(hi) : "r"(0xfffffff0u), "r"(0x12345u), "r"(0xffffffffu));
  unsigned long long want = 0xfffffff0ull * 0x12345u + 0xffffffffull; IS("mad.cc", (unsigned long long)hi << 32 | lo, want);
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(l) : "r"(0x80000001u), "r"(6u)); IS("mul.wide.u32", l, 0x80000001ull * 6);
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(l) : "r"(-5), "r"(7), "l"(100ll)); IS("mad.wide.s32", l, 65ull);
  asm("mul.hi.u64 %0, %1, %2;" : "=l"(l) : "l"(~0ull), "l"(16ull)); IS("mul.hi.u64", l, 15ull);
  asm("mov.b64 {%0,%1}, %2;" : "=r"(lo), "=r"(hi) : "l"(0x1234567890abcdefull)); IS("unpack", lo ^ hi, 0x90abcdefu ^ 0x12345678u);
  asm("mov.b64 %0, {%1,%2};" : "=l"(l) : "r"(7u), "r"(9u)); IS("pack", l, 0x900000007ull);
  asm("mov.b32 %0, {%1,%2};" : "=r"(r) : "h"((unsigned short)0xbeef), "h"((unsigned short)0xdead)); IS("pack 16", r, 0xdeadbeefu);
  asm("{.reg .b16 l,h; mov.b32 {l,h}, %1; mov.b32 %0, {h,l};}" : "=r"(r) : "r"(0x12345678u)); IS("swap", r, 0x56781234u);
  asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(r) : "r"(0x33221100u), "r"(0x77665544u)); IS("prmt", r, 0x55441100u);
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(0xf0f0f0f0u), "r"(0xccccccccu), "r"(0xaaaaaaaau), "n"((0xf0 & 0xcc) | 0xaa)); IS("lop3", r, (0xf0f0f0f0u & 0xccccccccu) | 0xaaaaaaaau);
  asm("bfe.s32 %0, %1, 4, 4;" : "=r"(si) : "r"(0xf0)); IS("bfe.s32", si, -1);
  asm("bfi.b64 %0, %1, %2, 8, 16;" : "=l"(l) : "l"(0xabcdull), "l"(0ull)); IS("bfi.b64", l, 0xabcd00ull);
  asm("shf.r.wrap.b32 %0, %1, %2, 8;" : "=r"(r) : "r"(0x11223344u), "r"(0x55667788u)); IS("shf", r, 0x88112233u);
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(0x01020304u), "r"(0x04030201u), "r"(0u)); IS("vabsdiff4", r, 8u);
  asm("set.gt.u32.f32 %0, %1, %2;" : "=r"(r) : "f"(2.f), "f"(1.f)); IS("set", r, ~0u);
  asm("slct.s32.f32 %0, %1, %2, %3;" : "=r"(r) : "r"(1), "r"(2), "f"(-1.f)); IS("slct", r, 2u);
  asm("{.reg .pred p,q; setp.lt.s32 p|q, %1, %2; selp.b32 %0, 10, 20, q;}" : "=r"(r) : "r"(1), "r"(2)); IS("setp p|q", r, 20u);
  asm("{.reg .pred p,q; setp.lt.u32 q, %1, %2; setp.gt.and.u32 p, %1, 0, !q; selp.u32 %0, 1, 0, p;}" : "=r"(r) : "r"(1), "r"(2)); IS("setp.and", r, 0u);
  asm("min.s32 %0, %1, %2;" : "=r"(si) : "r"(-4), "r"(3)); IS("min", si, -4);
  asm("max.u64 %0, %1, %2;" : "=l"(l) : "l"(4ull), "l"(~0ull)); IS("max.u64", l, ~0ull);
  asm("sad.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(4), "r"(9), "r"(1)); IS("sad", r, 6u);
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(si) : "r"(0xff01ff01), "r"(0x02030405), "r"(1)); IS("dp4a", si, 1 + 5 - 4 + 3 - 2);
  // a loop with labels, twice, because of inlining
  for (int k = 0; k < 2; ++k) {
    asm("{ .reg .pred p; .reg .u32 i; mov.u32 i, 0; mov.u32 %0, 0; LOOP: setp.ge.u32 p, i, %1; @p bra DONE; add.u32 %0, %0, i; add.u32 i, i, 1; bra.uni LOOP; DONE: }" : "=r"(r) : "r"(5 + k));
    IS("loop", r, k ? 15u : 10u);
  }
  // floats
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(f) : "f"(3.f), "f"(4.f), "f"(5.f)); IS("fma", fbits(f), fbits(17.f));
  asm("add.rz.ftz.f32 %0, %1, %2;" : "=f"(f) : "f"(1.f), "f"(1e-20f)); IS("add.rz", fbits(f), fbits(1.f));
  asm("add.rp.f32 %0, %1, %2;" : "=f"(f) : "f"(1.f), "f"(1e-20f)); IS("add.rp", fbits(f), 0x3f800001u);
  asm("mul.sat.f32 %0, %1, 0f40000000;" : "=f"(f) : "f"(0.9f)); IS("mul.sat", fbits(f), fbits(1.f));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(3.f)); IS("ex2", fbits(f), fbits(8.f));
  asm("lg2.approx.f32 %0, %1;" : "=f"(f) : "f"(8.f)); IS("lg2", fbits(f), fbits(3.f));
  asm("rcp.rn.f32 %0, %1;" : "=f"(f) : "f"(8.f)); IS("rcp", fbits(f), fbits(.125f));
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(f) : "f"(16.f)); IS("rsqrt", fbits(f), fbits(.25f));
  asm("div.full.f32 %0, %1, %2;" : "=f"(f) : "f"(1.f), "f"(4.f)); IS("div.full", fbits(f), fbits(.25f));
  asm("sqrt.rn.f64 %0, %1;" : "=d"(d) : "d"(9.0)); IS("sqrt.f64", d, 3.0);
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(f) : "f"(1.f), "f"(__int_as_float(0x7fffffff))); IS("max.NaN", fbits(f), 0x7fffffffu);
  asm("copysign.f32 %0, %1, %2;" : "=f"(f) : "f"(-1.f), "f"(3.f)); IS("copysign", fbits(f), fbits(-3.f));
  asm("neg.f32 %0, %1;" : "=f"(f) : "f"(3.f)); IS("neg", fbits(f), fbits(-3.f));
  // conversions
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(1.0f + 1.0f / 2048)); IS("tf32", r, 0x3f802000u);
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(2.f), "f"(1.f)); IS("f16x2", r, 0x40003c00u);
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(2.f), "f"(1.f)); IS("bf16x2", r, 0x40003f80u);
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(-2.f), "f"(1.f)); IS("bf16x2 relu", r, 0x00003f80u);
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(1.5f)); IS("f16", h, (unsigned short)0x3e00);
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((unsigned short)0x3e00)); IS("f32.f16", fbits(f), fbits(1.5f));
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(si) : "f"(2.5f)); IS("rni", si, 2);
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(si) : "f"(-2.5f)); IS("rzi", si, -2);
  asm("cvt.rpi.f32.f32 %0, %1;" : "=f"(f) : "f"(2.25f)); IS("rpi", fbits(f), fbits(3.f));
  asm("cvt.rn.f32.s32 %0, %1;" : "=f"(f) : "r"(-7)); IS("f32.s32", fbits(f), fbits(-7.f));
  asm("cvt.sat.u8.s32 %0, %1;" : "=r"(r) : "r"(300)); IS("sat.u8", r, 255u);
  asm("cvt.u32.u8 %0, %1;" : "=r"(r) : "r"(0x1ff)); IS("u32.u8", r, 255u);
  asm("cvt.s64.s32 %0, %1;" : "=l"(l) : "r"(-2)); IS("s64.s32", l, (unsigned long long)-2ll);
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(h) : "f"(1.f), "f"(1e9f)); IS("e4m3x2", h, (unsigned short)0x387e);
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"((unsigned short)0x3840)); IS("f16x2.e4m3x2", r, 0x3c004000u);
  asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(h) : "r"(0x3c004000u)); IS("e5m2x2.f16x2", h, (unsigned short)0x3c40);
  // halves
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(0x3c003c00u), "r"(0x40004200u), "r"(0x3c003c00u)); IS("fma.f16x2", r, 0x42004400u);
  asm("mul.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(0x3f804000u), "r"(0x40004040u)); IS("mul.bf16x2", r, 0x400040c0u);
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(r) : "r"(0x3c004000u)); IS("ex2.f16x2", r, 0x40004400u);
  asm("max.f16x2 %0, %1, %2;" : "=r"(r) : "r"(0x3c004000u), "r"(0x40003c00u)); IS("max.f16x2", r, 0x40004000u);
  asm("{ add.f16 %0, %1, %2; }" : "=h"(h) : "h"((unsigned short)0x3c00), "h"((unsigned short)0x4000)); IS("add.f16", h, (unsigned short)0x4200);
  __half2 hh = __float2half2_rn(2.f), hr; 
  asm("fma.rn.f16x2 %0,%1,%2,%3;" : "=r"(*(unsigned*)&hr) : "r"(*(unsigned*)&hh), "r"(*(unsigned*)&hh), "r"(*(unsigned*)&hh)); IS("half2 operands", __low2float(hr), 6.0f);
  asm volatile("mov.u32 %0, %%ctaid.x; mov.u32 %1, %%ntid.x;" : "=r"(r), "=r"(r2)); IS("ctaid ntid", r * 100 + r2, blockIdx.x * 100 + blockDim.x);
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(l));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in)); asm volatile("fence.acq_rel.gpu;" ::: "memory"); asm volatile("membar.gl;"); asm volatile("griddepcontrol.wait;");
  asm volatile("" ::: "memory");
  asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(&count), "r"(0) : "memory");
}

__global__ void warps() {
  unsigned lane = threadIdx.x % 32, r, r2; int si;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); IS("laneid", r, lane);
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(r)); IS("lanemask", r, (1u << lane) - 1);
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;" : "=r"(r) : "r"(lane)); IS("bfly", r, lane ^ 1);
  asm volatile("{.reg .pred p; shfl.sync.up.b32 %0|p, %1, 1, 0, -1; @!p mov.u32 %0, 99;}" : "=r"(r) : "r"(lane)); IS("up", r, lane ? lane - 1 : 99);
  asm volatile("{.reg .pred p; setp.lt.u32 p, %1, 5; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "=r"(r) : "r"(lane)); IS("ballot", r, 31u);
  asm volatile("{.reg .pred p,q; setp.lt.u32 p, %1, 5; vote.sync.all.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q;}" : "=r"(r) : "r"(lane)); IS("all", r, 0u);
  asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(r) : "r"(lane / 4)); IS("match", r, 15u << (lane / 4 * 4));
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(si) : "r"(lane)); IS("redux", si, 496);
  asm volatile("{.reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p;}" : "=r"(r), "=r"(r2)); IS("elect", r2, lane == 0 ? 1u : 0u);
  double a = lane, b = lane % 4 == lane / 8 ? 1.0 : 0.0, c0 = 1, c1 = 2;
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(c0), "+d"(c1) : "d"(a), "d"(b));
  // A[i][k] = 4 i + k, B[k][n] = (k == n / 2)
  IS("mma f64", c0, 1.0 + (lane / 4) * 4 + (lane % 4)); IS("mma f64 1", c1, 2.0 + (lane / 4) * 4 + (lane % 4));
}

__global__ void blocks(const int* in) {
  __shared__ __align__(16) int s[64];
  __shared__ __align__(8) unsigned long long barrier;
  unsigned t = threadIdx.x, r;
  s[t] = -1;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(smem(&barrier)), "r"(64u));
  asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(smem(&s[t])), "l"(in + t));
  asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group %0;" ::"n"(0));
  asm volatile("barrier.sync.aligned 1, 64;" ::: "memory");
  IS("cp.async", s[63 - t], (int)(63 - t) * 3);
  asm volatile("ld.shared.u32 %0, [%1+4];" : "=r"(r) : "r"(smem(&s[t & 62]))); IS("ld.shared", r, ((t & 62) + 1) * 3);
  asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("atom.shared.add.u32 %0, [%1], 2;" : "=r"(r) : "r"(smem(&s[0])) : "memory");
  asm volatile("red.shared.max.s32 [%0], %1;" ::"r"(smem(&s[1])), "r"(t * 10) : "memory");
  asm volatile("{.reg .pred p; setp.eq.u32 p, %1, 7; bar.red.popc.u32 %0, 0, p;}" : "=r"(r) : "r"(t % 8)); IS("bar.red", r, 8u);
  IS("atom", s[0], 128); IS("red.max", s[1], 630);
  __syncthreads();
  for (unsigned phase = 0; phase < 3; ++phase) {
    s[t] = (int)(t + phase);
    asm volatile("{.reg .b64 st; mbarrier.arrive.shared.b64 st, [%0];}" ::"r"(smem(&barrier)) : "memory");
    asm volatile("{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1; @P1 bra DONE; bra LAB_WAIT; DONE: }" ::"r"(smem(&barrier)), "r"(phase & 1) : "memory");
    IS("mbarrier", s[(t + 17) % 64], (int)((t + 17) % 64 + phase));
    __syncthreads();
  }
  if (t == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(smem(&barrier)));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 64;" ::"r"(smem(&barrier)));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(smem(s)), "l"(in), "r"(64), "r"(smem(&barrier)) : "memory");
  }
  __syncthreads();
  asm volatile("{ .reg .pred P1; W: mbarrier.test_wait.parity.shared.b64 P1, [%0], 0; @!P1 bra W; }" ::"r"(smem(&barrier)));
  IS("bulk copy", s[t % 16], (int)(t % 16) * 3);
}

int main() {
  float four[4] = {1, 2, 3, 4}; int ints[64]; for (int i = 0; i < 64; ++i) ints[i] = i * 3;
  float* in; float* out; int* whole;
  cudaMalloc(&in, 16); cudaMalloc(&out, 16); cudaMalloc(&whole, 256);
  cudaMemcpy(in, four, 16, cudaMemcpyHostToDevice); cudaMemcpy(whole, ints, 256, cudaMemcpyHostToDevice);
  scalars<<<1, 1>>>(in, out); warps<<<1, 64>>>(); blocks<<<1, 64>>>(whole);
  cudaError_t e = cudaDeviceSynchronize();
  int b = -1, c = 0; cudaMemcpyFromSymbol(&b, bad, 4); cudaMemcpyFromSymbol(&c, count, 4);
  printf("%s: %d of %d wrong\n", cudaGetErrorName(e), b, c);
  return b != 0 || e != cudaSuccess;
}
