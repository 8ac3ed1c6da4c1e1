// mma.sync with ldmatrix in inline PTX: halves to floats, tf32, and bytes with saturation.
#include <cstdint>

#include <cuda_fp16.h>

#include "sample.h"

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// 16 by 8 results of 16 by 16 and 16 by 8; a and b by rows.
__global__ void halves(const half* a, const half* b, float* c) {
  __shared__ __align__(16) half sa[16][16], sb[16][8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) (&sa[0][0])[i] = a[i];
  for (int i = lane; i < 128; i += 32) (&sb[0][0])[i] = b[i];
  __syncwarp();
  uint32_t fa[4], fb[2];
  const unsigned from_a = shared_address(&sa[lane % 16][lane / 16 * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
               : "r"(from_a));
  const unsigned from_b = shared_address(&sb[lane % 16][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(fb[0]), "=r"(fb[1])
               : "r"(from_b));
  float d[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  const int row = lane / 4, column = lane % 4 * 2;
  *reinterpret_cast<float2*>(&c[row * 8 + column]) = make_float2(d[0], d[1]);
  *reinterpret_cast<float2*>(&c[(row + 8) * 8 + column]) = make_float2(d[2], d[3]);
}

__device__ uint32_t to_tf32(float value) {
  uint32_t result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(value));
  return result;
}

// 16 by 8 results of 16 by 8 (rows) and 8 by 8 (columns).
__global__ void tf32(const float* a, const float* b, float* c) {
  const int group = threadIdx.x >> 2, in_group = threadIdx.x & 3;
  const uint32_t a0 = to_tf32(a[group * 8 + in_group]), a1 = to_tf32(a[(group + 8) * 8 + in_group]);
  const uint32_t a2 = to_tf32(a[group * 8 + in_group + 4]),
                 a3 = to_tf32(a[(group + 8) * 8 + in_group + 4]);
  const uint32_t b0 = to_tf32(b[group * 8 + in_group]), b1 = to_tf32(b[group * 8 + in_group + 4]);
  float d0, d1, d2, d3;
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};\n"
      : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(1.f), "f"(1.f), "f"(1.f),
        "f"(1.f));
  c[group * 8 + in_group * 2] = d0, c[group * 8 + in_group * 2 + 1] = d1;
  c[(group + 8) * 8 + in_group * 2] = d2, c[(group + 8) * 8 + in_group * 2 + 1] = d3;
}

// 8 by 8 results of 8 by 16 (rows) and 16 by 8 (columns) of bytes.
__global__ void bytes(const int8_t* a, const int8_t* b, int* c) {
  const int group = threadIdx.x >> 2, in_group = threadIdx.x & 3;
  const int fa = reinterpret_cast<const int*>(a)[group * 4 + in_group];
  const int fb = reinterpret_cast<const int*>(b)[group * 4 + in_group];
  int d0, d1;
  asm volatile(
      "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%4,%5};"
      : "=r"(d0), "=r"(d1)
      : "r"(fa), "r"(fb), "r"(0x7fffff00), "r"(0));
  c[group * 8 + in_group * 2] = d0, c[group * 8 + in_group * 2 + 1] = d1;
}

int main() {
  Numbers numbers(79);
  std::vector<half> ha(256), hb(128);
  std::vector<float> expected(128), fa(128), fb(64), texpected(128, 1);
  for (half& one : ha) one = __float2half(float(int(numbers.next() % 33) - 16));
  for (half& one : hb) one = __float2half(float(int(numbers.next() % 33) - 16));
  for (float& one : fa) one = float(int(numbers.next() % 65) - 32) / 8;
  for (float& one : fb) one = float(int(numbers.next() % 65) - 32) / 8;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < 16; ++k)
        expected[i * 8 + j] += __half2float(ha[i * 16 + k]) * __half2float(hb[k * 8 + j]);
      for (int k = 0; k < 8; ++k) texpected[i * 8 + j] += fa[i * 8 + k] * fb[j * 8 + k];
    }
  std::vector<int8_t> ba(128), bb(128);
  std::vector<int> bexpected(64);
  for (int8_t& one : ba) one = int8_t(numbers.next());
  for (int8_t& one : bb) one = int8_t(numbers.next());
  for (int i = 0; i < 64; ++i) {
    long long sum = i % 2 == 0 ? 0x7fffff00 : 0;
    for (int k = 0; k < 16; ++k) sum += ba[i / 8 * 16 + k] * bb[i % 8 * 16 + k];
    bexpected[i] = int(std::min(sum, 0x7fffffffLL));
  }
  Array<half> a(ha), b(hb);
  Array<float> c(128), ta(fa), tb(fb), tc(128);
  Array<int8_t> da(ba), db(bb);
  Array<int> dc(64);
  halves<<<1, 32>>>(a, b, c);
  tf32<<<1, 32>>>(ta, tb, tc);
  bytes<<<1, 32>>>(da, db, dc);
  return finish("matmul_mma_ptx",
                c.host() == expected && tc.host() == texpected && dc.host() == bexpected);
}
