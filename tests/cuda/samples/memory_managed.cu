// Memory that host and device share: managed, with advice and prefetches; a list of managed
// objects; pinned memory that kernels reach; memory that is registered.
#include <cstring>
#include <new>

#include "sample.h"

__managed__ int total = 5;
__device__ __managed__ float table[4] = {1, 2, 3, 4};

class Managed {
 public:
  void* operator new(size_t size) {
    void* memory;
    CHECK(cudaMallocManaged(&memory, size));
    return memory;
  }
  void operator delete(void* memory) { CHECK(cudaFree(memory)); }
};

class Text : public Managed {
 public:
  Text(const char* text) : length_(strlen(text)) {
    CHECK(cudaMallocManaged(&data_, length_ + 1));
    memcpy(data_, text, length_ + 1);
  }
  ~Text() { CHECK(cudaFree(data_)); }
  __host__ __device__ char& operator[](int i) { return data_[i]; }
  __host__ __device__ int length() const { return length_; }
  const char* text() const { return data_; }

 private:
  int length_;
  char* data_;
};

struct Node {
  int value;
  Node* next;
};

__global__ void shout(Text* text) {
  for (int i = threadIdx.x; i < text->length(); i += blockDim.x) {
    char& c = (*text)[i];
    if (c >= 'a' && c <= 'z') c -= 'a' - 'A';
  }
}
__global__ void sum(Node* list) {
  for (; list; list = list->next) total += list->value, list->value *= 2;
  table[2] = table[0] + table[3];
}
__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  Text* text = new Text("managed words");
  shout<<<1, 32>>>(text);
  CHECK(cudaDeviceSynchronize());
  bool right = strcmp(text->text(), "MANAGED WORDS") == 0;
  delete text;
  Node* list = nullptr;
  for (int i = 1; i <= 10; ++i) {
    Node* node;
    CHECK(cudaMallocManaged(&node, sizeof(Node)));
    *node = {i, list}, list = node;
  }
  total += 1;
  sum<<<1, 1>>>(list);
  CHECK(cudaDeviceSynchronize());
  right = right && total == 61 && list->value == 20 && table[2] == 5;
  while (list) {
    Node* next = list->next;
    CHECK(cudaFree(list));
    list = next;
  }
  const int n = 5000;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  right = right && properties.canMapHostMemory && properties.managedMemory;
  float *a, *b, *c, *da, *db;
  CHECK(cudaHostAlloc(&a, n * sizeof(float), cudaHostAllocMapped | cudaHostAllocWriteCombined));
  CHECK(cudaHostGetDevicePointer(&da, a, 0));
  b = static_cast<float*>(std::aligned_alloc(4096, 5 * 4096));
  CHECK(cudaHostRegister(b, 5 * 4096, cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer(&db, b, 0));
  CHECK(cudaMallocManaged(&c, n * sizeof(float)));
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, c));
  right = right && attributes.type == cudaMemoryTypeManaged;
  CHECK(cudaPointerGetAttributes(&attributes, a));
  right = right && attributes.type == cudaMemoryTypeHost;
  for (int i = 0; i < n; ++i) a[i] = i, b[i] = 2 * i, c[i] = -1;
  add<<<(n + 127) / 128, 128>>>(da, db, c, n);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) right = right && c[i] == 3 * i;
  CHECK(cudaHostUnregister(b));
  std::free(b);
  CHECK(cudaFreeHost(a));
  CHECK(cudaFree(c));
  return finish("memory_managed", right);
}
