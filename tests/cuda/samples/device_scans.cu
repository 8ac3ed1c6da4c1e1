// Scans of the whole device: of several types, orders and lengths, with and without a first value.
// needs: nvidia-cuda-cccl
#include <cstdint>
#include <numeric>

#include <cub/cub.cuh>

#include "sample.h"

// x -> a * x + b, which does not commute; of 64 bits without signs, so that every order of
// parentheses gives the same.
struct Affine {
  std::uint64_t a = 1, b = 0;
  __host__ __device__ bool operator==(const Affine& other) const {
    return a == other.a && b == other.b;
  }
};
struct Then {
  __host__ __device__ Affine operator()(const Affine& first, const Affine& second) const {
    return {first.a * second.a, first.b * second.a + second.b};
  }
};
struct Largest {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Plus {
  template <class T, class Other>
  __host__ __device__ T operator()(const T& a, const Other& b) const {
    return a + b;
  }
};

template <class T>
T number(int i) {
  return static_cast<T>((i * 7919 + 13) % 101) - static_cast<T>(50);
}
template <>
Affine number<Affine>(int i) {
  return {static_cast<std::uint64_t>(i % 7 + 1), static_cast<std::uint64_t>(i % 11)};
}

// Calls a function of cub twice: for the size of its memory, and for its work.
template <class Call>
void with_memory(Call call) {
  std::size_t bytes = 0;
  CHECK(call(nullptr, bytes));
  Array<char> memory(bytes + 1);
  CHECK(call(memory, bytes));
  CHECK(cudaDeviceSynchronize());
}

template <class T, class Op>
bool scans(int count, Op op, T first) {
  std::vector<T> in(count);
  for (int i = 0; i < count; ++i) in[i] = number<T>(i);
  std::vector<T> inclusive(count), exclusive(count), begun(count);
  T sum = first;
  for (int i = 0; i < count; ++i) {
    inclusive[i] = i == 0 ? in[0] : op(inclusive[i - 1], in[i]);
    exclusive[i] = sum;
    sum = op(sum, in[i]);
    begun[i] = sum;
  }
  const Array<T> from(in);
  Array<T> to(in);
  const auto is = [&](const std::vector<T>& wanted) { return to.host() == wanted; };
  with_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(memory, bytes, static_cast<T*>(from),
                                          static_cast<T*>(to), op, count);
  });
  if (!is(inclusive)) return false;
  with_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(memory, bytes, static_cast<T*>(from),
                                          static_cast<T*>(to), op, first, count);
  });
  if (!is(exclusive)) return false;
#if CUB_VERSION >= 200600
  with_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScanInit(memory, bytes, static_cast<T*>(from),
                                              static_cast<T*>(to), op, first, count);
  });
  if (!is(begun)) return false;
#endif
  // Where the elements are, with a first value that a kernel before leaves.
  CHECK(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyDeviceToDevice));
  const Array<T> later(std::vector<T>{first});
  with_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(memory, bytes, static_cast<T*>(to), static_cast<T*>(to),
                                          op, cub::FutureValue<T>(later), count);
  });
  return is(exclusive);
}

template <class T, class Op>
bool all_lengths(Op op, T first) {
  for (const int count : {1, 2, 31, 1000, 4097, 130'003})
    if (!scans<T>(count, op, first)) return false;
  return true;
}

// Small numbers become larger ones, and one position another.
bool widens(int count) {
  const std::vector<std::uint8_t> ones(count, 1);
  const Array<std::uint8_t> from(ones);
  Array<int> to(count);
  with_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(memory, bytes, static_cast<std::uint8_t*>(from),
                                          static_cast<int*>(to), Plus(), 0, count);
  });
  std::vector<int> wanted(count);
  std::iota(wanted.begin(), wanted.end(), 0);
  return to.host() == wanted;
}

// Nothing is read or written behind the last element, or of none.
bool keeps_the_rest() {
  Array<int> numbers(std::vector<int>(5000, 1));
  for (const int count : {0, 4000}) {
    with_memory([&](void* memory, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(memory, bytes, static_cast<int*>(numbers),
                                           static_cast<int*>(numbers), count);
    });
    const std::vector<int> now = numbers.host();
    for (int i = 0; i < 5000; ++i)
      if (now[i] != (i < count ? i + 1 : 1)) return false;
  }
  return true;
}

int main() {
  bool right = all_lengths<int>(Plus(), 5) && all_lengths<float>(Plus(), 2.0F) &&
               all_lengths<double>(Largest(), -7.0) && all_lengths<Affine>(Then(), Affine{3, 1}) &&
               all_lengths<std::int16_t>(Largest(), std::int16_t{-3}) &&
               all_lengths<std::uint64_t>(Plus(), std::uint64_t{1} << 40U);
  right = right && widens(70'000) && keeps_the_rest();
  return finish("device_scans", right);
}
