// printf of kernels: formats, order, a full buffer, what it returns, when it shows. Lines are numbered by the program.
#include "told.h"

namespace {

__global__ void formats(const char* text) {
  printf("F01: [%d] [%5d] [%-5d] [%05d] [%+d] [%x] [%X] [%#x] [%o] [%u]\n", -42, 42, 42, 42, 42, 255, 255, 255, 8, -1);
  printf("F02: [%f] [%5.2f] [%-10.3f] [%e] [%g] [%G] [%a]\n", 3.14159, 3.14159, 2.5, 12345.678, 0.0001, 1e20, 1.5);
  printf("F03: [%lld] [%llu] [%llx] [%ld] [%lu] [%hd] [%hhd]\n", -1234567890123ll, 1234567890123ull, 0xabcdefabcdefull, -5l, 5ul, 70000, 300);
  printf("F04: [%s] [%10s] [%-10s] [%.2s] [%c] [%3c] [%%]\n", "text", "text", "text", "text", 'A', 'B');
  printf("F05: [%f] [%f] [%f] [%f]\n", INFINITY, -INFINITY, NAN, -0.0);
  printf("F06: [%*d] [%.*f] [%-*d]\n", 6, 7, 2, 3.14159, 4, 5);
  printf("F07: [%i] [%zu] [%td] [%jd]\n", 5, sizeof(int), (long)-3, 9ll);
  printf("F08: [%q] [%y] [%5]\n", 1, 2);
  printf("F10: no arguments\n");
  printf("F11: [%s]\n", text);
  printf("F12: [%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d]\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20);
  printf("F13: [%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d]\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
         12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34);
  printf("F14: [%f] [%d] [%.3f]\n", 1.5f, true, (float)0.1f);
  printf("F15: [%p] of null\n", (void*)nullptr);
  printf("F17: [%lf] [%Lf] [%llu] [% d] [%08.3f] [%+.1e]\n", 2.5, 2.5, 7ull, 3, 3.14159, 31415.9);
}

__global__ void results(int* out) {
  out[0] = printf("R1: three %d %d %d\n", 1, 2, 3);
  out[1] = printf("R2: none\n");
  out[2] = printf("");
}

__global__ void threads() { printf("T%d%02d: thread\n", blockIdx.x, threadIdx.x); }

__global__ void missing() { printf("M1: [%d] [%d] [%s]\n", 1); }
__global__ void null_string(const char* text) { printf("N1: [%s] of null\n", text); }
__global__ void null_format(const char* text) { printf(text); }

__global__ void floods(int* out) {
  int kept = 0, least = 0;
  for (int i = 0; i < 1000; ++i) {
    int r = printf("X%03d: %d\n", i, i);
    kept += r >= 0, least = r < least ? r : least;
  }
  out[0] = kept, out[1] = least;
}

}  // namespace

// What may end the process has a process of its own, named by the argument.
int odd(const std::string& what) {
  if (what == "missing") missing<<<1, 1>>>();
  if (what == "null_string") null_string<<<1, 1>>>(nullptr);
  if (what == "null_format") null_format<<<1, 1>>>(nullptr);
  tell_error("synchronize", cudaDeviceSynchronize());
  return 0;
}

int main(int count, char** words) {
  if (count > 1) return odd(words[1]);
  CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 8192));
  size_t size = 0;
  CHECK(cudaDeviceGetLimit(&size, cudaLimitPrintfFifoSize));
  tell("fifo", static_cast<long long>(size));
  std::fflush(stdout);
  char* text = nullptr;
  CHECK(cudaMalloc(&text, 16));
  CHECK(cudaMemcpy(text, "in memory", 10, cudaMemcpyHostToDevice));
  formats<<<1, 1>>>(text);
  FINISH();
  std::fflush(stdout);
  Array<int> out(4);
  results<<<1, 1>>>(out);
  FINISH();
  tell("results", out.host());
  threads<<<2, 4>>>();
  FINISH();
  std::fflush(stdout);
  threads<<<1, 2>>>();
  std::printf("before copy: host\n");
  CHECK(cudaMemcpy(text, text, 1, cudaMemcpyDeviceToDevice));
  std::printf("after copy within the device: host\n");
  char one = 0;
  CHECK(cudaMemcpy(&one, text, 1, cudaMemcpyDeviceToHost));
  std::printf("after copy to the host: host\n");
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  threads<<<1, 1, 0, stream>>>();
  CHECK(cudaStreamSynchronize(stream));
  std::printf("after stream synchronize: host\n");
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  threads<<<1, 1, 0, stream>>>();
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaEventSynchronize(event));
  std::printf("after event synchronize: host\n");
  FINISH();
  floods<<<1, 1>>>(out);
  FINISH();
  auto told = out.host();
  tell("flood kept, least result", std::vector<int>(told.begin(), told.begin() + 2));
  threads<<<1, 1>>>();  // nobody waits for it
  std::printf("last: host\n");
  return 0;
}
