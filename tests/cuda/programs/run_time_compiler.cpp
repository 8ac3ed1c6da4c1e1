// Compiles kernels at run time, and launches them by the driver.
#include <cstdio>
#include <string>
#include <vector>

#include <cuda.h>
#include <nvrtc.h>

namespace {

const char* const kSource = R"(
#include "scale.h"
__constant__ float factor = 2;
template <class T> __global__ void scaled(T* p, int n, T by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * by * kScale + factor;
}
extern "C" __global__ void plain(float* p, char c, double d) { p[threadIdx.x] = c + d; }
)";

std::string log_of(nvrtcProgram program) {
  size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  std::string log(size, '\0');
  nvrtcGetProgramLog(program, log.data());
  return log.c_str();
}

}  // namespace

int main() {
  const char* header = "constexpr int kScale = 10;\n";
  const char* name = "scale.h";
  nvrtcProgram program;
  nvrtcCreateProgram(&program, kSource, "my.cu", 1, &header, &name);
  nvrtcAddNameExpression(program, "scaled<float>");
  const char* options[] = {"--gpu-architecture=compute_90", "-default-device", "--std=c++17"};
  nvrtcResult result = nvrtcCompileProgram(program, 3, options);
  std::printf("compiled: %s [%s]\n", nvrtcGetErrorString(result), log_of(program).c_str());
  size_t size = 0;
  nvrtcGetPTXSize(program, &size);
  std::string ptx(size, '\0');
  nvrtcGetPTX(program, ptx.data());
  const char* lowered = "";
  nvrtcGetLoweredName(program, "scaled<float>", &lowered);
  std::printf("lowered: %s\n", lowered);

  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction scaled, plain;
  CUdeviceptr p, factor;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  cuCtxSetCurrent(context);
  std::printf("loaded: %d", cuModuleLoadData(&module, ptx.c_str()));
  std::printf(" %d", cuModuleGetFunction(&scaled, module, lowered));
  std::printf(" %d\n", cuModuleGetFunction(&plain, module, "plain"));
  std::vector<float> values(100, 3);
  cuMemAlloc(&p, 400);
  cuMemcpyHtoD(p, values.data(), 400);
  int n = 100;
  float by = 0.5f;
  void* arguments[] = {&p, &n, &by};
  std::printf("launched: %d\n",
              cuLaunchKernel(scaled, 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  cuMemcpyDtoH(values.data(), p, 400);
  std::printf("values: %g %g\n", values[0], values[99]);
  std::printf("global: %d", cuModuleGetGlobal(&factor, &size, module, "factor"));
  std::printf(" %zu\n", size);
  struct {
    CUdeviceptr p;
    char c;
    double d;
  } packed{p, 5, 0.25};
  size = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  std::printf("packed: %d\n", cuLaunchKernel(plain, 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, extra));
  cuMemcpyDtoH(values.data(), p, 400);
  std::printf("values: %g %g\n", values[0], values[1]);

  nvrtcCreateProgram(&program, "\n__global__ void f() { int x = ; }", "bad.cu", 0, nullptr,
                     nullptr);
  result = nvrtcCompileProgram(program, 0, nullptr);
  const std::string log = log_of(program);
  std::printf("bad: %s, line named: %d\n", nvrtcGetErrorString(result),
              log.find("bad.cu:2:") != std::string::npos);
}
