#include "cuda/random/mersenne.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "cuda/random/parallel.h"

namespace torchport::cuda_random {
namespace {

constexpr std::size_t kN = MersenneSegments::kWords;
constexpr std::size_t kM = 397;
constexpr std::uint32_t kTwist = 0x9908b0dfU;
constexpr std::size_t kDegree = 19937;
constexpr std::size_t kPolynomialWords = (kDegree + 63) / 64;
constexpr unsigned kDistance = 2048;  // segments begin 2^2048 numbers apart

std::uint32_t twisted(std::uint32_t upper, std::uint32_t lower, std::uint32_t far) {
  const std::uint32_t y = (upper & 0x80000000U) | (lower & 0x7fffffffU);
  return far ^ (y >> 1U) ^ ((y & 1U) != 0 ? kTwist : 0U);
}

// The next block of 624 words, in place.
void next_block(std::uint32_t* x) {
  for (std::size_t k = 0; k < kN - kM; ++k) x[k] = twisted(x[k], x[k + 1], x[k + kM]);
  for (std::size_t k = kN - kM; k < kN - 1; ++k) x[k] = twisted(x[k], x[k + 1], x[k + kM - kN]);
  x[kN - 1] = twisted(x[kN - 1], x[0], x[kM - 1]);
}

std::uint32_t tempered(std::uint32_t y) {
  y ^= y >> 11U;
  y ^= (y << 7U) & 0x9d2c5680U;
  y ^= (y << 15U) & 0xefc60000U;
  return y ^ (y >> 18U);
}

// ---- Polynomials over bits, modulo that of the recurrence: a word with index k + e is the sum of
// the words k + i for which x^e has the term x^i ----
using Polynomial = std::array<std::uint64_t, kPolynomialWords>;
using Product = std::array<std::uint64_t, 2 * kPolynomialWords + 1>;

// The exponents of the recurrence's polynomial below its degree, by the formula of the paper
// (its appendix A): with p = x^624 + x^397 and q = x^623 + x^396, it is p q^31, plus p q^(30 - i)
// for each bit i < 31 of the twist, plus 1 for bit 31.
std::vector<std::size_t> exponents() {
  std::vector<bool> odd(kDegree + 1);
  const auto add_powers = [&](unsigned of_q) {  // adds p q^of_q
    for (unsigned i = 0; i <= of_q; ++i) {
      if ((i & (of_q - i)) != 0) continue;  // the binomial coefficient is even
      const std::size_t base = (kN - 1) * i + (kM - 1) * (of_q - i);
      odd[base + kN].flip();
      odd[base + kM].flip();
    }
  };
  add_powers(31);
  for (unsigned bit = 0; bit < 31; ++bit)
    if ((kTwist >> bit & 1U) != 0) add_powers(30 - bit);
  if ((kTwist >> 31U) != 0) odd[0].flip();
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < kDegree; ++i)
    if (odd[i]) found.push_back(i);
  return found;
}

std::uint64_t spread(std::uint32_t bits) {
  std::uint64_t r = bits;
  r = (r | r << 16U) & 0x0000ffff0000ffffULL;
  r = (r | r << 8U) & 0x00ff00ff00ff00ffULL;
  r = (r | r << 4U) & 0x0f0f0f0f0f0f0f0fULL;
  r = (r | r << 2U) & 0x3333333333333333ULL;
  return (r | r << 1U) & 0x5555555555555555ULL;
}

void add_at(Product& sum, std::uint64_t word, std::size_t bit) {
  sum[bit / 64] ^= word << (bit % 64);
  if (bit % 64 != 0) sum[bit / 64 + 1] ^= word >> (64 - bit % 64);
}

Polynomial squared(const Polynomial& p, const std::vector<std::size_t>& terms) {
  Product sum{};
  for (std::size_t i = 0; i < kPolynomialWords; ++i) {
    sum[2 * i] = spread(static_cast<std::uint32_t>(p[i]));
    sum[2 * i + 1] = spread(static_cast<std::uint32_t>(p[i] >> 32U));
  }
  // From the top, 64 terms at once: the next exponent is 227 below the degree.
  for (std::size_t at = 2 * kPolynomialWords; at-- > kDegree / 64;) {
    std::uint64_t high = sum[at];
    if (at == kDegree / 64) high &= ~std::uint64_t{0} << (kDegree % 64);
    if (high == 0) continue;
    sum[at] ^= high;
    for (const std::size_t term : terms) {
      // x^(64 at) is x^(degree + rest); the part below the degree is cut off from `high`.
      const std::size_t bit = at * 64 + term;
      if (bit >= kDegree) {
        add_at(sum, high, bit - kDegree);
      } else {
        add_at(sum, high >> (kDegree - bit), 0);
      }
    }
  }
  Polynomial result;
  std::copy_n(sum.begin(), kPolynomialWords, result.begin());
  return result;
}

// x^(2^2048), x^(2^2049), ..., computed once.
const std::vector<Polynomial>& jumps() {
  static const std::vector<Polynomial> kJumps = [] {
    const std::vector<std::size_t> terms = exponents();
    Polynomial p{};
    p[0] = 2;
    for (unsigned i = 0; i < kDistance; ++i) p = squared(p, terms);
    std::vector<Polynomial> found{p};
    for (std::size_t reach = 2; reach < MersenneSegments::kSegments; reach *= 2)
      found.push_back(squared(found.back(), terms));
    return found;
  }();
  return kJumps;
}

// What is needed of the words that follow a state, and their sums by the bits of a number below 16.
struct Sums {
  static constexpr std::size_t kLength = kDegree + 3 + kN + 1;
  std::vector<std::uint32_t> by[16];
};

void jump(const std::uint32_t* from, const Polynomial& by, Sums& sums, std::uint32_t* to) {
  std::vector<std::uint32_t>& words = sums.by[1];
  words.resize(Sums::kLength + 8);
  std::copy_n(from, kN, words.begin());
  for (std::size_t k = kN; k < words.size(); ++k)
    words[k] = twisted(words[k - kN], words[k - kN + 1], words[k - kN + kM]);
  for (std::size_t bits = 2; bits < 16; ++bits) {
    sums.by[bits].resize(Sums::kLength);
    const auto top = static_cast<std::size_t>(std::bit_width(bits)) - 1;
    const std::size_t rest = bits ^ (std::size_t{1} << top);
    const std::uint32_t* high = words.data() + top;
    std::uint32_t* sum = sums.by[bits].data();
    if (rest == 0) {
      std::copy_n(high, Sums::kLength, sum);
    } else {
      const std::uint32_t* low = sums.by[rest].data();
      for (std::size_t k = 0; k < Sums::kLength; ++k) sum[k] = high[k] ^ low[k];
    }
  }
  std::fill_n(to, kN, 0U);
  for (std::size_t at = 0; at < kDegree; at += 4) {
    const std::size_t bits = by[at / 64] >> (at % 64) & 15U;
    if (bits == 0) continue;
    const std::uint32_t* sum = sums.by[bits].data() + at;
    for (std::size_t k = 0; k < kN; ++k) to[k] ^= sum[k];
  }
}

}  // namespace

std::size_t mersenne_place(std::size_t row, std::size_t lane) {
  // Eight numbers by themselves, then eleven runs of 56, seven rows each; the runs begin behind
  // them.
  constexpr std::array<std::size_t, 8> kAlone{0, 113, 170, 283, 340, 397, 510, 567};
  constexpr std::array<std::size_t, 11> kRuns{1, 57, 114, 171, 227, 284, 341, 398, 454, 511, 568};
  if (row == 0) return kAlone[lane];
  return kRuns[(row - 1) / 7] + (row - 1) % 7 + 7 * lane;
}

MersenneSegments::MersenneSegments(std::uint32_t seed) {
  segments_.resize(1);
  auto& words = segments_[0].words;
  words[0] = seed;
  for (std::uint32_t i = 1; i < kN; ++i)
    words[i] = 1812433253U * (words[i - 1] ^ (words[i - 1] >> 30U)) + i;
  next_block(words.data());
}

void MersenneSegments::make_segments(std::size_t count) {
  std::size_t made = segments_.size();
  if (made >= count) return;
  // Segments are made before the first has gone on: their blocks are the first ones.
  segments_.resize(count);
  while (made < count) {
    const std::size_t reach = std::bit_floor(made);
    const std::size_t end = std::min(count, reach * 2);
    const Polynomial& by = jumps()[static_cast<std::size_t>(std::bit_width(reach)) - 1];
    in_parallel(end - made, 16, [&](std::size_t first, std::size_t last) {
      Sums sums;
      for (std::size_t i = made + first; i < made + last; ++i)
        jump(segments_[i - reach].words.data(), by, sums, segments_[i].words.data());
    });
    made = end;
  }
}

void MersenneSegments::generate(std::uint64_t first, std::size_t count, std::uint32_t* out) {
  constexpr std::uint64_t kRow = kSegments * kLanes;
  const std::uint64_t end = first + count;
  if (count == 0) return;
  // A segment that has gone on cannot be jumped from; the last row of the first block needs all.
  make_segments(end >= kRow ? kSegments : static_cast<std::size_t>((end + kLanes - 1) / kLanes));
  const auto draw_of = [&](std::size_t from, std::size_t to) {
    for (std::size_t q = from; q < to; ++q) {
      Segment& segment = segments_[q];
      const std::uint64_t offset = q * kLanes;
      std::uint64_t row = first > offset + kLanes - 1 ? (first - offset) / kRow : 0;
      for (; row * kRow + offset < end; ++row) {
        for (; segment.block < row / kRows; ++segment.block) next_block(segment.words.data());
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const std::uint64_t at = row * kRow + offset + lane;
          if (at >= first && at < end)
            out[at - first] = tempered(segment.words[mersenne_place(row % kRows, lane)]);
        }
      }
    }
  };
  in_parallel(segments_.size(), 256, draw_of);
}

}  // namespace torchport::cuda_random
