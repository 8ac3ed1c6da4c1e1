// Kernels that look as if they could be split at their barriers, but for one thing each.
#include <cstdio>

__global__ void changed_by_cast(int* a) {
  __shared__ int s[64];
  int p = 0;
  ((char*)&p)[1] = threadIdx.x;
  s[threadIdx.x] = p;
  __syncthreads();
  a[threadIdx.x] = p + s[0];
}
__global__ void loaded_behind_cast(int* a) {
  __shared__ int s[64];
  for (int i = 0; i < 3; ++i) {
    a[threadIdx.x + 32] = i;
    int v = (int)*(a + 32 + threadIdx.x);
    s[threadIdx.x] = v;
    __syncthreads();
    a[threadIdx.x] += v + s[31 - threadIdx.x];
    __syncthreads();
  }
}
__global__ void declared_in_condition(int* a, int n) {
  __shared__ int s[64];
  if (int q = n) {
    q += threadIdx.x;
    s[threadIdx.x] = q;
    __syncthreads();
    a[threadIdx.x] = q + s[0];
  }
}
#define MORE(x) ++(x)
__global__ void changed_in_parentheses(int* a, int n) {
  __shared__ int s[64];
  for (int i = 0; i < n; i++) {
    s[threadIdx.x] = i + threadIdx.x;
    __syncthreads();
    a[threadIdx.x] += s[31 - threadIdx.x];
    MORE(i);
    __syncthreads();
  }
  int x = 1, y = 2;
  s[threadIdx.x] = x;
  __syncthreads();
  (n > 2 ? x : y) = 40 + threadIdx.x;
  ((y)) = 5;
  a[threadIdx.x] += x * y + s[0];
}
__global__ void shared_in_branch(int* a) {
  if (blockIdx.x == 0) {
    __shared__ int s;
    s = 1;
    atomicAdd(a, s);
  }
  __syncthreads();
  a[threadIdx.x + 1] = 3;
}
constexpr int j = 7;
__global__ void hidden_constant(int* a, int n) {
  __shared__ int s[64];
  int v = threadIdx.x * j;
  s[threadIdx.x] = v;
  __syncthreads();
  for (int j = 0; j < n; ++j) {
    a[threadIdx.x] += v + s[31 - threadIdx.x];
    __syncthreads();
  }
}
typedef int real;
__device__ real later;
void defaults(const int later = 3);
__global__ void no_constant(int* a) {
  __shared__ int s[64];
  int v = threadIdx.x * later;
  s[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x == 0) later = 5;
  __syncthreads();
  a[threadIdx.x] = v + s[31 - threadIdx.x];
}
template <int N>
__device__ int waits(int* s) {
  __syncthreads();
  return s[N - threadIdx.x];
}
template <int N>
__global__ void called_with_operator(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  int v = waits<N - 1>(s);
  __syncthreads();
  a[threadIdx.x] = v;
}
struct Waits {
  int* s;
  __device__ int operator()(int x) const {
    __syncthreads();
    return s[31 - x];
  }
};
template <class F>
__global__ void argument_named_max(int* a, F max) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  max.s = s;
  int v = max(int(threadIdx.x));
  __syncthreads();
  a[threadIdx.x] = v;
}
template <class T>
__global__ void of_constants(T* in, int* a) {
  __shared__ int s[64];
  T v = in[threadIdx.x];
  s[threadIdx.x] = v;
  __syncthreads();
  a[threadIdx.x] = s[31 - threadIdx.x] + v;
}
struct Large {
  int x[256];
};
template <class T>
__global__ void large(T* in, int* a) {
  __shared__ int s[64];
  T v = in[threadIdx.x];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  in[31 - threadIdx.x] = v;
  a[threadIdx.x] = s[31 - threadIdx.x];
}

template <class Run>
void show(const char* name, Run run) {
  int* data = nullptr;
  cudaMallocManaged(&data, 1 << 16);
  for (int i = 0; i < 1 << 14; ++i) data[i] = i % 1000;
  run(data);
  const cudaError_t error = cudaDeviceSynchronize();
  unsigned long long sum = 0;
  for (int i = 0; i < 1 << 14; ++i) sum = sum * 31 + data[i];
  std::printf("%s %s %d %d %llx\n", name, cudaGetErrorName(error), data[0], data[9], sum);
  cudaFree(data);
}

int main() {
  show("changed_by_cast", [](int* d) { changed_by_cast<<<1, 32>>>(d); });
  show("loaded_behind_cast", [](int* d) { loaded_behind_cast<<<1, 32>>>(d); });
  show("declared_in_condition", [](int* d) { declared_in_condition<<<1, 32>>>(d, 3); });
  show("changed_in_parentheses", [](int* d) { changed_in_parentheses<<<1, 32>>>(d, 20); });
  show("shared_in_branch", [](int* d) { shared_in_branch<<<1, 32>>>(d); });
  show("hidden_constant", [](int* d) { hidden_constant<<<1, 32>>>(d, 3); });
  show("no_constant", [](int* d) { no_constant<<<1, 32>>>(d); });
  show("called_with_operator", [](int* d) { called_with_operator<32><<<1, 32>>>(d); });
  show("argument_named_max", [](int* d) { argument_named_max<<<1, 32>>>(d, Waits{nullptr}); });
  show("of_constants", [](int* d) { of_constants<<<1, 32>>>((const int*)d, d + 64); });
  show("large", [](int* d) { large<<<1, 32>>>((Large*)(d + 64), d); });
}
