// Kernels with barriers in the forms that are split into loops over threads, and one that is not.
#include <cstdio>

constexpr int kAdded = 8;

__global__ void leaves(int* a, int n) {
  __shared__ int s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = a[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int k = 1; k < 4; ++k) {
    int o = s[(threadIdx.x + k) % 32];
    __syncthreads();
    s[threadIdx.x] = o + k;
    if (o % 7 == 3) return;
    __syncthreads();
    v += o;
  }
  a[i] = v;
}

template <typename T, int N>
__global__ void branches(T* a, const T* b, T alpha) {
  __shared__ T s[N];
  const int t = threadIdx.x;
  T v = b[t];
  T w;
  s[t] = v * alpha;
  __syncthreads();
  if (blockDim.x >= 64) {
    if (t < 32) s[t] += s[t + 32];
    __syncthreads();
  } else if (blockDim.x > 8) {
    s[t] -= 1;
    __syncthreads();
  } else {
    v += 5;
  }
  w = s[(t + 1) % blockDim.x];
  v += w;
  __syncthreads();
  a[t] = v + kAdded;
}

template <int D>
__global__ void halves(int* a) {
  extern __shared__ int s[];
  int x = threadIdx.x, y = threadIdx.y, id = y * blockDim.x + x;
  int sums[4];
  for (int j = 0; j < 4; ++j) sums[j] = j * id;
  s[id] = id;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (x < half) {
      s[id] += s[id + half];
      sums[half & 3] += s[id];
    }
    __syncthreads();
  }
  int* p = a + id * 4;
  for (int j = 0; j < 4; ++j) {
    if (j == D) continue;
    p[j] = sums[j] + s[y * blockDim.x];
  }
}

__global__ void whiles(int* a, int n) {
  __shared__ int c;
  if (threadIdx.x == 0) c = 0;
  __syncthreads();
  while (c < n) {
    __syncthreads();
    if (threadIdx.x == 0) c += 3;
    __syncthreads();
  }
  a[threadIdx.x] = c;
}

__global__ void shadows(int* a) {
  int v = threadIdx.x;
  {
    int u = v * 2;
    a[threadIdx.x] = u;
  }
  __syncthreads();
  int q = a[(threadIdx.x + 1) % blockDim.x];
  if (v & 1) {
    int v = 3;
    q = -q + v;
  }
  __syncthreads();
  a[threadIdx.x] = q + v--;
  v += 0;
}

// The matrix product of tiles of 4 x 4, and loops within loops.
__global__ void tiles(const int* a, const int* b, int* c, int n) {
  __shared__ int of_a[4][4], of_b[4][4];
  const int x = threadIdx.x, y = threadIdx.y;
  const int rows = n / 4;
  int sum = 0;
  for (int k = 0; k < rows; ++k) {
    const int first = k * 4;
    of_a[y][x] = a[(blockIdx.y * 4 + y) * n + first + x];
    of_b[y][x] = b[(first + y) * n + blockIdx.x * 4 + x];
    __syncthreads();
    for (int part = 0; part < 2; ++part) {
#pragma unroll
      for (int j = part * 2; j < part * 2 + 2; ++j) sum += of_a[y][j] * of_b[j][x];
      __syncthreads();
    }
  }
  c[(blockIdx.y * 4 + y) * n + blockIdx.x * 4 + x] = sum;
}

// All threads of most blocks leave before a loop whose bounds lie behind the end of the memory.
__global__ void guarded(int* a, const int* bounds, int blocks) {
  __shared__ int s[32];
  if (blockIdx.x >= blocks) return;
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int k = bounds[blockIdx.x * 4000000]; k < 3; ++k) {
    s[(threadIdx.x + k) % 32] += threadIdx.x;
    __syncthreads();
  }
  a[threadIdx.x] = s[threadIdx.x];
}

// Points into its own variable, in all three dimensions of a block.
__global__ void points(int* a) {
  int v = 1;
  int* p = &v;
  *p += threadIdx.z;
  __syncthreads();
  *p += threadIdx.y * 10;
  __syncthreads();
  unsigned number = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  atomicAdd(&a[number], v);
}

int* a;

void show(const char* what, int n) {
  const cudaError_t error = cudaDeviceSynchronize();
  unsigned long hash = 0;
  for (int i = 0; i < n; ++i) hash = hash * 31 + a[i];
  std::printf("%s %d %lu %d %d %d\n", what, error, hash, a[0], a[1], a[n - 1]);
}

int main() {
  cudaMallocManaged(&a, 4096);
  for (int i = 0; i < 1024; ++i) a[i] = i * 7 % 23;
  leaves<<<3, 32>>>(a, 77);
  show("leaves", 96);
  leaves<<<40, 32>>>(a, 0);
  show("all leave", 96);
  branches<int, 64><<<1, 64>>>(a, a + 100, 3);
  show("branches, 64", 64);
  branches<int, 64><<<1, 32>>>(a, a + 100, 3);
  show("branches, 32", 64);
  branches<int, 64><<<1, 8>>>(a, a + 100, 3);
  show("branches, 8", 64);
  halves<2><<<1, dim3(16, 4), 1024>>>(a);
  show("halves", 256);
  whiles<<<1, 40>>>(a, 20);
  show("whiles", 40);
  shadows<<<1, 33>>>(a);
  show("shadows", 40);
  for (int i = 0; i < 1024; ++i) a[i] = i * 5 % 11;
  tiles<<<dim3(4, 4), dim3(4, 4)>>>(a, a + 256, a + 512, 16);
  show("tiles", 1024);
  guarded<<<3, 32>>>(a, a, 1);
  show("guarded", 32);
  points<<<2, dim3(3, 4, 5)>>>(a);
  show("points", 60);
}
