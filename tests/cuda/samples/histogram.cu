// Histograms: 256 bins by atomics in shared memory, 64 bins with bytes for each thread, and bins of
// a warp each with aggregated atomics.
#include "sample.h"

__global__ void of_bytes(const unsigned* words, unsigned* bins, int n) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const unsigned word = words[i];
    for (int shift = 0; shift < 32; shift += 8) atomicAdd(&mine[word >> shift & 255], 1u);
  }
  __syncthreads();
  if (mine[threadIdx.x]) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

// Each thread counts in bytes of its own: no atomics, but no more than 255 numbers a thread.
__global__ void of_threads(const unsigned* words, unsigned* bins, int n) {
  __shared__ unsigned char counts[64 * 64];
  for (int i = threadIdx.x; i < 64 * 64 / 4; i += blockDim.x)
    reinterpret_cast<unsigned*>(counts)[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) {
    const uchar4 bytes = reinterpret_cast<const uchar4*>(words)[i];
    ++counts[threadIdx.x + 64 * (bytes.x >> 2)];
    ++counts[threadIdx.x + 64 * (bytes.y >> 2)];
    ++counts[threadIdx.x + 64 * (bytes.z >> 2)];
    ++counts[threadIdx.x + 64 * (bytes.w >> 2)];
  }
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0; i < 64; ++i) sum += counts[threadIdx.x * 64 + ((i + threadIdx.x) & 63)];
  atomicAdd(&bins[threadIdx.x], sum);
}

template <int kBins>
__global__ void of_warps(const unsigned char* bytes, unsigned* bins, int n) {
  extern __shared__ unsigned warps[];
  unsigned* mine = warps + threadIdx.x / 32 * kBins;
  const int lane = threadIdx.x & 31;
  for (int b = lane; b < kBins; b += 32) mine[b] = 0;
  __syncwarp();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int bin = bytes[i] % kBins;
    const unsigned same = __match_any_sync(__activemask(), bin);
    if (__ffs(same) - 1 == lane) atomicAdd(&mine[bin], __popc(same));
  }
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) {
    unsigned sum = 0;
    for (int w = 0; w < int(blockDim.x / 32); ++w) sum += warps[w * kBins + b];
    atomicAdd(bins + b, sum);
  }
}

int main() {
  const int n = 20000;
  std::vector<unsigned> words(n), bins(256), coarse(64), modulo(10);
  Numbers numbers(31);
  for (unsigned& word : words) {
    word = numbers.next() & numbers.next();
    for (int shift = 0; shift < 32; shift += 8) {
      const unsigned byte = word >> shift & 255;
      ++bins[byte], ++coarse[byte >> 2], ++modulo[byte % 10];
    }
  }
  Array<unsigned> in(words), a(256), b(64), c(10);
  a.clear(), b.clear(), c.clear();
  of_bytes<<<8, 256>>>(in, a, n);
  of_threads<<<16, 64>>>(in, b, n);
  of_warps<10>
      <<<8, 128, 4 * 10 * sizeof(unsigned)>>>((const unsigned char*)(unsigned*)in, c, 4 * n);
  return finish("histogram", a.host() == bins && b.host() == coarse && c.host() == modulo);
}
