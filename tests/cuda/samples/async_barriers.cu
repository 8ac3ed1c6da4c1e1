// Barriers and pipelines of libcu++: half of a block makes what the other half uses.
// needs: nvidia-cuda-cccl
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "sample.h"

__global__ void producers_and_consumers(const int* in, long long* out, int tiles) {
  constexpr int kTile = 32;
  __shared__ int buffer[2][kTile];
  __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
  if (threadIdx.x < 2) {
    init(&full[threadIdx.x], 64);
    init(&empty[threadIdx.x], 64);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int t = 0; t < tiles; ++t) {
      if (t >= 2) empty[t & 1].arrive_and_wait();
      buffer[t & 1][threadIdx.x] = in[t * kTile + threadIdx.x] * 2;
      (void)full[t & 1].arrive();
    }
  } else {
    long long sum = 0;
    for (int t = 0; t < tiles; ++t) {
      full[t & 1].arrive_and_wait();
      sum += buffer[t & 1][63 - threadIdx.x] * (t + 1);
      if (t + 2 < tiles) (void)empty[t & 1].arrive();
    }
    cuda::atomic_ref<long long, cuda::thread_scope_device>(*out).fetch_add(
        sum, cuda::std::memory_order_relaxed);
  }
}

__global__ void staged(const int* in, int* out, int n) {
  extern __shared__ int stages[];
  constexpr int kStages = 2;
  auto block = cooperative_groups::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto pipeline = cuda::make_pipeline(block, &state);
  const int size = block.size(), tiles = n / size;
  for (int compute = 0, fetch = 0; compute < tiles; ++compute) {
    for (; fetch < tiles && fetch < compute + kStages; ++fetch) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, stages + fetch % kStages * size, in + fetch * size,
                         sizeof(int) * size, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    out[compute * size + threadIdx.x] = stages[compute % kStages * size + size - 1 - threadIdx.x];
    pipeline.consumer_release();
  }
}

int main() {
  const int tiles = 9, n = tiles * 32;
  std::vector<int> values(n);
  Numbers numbers(67);
  long long expected = 0;
  for (int i = 0; i < n; ++i) {
    values[i] = numbers.next() % 1000;
    expected += 2LL * values[i] * (i / 32 + 1);
  }
  Array<int> in(values), out(n);
  Array<long long> sum(1);
  sum.clear();
  producers_and_consumers<<<1, 64>>>(in, sum, tiles);
  bool right = sum.host()[0] == expected;
  staged<<<1, 32, 2 * 32 * sizeof(int)>>>(in, out, n);
  const auto turned = out.host();
  for (int i = 0; i < n; ++i) right = right && turned[i] == values[i / 32 * 32 + 31 - i % 32];
  return finish("async_barriers", right);
}
