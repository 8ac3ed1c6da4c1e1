// Statuses of wrong calls, streams and graphs of cuRAND's functions of the host.
#include <curand.h>
#include <curand_kernel.h>

#include <cstdio>
#include <vector>

static bool right = true;
#define IS(call, status)                                              \
  do {                                                                \
    const int is_ = int(call);                                        \
    if (is_ != int(status)) {                                         \
      std::printf("%d: %s: %d\n", __LINE__, #call, is_);              \
      right = false;                                                  \
    }                                                                 \
  } while (0)

template <class State>
__global__ void draws(curandDiscreteDistribution_t distribution, unsigned* out) {
  State s;
  curand_init(5ull, (unsigned long long)threadIdx.x, 0ull, &s);
  out[threadIdx.x] = curand_discrete(&s, distribution);
}

// The first numbers of the generator's first sequences are those that kernels draw of these.
template <class State>
static void distributions(curandRngType type) {
  unsigned* d;
  IS(cudaMalloc(&d, 512 * 4), 0);
  std::vector<unsigned> one(256), other(256);
  curandDiscreteDistribution_t distribution;
  curandGenerator_t g;
  for (double mean : {0.5, 100., 3000.}) {
    IS(curandCreatePoissonDistribution(mean, &distribution), 0);
    draws<State><<<1, 256>>>(distribution, d);
    IS(curandDestroyDistribution(distribution), 0);
    IS(curandCreateGenerator(&g, type), 0);
    IS(curandSetPseudoRandomGeneratorSeed(g, 5), 0);
    IS(curandGeneratePoisson(g, d + 256, 256, mean), 0);
    IS(curandDestroyGenerator(g), 0);
    IS(cudaMemcpy(one.data(), d, 1024, cudaMemcpyDeviceToHost), 0);
    IS(cudaMemcpy(other.data(), d + 256, 1024, cudaMemcpyDeviceToHost), 0);
    IS(one == other, true);
  }
  IS(cudaFree(d), 0);
}

int main() {
  distributions<curandStateXORWOW_t>(CURAND_RNG_PSEUDO_XORWOW);
  distributions<curandStateMRG32k3a_t>(CURAND_RNG_PSEUDO_MRG32K3A);
  curandDiscreteDistribution_t none;
  IS(curandCreatePoissonDistribution(0, &none), CURAND_STATUS_OUT_OF_RANGE);
  unsigned* d;
  const size_t n = 1000;
  IS(cudaMalloc(&d, n * 4), 0);
  curandGenerator_t g, q;
  IS(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_MTGP32), CURAND_STATUS_TYPE_ERROR);
  IS(curandCreateGenerator(&g, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32), CURAND_STATUS_TYPE_ERROR);
  IS(curandCreateGenerator(&g, curandRngType(131)), CURAND_STATUS_TYPE_ERROR);
  IS(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT), 0);
  IS(curandCreateGenerator(&q, CURAND_RNG_QUASI_DEFAULT), 0);
  IS(curandDestroyGenerator(nullptr), CURAND_STATUS_NOT_INITIALIZED);
  IS(curandGenerate(nullptr, d, n), CURAND_STATUS_NOT_INITIALIZED);
  IS(curandSetPseudoRandomGeneratorSeed(q, 1), CURAND_STATUS_TYPE_ERROR);
  IS(curandSetQuasiRandomGeneratorDimensions(g, 3), CURAND_STATUS_TYPE_ERROR);
  IS(curandSetQuasiRandomGeneratorDimensions(q, 0), CURAND_STATUS_OUT_OF_RANGE);
  IS(curandSetQuasiRandomGeneratorDimensions(q, 51), CURAND_STATUS_OUT_OF_RANGE);
  IS(curandSetQuasiRandomGeneratorDimensions(q, 3), 0);
  IS(curandGenerate(q, d, 10), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  IS(curandGenerate(q, d, 9), 0);
  IS(curandGenerateLongLong(g, (unsigned long long*)d, 4), CURAND_STATUS_TYPE_ERROR);
  IS(curandGenerateNormal(g, (float*)d, 9, 0, 1), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  IS(curandGeneratePoisson(g, d, 9, 0), CURAND_STATUS_OUT_OF_RANGE);
  IS(curandGenerate(g, d, 0), 0);
  curandDirectionVectors32_t* vectors;
  IS(curandGetDirectionVectors32(&vectors, CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6),
     CURAND_STATUS_OUT_OF_RANGE);
  int value = 0;
  IS(curandGetProperty(MAJOR_VERSION, &value), 0);
  right = right && value == 10;
  // More numbers than there is memory, and memory of the host.
  IS(curandGenerate(g, d, 1 << 20), CURAND_STATUS_LAUNCH_FAILURE);
  std::vector<unsigned> host(n), again(n), first(n);
  IS(curandGenerate(g, host.data(), n), CURAND_STATUS_LAUNCH_FAILURE);
  IS(cudaGetLastError(), cudaErrorInvalidValue);
  IS(cudaDeviceSynchronize(), 0);

  // What a stream's graph draws goes on with each launch.
  IS(curandGenerate(g, d, n), 0);
  IS(cudaMemcpy(first.data(), d, n * 4, cudaMemcpyDeviceToHost), 0);
  cudaStream_t stream;
  IS(cudaStreamCreate(&stream), 0);
  IS(curandSetStream(g, stream), 0);
  IS(curandSetGeneratorOffset(g, 0), 0);
  IS(curandGenerateSeeds(g), 0);
  IS(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), 0);
  IS(curandGenerate(g, d, n / 2), 0);
  cudaGraph_t graph;
  IS(cudaStreamEndCapture(stream, &graph), 0);
  cudaGraphExec_t runs;
  IS(cudaGraphInstantiate(&runs, graph, 0), 0);
  IS(cudaMemset(d, 0, n * 4), 0);
  for (int i = 0; i < 2; ++i) {
    IS(cudaGraphLaunch(runs, stream), 0);
    IS(cudaMemcpyAsync(again.data() + i * n / 2, d, n * 2, cudaMemcpyDeviceToHost, stream), 0);
    IS(cudaStreamSynchronize(stream), 0);
  }
  right = right && again == first;
  IS(curandDestroyGenerator(g), 0);
  IS(curandDestroyGenerator(q), 0);
  std::printf(right ? "right\n" : "wrong\n");
}
