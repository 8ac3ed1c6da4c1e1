// What a generator is asked for, and how its bits become that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cuda/random/poisson_table.h"
#include "curand.h"

namespace torchport::cuda_random {

enum class Kind : unsigned char {
  kBits,
  kWideBits,
  kUniform,
  kUniformDouble,
  kNormal,
  kNormalDouble,
  kLogNormal,
  kLogNormalDouble,
  kPoisson,
};

struct Draw {
  Kind kind = Kind::kBits;
  double mean = 0;
  double deviation = 1;
  // Sine, cosine and logarithm are those of the host's library, else as near as can be to a GPU's.
  bool on_host = false;
  std::shared_ptr<const PoissonTable> poisson;  // none for means above 4000
};

struct Settings {
  curandRngType type = CURAND_RNG_PSEUDO_XORWOW;
  curandOrdering ordering = CURAND_ORDERING_PSEUDO_BEST;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  unsigned dimensions = 1;
};

// The numbers of one generator, one draw after the other. What is drawn does not depend on the
// number of the host's threads.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;
  virtual void draw(const Draw& draw, std::size_t count, void* out) = 0;
};

// For each type but MTGP32 and the scrambled sequences.
std::unique_ptr<Engine> make_engine(const Settings& settings);

}  // namespace torchport::cuda_random
