// cuRAND's functions of the host: generators that fill arrays, and Sobol's numbers by directions.
// flags: -lcurand
#include <curand.h>
#include <curand_kernel.h>

#include "sample.h"

#define RAND(call)                                                         \
  do {                                                                     \
    const curandStatus_t status_ = (call);                                 \
    if (status_ != CURAND_STATUS_SUCCESS) {                                \
      std::fprintf(stderr, "%d: %s: %d\n", __LINE__, #call, int(status_)); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

__global__ void integrate(curandDirectionVectors32_t* vectors, double* sum, int n) {
  curandStateSobol32_t x, y;
  const int i = threadIdx.x;
  curand_init(vectors[0], i * n, &x);
  curand_init(vectors[1], i * n, &y);
  double mine = 0;
  for (int k = 0; k < n; ++k) mine += double(curand_uniform(&x)) * curand_uniform(&y);
  atomicAdd(sum, mine);
}

int main() {
  const int n = 20000;
  bool right = true;
  for (curandRngType kind :
       {CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_PSEUDO_MT19937}) {
    Array<float> numbers(n);
    curandGenerator_t generator;
    RAND(curandCreateGenerator(&generator, kind));
    RAND(curandSetPseudoRandomGeneratorSeed(generator, 777));
    RAND(curandGenerateUniform(generator, numbers, n));
    double sum = 0;
    float least = 1, most = 0;
    for (float one : numbers.host())
      sum += one, least = std::min(least, one), most = std::max(most, one);
    right = right && std::fabs(sum / n - 0.5) < 0.02 && least > 0 && most <= 1;
    RAND(curandGenerateNormal(generator, numbers, n, 2, 3));
    double mean = 0, squares = 0;
    for (float one : numbers.host()) mean += one, squares += double(one - 2) * (one - 2);
    right = right && std::fabs(mean / n - 2) < 0.1 && std::fabs(squares / n - 9) < 0.5;
    RAND(curandDestroyGenerator(generator));
  }
  curandDirectionVectors32_t* host_vectors;
  RAND(curandGetDirectionVectors32(&host_vectors, CURAND_DIRECTION_VECTORS_32_JOEKUO6));
  curandDirectionVectors32_t* vectors;
  CHECK(cudaMalloc(&vectors, 2 * sizeof(*vectors)));
  CHECK(cudaMemcpy(vectors, host_vectors, 2 * sizeof(*vectors), cudaMemcpyHostToDevice));
  Array<double> sum(1);
  sum.clear();
  integrate<<<1, 64>>>(vectors, sum, 256);
  right = right && std::fabs(sum.host()[0] / (64 * 256) - 0.25) < 0.001;
  CHECK(cudaFree(vectors));
  return finish("random_host", right);
}
