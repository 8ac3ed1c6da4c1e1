// cuRAND's functions of the host (its manual, for 10.4), which libtorchport_curand.so has. Those of
// device code are in curand_kernel.h.
#pragma once

#include "driver_types.h"
#include "library_types.h"

#define CURAND_VER_MAJOR 10
#define CURAND_VER_MINOR 4
#define CURAND_VER_PATCH 0
#define CURAND_VER_BUILD 0
#define CURAND_VERSION 10400
#define CURANDAPI

enum curandStatus {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_VERSION_MISMATCH = 100,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_PREEXISTING_FAILURE = 202,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_ARCH_MISMATCH = 204,
  CURAND_STATUS_INTERNAL_ERROR = 999,
};
typedef enum curandStatus curandStatus_t;

enum curandRngType {
  CURAND_RNG_TEST = 0,
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
  CURAND_RNG_QUASI_SOBOL64 = 203,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204,
};
typedef enum curandRngType curandRngType_t;

enum curandOrdering {
  CURAND_ORDERING_PSEUDO_BEST = 100,
  CURAND_ORDERING_PSEUDO_DEFAULT = 101,
  CURAND_ORDERING_PSEUDO_SEEDED = 102,
  CURAND_ORDERING_PSEUDO_LEGACY = 103,
  CURAND_ORDERING_PSEUDO_DYNAMIC = 104,
  CURAND_ORDERING_QUASI_DEFAULT = 201,
};
typedef enum curandOrdering curandOrdering_t;

enum curandDirectionVectorSet {
  CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
  CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
  CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103,
  CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104,
};
typedef enum curandDirectionVectorSet curandDirectionVectorSet_t;

enum curandMethod {
  CURAND_CHOOSE_BEST = 0,
  CURAND_ITR = 1,
  CURAND_KNUTH = 2,
  CURAND_HITR = 3,
  CURAND_M1 = 4,
  CURAND_M2 = 5,
  CURAND_BINARY_SEARCH = 6,
  CURAND_DISCRETE_GAUSS = 7,
  CURAND_REJECTION = 8,
  CURAND_DEVICE_API = 9,
  CURAND_FAST_REJECTION = 10,
  CURAND_3RD = 11,
  CURAND_DEFINITION = 12,
  CURAND_POISSON = 13,
};
typedef enum curandMethod curandMethod_t;

typedef unsigned int curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];
typedef struct curandGenerator_st* curandGenerator_t;
// In a device's memory: columns of a table, and what their values are (curand_discrete).
struct curandDiscreteDistribution_st {
  unsigned int least, columns;
  const double* threshold;
  const unsigned int* other;
};
typedef struct curandDiscreteDistribution_st* curandDiscreteDistribution_t;

#ifdef __cplusplus
#define TORCHPORT_CURAND extern "C" __attribute__((visibility("default")))
#else
#define TORCHPORT_CURAND extern __attribute__((visibility("default")))
#endif

TORCHPORT_CURAND curandStatus_t curandCreateGenerator(curandGenerator_t* generator,
                                                      curandRngType_t type);
TORCHPORT_CURAND curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator,
                                                          curandRngType_t type);
TORCHPORT_CURAND curandStatus_t curandDestroyGenerator(curandGenerator_t generator);
TORCHPORT_CURAND curandStatus_t curandGetVersion(int* version);
TORCHPORT_CURAND curandStatus_t curandGetProperty(libraryPropertyType type, int* value);
TORCHPORT_CURAND curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream);
TORCHPORT_CURAND curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                                   unsigned long long seed);
TORCHPORT_CURAND curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator,
                                                         unsigned long long offset);
TORCHPORT_CURAND curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator,
                                                           curandOrdering_t order);
TORCHPORT_CURAND curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator,
                                                                        unsigned int dimensions);
TORCHPORT_CURAND curandStatus_t curandGenerateSeeds(curandGenerator_t generator);
TORCHPORT_CURAND curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* out,
                                               size_t count);
TORCHPORT_CURAND curandStatus_t curandGenerateLongLong(curandGenerator_t generator,
                                                       unsigned long long* out, size_t count);
TORCHPORT_CURAND curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out,
                                                      size_t count);
TORCHPORT_CURAND curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator,
                                                            double* out, size_t count);
TORCHPORT_CURAND curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out,
                                                     size_t count, float mean, float stddev);
TORCHPORT_CURAND curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out,
                                                           size_t count, double mean,
                                                           double stddev);
TORCHPORT_CURAND curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* out,
                                                        size_t count, float mean, float stddev);
TORCHPORT_CURAND curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator,
                                                              double* out, size_t count,
                                                              double mean, double stddev);
TORCHPORT_CURAND curandStatus_t curandGeneratePoisson(curandGenerator_t generator,
                                                      unsigned int* out, size_t count,
                                                      double lambda);
TORCHPORT_CURAND curandStatus_t curandGeneratePoissonMethod(curandGenerator_t generator,
                                                            unsigned int* out, size_t count,
                                                            double lambda, curandMethod_t method);
TORCHPORT_CURAND curandStatus_t
curandCreatePoissonDistribution(double lambda, curandDiscreteDistribution_t* distribution);
TORCHPORT_CURAND curandStatus_t
curandDestroyDistribution(curandDiscreteDistribution_t distribution);
TORCHPORT_CURAND curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t* vectors[],
                                                            curandDirectionVectorSet_t set);
TORCHPORT_CURAND curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t* vectors[],
                                                            curandDirectionVectorSet_t set);
TORCHPORT_CURAND curandStatus_t curandGetScrambleConstants32(unsigned int** constants);
TORCHPORT_CURAND curandStatus_t curandGetScrambleConstants64(unsigned long long** constants);
