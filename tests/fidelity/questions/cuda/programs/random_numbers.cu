// curand_kernel.h: each generator from several seeds, subsequences and offsets; what is drawn, and what states hold.
#include "told.h"

#include <curand_kernel.h>

namespace {

constexpr int kDraws = 24;

template <class State>
__global__ void draws(unsigned long long seed, unsigned long long sub, unsigned long long offset, unsigned* bits, float* floats,
                      double* doubles, unsigned* after) {
  State first;
  curand_init(seed, sub, offset, &first);
  State s = first;
  for (int i = 0; i < kDraws; ++i) bits[i] = curand(&s);
  s = first;
  for (int i = 0; i < 12; ++i) floats[i] = curand_uniform(&s);
  s = first;
  for (int i = 0; i < 9; ++i) floats[12 + i] = curand_normal(&s);
  after[0] = curand(&s);
  s = first;
  for (int i = 0; i < 4; ++i) {
    float2 two = curand_normal2(&s);
    floats[21 + 2 * i] = two.x, floats[22 + 2 * i] = two.y;
  }
  after[1] = curand(&s);
  s = first;
  for (int i = 0; i < 5; ++i) floats[29 + i] = curand_log_normal(&s, 0.5f, 1.5f);
  s = first;
  for (int i = 0; i < 5; ++i) doubles[i] = curand_uniform_double(&s);
  s = first;
  for (int i = 0; i < 5; ++i) doubles[5 + i] = curand_normal_double(&s);
  s = first;
  double2 pair = curand_normal2_double(&s);
  doubles[10] = pair.x, doubles[11] = pair.y;
  s = first;
  for (int i = 0; i < 3; ++i) doubles[12 + i] = curand_log_normal_double(&s, 0.5, 1.5);
  s = first;
  int at = 2;
  for (double lambda : {0.3, 4.0, 50.0, 900.0, 5000.0})
    for (int i = 0; i < 4; ++i) after[at++] = curand_poisson(&s, lambda);
  // Mixed calls: what a kept normal does.
  s = first;
  floats[34] = curand_normal(&s), floats[35] = curand_uniform(&s), floats[36] = curand_normal(&s), floats[37] = curand_normal(&s);
  s = first;
  skipahead(1000003ull, &s);
  for (int i = 0; i < 4; ++i) after[at++] = curand(&s);
  s = first;
  skipahead_sequence(3ull, &s);
  for (int i = 0; i < 4; ++i) after[at++] = curand(&s);
}

template <class State>
void ask(const std::string& name) {
  struct {
    unsigned long long seed, sub, offset;
  } starts[] = {{0, 0, 0}, {1234, 0, 0}, {1234, 1, 0}, {1234, 0, 1}, {1234, 5, 7}, {0xdeadbeefcafeull, 1ull << 20, 4},
                {~0ull, 3, 1ull << 33}};
  for (auto& start : starts) {
    Array<unsigned> bits(kDraws), after(30);
    Array<float> floats(38);
    Array<double> doubles(15);
    draws<State><<<1, 1>>>(start.seed, start.sub, start.offset, bits, floats, doubles, after);
    FINISH();
    std::string about = name + " " + std::to_string(start.seed) + " " + std::to_string(start.sub) + " " + std::to_string(start.offset);
    tell_bits(about, bits.host());
    tell_bits(about + " floats", floats.host());
    tell_bits(about + " doubles", doubles.host());
    tell_bits(about + " after", after.host());
  }
}

__global__ void fours(unsigned long long seed, uint4* bits, float4* floats, double2* doubles) {
  curandStatePhilox4_32_10_t s;
  curand_init(seed, threadIdx.x, threadIdx.x / 2, &s);
  bits[threadIdx.x] = curand4(&s);
  floats[threadIdx.x] = curand_uniform4(&s);
  floats[8 + threadIdx.x] = curand_normal4(&s);
  floats[16 + threadIdx.x] = curand_log_normal4(&s, 0.0f, 1.0f);
  bits[8 + threadIdx.x] = curand_poisson4(&s, 6.0);
  doubles[threadIdx.x] = curand_uniform2_double(&s);
  doubles[8 + threadIdx.x] = curand_normal2_double(&s);
  (void)curand(&s);
  bits[16 + threadIdx.x] = curand4(&s);
}

// Directions of the first dimension (van der Corput) and of two made up ones.
template <class State, class Word>
__global__ void quasi(int dimension, unsigned offset, Word* bits, float* floats, double* doubles) {
  Word directions[sizeof(Word) * 8];
  constexpr int n = sizeof(Word) * 8;
  for (int i = 0; i < n; ++i) {
    Word one = Word(1) << (n - 1 - i);
    directions[i] = dimension == 0 ? one : dimension == 1 ? one | (one << 1) : one ^ (Word(0x9e3779b9u) >> i);
  }
  State s;
  curand_init(directions, offset, &s);
  for (int i = 0; i < 20; ++i) bits[i] = curand(&s);
  for (int i = 0; i < 6; ++i) floats[i] = curand_uniform(&s), floats[6 + i] = curand_normal(&s);
  for (int i = 0; i < 6; ++i) doubles[i] = curand_uniform_double(&s), doubles[6 + i] = curand_normal_double(&s);
  skipahead(77u, &s);
  for (int i = 20; i < 24; ++i) bits[i] = curand(&s);
}

template <class State, class Word>
void ask_quasi(const std::string& name) {
  for (int dimension = 0; dimension < 3; ++dimension)
    for (unsigned offset : {0u, 13u}) {
      Array<Word> bits(24);
      Array<float> floats(12);
      Array<double> doubles(12);
      quasi<State, Word><<<1, 1>>>(dimension, offset, bits, floats, doubles);
      FINISH();
      std::string about = name + " " + std::to_string(dimension) + " " + std::to_string(offset);
      tell_bits(about, bits.host());
      tell_bits(about + " floats", floats.host());
      tell_bits(about + " doubles", doubles.host());
    }
}

}  // namespace

int main() {
  tell("sizes", std::vector<int>{sizeof(curandStateXORWOW), sizeof(curandStatePhilox4_32_10), sizeof(curandStateMRG32k3a),
                                 sizeof(curandStateSobol32), sizeof(curandStateSobol64), sizeof(curandStateScrambledSobol32)});
  ask<curandStateXORWOW>("xorwow");
  ask<curandStatePhilox4_32_10_t>("philox");
  ask<curandStateMRG32k3a>("mrg32k3a");
  ask_quasi<curandStateSobol32, unsigned>("sobol32");
  ask_quasi<curandStateSobol64, unsigned long long>("sobol64");
  Array<uint4> bits(24);
  Array<float4> floats(24);
  Array<double2> doubles(16);
  fours<<<1, 8>>>(77, bits, floats, doubles);
  FINISH();
  auto u = bits.host();
  auto f = floats.host();
  auto d = doubles.host();
  std::vector<unsigned> us(96), fs(96);
  std::memcpy(us.data(), u.data(), 384), std::memcpy(fs.data(), f.data(), 384);
  tell_bits("philox fours", us, 96);
  tell_bits("philox fours floats", fs, 96);
  std::vector<double> ds(32);
  std::memcpy(ds.data(), d.data(), 256);
  tell_bits("philox fours doubles", ds);
  return 0;
}
