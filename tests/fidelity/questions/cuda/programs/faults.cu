// One fault of a kernel per process: what each call says afterwards. The argument names it.
#include "told.h"

#include <cassert>

namespace {

__device__ int gLoose[4];
__constant__ int cTable[4];

__global__ void nothing(int* p) { if (p) *p = 1; }
__global__ void write_null(int* p) { p[threadIdx.x] = 1; }
__global__ void write_far(char* p, long long by) { p[by] = 1; }
__global__ void misaligned(char* p) { *reinterpret_cast<volatile int*>(p + 1) = 3; }
__global__ void misaligned_vector(float* p) { *reinterpret_cast<int4*>(p + 1) = int4{1, 2, 3, 4}; }
__global__ void misaligned_shared(int by, int* out) {
  __shared__ int s[8];
  out[0] = *reinterpret_cast<volatile int*>(reinterpret_cast<char*>(s) + by);
}
__global__ void shared_far(int by, int* out) {
  extern __shared__ int s[];
  volatile int* v = s;
  v[by] = 1;
  out[0] = v[by];
}
__global__ void asserts(int n) { assert(static_cast<int>(threadIdx.x) < n && "too many threads"); }
__global__ void traps() { __trap(); }
__global__ void breaks() { __brkpt(); }
__global__ void exits(int* out) {
  if (threadIdx.x == 1) asm volatile("exit;");
  out[threadIdx.x] = 1;
}
__global__ void divides(int a, int* out) { out[0] = 7 / a, out[1] = 7 % a; }
__global__ void deep(int n, volatile int* out);
__device__ __noinline__ int recursive(int n, volatile int* out) {
  int kept[64];
  for (int i = 0; i < 64; ++i) kept[i] = n + out[i % 4];
  if (n > 0) kept[n % 64] += recursive(n - 1, out);
  return kept[(n * 7) % 64] + kept[3];
}
__global__ void deep(int n, volatile int* out) { out[0] = recursive(n, out); }
__global__ void misuse_atomic(char* p) { atomicAdd(reinterpret_cast<int*>(p + 2), 1); }
__global__ void write_constant(int* p) { *p = 1; }

void tell_state(const char* about) {
  std::string name = about;
  tell_error(name + " peek", cudaPeekAtLastError());
  tell_error(name + " get", cudaGetLastError());
  tell_error(name + " get again", cudaGetLastError());
}

}  // namespace

int main(int count, char** words) {
  std::string fault = count > 1 ? words[1] : "none";
  int* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4096));
  CHECK(cudaMemset(memory, 0, 4096));
  char* bytes = reinterpret_cast<char*>(memory);
  int host = 5;
  cudaStream_t stream;
  cudaEvent_t event;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&event));
  void* constant = nullptr;
  CHECK(cudaGetSymbolAddress(&constant, cTable));
  if (fault == "write_null") write_null<<<1, 1, 0, stream>>>(nullptr);
  else if (fault == "write_far") write_far<<<1, 1, 0, stream>>>(bytes, 1ll << 40);
  else if (fault == "write_host") write_null<<<1, 1, 0, stream>>>(new int[4]);
  else if (fault == "misaligned") misaligned<<<1, 1, 0, stream>>>(bytes);
  else if (fault == "misaligned_vector") misaligned_vector<<<1, 1, 0, stream>>>(reinterpret_cast<float*>(memory));
  else if (fault == "misaligned_shared") misaligned_shared<<<1, 1, 0, stream>>>(2, memory);
  else if (fault == "misaligned_atomic") misuse_atomic<<<1, 1, 0, stream>>>(bytes);
  else if (fault == "shared_far") shared_far<<<1, 1, 64, stream>>>(1 << 20, memory);
  else if (fault == "shared_near") shared_far<<<1, 1, 64, stream>>>(17, memory);
  else if (fault == "shared_2048") shared_far<<<1, 1, 64, stream>>>(2048, memory);
  else if (fault == "assert") asserts<<<2, 4, 0, stream>>>(3);
  else if (fault == "trap") traps<<<1, 1, 0, stream>>>();
  else if (fault == "breakpoint") breaks<<<1, 1, 0, stream>>>();
  else if (fault == "exit") exits<<<1, 4, 0, stream>>>(memory);
  else if (fault == "divide_by_zero") divides<<<1, 1, 0, stream>>>(0, memory);
  else if (fault == "stack") deep<<<1, 1, 0, stream>>>(100000, memory);
  else if (fault == "stack_enough") deep<<<1, 1, 0, stream>>>(2, memory);
  else if (fault == "stack_larger") {
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 65536));
    deep<<<1, 1, 0, stream>>>(100, memory);
  } else if (fault == "write_constant") write_constant<<<1, 1, 0, stream>>>(static_cast<int*>(constant));
  else if (fault == "after_free") {
    int* gone = nullptr;
    CHECK(cudaMalloc(&gone, 64 << 20));
    CHECK(cudaFree(gone));
    write_null<<<1, 1, 0, stream>>>(gone);
  }
  tell_error("launch, peek", cudaPeekAtLastError());
  tell_error("stream synchronize", cudaStreamSynchronize(stream));
  tell_state("after");
  tell_error("stream query", cudaStreamQuery(stream));
  tell_error("event record", cudaEventRecord(event, stream));
  tell_error("event synchronize", cudaEventSynchronize(event));
  tell_state("events");
  nothing<<<1, 1>>>(memory);
  tell_error("launch", cudaGetLastError());
  tell_error("launch again get", cudaGetLastError());
  tell_error("device synchronize", cudaDeviceSynchronize());
  tell_error("copy", cudaMemcpy(&host, memory, 4, cudaMemcpyDeviceToHost));
  tell("copied", host);
  void* more = nullptr;
  tell_error("malloc", cudaMalloc(&more, 16));
  tell_error("malloc host", cudaMallocHost(&more, 16));
  tell_error("free", cudaFree(memory));
  cudaPointerAttributes attributes{};
  tell_error("attributes", cudaPointerGetAttributes(&attributes, memory));
  cudaFuncAttributes function{};
  tell_error("function attributes", cudaFuncGetAttributes(&function, nothing));
  cudaDeviceProp properties;
  tell_error("properties", cudaGetDeviceProperties(&properties, 0));
  int device = -1;
  tell_error("get device", cudaGetDevice(&device));
  tell_error("set device", cudaSetDevice(0));
  size_t left = 0, all = 0;
  tell_error("memory info", cudaMemGetInfo(&left, &all));
  tell_error("event destroy", cudaEventDestroy(event));
  tell_error("stream destroy", cudaStreamDestroy(stream));
  tell_state("all");
  tell_error("reset", cudaDeviceReset());
  tell_state("reset");
  tell_error("malloc after reset", cudaMalloc(&more, 16));
  nothing<<<1, 1>>>(static_cast<int*>(more));
  tell_error("launch after reset", cudaGetLastError());
  tell_error("synchronize after reset", cudaDeviceSynchronize());
  return 0;
}
