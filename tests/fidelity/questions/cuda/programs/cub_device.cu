// cub's device algorithms: bits of sums for several sizes, bytes of temporary memory, order of results.
#include "told.h"

#if __has_include(<cub/cub.cuh>)
#include <cub/cub.cuh>

namespace {

// Asks for the bytes, then does it. Returns the bytes.
template <class Call>
size_t done(Call call) {
  size_t bytes = 0;
  CHECK(call(nullptr, bytes));
  size_t told = bytes;
  void* storage = nullptr;
  CHECK(cudaMalloc(&storage, bytes ? bytes : 1));
  CHECK(call(storage, bytes));
  FINISH();
  CHECK(cudaFree(storage));
  return told;
}

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Odd {
  __device__ bool operator()(int a) const { return a & 1; }
};

const std::vector<int> kSizes = {0, 1, 2, 31, 32, 33, 255, 256, 1000, 4095, 4096, 4097, 10000, 65536, 100003, 1000000, 5000011};

template <class T>
void ask_sums(const char* type, double scale) {
  Numbers numbers;
  std::vector<T> values(5000011);
  for (T& x : values) x = T(numbers.unit() * scale);
  Array<T> in(values), out(1);
  std::vector<T> sums;
  std::vector<size_t> bytes;
  for (int n : kSizes) {
    bytes.push_back(done([&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, static_cast<T*>(in), static_cast<T*>(out), n); }));
    sums.push_back(out.host()[0]);
  }
  tell_bits(std::string("sum ") + type, sums);
  tell(std::string("sum bytes ") + type, bytes);
  std::vector<uint64_t> hashes;
  std::vector<T> last;
  std::vector<int> differ;  // Whether a second run gives other bits.
  bytes.clear();
  Array<T> scanned(5000011);
  for (int n : kSizes) {
    bytes.push_back(done([&](void* s, size_t& b) { return cub::DeviceScan::InclusiveSum(s, b, static_cast<T*>(in), static_cast<T*>(scanned), n); }));
    auto all = scanned.host();
    done([&](void* s, size_t& b) { return cub::DeviceScan::InclusiveSum(s, b, static_cast<T*>(in), static_cast<T*>(scanned), n); });
    auto again = scanned.host();
    differ.push_back(std::memcmp(all.data(), again.data(), n * sizeof(T)) != 0);
    last.push_back(n ? all[n - 1] : T(0));
    hashes.push_back(hash_of(all.data(), n * sizeof(T)));
  }
  tell_bits(std::string("scan last ") + type, last);
  tell_bits(std::string("scan hash ") + type, hashes);
  tell(std::string("scan differs in a second run ") + type, differ);
  tell(std::string("scan bytes ") + type, bytes);
}

template <class Call>
void tell_bytes(const std::string& name, Call call) {
  std::vector<size_t> all;
  for (int n : kSizes) {
    size_t bytes = 0;
    CHECK(call(bytes, n));
    all.push_back(bytes);
  }
  tell("bytes " + name, all);
}

}  // namespace

int main() {
  tell("CUB_VERSION", CUB_VERSION);
  tell("sizes", kSizes);
  ask_sums<float>("float", 1);
  ask_sums<double>("double", 1);
  ask_sums<int>("int", 1000);
  tell_bytes("radix sort keys int", [](size_t& b, int n) { return cub::DeviceRadixSort::SortKeys(nullptr, b, (int*)nullptr, (int*)nullptr, n); });
  tell_bytes("radix sort keys 64", [](size_t& b, int n) {
    return cub::DeviceRadixSort::SortKeys(nullptr, b, (long long*)nullptr, (long long*)nullptr, n);
  });
  tell_bytes("radix sort pairs float int", [](size_t& b, int n) {
    return cub::DeviceRadixSort::SortPairs(nullptr, b, (float*)nullptr, (float*)nullptr, (int*)nullptr, (int*)nullptr, n);
  });
  tell_bytes("radix sort pairs double buffer", [](size_t& b, int n) {
    cub::DoubleBuffer<float> keys(nullptr, nullptr);
    cub::DoubleBuffer<int> values(nullptr, nullptr);
    return cub::DeviceRadixSort::SortPairs(nullptr, b, keys, values, n);
  });
  tell_bytes("select if", [](size_t& b, int n) {
    return cub::DeviceSelect::If(nullptr, b, (int*)nullptr, (int*)nullptr, (int*)nullptr, n, Odd{});
  });
  tell_bytes("select unique", [](size_t& b, int n) { return cub::DeviceSelect::Unique(nullptr, b, (int*)nullptr, (int*)nullptr, (int*)nullptr, n); });
  tell_bytes("select flagged", [](size_t& b, int n) {
    return cub::DeviceSelect::Flagged(nullptr, b, (int*)nullptr, (char*)nullptr, (int*)nullptr, (int*)nullptr, n);
  });
  tell_bytes("partition if", [](size_t& b, int n) {
    return cub::DevicePartition::If(nullptr, b, (int*)nullptr, (int*)nullptr, (int*)nullptr, n, Odd{});
  });
  tell_bytes("run length encode", [](size_t& b, int n) {
    return cub::DeviceRunLengthEncode::Encode(nullptr, b, (int*)nullptr, (int*)nullptr, (int*)nullptr, (int*)nullptr, n);
  });
  tell_bytes("histogram 256", [](size_t& b, int n) {
    return cub::DeviceHistogram::HistogramEven(nullptr, b, (float*)nullptr, (int*)nullptr, 257, 0.0f, 1.0f, n);
  });
  tell_bytes("reduce by key", [](size_t& b, int n) {
    return cub::DeviceReduce::ReduceByKey(nullptr, b, (int*)nullptr, (int*)nullptr, (float*)nullptr, (float*)nullptr, (int*)nullptr, Plus{}, n);
  });
  tell_bytes("segmented sum 10", [](size_t& b, int n) {
    return cub::DeviceSegmentedReduce::Sum(nullptr, b, (float*)nullptr, (float*)nullptr, n, (int*)nullptr, (int*)nullptr);
  });
  tell_bytes("merge sort keys", [](size_t& b, int n) {
    return cub::DeviceMergeSort::SortKeys(nullptr, b, (float*)nullptr, n, cuda::std::less<float>{});
  });
  const int n = 100000;
  Numbers numbers;
  std::vector<float> keys(n);
  std::vector<int> places(n);
  for (int i = 0; i < n; ++i) keys[i] = i % 5000 == 7 ? NAN : i % 5000 == 8 ? -0.0f : i % 5000 == 9 ? 0.0f : static_cast<int>(numbers.unit() * 500) * 0.5f, places[i] = i;
  Array<float> in(keys), sorted(n);
  Array<int> values(places), moved(n), count(1);
  done([&](void* s, size_t& b) { return cub::DeviceRadixSort::SortPairs(s, b, (float*)in, (float*)sorted, (int*)values, (int*)moved, n); });
  tell_bits("sorted", sorted.host());
  tell("sorted places", moved.host());
  done([&](void* s, size_t& b) { return cub::DeviceRadixSort::SortPairsDescending(s, b, (float*)in, (float*)sorted, (int*)values, (int*)moved, n, 16, 32); });
  tell_bits("sorted by bits 16-32, descending", sorted.host());
  tell("sorted by bits 16-32, descending, places", moved.host());
  CHECK(cudaMemset(moved, 0xff, n * 4));
  done([&](void* s, size_t& b) { return cub::DevicePartition::If(s, b, (int*)values, (int*)moved, (int*)count, n, Odd{}); });
  tell("partitioned", moved.host());
  auto parted = moved.host();
  tell("partitioned end", std::vector<int>(parted.end() - 16, parted.end()));
  tell("partitioned count", count.host());
  std::vector<int> offsets = {0, 0, 1, 100, 1000, 30000, 100000};
  Array<int> starts(offsets);
  Array<float> sums(6);
  std::vector<float> finite(n);
  for (float& x : finite) x = numbers.unit();
  Array<float> clean(finite);
  done([&](void* s, size_t& b) {
    return cub::DeviceSegmentedReduce::Sum(s, b, (float*)clean, (float*)sums, 6, (int*)starts, (int*)starts + 1);
  });
  tell_bits("segmented sums", sums.host());
  std::vector<int> groups(n);
  for (int i = 0; i < n; ++i) groups[i] = i / 7777;
  Array<int> by(groups), unique(n);
  Array<float> totals(n);
  done([&](void* s, size_t& b) {
    return cub::DeviceReduce::ReduceByKey(s, b, (int*)by, (int*)unique, (float*)clean, (float*)totals, (int*)count, Plus{}, n);
  });
  auto all = totals.host();
  tell_bits("sums by key", std::vector<float>(all.begin(), all.begin() + 13));
  Array<cub::KeyValuePair<int, float>> best(1);
  Array<float> minimum(1);
  done([&](void* s, size_t& b) { return cub::DeviceReduce::Min(s, b, (float*)in, (float*)minimum, n); });
  tell_bits("minimum with NaN", minimum.host());
  done([&](void* s, size_t& b) { return cub::DeviceReduce::Max(s, b, (float*)in, (float*)minimum, n); });
  tell_bits("maximum with NaN", minimum.host());
  return 0;
}
#else
int main() { tell("cub", "is not there"); }
#endif
