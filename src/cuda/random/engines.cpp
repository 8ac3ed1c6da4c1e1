// The sequences of cuRAND's generators, and in which order they come. NVIDIA's documentation states
// the orders in words; how many sequences take turns was found out from what an H100 answered.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "cuda/random/conversions.h"
#include "cuda/random/mersenne.h"
#include "cuda/random/numbers.h"
#include "cuda/random/parallel.h"
#include "cuda/random/sobol_directions.h"

namespace torchport::cuda_random {
namespace {

constexpr std::size_t kLeast = 4096;  // numbers for each thread of the host

// ---- XORWOW and MRG32k3a: states take turns, each gives one number or one pair ----
template <class State>
class TurnsEngine final : public Engine {
 public:
  TurnsEngine(std::vector<State> states, std::uint64_t offset) : states_(std::move(states)) {
    const std::size_t size = states_.size();
    next_ = offset % size;
    for (std::size_t q = 0; q < size; ++q)
      skipahead((q < next_ ? 1ULL : 0ULL) + offset / size, &states_[q]);
  }

  void draw(const Draw& draw, std::size_t count, void* out) override {
    switch (draw.kind) {
      case Kind::kUniform:
        return visit<1>(static_cast<float*>(out), count,
                        [](State& s, float* to) { *to = curand_uniform(&s); });
      case Kind::kUniformDouble:
        return visit<1>(static_cast<double*>(out), count,
                        [](State& s, double* to) { *to = curand_uniform_double(&s); });
      case Kind::kNormal:
      case Kind::kLogNormal:
        return visit<2>(static_cast<float*>(out), count, [&](State& s, float* to) {
          const FloatPair pair = floats(s, draw.on_host);
          to[0] = normal_of(pair.first, draw);
          to[1] = normal_of(pair.second, draw);
        });
      case Kind::kNormalDouble:
      case Kind::kLogNormalDouble:
        return visit<2>(static_cast<double*>(out), count, [&](State& s, double* to) {
          const double u = curand_uniform_double(&s);
          const DoublePair pair = normal_pair(u, 2 * curand_uniform_double(&s), draw.on_host);
          to[0] = normal_of(pair.first, draw);
          to[1] = normal_of(pair.second, draw);
        });
      case Kind::kPoisson:
        return visit<1>(static_cast<unsigned*>(out), count, [&](State& s, unsigned* to) {
          if (!draw.poisson)
            *to = large_poisson_of(kept_float(s, draw.on_host), draw);
          else if constexpr (std::is_same_v<State, curandStateMRG32k3a_t>)
            *to = draw.poisson->value(curand_uniform_double(&s));
          else
            *to = draw.poisson->value(curand(&s) * kUnitDouble + kUnitDouble / 2);
        });
      case Kind::kBits:
      case Kind::kWideBits:
        return visit<1>(static_cast<unsigned*>(out), count,
                        [](State& s, unsigned* to) { *to = curand(&s); });
    }
  }

 private:
  static FloatPair floats(State& s, bool on_host) {
    if constexpr (std::is_same_v<State, curandStateMRG32k3a_t>) {
      const float u = curand_uniform(&s);
      return normal_pair(u, curand_uniform(&s) * 6.2831855F, on_host);
    } else {
      const float u = uniform_of(curand(&s));
      return normal_pair(u, angle_of(curand(&s)), on_host);
    }
  }
  // The second number of a pair is for the state's next turn.
  static float kept_float(State& s, bool on_host) {
    if (s.boxmuller_flag != 0) {
      s.boxmuller_flag = 0;
      return s.boxmuller_extra;
    }
    const FloatPair pair = floats(s, on_host);
    s.boxmuller_flag = kKept;
    s.boxmuller_extra = pair.second;
    return pair.first;
  }
  template <std::size_t kWidth, class Out, class Make>
  void visit(Out* out, std::size_t count, const Make& make) {
    const std::size_t size = states_.size();
    const std::size_t visits = count / kWidth;
    const std::size_t rounds = (visits + size - 1) / size;
    if (visits == 0) return;
    const std::size_t first = next_;
    in_parallel(std::min(size, visits), std::max<std::size_t>(1, kLeast / rounds),
                [&](std::size_t from, std::size_t to) {
                  for (std::size_t round = 0; round < rounds; ++round)
                    for (std::size_t q = from; q < to && round * size + q < visits; ++q)
                      make(states_[(first + q) % size], out + (round * size + q) * kWidth);
                });
    next_ = (first + visits) % size;
  }

  std::vector<State> states_;
  std::size_t next_ = 0;
};

std::unique_ptr<Engine> make_xorwow(const Settings& settings) {
  const bool seeded = settings.ordering == CURAND_ORDERING_PSEUDO_SEEDED;
  std::vector<curandStateXORWOW_t> states(
      settings.ordering == CURAND_ORDERING_PSEUDO_DYNAMIC ? 2816 : 4096);
  for (std::size_t q = 0; q < states.size(); ++q) {
    if (q == 0 || seeded) {
      curand_init(settings.seed + 3133713ULL * q, 0ULL, 0ULL, &states[q]);
    } else {
      states[q] = states[q - 1];
      skipahead_sequence(1ULL, &states[q]);
    }
  }
  return std::make_unique<TurnsEngine<curandStateXORWOW_t>>(std::move(states), settings.offset);
}

std::unique_ptr<Engine> make_mrg(const Settings& settings) {
  // 2048 threads of each of an H100's 132 multiprocessors.
  const std::size_t size = settings.ordering == CURAND_ORDERING_PSEUDO_LEGACY    ? 4096
                           : settings.ordering == CURAND_ORDERING_PSEUDO_DYNAMIC ? 270336
                                                                                 : 81920;
  // Steps of 2^76 numbers, from one sequence to the next.
  MrgMatrix one{{{0, 1, 0}, {0, 0, 1}, {kMrg1 - 810728, 1403580, 0}}};
  MrgMatrix two{{{0, 1, 0}, {0, 0, 1}, {kMrg2 - 1370589, 0, 527612}}};
  for (int i = 0; i < 76; ++i) {
    one = mrg_product(one, one, kMrg1);
    two = mrg_product(two, two, kMrg2);
  }
  std::vector<curandStateMRG32k3a_t> states(size);
  curand_init(settings.seed, 0ULL, 0ULL, states.data());
  for (std::size_t q = 1; q < size; ++q) {
    states[q] = states[q - 1];
    mrg_skip_part(states[q].s1, one, kMrg1, 1, 0);
    mrg_skip_part(states[q].s2, two, kMrg2, 1, 0);
  }
  return std::make_unique<TurnsEngine<curandStateMRG32k3a_t>>(std::move(states), settings.offset);
}

// ---- Philox: sequences take turns, each gives the four numbers of a counter ----
class PhiloxEngine final : public Engine {
 public:
  PhiloxEngine(std::uint64_t seed, std::size_t size, std::uint64_t offset)
      : key_{static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32U)},
        counters_(size, offset / (4 * size)),
        next_(offset % (4 * size)) {
    for (std::size_t q = 0; q < next_ / 4; ++q) ++counters_[q];
  }

  void draw(const Draw& draw, std::size_t count, void* out) override {
    switch (draw.kind) {
      case Kind::kUniform:
        return groups<1, float>(out, count, [](const Bits& b, float* to) {
          for (std::size_t i = 0; i < 4; ++i) to[i] = uniform_of(b[i]);
        });
      case Kind::kUniformDouble:
        return groups<2, double>(out, count, [](const Bits& b, double* to) {
          for (std::size_t i = 0; i < 4; ++i) to[i] = uniform_double_of(b[2 * i], b[2 * i + 1]);
        });
      case Kind::kNormal:
      case Kind::kLogNormal:
        return groups<1, float>(out, count, [&](const Bits& b, float* to) {
          for (std::size_t i = 0; i < 4; i += 2) {
            const FloatPair pair = normal_pair(uniform_of(b[i]), angle_of(b[i + 1]), draw.on_host);
            to[i] = normal_of(pair.first, draw);
            to[i + 1] = normal_of(pair.second, draw);
          }
        });
      case Kind::kNormalDouble:
      case Kind::kLogNormalDouble:
        return groups<2, double>(out, count, [&](const Bits& b, double* to) {
          for (std::size_t i = 0; i < 4; i += 2) {
            const DoublePair pair =
                normal_pair(uniform_double_of(b[2 * i], b[2 * i + 1]),
                            2 * uniform_double_of(b[2 * i + 2], b[2 * i + 3]), draw.on_host);
            to[i] = normal_of(pair.first, draw);
            to[i + 1] = normal_of(pair.second, draw);
          }
        });
      case Kind::kPoisson:
        return groups<1, unsigned>(out, count, [&](const Bits& b, unsigned* to) {
          if (draw.poisson) {
            for (std::size_t i = 0; i < 4; ++i)
              to[i] = draw.poisson->value(b[i] * kUnitDouble + kUnitDouble / 2);
          } else {
            for (std::size_t i = 0; i < 4; i += 2) {
              const FloatPair pair =
                  normal_pair(uniform_of(b[i]), angle_of(b[i + 1]), draw.on_host);
              to[i] = large_poisson_of(pair.first, draw);
              to[i + 1] = large_poisson_of(pair.second, draw);
            }
          }
        });
      case Kind::kBits:
      case Kind::kWideBits:
        return groups<1, unsigned>(out, count, [](const Bits& b, unsigned* to) {
          for (std::size_t i = 0; i < 4; ++i) to[i] = b[i];
        });
    }
  }

 private:
  using Bits = std::array<unsigned, 8>;

  // A group is what one sequence gives in its turn. The first and the last may be used in part;
  // what is left of the last is for the next draw.
  template <std::size_t kSteps, class Out, class Make>
  void groups(void* to, std::size_t count, const Make& make) {
    auto* out = static_cast<Out*>(to);
    if (count == 0) return;
    const std::uint64_t begin = next_;
    const std::uint64_t end = next_ + count;
    const std::size_t size = counters_.size();
    const std::size_t first = begin / 4;
    const std::size_t used = static_cast<std::size_t>((end + 3) / 4) - first;
    in_parallel(std::min(size, used), std::max<std::size_t>(1, kLeast * size / (4 * used + size)),
                [&](std::size_t from, std::size_t last) {
                  for (std::size_t at = from; at < last; ++at)
                    for (std::size_t group = first + at; group < first + used; group += size) {
                      const std::size_t q = group % size;
                      Bits bits{};
                      for (std::size_t step = 0; step < kSteps; ++step)
                        block(q, counters_[q] + step, bits.data() + 4 * step);
                      std::array<Out, 4> made;
                      make(bits, made.data());
                      for (std::size_t lane = 0; lane < 4; ++lane) {
                        const std::uint64_t place = group * 4 + lane;
                        if (place >= begin && place < end) out[place - begin] = made[lane];
                      }
                      if (group * 4 + 4 <= end) counters_[q] += kSteps;
                    }
                });
    next_ = static_cast<std::size_t>(end % (4 * size));
  }
  void block(std::size_t sequence, std::uint64_t counter, unsigned* out) const {
    const uint4 bits = curand_Philox4x32_10(
        uint4{static_cast<unsigned>(counter), static_cast<unsigned>(counter >> 32U),
              static_cast<unsigned>(sequence), 0},
        key_);
    out[0] = bits.x;
    out[1] = bits.y;
    out[2] = bits.z;
    out[3] = bits.w;
  }

  uint2 key_;
  std::vector<std::uint64_t> counters_;
  std::size_t next_;  // of 4 * size numbers
};

// ---- MT19937 and Sobol sequences: each number is made of one of 32 or 64 bits ----
template <class Word>
struct SobolConversion {
  [[nodiscard]] float uniform(Word x) const {
    return uniform_of(static_cast<unsigned>(x >> (sizeof(Word) * 8 - 32)));
  }
  [[nodiscard]] double uniform_double(Word x) const {
    if constexpr (sizeof(Word) == 4)
      return x * kUnitDouble + kUnitDouble;
    else
      return static_cast<double>(x >> 11U) * kFine + kFine / 2;
  }
  [[nodiscard]] float normal(Word x) const {
    return inverse_normal(static_cast<unsigned>(x >> (sizeof(Word) * 8 - 32)));
  }
  [[nodiscard]] double normal_double(Word x) const {
    if constexpr (sizeof(Word) == 4)
      return inverse_normal_double(static_cast<unsigned>(x));
    else
      return inverse_normal_double(static_cast<unsigned long long>(x));
  }
  // Of 32 bits, small means are drawn as pseudorandom ones are (recorded for 0.5); others (recorded
  // for 10 to 5000) keep the order of the numbers.
  [[nodiscard]] unsigned poisson(Word x, const Draw& draw) const {
    if constexpr (sizeof(Word) == 8) {
      return draw.poisson ? draw.poisson->ordered_value(uniform_double(x))
                          : large_poisson_of(normal_double(x), draw);
    } else {
      if (!draw.poisson) return large_poisson_of(normal_double(x), draw);
      const double u = x * kUnitDouble + kUnitDouble / 2;
      return draw.mean < 1 ? draw.poisson->value(u) : draw.poisson->ordered_value(u);
    }
  }
};
struct MersenneConversion {
  [[nodiscard]] float uniform(std::uint32_t x) const {
    return static_cast<float>(uniform_double(x));
  }
  [[nodiscard]] float normal(std::uint32_t x) const {
    return inverse_normal(static_cast<unsigned>(x));
  }
  [[nodiscard]] double normal_double(std::uint32_t x) const {
    return inverse_normal_double(static_cast<unsigned>(x));
  }
  [[nodiscard]] double uniform_double(std::uint32_t x) const {
    return x * kUnitDouble + kUnitDouble / 2;
  }
  [[nodiscard]] unsigned poisson(std::uint32_t bits, const Draw& draw) const {
    if (draw.poisson) return draw.poisson->value(uniform_double(bits));
    const auto mean = static_cast<float>(draw.mean);  // in float throughout
    const float spread = std::sqrt(mean);
    const float x =
        draw.on_host ? spread * normal(bits) + mean : std::fma(spread, normal(bits), mean);
    const float above = x + 0.5F;
    return static_cast<unsigned>(above);
  }
};

template <class Word, class As>
void convert(const Draw& draw, const Word* bits, std::size_t count, void* out, std::size_t at,
             const As& as) {
  auto* floats = static_cast<float*>(out) + at;
  auto* doubles = static_cast<double*>(out) + at;
  auto* words = static_cast<unsigned*>(out) + at;
  auto* wide = static_cast<unsigned long long*>(out) + at;
  for (std::size_t i = 0; i < count; ++i) switch (draw.kind) {
      case Kind::kBits:
        words[i] = static_cast<unsigned>(bits[i]);
        break;
      case Kind::kWideBits:
        wide[i] = bits[i];
        break;
      case Kind::kUniform:
        floats[i] = as.uniform(bits[i]);
        break;
      case Kind::kUniformDouble:
        doubles[i] = as.uniform_double(bits[i]);
        break;
      case Kind::kNormal:
      case Kind::kLogNormal:
        floats[i] = normal_of(as.normal(bits[i]), draw);
        break;
      case Kind::kNormalDouble:
      case Kind::kLogNormalDouble:
        doubles[i] = normal_of(as.normal_double(bits[i]), draw);
        break;
      case Kind::kPoisson:
        words[i] = as.poisson(bits[i], draw);
        break;
    }
}

class MersenneEngine final : public Engine {
 public:
  explicit MersenneEngine(std::uint64_t seed) : segments_(static_cast<std::uint32_t>(seed)) {}

  void draw(const Draw& draw, std::size_t count, void* out) override {
    constexpr std::size_t kPart = std::size_t{1} << 20U;
    std::vector<std::uint32_t> bits(std::min(count, kPart));
    for (std::size_t at = 0; at < count; at += kPart) {
      const std::size_t part = std::min(kPart, count - at);
      segments_.generate(next_, part, bits.data());
      next_ += part;
      in_parallel(part, kLeast, [&](std::size_t from, std::size_t to) {
        convert(draw, bits.data() + from, to - from, out, at + from, MersenneConversion{});
      });
    }
  }

 private:
  MersenneSegments segments_;
  std::uint64_t next_ = 0;
};

template <class Word>
class SobolEngine final : public Engine {
 public:
  SobolEngine(const std::vector<Word>& directions, unsigned dimensions, std::uint64_t offset)
      : directions_(directions), dimensions_(dimensions), next_(offset) {}

  // All numbers of the first dimension, then those of the second, ...
  void draw(const Draw& draw, std::size_t count, void* out) override {
    const std::size_t each = count / dimensions_;
    in_parallel(count, kLeast, [&](std::size_t from, std::size_t to) {
      std::array<Word, 512> bits;
      while (from < to) {
        const std::size_t dimension = from / each;
        const std::size_t part = std::min({bits.size(), to - from, (dimension + 1) * each - from});
        fill(dimension, next_ + from % each, part, bits.data());
        convert(draw, bits.data(), part, out, from, SobolConversion<Word>{});
        from += part;
      }
    });
    next_ += each;
  }

 private:
  void fill(std::size_t dimension, std::uint64_t first, std::size_t count, Word* out) const {
    constexpr unsigned kBits = sizeof(Word) * 8;
    const Word* directions = directions_.data() + dimension * kBits;
    auto index = static_cast<Word>(first);
    Word x = 0;
    for (Word gray = index ^ index >> 1U, k = 0; gray != 0; gray >>= 1U, ++k)
      if ((gray & 1U) != 0) x ^= directions[k];
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = x;
      const Word zeros = ~index++;
      if (zeros != 0) x ^= directions[__builtin_ctzll(zeros)];
    }
  }

  const std::vector<Word>& directions_;
  std::size_t dimensions_;
  std::uint64_t next_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const Settings& settings) {
  switch (settings.type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
      return make_xorwow(settings);
    case CURAND_RNG_PSEUDO_MRG32K3A:
      return make_mrg(settings);
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      // 512 sequences for each of an H100's 132 multiprocessors.
      return std::make_unique<PhiloxEngine>(
          settings.seed, settings.ordering == CURAND_ORDERING_PSEUDO_DYNAMIC ? 67584 : 65536,
          settings.offset);
    case CURAND_RNG_PSEUDO_MT19937:
      return std::make_unique<MersenneEngine>(settings.seed);
    case CURAND_RNG_QUASI_DEFAULT:
    case CURAND_RNG_QUASI_SOBOL32:
      return std::make_unique<SobolEngine<std::uint32_t>>(sobol_directions_32(),
                                                          settings.dimensions, settings.offset);
    case CURAND_RNG_QUASI_SOBOL64:
      return std::make_unique<SobolEngine<std::uint64_t>>(sobol_directions_64(),
                                                          settings.dimensions, settings.offset);
    default:
      return nullptr;
  }
}

}  // namespace torchport::cuda_random
