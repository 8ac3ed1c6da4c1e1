// The driver's own calls: names of errors, modules of PTX, launches by cuLaunchKernel, contexts.
#include "told.h"

#include <cuda.h>
#include <dlfcn.h>

namespace {

void* gLibrary = nullptr;
#define TEXT2(NAME) #NAME
#define TEXT(NAME) TEXT2(NAME)
// The function by the name that cuda.h gives it, which has the version in it.
#define CU(NAME) (reinterpret_cast<decltype(&NAME)>(dlsym(gLibrary, TEXT(NAME))))

std::string name_of(CUresult result) {
  const char* text = nullptr;
  CU(cuGetErrorName)(result, &text);
  return text ? text : "no name";
}

void tell_result(const std::string& name, CUresult result) {
  std::printf("%s: %s then the runtime's %s\n", name.c_str(), name_of(result).c_str(), cudaGetErrorName(cudaGetLastError()));
}

const char* const kModule = R"(
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 counter = 5;
.const .align 4 .b8 table[40];
.visible .entry adds(.param .u64 p, .param .u32 by) {
  .reg .u64 %a;
  .reg .u32 %v, %b, %t;
  .shared .align 4 .b8 kept[400];
  ld.param.u64 %a, [p];
  ld.param.u32 %b, [by];
  cvta.to.global.u64 %a, %a;
  mov.u32 %t, %tid.x;
  atom.global.add.u32 %v, [%a], %b;
  st.shared.u32 [kept], %v;
  ret;
}
)";

}  // namespace

int main() {
  gLibrary = dlopen("libcuda.so.1", RTLD_NOW);
  if (!gLibrary) {
    tell("driver", "is not there");
    return 0;
  }
  int count = -1, version = 0;
  tell("device count before cuInit", name_of(CU(cuDeviceGetCount)(&count)).c_str());
  CUcontext context = nullptr;
  tell("current context before cuInit", name_of(CU(cuCtxGetCurrent)(&context)).c_str());
  tell("init flags 1", name_of(CU(cuInit)(1)).c_str());
  tell_result("init", CU(cuInit)(0));
  for (int i = 0; i < 1000; ++i) {
    const char *name = nullptr, *text = nullptr;
    CUresult result = CU(cuGetErrorName)(static_cast<CUresult>(i), &name);
    CU(cuGetErrorString)(static_cast<CUresult>(i), &text);
    if (result == CUDA_SUCCESS) std::printf("CUresult %d: %s | %s\n", i, name, text ? text : "");
  }
  tell_result("count", CU(cuDeviceGetCount)(&count));
  tell_result("version", CU(cuDriverGetVersion)(&version));
  CUdevice device = -1;
  tell_result("device 0", CU(cuDeviceGet)(&device, 0));
  tell_result("device 99", CU(cuDeviceGet)(&device, 99));
  CUdeviceptr memory = 0;
  tell_result("memory without context", CU(cuMemAlloc)(&memory, 64));
  CUmodule module = nullptr;
  tell_result("module without context", CU(cuModuleLoadData)(&module, kModule));
  tell_result("current context", CU(cuCtxGetCurrent)(&context));
  tell("is null", context == nullptr);
  CHECK(cudaFree(nullptr));
  CU(cuCtxGetCurrent)(&context);
  tell("after the runtime's first call there is one", context != nullptr);
  CUcontext primary = nullptr;
  CU(cuDeviceGet)(&device, 0);
  tell_result("retain", CU(cuDevicePrimaryCtxRetain)(&primary, device));
  tell("it is the primary one", primary == context);
  unsigned flags = 99;
  int active = -1;
  tell_result("state", CU(cuDevicePrimaryCtxGetState)(device, &flags, &active));
  tell("flags, active", std::vector<unsigned>{flags, (unsigned)active});
  tell_result("module", CU(cuModuleLoadData)(&module, kModule));
  CUmodule bad = nullptr;
  tell_result("module of nonsense", CU(cuModuleLoadData)(&bad, "nonsense"));
  tell_result("module for sm_120", CU(cuModuleLoadData)(&bad, ".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry f() { ret; }\n"));
  tell_result("module of version 99", CU(cuModuleLoadData)(&bad, ".version 99.0\n.target sm_70\n.address_size 64\n"));
  tell_result("module file", CU(cuModuleLoad)(&bad, "no_such_file.cubin"));
  char log[2000] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  tell_result("module with a wrong instruction",
              CU(cuModuleLoadDataEx)(&bad, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f() { wrong.u32 a, b; ret; }\n", 2, options, values));
  for (char& c : log) c = c == '\n' ? '|' : c;
  tell("log", log);
  CUfunction function = nullptr, none = nullptr;
  tell_result("function", CU(cuModuleGetFunction)(&function, module, "adds"));
  tell_result("function that is not there", CU(cuModuleGetFunction)(&none, module, "subtracts"));
  size_t bytes = 0;
  CUdeviceptr address = 0;
  tell_result("global", CU(cuModuleGetGlobal)(&address, &bytes, module, "counter"));
  tell("bytes", static_cast<long long>(bytes));
  tell_result("constant", CU(cuModuleGetGlobal)(&address, &bytes, module, "table"));
  tell("bytes of constant", static_cast<long long>(bytes));
  tell_result("global that is not there", CU(cuModuleGetGlobal)(&address, &bytes, module, "nothing"));
  std::vector<int> attributes;
  for (int i = 0; i < 17; ++i) {
    int value = -1;
    CUresult result = CU(cuFuncGetAttribute)(&value, static_cast<CUfunction_attribute>(i), function);
    attributes.push_back(result == CUDA_SUCCESS ? value : -1000 - static_cast<int>(result));
  }
  tell("attributes of the function", attributes);
  tell_result("memory", CU(cuMemAlloc)(&memory, 64));
  CU(cuMemsetD32)(memory, 0, 16);
  unsigned by = 3;
  void* words[] = {&memory, &by};
  tell_result("launch", CU(cuLaunchKernel)(function, 2, 1, 1, 4, 1, 1, 0, nullptr, words, nullptr));
  tell_result("synchronize", CU(cuCtxSynchronize)());
  unsigned sum = 0;
  tell_result("copy", CU(cuMemcpyDtoH)(&sum, memory, 4));
  tell("sum", sum);
  struct { CUdeviceptr p; unsigned by; } packed{memory, 10};
  size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  tell_result("launch with a buffer", CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  tell_result("launch with both", CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, words, extra));
  tell_result("launch 0 blocks", CU(cuLaunchKernel)(function, 0, 1, 1, 1, 1, 1, 0, nullptr, words, nullptr));
  tell_result("launch 1025 threads", CU(cuLaunchKernel)(function, 1, 1, 1, 1025, 1, 1, 0, nullptr, words, nullptr));
  tell_result("launch 65 in z", CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 65, 0, nullptr, words, nullptr));
  tell_result("launch y 65536", CU(cuLaunchKernel)(function, 1, 65536, 1, 1, 1, 1, 0, nullptr, words, nullptr));
  tell_result("launch 48 KiB and 400 static", CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 49152, nullptr, words, nullptr));
  tell_result("allow 100000", CU(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  tell_result("launch 100000", CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 100000, nullptr, words, nullptr));
  tell_result("allow 227 KiB beside 400 static", CU(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
  CU(cuCtxSynchronize)();
  CU(cuMemcpyDtoH)(&sum, memory, 4);
  tell("sum at last", sum);
  tell_result("memory 0", CU(cuMemAlloc)(&address, 0));
  tell_result("memory 2^60", CU(cuMemAlloc)(&address, 1ull << 60));
  tell_result("free", CU(cuMemFree)(memory));
  tell_result("free again", CU(cuMemFree)(memory));
  tell_result("free 0", CU(cuMemFree)(0));
  tell_result("unload", CU(cuModuleUnload)(module));
  tell_result("launch null", CU(cuLaunchKernel)(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, words, nullptr));
  tell_result("module of no text", CU(cuModuleLoadData)(&bad, ""));
  return 0;
}
