// printf in kernels, an assertion that fails in a process of its own, clocks, __nanosleep, memory
// of the device's heap.
#include <cassert>
#include <cstring>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "sample.h"

__global__ void print(const char* word) {
  if (threadIdx.x == 1)
    printf("block %u of %u: %s %5.2f|%-4d|%lld|%c|%x|%%\n", blockIdx.x, gridDim.x, word, 1.5, 42,
           1LL << 40, 'z', 255u);
}
__global__ void check(int most) {
  assert(int(threadIdx.x) < most && "too many threads");
}

__global__ void clocks(long long* times, int* order) {
  const long long start = clock64();
  const clock_t short_start = clock();
  float x = threadIdx.x;
  for (int i = 0; i < 100; ++i) x = x * 0.5f + 1;
  __nanosleep(100);
  const long long stop = clock64();
  times[threadIdx.x] = stop - start;
  // clock() is the low half of clock64().
  const unsigned shorter = unsigned(clock()) - unsigned(short_start);
  order[threadIdx.x] = x > 0 && shorter >= unsigned(stop - start) / 2;
  unsigned long long global;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(global));
  if (global == 0) order[threadIdx.x] = 0;
}

__global__ void heap(int* out) {
  int* mine = static_cast<int*>(malloc(sizeof(int) * 10));
  if (mine == nullptr) return;
  for (int i = 0; i < 10; ++i) mine[i] = i * threadIdx.x;
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += mine[i];
  out[threadIdx.x] = sum;
  free(mine);
}

template <class Function>
std::string output_of(Function function, int* status) {
  int pipes[2];
  if (pipe(pipes) != 0) std::exit(1);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], 1);
    dup2(pipes[1], 2);
    close(pipes[0]);
    close(pipes[1]);
    const int code = function();
    std::fflush(stdout);
    _exit(code);
  }
  close(pipes[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got; (got = read(pipes[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, got);
  close(pipes[0]);
  waitpid(child, status, 0);
  return text;
}

int main() {  // the first processes fork before CUDA starts
  int status = 0;
  const std::string printed = output_of(
      [] {
        char* word;
        CHECK(cudaMalloc(&word, 8));
        CHECK(cudaMemcpy(word, "hello", 6, cudaMemcpyHostToDevice));
        print<<<2, 4>>>(word);
        return int(cudaDeviceSynchronize());
      },
      &status);
  bool right =
      status == 0 &&
      printed.find("block 0 of 2: hello  1.50|42  |1099511627776|z|ff|%\n") != std::string::npos &&
      printed.find("block 1 of 2: hello") != std::string::npos;
  const std::string asserted = output_of(
      [] {
        check<<<1, 40>>>(35);
        return int(cudaDeviceSynchronize() == cudaErrorAssert ? 7 : 8);
      },
      &status);
  right = right && WEXITSTATUS(status) == 7 &&
          asserted.find("block: [0,0,0], thread: [35,0,0] Assertion `") != std::string::npos &&
          asserted.find("too many threads") != std::string::npos;
  Array<long long> times(64);
  Array<int> order(64), sums(64);
  clocks<<<1, 64>>>(times, order);
  for (long long one : times.host()) right = right && one > 0;
  for (int one : order.host()) right = right && one == 1;
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 8 << 20));
  heap<<<1, 64>>>(sums);
  const auto s = sums.host();
  for (int i = 0; i < 64; ++i) right = right && s[i] == 45 * i;
  return finish("printing_and_clocks", right);
}
