// malloc and new in kernels, alloca-like stacks, device variables and symbols.
#include "told.h"

namespace {

__device__ int gValues[6] = {1, 2, 3};
__constant__ float cValues[5] = {0.5f, 1.5f};
__device__ int* gKept;
__device__ int gCount = 7;
__managed__ int mValue = 3;

__global__ void allocates(unsigned long long* out) {
  void* a = malloc(0);
  void* b = malloc(1);
  void* c = malloc(1000);
  void* d = malloc(1ull << 40);
  out[0] = a != nullptr, out[1] = b != nullptr, out[2] = reinterpret_cast<size_t>(b) % 16, out[3] = reinterpret_cast<size_t>(c) % 16;
  out[4] = d != nullptr;
  free(a), free(b), free(c), free(nullptr);
  int count = 0;
  void* kept[200];
  while (count < 200 && (kept[count] = malloc(100000)) != nullptr) ++count;
  out[5] = count;
  for (int i = 0; i < count; ++i) free(kept[i]);
  int many = 0;
  while (many < 200 && (kept[many] = malloc(100000)) != nullptr) ++many;
  out[6] = many;
  for (int i = 0; i < many; ++i) free(kept[i]);
  gKept = new int[4];
  for (int i = 0; i < 4; ++i) gKept[i] = 10 + i;
  out[7] = __isGlobal(gKept);
  int local = 1;
  __shared__ int shared;
  shared = 1;
  out[8] = __isLocal(&local) + 2 * __isShared(&shared) + 4 * __isGlobal(gValues) + 8 * __isConstant(cValues) + 16 * __isGlobal(&local);
}
__global__ void uses(int* out) {
  for (int i = 0; i < 4; ++i) out[i] = gKept[i];
  delete[] gKept;
  out[4] = gCount++, out[5] = mValue++;
  out[6] = cValues[1] * 10, out[7] = gValues[5];
}

}  // namespace

int main() {
  Array<unsigned long long> told(9);
  allocates<<<1, 1>>>(told);
  FINISH();
  tell("malloc", told.host());
  Array<int> out(8);
  CHECK(cudaMemcpyToSymbol(cValues, std::vector<float>{7.5f}.data(), 4, 4));
  CHECK(cudaMemcpyToSymbol(gValues, std::vector<int>{55}.data(), 4, 20));
  uses<<<1, 1>>>(out);
  FINISH();
  tell("used", out.host());
  tell("managed", mValue);
  int back[6] = {};
  tell_error("from symbol", cudaMemcpyFromSymbol(back, gValues, sizeof(back)));
  tell("values", std::vector<int>(back, back + 6));
  tell_error("from symbol too far", cudaMemcpyFromSymbol(back, gValues, sizeof(back), 4));
  cudaGetLastError();
  tell_error("to symbol too far", cudaMemcpyToSymbol(cValues, back, 4, 20));
  cudaGetLastError();
  tell_error("to symbol wrong kind", cudaMemcpyToSymbol(gValues, back, 4, 0, cudaMemcpyDeviceToHost));
  cudaGetLastError();
  int no_symbol = 0;
  tell_error("to no symbol", cudaMemcpyToSymbol(static_cast<const void*>(&no_symbol), back, 4));
  cudaGetLastError();
  size_t size = 0;
  tell_error("symbol size", cudaGetSymbolSize(&size, cValues));
  tell("size", static_cast<long long>(size));
  void* p = nullptr;
  tell_error("symbol address", cudaGetSymbolAddress(&p, gCount));
  int value = 0;
  tell_error("copy from address", cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
  tell("count", value);
  cudaPointerAttributes attributes{};
  tell_error("attributes of a variable", cudaPointerGetAttributes(&attributes, p));
  tell("type", attributes.type);
  tell_error("free of a variable", cudaFree(p));
  return 0;
}
