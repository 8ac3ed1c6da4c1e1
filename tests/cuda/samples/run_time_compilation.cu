// A kernel that is compiled while the program runs (NVRTC), loaded and launched by the driver:
// names of instances of templates, a constant that the host sets, options, and an error with its
// log.
//
// flags: -lnvrtc -lcuda
#include <cstring>
#include <string>

#include <cuda.h>
#include <nvrtc.h>

#include "sample.h"

#define DRIVER(call)                                                \
  do {                                                              \
    const CUresult result_ = (call);                                \
    if (result_ != CUDA_SUCCESS) {                                  \
      const char* name_;                                            \
      cuGetErrorName(result_, &name_);                              \
      std::fprintf(stderr, "%d: %s: %s\n", __LINE__, #call, name_); \
      std::exit(1);                                                 \
    }                                                               \
  } while (0)
#define NVRTC(call)                                                                        \
  do {                                                                                     \
    const nvrtcResult result_ = (call);                                                    \
    if (result_ != NVRTC_SUCCESS) {                                                        \
      std::fprintf(stderr, "%d: %s: %s\n", __LINE__, #call, nvrtcGetErrorString(result_)); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

const char* const kSource = R"(
#include "scale.h"
__constant__ float offset;
template <class T, int kBlock>
__global__ void transform(T* data, int n, T factor) {
  __shared__ T tile[kBlock];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  tile[threadIdx.x] = i < n ? data[i] : T(0);
  __syncthreads();
  T sum = tile[threadIdx.x];
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (i < n) data[i] = SCALE * scaled(tile[kBlock - 1 - threadIdx.x], factor) + T(offset) + (sum - sum);
}
extern "C" __global__ void simple(int* out) { out[threadIdx.x] = blockDim.x - threadIdx.x; }
)";
const char* const kHeader =
    "template <class T> __device__ T scaled(T value, T factor) { return value * factor; }\n";

int main() {
  DRIVER(cuInit(0));
  CUdevice device;
  CUcontext context;
  DRIVER(cuDeviceGet(&device, 0));
  DRIVER(cuDevicePrimaryCtxRetain(&context, device));
  DRIVER(cuCtxSetCurrent(context));
  int major, minor;
  DRIVER(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  DRIVER(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  const std::string architecture =
      "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
  nvrtcProgram program;
  const char* header_names[] = {"scale.h"};
  const char* const name = "transform<double, 64>";
  NVRTC(nvrtcCreateProgram(&program, kSource, "kernels.cu", 1, &kHeader, header_names));
  NVRTC(nvrtcAddNameExpression(program, name));
  NVRTC(nvrtcAddNameExpression(program, "&offset"));
  const char* options[] = {architecture.c_str(), "-DSCALE=2", "--std=c++17"};
  size_t size;
  if (nvrtcCompileProgram(program, 3, options) != NVRTC_SUCCESS) {
    NVRTC(nvrtcGetProgramLogSize(program, &size));
    std::vector<char> log(size);
    NVRTC(nvrtcGetProgramLog(program, log.data()));
    std::fprintf(stderr, "%s\n", log.data());
    return finish("run_time_compilation", false);
  }
  NVRTC(nvrtcGetCUBINSize(program, &size));
  std::vector<char> image(size);
  NVRTC(nvrtcGetCUBIN(program, image.data()));
  const char *lowered, *constant;
  NVRTC(nvrtcGetLoweredName(program, name, &lowered));
  NVRTC(nvrtcGetLoweredName(program, "&offset", &constant));
  CUmodule module;
  CUfunction transform, simple;
  CUdeviceptr offset, data, ints;
  DRIVER(cuModuleLoadData(&module, image.data()));
  DRIVER(cuModuleGetFunction(&transform, module, lowered));
  DRIVER(cuModuleGetFunction(&simple, module, "simple"));
  DRIVER(cuModuleGetGlobal(&offset, &size, module, constant));
  const float ten = 10;
  bool right = size == sizeof(float);
  DRIVER(cuMemcpyHtoD(offset, &ten, sizeof(ten)));
  NVRTC(nvrtcDestroyProgram(&program));

  int n = 640;
  double factor = 1.5;
  std::vector<double> values(n), result(n);
  for (int i = 0; i < n; ++i) values[i] = i;
  DRIVER(cuMemAlloc(&data, n * sizeof(double)));
  DRIVER(cuMemcpyHtoD(data, values.data(), n * sizeof(double)));
  void* arguments[] = {&data, &n, &factor};
  DRIVER(cuLaunchKernel(transform, n / 64, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  DRIVER(cuCtxSynchronize());
  DRIVER(cuMemcpyDtoH(result.data(), data, n * sizeof(double)));
  for (int i = 0; i < n; ++i)
    right = right && result[i] == 2 * 1.5 * (i / 64 * 64 + 63 - i % 64) + 10;

  std::vector<int> few(32);
  DRIVER(cuMemAlloc(&ints, 32 * sizeof(int)));
  size_t bytes = sizeof(ints);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &ints, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  DRIVER(cuLaunchKernel(simple, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  DRIVER(cuMemcpyDtoH(few.data(), ints, 32 * sizeof(int)));
  for (int i = 0; i < 32; ++i) right = right && few[i] == 32 - i;
  DRIVER(cuMemFree(data));
  DRIVER(cuMemFree(ints));
  DRIVER(cuModuleUnload(module));
  DRIVER(cuDevicePrimaryCtxRelease(device));

  NVRTC(nvrtcCreateProgram(&program, "__global__ void bad() {\n  undeclared = 1;\n}\n", "bad.cu", 0,
                           nullptr, nullptr));
  right = right && nvrtcCompileProgram(program, 1, options) == NVRTC_ERROR_COMPILATION;
  NVRTC(nvrtcGetProgramLogSize(program, &size));
  std::vector<char> log(size);
  NVRTC(nvrtcGetProgramLog(program, log.data()));
  right = right && strstr(log.data(), "bad.cu") && strstr(log.data(), "undeclared");
  NVRTC(nvrtcDestroyProgram(&program));
  return finish("run_time_compilation", right);
}
