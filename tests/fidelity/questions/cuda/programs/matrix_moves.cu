// ldmatrix, stmatrix, movmatrix and cp.async: which lane gets what.
#include "told.h"

#include <cuda_pipeline.h>

namespace {

__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// 32 rows of 8 elements of 16 bits that are their index; lane L names row L.
__global__ void load(int kind, unsigned* out) {
  __shared__ __align__(16) unsigned short rows[256];
  int lane = threadIdx.x;
  for (int i = 0; i < 8; ++i) rows[lane * 8 + i] = static_cast<unsigned short>(lane * 8 + i);
  __syncwarp();
  unsigned a = address(rows + lane * 8), r[4] = {0, 0, 0, 0};
  switch (kind) {
    case 0: asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(a)); break;
    case 1: asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(a)); break;
    case 2:
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
      break;
    case 3: asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(a)); break;
    case 4:
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(a));
      break;
    case 5:
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
      break;
    case 6: {
      unsigned own = (lane * 2) | (lane * 2 + 1) << 16;
      asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[0]) : "r"(own));
      break;
    }
  }
  for (int i = 0; i < 4; ++i) out[i * 32 + lane] = r[i];
}

__global__ void store(int kind, unsigned short* out) {
#if __CUDA_ARCH__ >= 900
  __shared__ __align__(16) unsigned short rows[256];
  int lane = threadIdx.x;
  for (int i = 0; i < 8; ++i) rows[lane * 8 + i] = 0;
  __syncwarp();
  unsigned a = address(rows + lane * 8), r[4];
  for (int i = 0; i < 4; ++i) r[i] = (i * 64 + lane * 2) | (i * 64 + lane * 2 + 1) << 16;
  if (kind == 0) asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(a), "r"(r[0]) : "memory");
  if (kind == 1)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(a), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  if (kind == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(a), "r"(r[0]), "r"(r[1]) : "memory");
  __syncwarp();
  for (int i = 0; i < 8; ++i) out[lane * 8 + i] = rows[lane * 8 + i];
#endif
}

__global__ void copy(const unsigned char* in, unsigned char* out) {
  __shared__ __align__(16) unsigned char kept[128];
  int t = threadIdx.x;
  for (int i = t; i < 128; i += 32) kept[i] = 0xee;
  __syncthreads();
  if (t == 0) {
    unsigned a = address(kept);
    int ten = 10, none = 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a), "l"(in) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(a + 16), "l"(in + 16) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(a + 32), "l"(in + 32) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(a + 48), "l"(in + 48), "r"(ten) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(a + 64), "l"(in + 64), "r"(none) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __pipeline_memcpy_async(kept + 80, in + 80, 16, 5);
    __pipeline_commit();
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  }
  __syncthreads();
  for (int i = t; i < 128; i += 32) out[i] = kept[i];
}

}  // namespace

int main() {
  const char* names[] = {"ldmatrix x1", "ldmatrix x2", "ldmatrix x4", "ldmatrix x1 trans", "ldmatrix x2 trans", "ldmatrix x4 trans",
                         "movmatrix"};
  for (int kind = 0; kind < 7; ++kind) {
    Array<unsigned> out(128);
    load<<<1, 32>>>(kind, out);
    FINISH();
    tell_bits(names[kind], out.host(), 128);
  }
  const char* stores[] = {"stmatrix x1", "stmatrix x4", "stmatrix x2 trans"};
  for (int kind = 0; kind < 3; ++kind) {
    Array<unsigned short> out(256);
    store<<<1, 32>>>(kind, out);
    FINISH();
    tell(stores[kind], out.host(), 256);
  }
  std::vector<unsigned char> bytes(128);
  for (int i = 0; i < 128; ++i) bytes[i] = static_cast<unsigned char>(i);
  Array<unsigned char> in(bytes), out(128);
  copy<<<1, 32>>>(in, out);
  FINISH();
  tell_bits("cp.async", out.host(), 128);
  return 0;
}
