// Conditions that say how many threads of a row take part, or seem to.
#include <cstdio>

constexpr float kHalf = 0.5f;
constexpr int kFew = 5;

// What a condition lets pass between two barriers, alone in its phase.
#define KERNEL(name, before, condition)         \
  KERNEL_OF(int, name, before, condition)       \
  KERNEL_OF(unsigned, name##_unsigned, before, condition)
#define KERNEL_OF(Number, name, before, condition)                          \
  template <int Fixed>                                                      \
  __global__ void name(int* out, Number n, long long wide) {                \
    __shared__ int s[1024];                                                 \
    const int t = threadIdx.y * blockDim.x + threadIdx.x;                   \
    before;                                                                 \
    s[t] = 0;                                                               \
    __syncthreads();                                                        \
    if (condition) s[t] += 100 + t;                                         \
    __syncthreads();                                                        \
    if (condition) {                                                        \
      const int mine = s[t];                                                \
      s[(t + 1) % (blockDim.x * blockDim.y)] += mine % 2;                   \
    } else {                                                                \
      s[t] += 1000;                                                         \
    }                                                                       \
    __syncthreads();                                                        \
    int v = s[t];                                                           \
    if (condition) {                                                        \
      v += __shfl_xor_sync(0xffffffff, v, 1) & 0;                           \
      if (threadIdx.x < 2) v += 7;                                          \
      v += __shfl_down_sync(0xffffffff, v, 1) & 0;                          \
    }                                                                       \
    out[blockIdx.x * blockDim.x * blockDim.y + t] = v;                      \
  }

KERNEL(below, , threadIdx.x < n)
KERNEL(below_wide, , threadIdx.x < wide)
KERNEL(below_sum, , threadIdx.x < n + blockIdx.x)
KERNEL(below_all, , threadIdx.x < blockDim.x / 2)
KERNEL(signed_below, const int x = threadIdx.x, x < n)
KERNEL(unsigned_below, unsigned int x = threadIdx.x, x < n)
KERNEL(byte_below, const unsigned char x = threadIdx.x, x < n)
KERNEL(changed_below, int x = threadIdx.x; x += 3, x < n)
KERNEL(at_most, , threadIdx.x <= n)
KERNEL(first, , threadIdx.x == 0)
KERNEL(first_of, const int x = threadIdx.x, x == 0 && n > 3)
KERNEL(second, , threadIdx.x == 1)
KERNEL(both, , threadIdx.x < n && threadIdx.y < 2)
KERNEL(either, , threadIdx.x < n || threadIdx.x == 40)
KERNEL(chosen, , threadIdx.x < n ? threadIdx.x % 2 : threadIdx.x % 3)
KERNEL(negated, , !(threadIdx.x < n))
KERNEL(fraction, , threadIdx.x < kHalf)
KERNEL(of_namespace, , threadIdx.x < kFew)
KERNEL(of_template, , threadIdx.x < Fixed)
KERNEL(divided, , threadIdx.x < 64 / 3)
KERNEL(rows, , threadIdx.y < n)
KERNEL(shifted, , threadIdx.x << 1 < n)

template <class Kernel, class Number>
void run(const char* name, Kernel kernel, Number n) {
  const dim3 sizes[] = {dim3(32), dim3(64, 3), dim3(33, 2)};
  int* out;
  cudaMallocManaged(&out, 2 * 192 * sizeof(int));
  for (const dim3& size : sizes) {
    for (int i = 0; i < 2 * 192; ++i) out[i] = -1;
    kernel<<<2, size>>>(out, n, static_cast<long long>(n) + (1LL << 33) * (n > 1000));
    cudaDeviceSynchronize();
    unsigned long long sum = 0;
    for (int i = 0; i < 2 * 192; ++i) sum = sum * 31 + static_cast<unsigned>(out[i]);
    std::printf("%s %lld %ux%u %llx %s\n", name, static_cast<long long>(n), size.x, size.y, sum,
                cudaGetErrorName(cudaGetLastError()));
  }
  cudaFree(out);
}

#define RUN(name)                                                      \
  for (const int n : {-3, 0, 1, 7, 32, 2000}) run(#name, name<3>, n); \
  for (const unsigned n : {0U, 5U, 4000000000U}) run(#name, name##_unsigned<-1>, n)

int main() {
  RUN(below);
  RUN(below_wide);
  RUN(below_sum);
  RUN(below_all);
  RUN(signed_below);
  RUN(unsigned_below);
  RUN(byte_below);
  RUN(changed_below);
  RUN(at_most);
  RUN(first);
  RUN(first_of);
  RUN(second);
  RUN(both);
  RUN(either);
  RUN(chosen);
  RUN(negated);
  RUN(fraction);
  RUN(of_namespace);
  RUN(of_template);
  RUN(divided);
  RUN(rows);
  RUN(shifted);
  return 0;
}
