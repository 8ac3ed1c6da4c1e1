// cuRAND's functions of the host. Statuses are those that an H100 answered with cuRAND 10.4, where
// it was asked, else those of its manual.
#include "curand.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "cuda/random/numbers.h"
#include "cuda/random/sobol_directions.h"
#include "cuda_runtime_api.h"

// Of libtorchport_cuda.so (cuda/runtime/without_values.h).
extern "C" bool torchport_cuda_leaves_out(const char* name, const void* memory);

namespace random_numbers = torchport::cuda_random;
using random_numbers::Draw;
using random_numbers::Engine;
using random_numbers::Kind;

#pragma GCC visibility push(default)

struct curandGenerator_st {
  random_numbers::Settings settings{};
  bool on_host = false;
  cudaStream_t stream = nullptr;
  std::shared_ptr<Engine> engine{};  // made by the first draw
  std::mutex mutex{};
};

#pragma GCC visibility pop

namespace {

__attribute__((format(printf, 1, 2))) void say(const char* format, ...) {
  std::fputs("torchport: ", stderr);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
}

bool is_quasi(curandRngType type) {
  return type >= CURAND_RNG_QUASI_DEFAULT;
}
bool has_wide_bits(curandRngType type) {
  return type == CURAND_RNG_QUASI_SOBOL64 || type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
}
// Whether normal numbers come in pairs of one sequence.
bool draws_pairs(curandRngType type) {
  return type == CURAND_RNG_PSEUDO_DEFAULT || type == CURAND_RNG_PSEUDO_XORWOW ||
         type == CURAND_RNG_PSEUDO_MRG32K3A;
}

curandStatus_t create(curandGenerator_t* generator, curandRngType type, bool on_host) {
  switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
    case CURAND_RNG_PSEUDO_MRG32K3A:
    case CURAND_RNG_PSEUDO_MT19937:
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
    case CURAND_RNG_QUASI_DEFAULT:
    case CURAND_RNG_QUASI_SOBOL32:
    case CURAND_RNG_QUASI_SOBOL64:
      break;
    case CURAND_RNG_PSEUDO_MTGP32:
      say("curandCreateGenerator: no MTGP32: its tables of parameters are NVIDIA's, and torchport "
          "has "
          "none");
      return CURAND_STATUS_TYPE_ERROR;
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL32:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL64:
      say("curandCreateGenerator: no scrambled Sobol sequences: their tables are NVIDIA's, and "
          "torchport has none");
      return CURAND_STATUS_TYPE_ERROR;
    default:
      return CURAND_STATUS_TYPE_ERROR;
  }
  if (!on_host && cudaFree(nullptr) != cudaSuccess) return CURAND_STATUS_INITIALIZATION_FAILED;
  auto made = std::make_unique<curandGenerator_st>();
  made->settings.type = type;
  made->settings.ordering =
      is_quasi(type) ? CURAND_ORDERING_QUASI_DEFAULT : CURAND_ORDERING_PSEUDO_BEST;
  made->on_host = on_host;
  *generator = made.release();
  return CURAND_STATUS_SUCCESS;
}

// What a stream does when it comes to a draw.
struct Work {
  std::shared_ptr<Engine> engine;
  Draw draw;
  std::size_t count;
  void* out;
  bool again;  // in a graph

  static void run(void* data) {
    auto* work = static_cast<Work*>(data);
    work->engine->draw(work->draw, work->count, work->out);
    if (!work->again) delete work;
  }
};

// Setting memory checks pointers and captures as copies do, and leaves the work for the stream.
curandStatus_t on_device(const char* name, cudaStream_t stream, std::unique_ptr<Work> work,
                         std::size_t bytes) {
  if (const cudaError_t error = cudaMemsetAsync(work->out, 0, bytes, stream)) {
    if (error != cudaErrorInvalidValue) return CURAND_STATUS_PREEXISTING_FAILURE;
    say("%s: %p has no %zu bytes of a device's memory", name, work->out, bytes);
    return CURAND_STATUS_LAUNCH_FAILURE;
  }
  if (torchport_cuda_leaves_out("curandGenerate", work->out)) return CURAND_STATUS_SUCCESS;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &capture) != cudaSuccess) return CURAND_STATUS_LAUNCH_FAILURE;
  // A graph may run for as long as the process: it keeps its work.
  work->again = capture == cudaStreamCaptureStatusActive;
  Work* kept = work.release();
  if (cudaLaunchHostFunc(stream, &Work::run, kept) != cudaSuccess) {
    delete kept;
    return CURAND_STATUS_LAUNCH_FAILURE;
  }
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t make_engine_of(curandGenerator_st& generator) {
  if (generator.engine) return CURAND_STATUS_SUCCESS;
  if (is_quasi(generator.settings.type) &&
      generator.settings.dimensions > random_numbers::sobol_dimensions()) {
    say("cuRAND: no Sobol sequence of %u dimensions: torchport has the directions of %zu",
        generator.settings.dimensions, random_numbers::sobol_dimensions());
    return CURAND_STATUS_OUT_OF_RANGE;
  }
  generator.engine = random_numbers::make_engine(generator.settings);
  return CURAND_STATUS_SUCCESS;
}

// The status of work that may run out of the host's memory.
template <class Do>
curandStatus_t status_of(const Do& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return CURAND_STATUS_ALLOCATION_FAILED;
  }
}

curandStatus_t draw_into(const char* name, curandGenerator_t generator, Draw draw, void* out,
                         std::size_t count, std::size_t size) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  const std::scoped_lock lock(generator->mutex);
  const random_numbers::Settings& settings = generator->settings;
  if (draw.kind == Kind::kWideBits && !has_wide_bits(settings.type))
    return CURAND_STATUS_TYPE_ERROR;
  if (draw.kind == Kind::kBits && has_wide_bits(settings.type)) return CURAND_STATUS_TYPE_ERROR;
  if (is_quasi(settings.type) && count % settings.dimensions != 0)
    return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  const bool normal = draw.kind == Kind::kNormal || draw.kind == Kind::kNormalDouble ||
                      draw.kind == Kind::kLogNormal || draw.kind == Kind::kLogNormalDouble;
  if (normal && draws_pairs(settings.type) && count % 2 != 0)
    return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  if (count == 0) return CURAND_STATUS_SUCCESS;
  if (const curandStatus_t status = make_engine_of(*generator)) return status;
  draw.on_host = generator->on_host;
  if (generator->on_host) {
    generator->engine->draw(draw, count, out);
    return CURAND_STATUS_SUCCESS;
  }
  return on_device(
      name, generator->stream,
      std::make_unique<Work>(Work{generator->engine, std::move(draw), count, out, false}),
      count * size);
}
curandStatus_t generate(const char* name, curandGenerator_t generator, const Draw& draw, void* out,
                        std::size_t count, std::size_t size) {
  return status_of([&] { return draw_into(name, generator, draw, out, count, size); });
}

curandStatus_t generate_poisson(curandGenerator_t generator, unsigned* out, std::size_t count,
                                double mean) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (!(mean > 0)) return CURAND_STATUS_OUT_OF_RANGE;
  // Sobol sequences of 32 bits are looked up as long as there is room for a table.
  const curandRngType type = generator->settings.type;
  const bool looks_up = type == CURAND_RNG_QUASI_DEFAULT || type == CURAND_RNG_QUASI_SOBOL32;
  return status_of([&] {
    Draw draw{Kind::kPoisson, mean, 1, false, nullptr};
    if (mean <= (looks_up ? 1e7 : 4000))
      draw.poisson = std::make_shared<random_numbers::PoissonTable>(mean);
    return draw_into("curandGeneratePoisson", generator, draw, out, count, sizeof(*out));
  });
}

bool allows(curandRngType type, curandOrdering ordering) {
  if (is_quasi(type)) return ordering == CURAND_ORDERING_QUASI_DEFAULT;
  switch (ordering) {
    case CURAND_ORDERING_PSEUDO_BEST:
    case CURAND_ORDERING_PSEUDO_DEFAULT:
    case CURAND_ORDERING_PSEUDO_LEGACY:
      return true;
    case CURAND_ORDERING_PSEUDO_SEEDED:
      return type == CURAND_RNG_PSEUDO_DEFAULT || type == CURAND_RNG_PSEUDO_XORWOW;
    case CURAND_ORDERING_PSEUDO_DYNAMIC:
      return type != CURAND_RNG_PSEUDO_MT19937;
    default:
      return false;
  }
}

// Vectors as a program expects them, 20,000 dimensions: behind those that there are, memory that
// cannot be read.
template <class Word>
Word* vectors_of(const std::vector<Word>& have, std::size_t each) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto pages = [&](std::size_t bytes) { return (bytes + page - 1) / page * page; };
  const std::size_t bytes = have.size() * sizeof(Word);
  const std::size_t all = pages(bytes) + pages(20000 * each * sizeof(Word));
  void* place = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED || mprotect(place, pages(bytes), PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  char* begin = static_cast<char*>(place) + pages(bytes) - bytes;
  std::memcpy(begin, have.data(), bytes);
  say("cuRAND: direction vectors of %zu dimensions; memory behind them cannot be read",
      random_numbers::sobol_dimensions());
  return reinterpret_cast<Word*>(begin);
}

curandStatus_t no_scrambles(const char* name) {
  say("%s: the tables of scrambled Sobol sequences are NVIDIA's, and torchport has none", name);
  return CURAND_STATUS_OUT_OF_RANGE;
}

}  // namespace

#pragma GCC visibility push(default)

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return status_of([&] { return create(generator, type, false); });
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  return status_of([&] { return create(generator, type, true); });
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int* version) {
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
  switch (type) {
    case MAJOR_VERSION:
      *value = CURAND_VER_MAJOR;
      return CURAND_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CURAND_VER_MINOR;
      return CURAND_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CURAND_VER_PATCH;
      return CURAND_STATUS_SUCCESS;
    default:
      return CURAND_STATUS_OUT_OF_RANGE;
  }
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  const std::scoped_lock lock(generator->mutex);
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  const std::scoped_lock lock(generator->mutex);
  if (is_quasi(generator->settings.type)) return CURAND_STATUS_TYPE_ERROR;
  generator->settings.seed = seed;
  generator->engine.reset();
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  const std::scoped_lock lock(generator->mutex);
  if (generator->settings.type == CURAND_RNG_PSEUDO_MT19937) return CURAND_STATUS_TYPE_ERROR;
  generator->settings.offset = offset;
  generator->engine.reset();
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  const std::scoped_lock lock(generator->mutex);
  if (!allows(generator->settings.type, order)) return CURAND_STATUS_OUT_OF_RANGE;
  generator->settings.ordering = order;
  generator->engine.reset();
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator,
                                                       unsigned int dimensions) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  const std::scoped_lock lock(generator->mutex);
  if (!is_quasi(generator->settings.type)) return CURAND_STATUS_TYPE_ERROR;
  if (dimensions < 1 || dimensions > 20000) return CURAND_STATUS_OUT_OF_RANGE;
  if (dimensions > random_numbers::sobol_dimensions()) {
    say("curandSetQuasiRandomGeneratorDimensions: %u: torchport has the directions of %zu "
        "dimensions",
        dimensions, random_numbers::sobol_dimensions());
    return CURAND_STATUS_OUT_OF_RANGE;
  }
  generator->settings.dimensions = dimensions;
  generator->engine.reset();
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  const std::scoped_lock lock(generator->mutex);
  return status_of([&] { return make_engine_of(*generator); });
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* out, size_t count) {
  return generate("curandGenerate", generator, {Kind::kBits, 0, 1, false, nullptr}, out, count,
                  sizeof(*out));
}
curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long* out,
                                      size_t count) {
  return generate("curandGenerateLongLong", generator, {Kind::kWideBits, 0, 1, false, nullptr}, out,
                  count, sizeof(*out));
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, size_t count) {
  return generate("curandGenerateUniform", generator, {Kind::kUniform, 0, 1, false, nullptr}, out,
                  count, sizeof(*out));
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, size_t count) {
  return generate("curandGenerateUniformDouble", generator,
                  {Kind::kUniformDouble, 0, 1, false, nullptr}, out, count, sizeof(*out));
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, size_t count,
                                    float mean, float stddev) {
  return generate("curandGenerateNormal", generator, {Kind::kNormal, mean, stddev, false, nullptr},
                  out, count, sizeof(*out));
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, size_t count,
                                          double mean, double stddev) {
  return generate("curandGenerateNormalDouble", generator,
                  {Kind::kNormalDouble, mean, stddev, false, nullptr}, out, count, sizeof(*out));
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* out, size_t count,
                                       float mean, float stddev) {
  return generate("curandGenerateLogNormal", generator,
                  {Kind::kLogNormal, mean, stddev, false, nullptr}, out, count, sizeof(*out));
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* out, size_t count,
                                             double mean, double stddev) {
  return generate("curandGenerateLogNormalDouble", generator,
                  {Kind::kLogNormalDouble, mean, stddev, false, nullptr}, out, count, sizeof(*out));
}
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int* out, size_t count,
                                     double lambda) {
  return generate_poisson(generator, out, count, lambda);
}
curandStatus_t curandGeneratePoissonMethod(curandGenerator_t generator, unsigned int* out,
                                           size_t count, double lambda, curandMethod_t /*method*/) {
  return generate_poisson(generator, out, count, lambda);
}

curandStatus_t curandCreatePoissonDistribution(double lambda,
                                               curandDiscreteDistribution_t* distribution) {
  if (!(lambda > 0 && lambda <= 400000)) return CURAND_STATUS_OUT_OF_RANGE;
  return status_of([&] {
    const random_numbers::PoissonTable table(lambda);
    const std::size_t thresholds = table.threshold.size() * sizeof(double);
    const std::size_t others = table.other.size() * sizeof(unsigned);
    void* place = nullptr;
    if (cudaMalloc(&place, sizeof(**distribution) + thresholds + others) != cudaSuccess)
      return CURAND_STATUS_ALLOCATION_FAILED;
    auto* bytes = static_cast<char*>(place);
    const curandDiscreteDistribution_st made{
        table.least, static_cast<unsigned>(table.threshold.size()),
        reinterpret_cast<const double*>(bytes + sizeof(made)),
        reinterpret_cast<const unsigned*>(bytes + sizeof(made) + thresholds)};
    const auto put = [](void* to, const void* from, std::size_t size) {
      return cudaMemcpy(to, from, size, cudaMemcpyHostToDevice) == cudaSuccess;
    };
    if (!put(bytes, &made, sizeof(made)) ||
        !put(bytes + sizeof(made), table.threshold.data(), thresholds) ||
        !put(bytes + sizeof(made) + thresholds, table.other.data(), others)) {
      cudaFree(place);
      return CURAND_STATUS_PREEXISTING_FAILURE;
    }
    *distribution = static_cast<curandDiscreteDistribution_t>(place);
    return CURAND_STATUS_SUCCESS;
  });
}
curandStatus_t curandDestroyDistribution(curandDiscreteDistribution_t distribution) {
  if (distribution == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  return cudaFree(distribution) == cudaSuccess ? CURAND_STATUS_SUCCESS
                                               : CURAND_STATUS_PREEXISTING_FAILURE;
}

curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t* vectors[],
                                           curandDirectionVectorSet_t set) {
  if (set == CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6)
    return no_scrambles("curandGetDirectionVectors32");
  if (set != CURAND_DIRECTION_VECTORS_32_JOEKUO6) return CURAND_STATUS_OUT_OF_RANGE;
  static auto* const kVectors = vectors_of(random_numbers::sobol_directions_32(), 32);
  if (kVectors == nullptr) return CURAND_STATUS_ALLOCATION_FAILED;
  *vectors = reinterpret_cast<curandDirectionVectors32_t*>(kVectors);
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t* vectors[],
                                           curandDirectionVectorSet_t set) {
  if (set == CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6)
    return no_scrambles("curandGetDirectionVectors64");
  if (set != CURAND_DIRECTION_VECTORS_64_JOEKUO6) return CURAND_STATUS_OUT_OF_RANGE;
  static auto* const kVectors = vectors_of(random_numbers::sobol_directions_64(), 64);
  if (kVectors == nullptr) return CURAND_STATUS_ALLOCATION_FAILED;
  *vectors = reinterpret_cast<curandDirectionVectors64_t*>(kVectors);
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetScrambleConstants32(unsigned int** /*constants*/) {
  return no_scrambles("curandGetScrambleConstants32");
}
curandStatus_t curandGetScrambleConstants64(unsigned long long** /*constants*/) {
  return no_scrambles("curandGetScrambleConstants64");
}

#pragma GCC visibility pop
