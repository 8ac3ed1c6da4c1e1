// What each sample needs: calls that have to succeed, arrays on the device, numbers, one line at
// the end.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                      \
  do {                                                                   \
    const cudaError_t error_ = (call);                                   \
    if (error_ != cudaSuccess) {                                         \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(error_));                          \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

// Memory of a device that lives as long as the object.
template <class T>
class Array {
 public:
  explicit Array(size_t count) : count_(count) { CHECK(cudaMalloc(&data_, count * sizeof(T))); }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    CHECK(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }
  operator T*() const { return data_; }
  void clear() { CHECK(cudaMemset(data_, 0, count_ * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> values(count_);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// Numbers that are the same everywhere.
class Numbers {
 public:
  explicit Numbers(unsigned seed = 1) : state_(seed) {}
  unsigned next() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }
  float real(float low = 0, float high = 1) { return low + (high - low) * (next() / 16777216.0f); }

 private:
  unsigned state_;
};

inline bool close(double a, double b, double tolerance) {
  return std::fabs(a - b) <= tolerance * std::fmax(1.0, std::fabs(b));
}
template <class T, class U>
bool all_close(const std::vector<T>& a, const std::vector<U>& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!close(double(a[i]), double(b[i]), tolerance)) {
      std::fprintf(stderr, "element %zu is %g, not %g\n", i, double(a[i]), double(b[i]));
      return false;
    }
  return true;
}

inline int finish(const char* name, bool right) {
  std::printf("%s: %s\n", name, right ? "right" : "WRONG");
  return right ? 0 : 1;
}
