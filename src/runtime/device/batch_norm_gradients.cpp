#include "runtime/device/batch_norm_gradients.h"

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "runtime/device/half_bits.h"

namespace torchport::device {

namespace {

constexpr std::int64_t kLanes = 32;   // of a warp
constexpr std::int64_t kBlock = 512;  // MAX_BLOCK_SIZE in Normalization.cuh
using Threads = std::array<float, kBlock>;

// The loops below take up to kBlock numbers at a time through a buffer in the nearest cache. How a
// buffer is filled, rounded and written is a class: Any for every CPU, F16c for float16 where
// there are instructions for it.
template <class Bits>
struct Any {
  [[gnu::always_inline]] static void read(const std::uint16_t* from, std::int64_t count,
                                          Threads& to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = Bits::float_of(from[i]);
  }
  [[gnu::always_inline]] static void round(Threads& numbers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) numbers[i] = Bits::rounded(numbers[i]);
  }
  [[gnu::always_inline]] static void write(const Threads& from, std::int64_t count,
                                           std::uint16_t* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = Bits::bits_of(from[i]);
  }
};

#if defined(__x86_64__)
struct F16c {
  static constexpr std::int64_t kAtOnce = 8;

  [[gnu::target("avx2,f16c")]] static void read(const std::uint16_t* from, std::int64_t count,
                                                Threads& to) {
    std::int64_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce)
      _mm256_storeu_ps(
          &to[i], _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    for (; i < count; ++i) to[i] = Float16Bits::float_of(from[i]);
  }
  [[gnu::target("avx2,f16c")]] static void round(Threads& numbers, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce)
      _mm256_storeu_ps(&numbers[i], _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(&numbers[i]),
                                                                    _MM_FROUND_TO_NEAREST_INT)));
    for (; i < count; ++i) numbers[i] = Float16Bits::rounded(numbers[i]);
  }
  [[gnu::target("avx2,f16c")]] static void write(const Threads& from, std::int64_t count,
                                                 std::uint16_t* to) {
    std::int64_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(&from[i]), _MM_FROUND_TO_NEAREST_INT));
    for (; i < count; ++i) to[i] = Float16Bits::bits_of(from[i]);
  }
};

// Whether the CPU converts float16. Clang has no name for it in __builtin_cpu_supports.
bool converts_float16() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has_avx2() {
  static const bool kHas = __builtin_cpu_supports("avx2") != 0 && converts_float16();
  return kHas;
}
#endif

// What lane 0 of a warp gets. A lane's number is rounded when another lane reads it: Float2 in
// Normalization.cuh is made of the type of the input.
template <class Bits>
float warp_sum(const float* first) {
  std::array<float, kLanes> lanes;
  std::copy_n(first, kLanes, lanes.begin());
  for (std::int64_t offset = kLanes / 2; offset > 0; offset /= 2) {
    for (std::int64_t lane = 0; lane < offset; ++lane)
      lanes[lane] += Bits::rounded(lanes[lane + offset]);
  }
  return lanes[0];
}

// The threads of a block for each row of `places`, a power of two.
std::int64_t threads_of_row(std::int64_t places) {
  std::int64_t wide = kLanes;
  while (wide < places && wide < kBlock) wide *= 2;
  return wide;
}

// The others have nothing to add.
std::int64_t busy_threads(const HalfChannel& channel) {
  const std::int64_t wide = threads_of_row(channel.places);
  return std::min(channel.batches, kBlock / wide) * wide;
}

template <class Bits>
float sum_of_threads(const Threads& threads, std::int64_t busy) {
  std::array<float, kLanes> sums{};
  for (std::int64_t warp = 0; warp < busy / kLanes; ++warp)
    sums[warp] = warp_sum<Bits>(threads.data() + warp * kLanes);
  return warp_sum<Bits>(sums.data());
}

struct Sums {
  Threads grads{};
  Threads products{};
};

template <class Numbers>
[[gnu::always_inline]] inline void add_up(const HalfChannel& channel, Sums& sums) {
  const std::int64_t wide = threads_of_row(channel.places);
  Threads grad;
  Threads product;
  const float mean = channel.mean;
  for (std::int64_t batch = 0; batch < channel.batches; ++batch) {
    const std::int64_t first = batch % (kBlock / wide) * wide;
    for (std::int64_t from = 0; from < channel.places; from += wide) {
      const std::int64_t count = std::min(wide, channel.places - from);
      Numbers::read(channel.grad + batch * channel.step + from, count, grad);
      Numbers::read(channel.input + batch * channel.step + from, count, product);
      for (std::int64_t i = 0; i < count; ++i) product[i] = grad[i] * (product[i] - mean);
      Numbers::round(product, count);
      for (std::int64_t i = 0; i < count; ++i) sums.grads[first + i] += grad[i];
      for (std::int64_t i = 0; i < count; ++i) sums.products[first + i] += product[i];
    }
  }
}

template <class Numbers>
[[gnu::always_inline]] inline void write(const HalfChannel& channel, const InputGradient& gradient,
                                         std::uint16_t* out) {
  const auto [mean_grad, slope, scale] = gradient;
  const float mean = channel.mean;
  Threads grad;
  Threads input;
  for (std::int64_t batch = 0; batch < channel.batches; ++batch) {
    for (std::int64_t from = 0; from < channel.places; from += kBlock) {
      const std::int64_t count = std::min(kBlock, channel.places - from);
      const std::int64_t at = batch * channel.step + from;
      Numbers::read(channel.grad + at, count, grad);
      Numbers::read(channel.input + at, count, input);
      for (std::int64_t i = 0; i < count; ++i)
        grad[i] = (grad[i] - (input[i] - mean) * slope - mean_grad) * scale;
      Numbers::write(grad, count, out + at);
    }
  }
}

template <class Numbers>
struct Anywhere {
  static void add_up(const HalfChannel& channel, Sums& sums) {
    device::add_up<Numbers>(channel, sums);
  }
  static void write(const HalfChannel& channel, const InputGradient& gradient, std::uint16_t* out) {
    device::write<Numbers>(channel, gradient, out);
  }
};

#if defined(__x86_64__)
template <class Numbers>
struct WithAvx2 {
  [[gnu::target("avx2,f16c")]] static void add_up(const HalfChannel& channel, Sums& sums) {
    device::add_up<Numbers>(channel, sums);
  }
  [[gnu::target("avx2,f16c")]] static void write(const HalfChannel& channel,
                                                 const InputGradient& gradient,
                                                 std::uint16_t* out) {
    device::write<Numbers>(channel, gradient, out);
  }
};
#endif

// Calls `use` with the loops for the type on this CPU.
template <class Use>
auto with_loops(HalfType type, const Use& use) {
  const bool is_float16 = type == HalfType::kFloat16;
#if defined(__x86_64__)
  if (has_avx2()) return is_float16 ? use(WithAvx2<F16c>()) : use(WithAvx2<Any<BFloat16Bits>>());
#endif
  return is_float16 ? use(Anywhere<Any<Float16Bits>>()) : use(Anywhere<Any<BFloat16Bits>>());
}

}  // namespace

BatchNormSums sums_of_block(HalfType type, const HalfChannel& channel) {
  Sums sums;
  with_loops(type, [&](auto loops) { loops.add_up(channel, sums); });
  const std::int64_t busy = busy_threads(channel);
  const auto total = [&](auto bits) -> BatchNormSums {
    using Bits = decltype(bits);
    return {sum_of_threads<Bits>(sums.grads, busy), sum_of_threads<Bits>(sums.products, busy)};
  };
  return type == HalfType::kFloat16 ? total(Float16Bits()) : total(BFloat16Bits());
}

void gradient_of_channel(HalfType type, const HalfChannel& channel, const InputGradient& gradient,
                         std::uint16_t* out) {
  with_loops(type, [&](auto loops) { loops.write(channel, gradient, out); });
}

}  // namespace torchport::device
