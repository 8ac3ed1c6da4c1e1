// Sums by shuffles within warps and atomic functions between blocks; argmax by packed keys.
#include "sample.h"

__inline__ __device__ float warp_sum(float value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

__inline__ __device__ float block_sum(float value) {
  static __shared__ float of_warp[32];
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  value = warp_sum(value);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / warpSize ? of_warp[lane] : 0;
  if (warp == 0) value = warp_sum(value);
  __syncthreads();
  return value;
}

__global__ void mean_and_variance(const float4* in, float* moments, int n) {
  float sum = 0, squares = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    const float4 v = in[i];
    sum += (v.x + v.y) + (v.z + v.w);
    squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  sum = block_sum(sum);
  squares = block_sum(squares);
  if (threadIdx.x == 0) {
    atomicAdd(&moments[0], sum);
    atomicAdd(&moments[1], squares);
  }
}

__global__ void count_bits(const unsigned* in, unsigned* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned word = i < n ? in[i] : 0;
  const unsigned bits = __reduce_add_sync(0xffffffff, __popc(word));
  const unsigned common = __reduce_or_sync(0xffffffff, word);
  const unsigned longest = __reduce_max_sync(0xffffffff, 32 - __clz(word));
  if ((threadIdx.x & 31) == 0) {
    atomicAdd(&counts[0], bits);
    atomicOr(&counts[1], common);
    atomicMax(&counts[2], longest);
  }
}

__global__ void most(const float* in, unsigned long long* best, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long key = 0;
  if (i < n) key = (unsigned long long)__float_as_uint(in[i]) << 32 | (unsigned)(n - i);
  for (int offset = 16; offset; offset >>= 1) {
    const unsigned long long other = __shfl_xor_sync(~0u, key, offset);
    key = key > other ? key : other;
  }
  if (threadIdx.x % 32 == 0) atomicMax(best, key);
}

int main() {
  const int n = 1 << 14;
  std::vector<float> values(n);
  std::vector<unsigned> words(n);
  Numbers numbers(7);
  double sum = 0, squares = 0;
  unsigned bits = 0, common = 0, longest = 0;
  int at = 0;
  for (int i = 0; i < n; ++i) {
    values[i] = numbers.real();
    words[i] = numbers.next() & 0x7ffff0;
    sum += values[i];
    squares += double(values[i]) * values[i];
    unsigned length = 0;
    for (unsigned w = words[i]; w; w >>= 1, ++length) bits += w & 1;
    common |= words[i];
    longest = std::max(longest, length);
    if (values[i] > values[at]) at = i;
  }
  Array<float> in(values), moments(2);
  Array<unsigned> in_words(words), counts(3);
  Array<unsigned long long> best(1);
  moments.clear(), counts.clear(), best.clear();
  mean_and_variance<<<8, 256>>>(reinterpret_cast<const float4*>((float*)in), moments, n / 4);
  count_bits<<<(n + 255) / 256, 256>>>(in_words, counts, n);
  most<<<(n + 127) / 128, 128>>>(in, best, n);
  const auto m = moments.host();
  const auto c = counts.host();
  const bool right = close(m[0], sum, 1e-5) && close(m[1], squares, 1e-5) && c[0] == bits &&
                     c[1] == common && c[2] == longest &&
                     n - int(best.host()[0] & 0xffffffff) == at;
  return finish("reduce_warps", right);
}
