// Tests the sums and gradients of batch norms in half types against plain loops, and the
// conversions of half types against arithmetic in double.
#include "runtime/device/batch_norm_gradients.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/device/half_bits.h"

namespace torchport {

namespace {

using device::BFloat16Bits;
using device::Float16Bits;
using device::HalfType;

// The value of bits with `kMantissa` bits after the point, and the largest exponent kept for
// infinities.
double value_of(unsigned bits, int mantissa, int bias) {
  const int size = static_cast<int>(bits & 0x7fffU);
  const int exponent = size >> mantissa;
  const int rest = size & ((1 << mantissa) - 1);
  const double number = exponent == 0
                            ? std::ldexp(rest, 1 - bias - mantissa)
                            : std::ldexp(rest + (1 << mantissa), exponent - bias - mantissa);
  return (bits & 0x8000U) != 0 ? -number : number;
}

template <class Bits>
void check_bits(int mantissa, int bias, unsigned infinity) {
  std::size_t wrong = 0;
  for (unsigned bits = 0; bits < infinity; ++bits) {
    for (const unsigned sign : {0U, 0x8000U}) {
      const auto half = static_cast<std::uint16_t>(bits | sign);
      const double exact = value_of(half, mantissa, bias);
      if (static_cast<double>(Bits::float_of(half)) != exact) ++wrong;
      if (std::signbit(Bits::float_of(half)) != (sign != 0)) ++wrong;
      if (Bits::bits_of(static_cast<float>(exact)) != half) ++wrong;
      if (bits + 1 == infinity) continue;
      // The middle between two is rounded to the even one, and what is beside it to the nearer one.
      const double next = value_of(half + 1U, mantissa, bias);
      const auto middle = static_cast<float>((exact + next) / 2);
      if (static_cast<double>(middle) != (exact + next) / 2) continue;
      const auto even = static_cast<std::uint16_t>((bits & 1U) == 0 ? half : half + 1U);
      if (Bits::bits_of(middle) != even) ++wrong;
      if (Bits::bits_of(std::nextafter(middle, static_cast<float>(exact))) != half) ++wrong;
      if (Bits::rounded(std::nextafter(middle, static_cast<float>(next))) !=
          Bits::float_of(static_cast<std::uint16_t>(half + 1U)))
        ++wrong;
    }
  }
  CHECK(wrong == 0);
  CHECK(Bits::bits_of(INFINITY) == infinity);
  CHECK(Bits::bits_of(-INFINITY) == (infinity | 0x8000U));
  CHECK(std::isinf(Bits::float_of(static_cast<std::uint16_t>(infinity))));
  CHECK(std::isinf(Bits::rounded(3.4e38F)));
  CHECK(std::isnan(Bits::rounded(NAN)));
  CHECK(std::isnan(Bits::float_of(Bits::bits_of(NAN))));
}

TEST_CASE("every float16 and bfloat16 is converted both ways, and ties go to the even one") {
  check_bits<Float16Bits>(10, 15, 0x7c00U);
  check_bits<BFloat16Bits>(7, 127, 0x7f80U);
}

struct Batch {
  std::int64_t batches, places;
  std::vector<std::uint16_t> grad, input;
};

template <class Bits>
Batch random_batch(std::int64_t batches, std::int64_t places) {
  std::mt19937 engine(5);
  std::normal_distribution<float> normal;
  Batch batch{batches, places, {}, {}};
  for (std::int64_t i = 0; i < batches * places; ++i) {
    batch.grad.push_back(Bits::bits_of(normal(engine)));
    batch.input.push_back(Bits::bits_of(normal(engine) + 1));
  }
  return batch;
}

// reduce() in Normalization.cuh, thread by thread.
template <class Bits>
device::BatchNormSums plain_sums(const Batch& batch, float mean) {
  std::int64_t wide = 32;
  while (wide < batch.places && wide < 512) wide *= 2;
  std::array<std::array<float, 2>, 512> threads{};
  for (std::int64_t b = 0; b < batch.batches; ++b) {
    for (std::int64_t p = 0; p < batch.places; ++p) {
      auto& thread = threads[static_cast<std::size_t>(b % (512 / wide) * wide + p % wide)];
      const auto at = static_cast<std::size_t>(b * batch.places + p);
      const float grad = Bits::float_of(batch.grad[at]);
      thread[0] += grad;
      thread[1] += Bits::rounded(grad * (Bits::float_of(batch.input[at]) - mean));
    }
  }
  const auto warp = [](std::vector<float> lanes) {
    lanes.resize(32);
    for (std::size_t offset = 16; offset > 0; offset /= 2)
      for (std::size_t lane = 0; lane < offset; ++lane)
        lanes[lane] += Bits::rounded(lanes[lane + offset]);
    return lanes[0];
  };
  std::array<float, 2> sums{};
  for (std::size_t part = 0; part < 2; ++part) {
    std::vector<float> warps;
    for (std::size_t first = 0; first < threads.size(); first += 32) {
      std::vector<float> lanes;
      for (std::size_t lane = 0; lane < 32; ++lane) lanes.push_back(threads[first + lane][part]);
      warps.push_back(warp(lanes));
    }
    sums[part] = warp(warps);
  }
  return {sums[0], sums[1]};
}

template <class Bits>
void check_channel(HalfType type, std::int64_t batches, std::int64_t places) {
  constexpr float kMean = 0.9F;
  const Batch batch = random_batch<Bits>(batches, places);
  const device::HalfChannel channel{
      batch.grad.data(), batch.input.data(), batches, places, places, kMean};
  const device::BatchNormSums sums = device::sums_of_block(type, channel);
  const device::BatchNormSums expected = plain_sums<Bits>(batch, kMean);
  CHECK(sums.grad == expected.grad);
  CHECK(sums.product == expected.product);
  std::vector<std::uint16_t> out(batch.grad.size());
  device::gradient_of_channel(type, channel, {0.25F, 0.5F, 2.0F}, out.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float slope = (Bits::float_of(batch.input[i]) - kMean) * 0.5F;
    const float exact = (Bits::float_of(batch.grad[i]) - slope - 0.25F) * 2.0F;
    if (out[i] != Bits::bits_of(exact)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a channel's sums and gradients are those of the threads of a block") {
  for (const auto& [batches, places] : std::vector<std::array<std::int64_t, 2>>{
           {1, 2}, {3, 35}, {40, 7}, {2, 512}, {5, 1100}, {9, 256}}) {
    CAPTURE(batches);
    CAPTURE(places);
    check_channel<Float16Bits>(HalfType::kFloat16, batches, places);
    check_channel<BFloat16Bits>(HalfType::kBFloat16, batches, places);
  }
}

}  // namespace

}  // namespace torchport
