#include "cuda/random/sobol_directions.h"

#include <array>
#include <utility>

namespace torchport::cuda_random {
namespace {

// The file's numbers m of dimensions 2 to 50, as many as the degree of the polynomial.
constexpr std::array<std::array<std::uint8_t, 8>, 49> kFirst{{
    {{1}},
    {{1, 3}},
    {{1, 3, 1}},
    {{1, 1, 1}},
    {{1, 1, 3, 3}},
    {{1, 3, 5, 13}},
    {{1, 1, 5, 5, 17}},
    {{1, 1, 5, 5, 5}},
    {{1, 1, 7, 11, 19}},
    {{1, 1, 5, 1, 1}},
    {{1, 1, 1, 3, 11}},
    {{1, 3, 5, 5, 31}},
    {{1, 3, 3, 9, 7, 49}},
    {{1, 1, 1, 15, 21, 21}},
    {{1, 3, 1, 13, 27, 49}},
    {{1, 1, 1, 15, 7, 5}},
    {{1, 3, 1, 15, 13, 25}},
    {{1, 1, 5, 5, 19, 61}},
    {{1, 3, 7, 11, 23, 15, 103}},
    {{1, 3, 7, 13, 13, 15, 69}},
    {{1, 1, 3, 13, 7, 35, 63}},
    {{1, 3, 5, 9, 1, 25, 53}},
    {{1, 3, 1, 13, 9, 35, 107}},
    {{1, 3, 1, 5, 27, 61, 31}},
    {{1, 1, 5, 11, 19, 41, 61}},
    {{1, 3, 5, 3, 3, 13, 69}},
    {{1, 1, 7, 13, 1, 19, 1}},
    {{1, 3, 7, 5, 13, 19, 59}},
    {{1, 1, 3, 9, 25, 29, 41}},
    {{1, 3, 5, 13, 23, 1, 55}},
    {{1, 3, 7, 3, 13, 59, 17}},
    {{1, 3, 1, 3, 5, 53, 69}},
    {{1, 1, 5, 5, 23, 33, 13}},
    {{1, 1, 7, 7, 1, 61, 123}},
    {{1, 1, 7, 9, 13, 61, 49}},
    {{1, 3, 3, 5, 3, 55, 33}},
    {{1, 3, 1, 15, 31, 13, 49, 245}},
    {{1, 3, 5, 15, 31, 59, 63, 97}},
    {{1, 3, 1, 11, 11, 11, 77, 249}},
    {{1, 3, 1, 11, 27, 43, 71, 9}},
    {{1, 1, 7, 15, 21, 11, 81, 45}},
    {{1, 3, 7, 3, 25, 31, 65, 79}},
    {{1, 3, 1, 1, 19, 11, 3, 205}},
    {{1, 1, 5, 9, 19, 21, 29, 157}},
    {{1, 3, 7, 11, 1, 33, 89, 185}},
    {{1, 3, 3, 3, 15, 9, 79, 71}},
    {{1, 3, 7, 11, 15, 39, 119, 27}},
    {{1, 1, 3, 1, 11, 31, 97, 225}},
    {{1, 1, 1, 3, 23, 43, 57, 177}},
}};

struct SobolPolynomial {
  unsigned degree;
  unsigned inner;  // the coefficients between the highest and the lowest, which are 1
};

// Whether x has the order 2^degree - 1 modulo the polynomial: its powers run through all others.
bool is_primitive(SobolPolynomial p) {
  const unsigned whole = 1U << p.degree | p.inner << 1U | 1U;
  const unsigned order = (1U << p.degree) - 1;
  unsigned power = 1;
  for (unsigned i = 1; i <= order; ++i) {
    power <<= 1U;
    if ((power >> p.degree) != 0) power ^= whole;
    if (power == 1) return i == order;
  }
  return false;
}

std::vector<SobolPolynomial> polynomials(std::size_t count) {
  std::vector<SobolPolynomial> found;
  for (unsigned degree = 1;; ++degree)
    for (unsigned inner = 0; inner < 1U << (degree - 1); ++inner) {
      if (!is_primitive({degree, inner})) continue;
      found.push_back({degree, inner});
      if (found.size() == count) return found;
    }
}

template <class Word>
std::vector<Word> directions() {
  constexpr unsigned kBits = sizeof(Word) * 8;
  std::vector<Word> all;
  for (unsigned k = 0; k < kBits; ++k) all.push_back(Word{1} << (kBits - 1 - k));
  const std::vector<SobolPolynomial> by = polynomials(kFirst.size());
  for (std::size_t at = 0; at < kFirst.size(); ++at) {
    const auto [degree, inner] = by[at];
    std::vector<Word> m(kFirst[at].begin(), kFirst[at].begin() + degree);
    for (unsigned k = degree; k < kBits; ++k) {
      Word next = m[k - degree] ^ m[k - degree] << degree;
      for (unsigned j = 1; j < degree; ++j)
        if ((inner >> (degree - 1 - j) & 1U) != 0) next ^= m[k - j] << j;
      m.push_back(next);
    }
    for (unsigned k = 0; k < kBits; ++k) all.push_back(m[k] << (kBits - 1 - k));
  }
  return all;
}

}  // namespace

std::size_t sobol_dimensions() {
  return kFirst.size() + 1;
}
const std::vector<std::uint32_t>& sobol_directions_32() {
  static const std::vector<std::uint32_t> kAll = directions<std::uint32_t>();
  return kAll;
}
const std::vector<std::uint64_t>& sobol_directions_64() {
  static const std::vector<std::uint64_t> kAll = directions<std::uint64_t>();
  return kAll;
}

}  // namespace torchport::cuda_random
