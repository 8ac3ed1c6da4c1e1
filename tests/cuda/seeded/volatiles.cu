// Volatile global memory: what orders nothing, and the ways in which programs use it rightly.
#include "run.h"

__global__ void two_writers(volatile int* place) {
  if (threadIdx.x == 0) *place = blockIdx.x + 1;  // BUG 1 race
}
__global__ void counter(volatile int* count, int* lock) {
  if (threadIdx.x != 0) return;
  if (lock)
    while (atomicCAS(lock, 0, 1) != 0) {
    }
  *count = *count + 1;  // BUG 2 race
  if (!lock) return;
  __threadfence();
  atomicExch(lock, 0);
}
// Data and its flag are both volatile.
__global__ void handshake(volatile int* data, volatile int* flag, int* out, bool fence) {
  if (blockIdx.x == 0) {
    *data = 5;  // BUG 3 race
    if (fence) __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    *out = *data;  // BUG 3 race
  }
}
// Data is volatile, the last block to count adds it up.
__global__ void last_block(float* out, volatile float* partial, unsigned* done, bool fence) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = blockIdx.x;
    if (fence) __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned k = 0; k < gridDim.x; ++k) sum += partial[k];  // BUG 4 race
    *out = sum;
  }
}
// A barrier is between the writes of a block's threads and the flag, and no fence.
__global__ void block_handshake(volatile int* data, volatile int* flag, int* out, bool fence) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = threadIdx.x;
    if (fence) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
  } else {
    if (threadIdx.x == 0)
      while (*flag == 0) {
      }
    __syncthreads();
    out[threadIdx.x] = data[blockDim.x - 1 - threadIdx.x];  // BUG 5 race
  }
}
// Data is written by a plain write.
__global__ void plain_data(int* data, volatile int* flag, int* out, bool fence) {
  if (blockIdx.x == 0) {
    *data = 5;  // BUG 6 race
    if (fence) __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    *out = *data;
  }
}
// Two warps of a block use global memory as they would use shared memory.
__global__ void no_barrier(volatile int* data, bool wait) {
  data[threadIdx.x] = threadIdx.x;
  if (wait) __syncthreads();
  if (threadIdx.x >= 32) data[threadIdx.x - 32] = threadIdx.x;  // BUG 7 race
}

// What is right.
__global__ void found(volatile int* flag, const int* data) {
  if (*flag) return;
  if (data[threadIdx.x] == 0) *flag = 1;
}
__global__ void tickets(volatile int* serving, volatile int* value) {
  if (threadIdx.x != 0) return;
  while (*serving != (int)blockIdx.x) {
  }
  __threadfence();
  *value = *value + 1;
  __threadfence();
  *serving = blockIdx.x + 1;
}
// Each block adds what those before it have; its state says how far it is.
__global__ void look_back(volatile int* state, volatile int* own, volatile int* all) {
  const int b = blockIdx.x;
  if (threadIdx.x != 0) return;
  own[b] = b + 1;
  __threadfence();
  state[b] = 1;
  int sum = b + 1;
  for (int k = b - 1; k >= 0; --k) {
    int s;
    do {
      s = state[k];
    } while (s == 0);
    __threadfence();
    if (s == 2) {
      sum += all[k];
      break;
    }
    sum += own[k];
  }
  all[b] = sum;
  __threadfence();
  state[b] = 2;
}
__global__ void warp_tail(volatile float* sums) {
  const int i = threadIdx.x;
  sums[i] = 1;
  if (i < 16)
    for (int half = 16; half > 0; half /= 2) sums[i] += sums[i + half];
}
__global__ void ping_pong(volatile int* go, volatile int* back, volatile int* data) {
  for (int k = 1; k <= 3; ++k) {
    if (blockIdx.x == 0) {
      *data = k;
      __threadfence();
      *go = k;
      while (*back < k) {
      }
    } else {
      while (*go < k) {
      }
      *data = -*data;
      __threadfence();
      *back = k;
    }
  }
}

int* zeros(int count = 64) {
  return filled<int>(count);
}

const Case kCases[] = {
    {1, [] { two_writers<<<3, 32>>>(zeros()); }},
    {2, [] { counter<<<3, 32>>>(zeros(), nullptr); }},
    {3, [] { handshake<<<2, 1>>>(zeros(), zeros(), zeros(), false); }},
    {4, [] { last_block<<<4, 32>>>(filled<float>(1), filled<float>(4), filled<unsigned>(1), false); }},
    {5, [] { block_handshake<<<2, 64>>>(zeros(), zeros(), zeros(), false); }},
    {6, [] { plain_data<<<2, 1>>>(zeros(), zeros(), zeros(), false); }},
    {7, [] { no_barrier<<<1, 64>>>(zeros(), false); }},
    {0,
     [] {
       counter<<<3, 32>>>(zeros(), zeros());
       handshake<<<2, 1>>>(zeros(), zeros(), zeros(), true);
       last_block<<<4, 32>>>(filled<float>(1), filled<float>(4), filled<unsigned>(1), true);
       block_handshake<<<2, 64>>>(zeros(), zeros(), zeros(), true);
       plain_data<<<2, 1>>>(zeros(), zeros(), zeros(), true);
       no_barrier<<<1, 64>>>(zeros(), true);
       found<<<4, 32>>>(zeros(), zeros());
       tickets<<<4, 32>>>(zeros(), zeros());
       look_back<<<8, 32>>>(zeros(), zeros(), zeros());
       warp_tail<<<1, 32>>>(filled<float>(64));
       ping_pong<<<2, 1>>>(zeros(), zeros(), zeros());
     }},
};

int main(int argc, char** argv) {
  return run_cases(argc, argv, kCases);
}
