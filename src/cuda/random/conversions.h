// From bits to numbers, as cuRAND's functions of device code do (curand_kernel.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/random/numbers.h"
#include "curand_kernel.h"

namespace torchport::cuda_random {

struct FloatPair {
  float first, second;
};
struct DoublePair {
  double first, second;
};

// Box and Muller's method for a radius from a uniform number, and an angle.
inline FloatPair normal_pair(float uniform, float angle, bool on_host) {
  const float length = std::sqrt(-2.0F * std::log(uniform));
  if (on_host) return {length * std::sin(angle), length * std::cos(angle)};
  float sine = 0;
  float cosine = 0;
  __sincosf(angle, &sine, &cosine);
  return {length * sine, length * cosine};
}
inline DoublePair normal_pair(double uniform, double half_turns, bool on_host) {
  const double length = std::sqrt(-2.0 * std::log(uniform));
  if (on_host) {
    constexpr double kPi = 3.1415926535897932;
    return {length * std::sin(half_turns * kPi), length * std::cos(half_turns * kPi)};
  }
  double sine = 0;
  double cosine = 0;
  sincospi(half_turns, &sine, &cosine);
  return {length * sine, length * cosine};
}

inline float angle_of(unsigned bits) {
  return static_cast<float>(bits) * kTurn + kTurn / 2;
}

inline float normal_of(float standard, const Draw& draw) {
  const auto mean = static_cast<float>(draw.mean);
  const auto deviation = static_cast<float>(draw.deviation);
  const float x = draw.on_host ? standard * deviation + mean : std::fma(standard, deviation, mean);
  return draw.kind == Kind::kLogNormal ? std::exp(x) : x;
}
inline double normal_of(double standard, const Draw& draw) {
  const double x = draw.on_host ? standard * draw.deviation + draw.mean
                                : std::fma(standard, draw.deviation, draw.mean);
  return draw.kind == Kind::kLogNormalDouble ? std::exp(x) : x;
}

// Above a mean of 4000 a normal number becomes a Poisson number.
inline unsigned large_poisson_of(double standard, const Draw& draw) {
  const double x = std::sqrt(draw.mean) * standard + draw.mean + 0.5;
  return x > 0 ? static_cast<unsigned>(x) : 0;
}

}  // namespace torchport::cuda_random
