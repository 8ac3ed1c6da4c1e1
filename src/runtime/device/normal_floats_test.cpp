// Tests normal numbers against the functions of the standard library.
#include "runtime/device/normal_floats.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

namespace torchport {

namespace {

float expected(std::uint32_t radius, std::uint32_t angle, bool cosine) {
  constexpr float kTwoToMinus32 = 0x1p-32F;
  constexpr float kStep = kTwoToMinus32 * 6.2831855F;
  const float u = static_cast<float>(radius) * kTwoToMinus32 + kTwoToMinus32 / 2;
  const float v = std::fma(static_cast<float>(angle), kStep, kStep / 2);
  const double exact = static_cast<double>(v) * static_cast<double>(0.15915494F);
  auto turns = static_cast<float>(exact);
  if (static_cast<double>(turns) > exact) turns = std::nextafter(turns, 0.0F);
  const double turned = static_cast<double>(turns) * 6.28318530717958647693;
  const auto wave = static_cast<float>(cosine ? std::cos(turned) : std::sin(turned));
  return wave * std::sqrt(-2.0F * static_cast<float>(std::log(static_cast<double>(u))));
}

TEST_CASE("normal numbers are those of the standard library's logarithm, sine and cosine") {
  std::mt19937 engine(3);
  std::vector<std::uint32_t> radii = {0, 0xffffffff, 0x80000000, 1, 0xfffffeff, 0x7fffffff};
  std::vector<std::uint32_t> angles = {0, 0xffffffff, 0x80000000, 0x40000000, 0xc0000001, 1};
  while (radii.size() < 100'003) {
    radii.push_back(static_cast<std::uint32_t>(engine()));
    angles.push_back(static_cast<std::uint32_t>(engine()));
  }
  for (const bool cosine : {false, true}) {
    std::vector<float> numbers(radii.size());
    device::normal_floats(radii.data(), angles.data(), cosine, numbers.size(), numbers.data());
    std::size_t other = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float right = expected(radii[i], angles[i], cosine);
      if (numbers[i] == right) continue;
      ++other;
      CHECK(std::abs(numbers[i] - right) <= 2e-7F * std::abs(right) + 1e-15F);
    }
    CHECK(other <= 4);  // ties, and a wave of about 0
  }
}

}  // namespace

}  // namespace torchport
