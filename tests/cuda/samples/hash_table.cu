// A hash table with open addressing by atomicCAS, chains whose heads are exchanged, and counters
// behind a lock that a block takes.
#include <map>

#include "sample.h"

constexpr unsigned kEmpty = 0xffffffffu, kSlots = 4096;

__device__ unsigned hash(unsigned k) {
  k ^= k >> 16, k *= 0x85ebca6bu, k ^= k >> 13, k *= 0xc2b2ae35u, k ^= k >> 16;
  return k & (kSlots - 1);
}

__global__ void insert(unsigned* keys, unsigned* counts, const unsigned* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = hash(in[i]);
  while (true) {
    const unsigned before = atomicCAS(&keys[slot], kEmpty, in[i]);
    if (before == kEmpty || before == in[i]) {
      atomicAdd(&counts[slot], 1u);
      return;
    }
    slot = (slot + 1) & (kSlots - 1);
  }
}

__global__ void find(const unsigned* keys, const unsigned* counts, const unsigned* in,
                     unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = hash(in[i]);
  while (keys[slot] != in[i] && keys[slot] != kEmpty) slot = (slot + 1) & (kSlots - 1);
  out[i] = keys[slot] == in[i] ? counts[slot] : 0;
}

struct Entry {
  unsigned key;
  Entry* next;
};
__global__ void chain(unsigned long long* heads, Entry* entries, const unsigned* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  entries[i].key = in[i];
  const unsigned long long old = atomicExch(&heads[in[i] % 61], (unsigned long long)&entries[i]);
  entries[i].next = reinterpret_cast<Entry*>(old);
}
__global__ void lengths(const unsigned long long* heads, int* out) {
  int length = 0;
  for (const Entry* e = reinterpret_cast<const Entry*>(heads[threadIdx.x]); e; e = e->next)
    length += e->key % 61 == threadIdx.x;
  out[threadIdx.x] = length;
}

class Lock {
 public:
  __device__ void take() {
    while (atomicCAS(&held, 0, 1) != 0) __nanosleep(20);
    __threadfence();
  }
  __device__ void leave() {
    __threadfence();
    atomicExch(&held, 0);
  }
  int held;
};
__device__ Lock lock;
__device__ double guarded[2];
__global__ void sums(const unsigned* in, int n) {
  __shared__ double partial[2];
  if (threadIdx.x < 2) partial[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&partial[0], double(in[i]));
    atomicAdd(&partial[1], double(in[i]) * in[i]);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    lock.take();
    volatile double* shared = guarded;
    shared[0] = shared[0] + partial[0];
    shared[1] = shared[1] + partial[1];
    lock.leave();
  }
}

int main() {
  const int n = 6000;
  std::vector<unsigned> in(n), expected(n);
  std::vector<int> of_chain(61);
  std::map<unsigned, unsigned> counts;
  Numbers numbers(137);
  double sum = 0, squares = 0;
  for (unsigned& key : in) {
    key = numbers.next() % 3000 * 7919;
    ++counts[key], ++of_chain[key % 61];
    sum += key, squares += double(key) * key;
  }
  for (int i = 0; i < n; ++i) expected[i] = counts[in[i]];
  Array<unsigned> keys(kSlots), count(kSlots), values(in), out(n);
  Array<unsigned long long> heads(61);
  Array<Entry> entries(n);
  Array<int> length(61);
  CHECK(cudaMemset(keys, 0xff, kSlots * sizeof(unsigned)));
  count.clear(), heads.clear();
  insert<<<(n + 127) / 128, 128>>>(keys, count, values, n);
  find<<<(n + 127) / 128, 128>>>(keys, count, values, out, n);
  chain<<<(n + 127) / 128, 128>>>(heads, entries, values, n);
  lengths<<<1, 61>>>(heads, length);
  sums<<<12, 64>>>(values, n);
  double both[2];
  CHECK(cudaMemcpyFromSymbol(both, guarded, sizeof(both)));
  return finish("hash_table", out.host() == expected && length.host() == of_chain &&
                                  close(both[0], sum, 1e-12) && close(both[1], squares, 1e-12));
}
