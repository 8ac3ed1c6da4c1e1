// Asks cuRAND's functions of the host what generators draw, one call after the other, and prints for
// each call its status, a hash of the numbers and the first three. An argument chooses the type.
#include <curand.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static uint64_t hash(const void* data, size_t bytes) {
  uint64_t h = 1469598103934665603ull;
  auto* b = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) h = (h ^ b[i]) * 1099511628211ull;
  return h;
}

static std::vector<unsigned char> h(200000 * 8);
static void* d;

template <class T>
static void show(bool on_host, const char* what, int status, size_t n) {
  if (!on_host) cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost);
  std::printf("%s n %zu: %d", what, n, status);
  if (status == 0) std::printf(" %016llx", (unsigned long long)hash(h.data(), n * sizeof(T)));
  for (size_t i = 0; i < 3 && i < n && status == 0; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, h.data() + i * sizeof(T), sizeof(T));
    std::printf(" %0*llx", int(sizeof(T) * 2), (unsigned long long)word);
  }
  std::printf("\n");
}

static void ask(int type, int order, bool on_host, unsigned long long seed,
                unsigned long long offset) {
  curandGenerator_t g;
  const int made = on_host ? curandCreateGeneratorHost(&g, curandRngType(type))
                           : curandCreateGenerator(&g, curandRngType(type));
  if (made) {
    std::printf("create %d: %d\n", type, made);
    return;
  }
  const int so = order ? curandSetGeneratorOrdering(g, curandOrdering(order)) : 0;
  const int ss = seed ? curandSetPseudoRandomGeneratorSeed(g, seed) : 0;
  const int sf = offset ? curandSetGeneratorOffset(g, offset) : 0;
  std::printf("== type %d order %d where %d seed %llu offset %llu: %d %d %d\n", type, order, on_host,
              seed, offset, so, ss, sf);
  if (!so && !ss && !sf) {
    void* p = on_host ? h.data() : d;
    const auto bits = [&](size_t n) {
      if (type == CURAND_RNG_QUASI_SOBOL64)
        show<uint64_t>(on_host, "bits", curandGenerateLongLong(g, (unsigned long long*)p, n), n);
      else
        show<uint32_t>(on_host, "bits", curandGenerate(g, (unsigned*)p, n), n);
    };
    for (size_t n : {10, 1000, 200000, 3}) bits(n);
    if (offset == 0 && order == 0) {
      show<float>(on_host, "uniform", curandGenerateUniform(g, (float*)p, 1001), 1001);
      show<double>(on_host, "uniform_double", curandGenerateUniformDouble(g, (double*)p, 1001), 1001);
      show<float>(on_host, "normal_odd", curandGenerateNormal(g, (float*)p, 1001, 1, 2), 1001);
      show<float>(on_host, "normal", curandGenerateNormal(g, (float*)p, 10000, 1, 2), 10000);
      show<double>(on_host, "normal_double",
                   curandGenerateNormalDouble(g, (double*)p, 10000, 1, 2), 10000);
      show<float>(on_host, "log_normal", curandGenerateLogNormal(g, (float*)p, 10000, .5f, 2), 10000);
      show<double>(on_host, "log_normal_double",
                   curandGenerateLogNormalDouble(g, (double*)p, 10000, .5, 2), 10000);
      for (double mean : {0.5, 10., 100., 1000., 5000.}) {
        char name[40];
        std::snprintf(name, sizeof name, "poisson %f", mean);
        show<unsigned>(on_host, name, curandGeneratePoisson(g, (unsigned*)p, 10001, mean), 10001);
      }
      bits(5);
    }
  }
  curandDestroyGenerator(g);
}

static void ask_dimensions(int type) {
  const bool wide = type == CURAND_RNG_QUASI_SOBOL64;
  curandGenerator_t g;
  curandCreateGenerator(&g, curandRngType(type));
  curandSetQuasiRandomGeneratorDimensions(g, 50);
  const int status = wide ? curandGenerateLongLong(g, (unsigned long long*)d, 100000)
                          : curandGenerate(g, (unsigned*)d, 100000);
  cudaMemcpy(h.data(), d, 100000 * (wide ? 8 : 4), cudaMemcpyDeviceToHost);
  std::printf("50 dimensions: %d %016llx\n", status,
              (unsigned long long)hash(h.data(), 30000 * (wide ? 8 : 4)));
  curandDestroyGenerator(g);
  if (wide) {
    curandDirectionVectors64_t* v;
    curandGetDirectionVectors64(&v, CURAND_DIRECTION_VECTORS_64_JOEKUO6);
    std::printf("vectors of 50: %016llx\n", (unsigned long long)hash(v, 50 * sizeof(*v)));
  } else {
    curandDirectionVectors32_t* v;
    curandGetDirectionVectors32(&v, CURAND_DIRECTION_VECTORS_32_JOEKUO6);
    std::printf("vectors of 50: %016llx\n", (unsigned long long)hash(v, 50 * sizeof(*v)));
  }
}

int main(int, char** words) {
  const int type = std::atoi(words[1]);
  cudaMalloc(&d, h.size());
  const bool quasi = type >= 200;
  int version = 0;
  curandGetVersion(&version);
  std::printf("version %d\n", version);
  const unsigned long long seed = quasi ? 0 : 777;
  for (bool on_host : {false, true}) ask(type, 0, on_host, seed, 0);
  for (unsigned long long offset : {7ull, 100000ull}) ask(type, 0, false, seed, offset);
  for (int order : {100, 101, 102, 103, 104, 201})
    for (unsigned long long offset : {0ull, 100000ull}) ask(type, order, false, seed, offset);
  if (!quasi) ask(type, 0, false, 0, 0);
  if (quasi) ask_dimensions(type);
}
