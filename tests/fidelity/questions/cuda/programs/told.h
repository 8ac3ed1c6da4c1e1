// What the programs print: lines "name: value value ...", bits in hexadecimal without a prefix.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cuda_runtime.h>

// What is printed before a crash is kept.
inline const int kLineBuffered = std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);

inline void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::printf("failed: line %d %s\n", line, cudaGetErrorName(error));
  std::fflush(stdout);
  std::exit(1);
}
#define CHECK(call) check((call), __LINE__)

// Waits for the last launch. An error ends the program.
#define FINISH()                    \
  do {                              \
    CHECK(cudaGetLastError());      \
    CHECK(cudaDeviceSynchronize()); \
  } while (0)

// FNV-1a of the bytes.
inline uint64_t hash_of(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto* at = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001b3ull;
  return hash;
}

// The bytes of each value as one little-endian number; of more than `shown`, also how many there
// are and the hash of all.
template <class T>
void tell_bits(const std::string& name, const std::vector<T>& values, size_t shown = 64) {
  std::printf("%s:", name.c_str());
  for (size_t i = 0; i < values.size() && i < shown; ++i) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &values[i], sizeof(T));
    std::printf(" ");
    for (int b = sizeof(T) - 1; b >= 0; --b) std::printf("%02x", bytes[b]);
  }
  if (values.size() > shown) {
    std::printf(" ... %zu hash %016llx", values.size(),
                static_cast<unsigned long long>(hash_of(values.data(), values.size() * sizeof(T))));
  }
  std::printf("\n");
}

template <class T>
void tell(const std::string& name, const std::vector<T>& values, size_t shown = 128) {
  std::printf("%s:", name.c_str());
  for (size_t i = 0; i < values.size() && i < shown; ++i)
    std::printf(" %lld", static_cast<long long>(values[i]));
  if (values.size() > shown) {
    std::printf(" ... %zu hash %016llx", values.size(),
                static_cast<unsigned long long>(hash_of(values.data(), values.size() * sizeof(T))));
  }
  std::printf("\n");
}

inline void tell(const std::string& name, long long value) {
  std::printf("%s: %lld\n", name.c_str(), value);
}

inline void tell(const std::string& name, const char* text) {
  std::printf("%s: %s\n", name.c_str(), text);
}

inline void tell_error(const std::string& name, cudaError_t error) {
  std::printf("%s: %s\n", name.c_str(), cudaGetErrorName(error));
}

// Memory of the device that knows its length.
template <class T>
class Array {
 public:
  explicit Array(size_t count) : count_(count) {
    CHECK(cudaMalloc(&data_, count * sizeof(T)));
    CHECK(cudaMemset(data_, 0, count * sizeof(T)));
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    CHECK(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }

  operator T*() const { return data_; }
  size_t size() const { return count_; }
  std::vector<T> host() const {
    std::vector<T> values(count_);
    CHECK(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

// Numbers that are the same everywhere (xorshift64*).
struct Numbers {
  uint64_t state = 0x9e3779b97f4a7c15ull;
  uint64_t next() {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
  }
  uint32_t word() { return static_cast<uint32_t>(next() >> 32); }
  // In [-1, 1), a multiple of 2^-23.
  float unit() { return static_cast<float>(static_cast<int32_t>(word()) >> 8) / 8388608.0f; }
};

// One thread for each value of a table: functions that a program lists by ENTRY1, ENTRY2 or ENTRY3.
template <class In>
struct Table {
  std::vector<In> x, y, z;
};

struct Entries {
  static std::vector<Entries*>& all() {
    static std::vector<Entries*> list;
    return list;
  }
  Entries() { all().push_back(this); }
  virtual ~Entries() = default;
  virtual void ask() = 0;
};

inline void ask_all_entries() {
  for (Entries* one : Entries::all()) one->ask();
}

// NAME: what is printed; IN: type of x, y and z; OUT: of the result; TABLE: a function that returns
// a Table<IN>; ...: the expression.
#define ENTRY(NAME, ID, IN, OUT, TABLE, ...)                                                   \
  __global__ void kernel_##ID(const IN* xs, const IN* ys, const IN* zs, OUT* out, int count) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
    if (i >= count) return;                                                                    \
    IN x = xs[i], y = ys[i], z = zs[i];                                                        \
    (void)y, (void)z;                                                                          \
    out[i] = __VA_ARGS__;                                                                      \
  }                                                                                            \
  struct Entry_##ID : Entries {                                                                \
    void ask() override {                                                                      \
      Table<IN> table = TABLE();                                                               \
      if (table.y.empty()) table.y = table.x;                                                  \
      if (table.z.empty()) table.z = table.x;                                                  \
      Array<IN> x(table.x), y(table.y), z(table.z);                                            \
      Array<OUT> out(table.x.size());                                                          \
      int count = static_cast<int>(table.x.size());                                            \
      kernel_##ID<<<(count + 127) / 128, 128>>>(x, y, z, out, count);                          \
      FINISH();                                                                                \
      tell_bits(NAME, out.host(), 64);                                                         \
    }                                                                                          \
  } entry_##ID;
#define ENTRY_CAT2(a, b) a##b
#define ENTRY_CAT(a, b) ENTRY_CAT2(a, b)
#define ENTRY_NUMBERED(NAME, NUMBER, IN, OUT, TABLE, ...) \
  ENTRY(NAME, NUMBER, IN, OUT, TABLE, __VA_ARGS__)
// The expression is the name.
#define ASK(IN, OUT, TABLE, ...) \
  ENTRY_NUMBERED(#__VA_ARGS__, __COUNTER__, IN, OUT, TABLE, __VA_ARGS__)
