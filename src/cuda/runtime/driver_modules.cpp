// CUDA's driver: modules, their functions and variables, launches.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>

#include <dlfcn.h>
#include <fmt/format.h>

#include "cuda/runtime/driver.h"
#include "cuda/runtime/functions.h"
#include "cuda/runtime/limits.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/modules.h"
#include "torchport/runtime_templates.h"

using namespace torchport::cuda;

namespace torchport::cuda {

std::string module_text(const std::string& library, int architecture) {
  return fmt::format(
      "//\n// Made by torchport for virtual devices.\n//\n.version 9.0\n.target sm_{}\n"
      ".address_size 64\n{}{}\n",
      architecture, kLibraryMark, library);
}

std::string library_of(std::string_view text) {
  const auto at = text.find(kLibraryMark);
  if (at == std::string_view::npos) return {};
  const auto begin = at + kLibraryMark.size();
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

namespace {

std::mutex modules_mutex;
std::set<const CUfunc_st*>& functions() {
  static auto* const kAll = new std::set<const CUfunc_st*>();
  return *kAll;
}
bool is_function(CUfunction function) {
  const std::scoped_lock lock(modules_mutex);
  return functions().count(function) != 0;
}

// The value behind a word of PTX: ".version 7.0" -> "7.0".
std::string_view word_behind(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return {};
  auto begin = at + word.size();
  while (begin < text.size() && text[begin] == ' ') ++begin;
  const auto end = text.find_first_of(" \t\r\n,", begin);
  return text.substr(begin, end == std::string_view::npos ? end : end - begin);
}

int number_of(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Why a text that is not torchport's is no module.
CUresult refusal_of(std::string_view text, std::string& why) {
  constexpr int kNewestPtx = 9;
  const std::string_view version = word_behind(text, ".version");
  if (version.empty()) {
    if (text.substr(0, 4) ==
        "\x7f"
        "ELF") {
      why =
          "it is code of a GPU; compile its source with torchport nvcc, or with NVRTC of torchport";
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    return CUDA_ERROR_INVALID_IMAGE;
  }
  if (number_of(version) > kNewestPtx) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  const auto& profile = *current_state().profile;
  const std::string_view target = word_behind(text, ".target");
  if (target.substr(0, 3) == "sm_" &&
      number_of(target.substr(3)) > profile.major * 10 + profile.minor)
    return CUDA_ERROR_INVALID_PTX;
  why =
      "virtual devices do not run PTX; give the source in CUDA C++ to torchport nvcc, or to NVRTC "
      "of "
      "torchport";
  return CUDA_ERROR_INVALID_PTX;
}

// Writes a message where the options ask for the log of errors.
void write_log(const std::string& message, unsigned count, const CUjit_option* options,
               void** values) {
  char* buffer = nullptr;
  std::size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      size = reinterpret_cast<std::size_t>(values[i]);
  }
  if (buffer == nullptr || size == 0) return;
  const std::size_t length = std::min(message.size(), size - 1);
  std::memcpy(buffer, message.data(), length);
  buffer[length] = '\0';
}

CUresult open_library(CUmodule* module, const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fputs(fmt::format("torchport: {}\n", dlerror()).c_str(), stderr);
    return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
  }
  *module = new CUmod_st{library, {}};
  return CUDA_SUCCESS;
}

CUresult load(CUmodule* module, const void* image, unsigned count, const CUjit_option* options,
              void** values) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto* begin = static_cast<const char*>(image);
  const std::string_view text(begin, begin[0] == '\x7f' ? 4 : std::strlen(begin));
  if (const std::string library = library_of(text); !library.empty())
    return open_library(module, library);
  std::string why;
  const CUresult error = refusal_of(text, why);
  if (!why.empty()) {
    std::fputs(fmt::format("torchport: a module cannot be loaded: {}\n", why).c_str(), stderr);
    write_log(why, count, options, values);
  }
  return error;
}

CUresult get_function(CUfunction* function, CUmodule module, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::scoped_lock lock(modules_mutex);
  for (const auto& one : module->functions) {
    if (one->name != name) continue;
    *function = one.get();
    return CUDA_SUCCESS;
  }
  void* address = dlsym(module->library, name);
  if (address == nullptr) return CUDA_ERROR_NOT_FOUND;
  module->functions.push_back(std::make_unique<CUfunc_st>(CUfunc_st{address, name, module}));
  *function = module->functions.back().get();
  functions().insert(*function);
  return CUDA_SUCCESS;
}

// A handle of a kernel of the program itself.
CUfunction function_of(const void* address, const char* name) {
  static auto* const kOwn = new std::vector<std::unique_ptr<CUfunc_st>>();
  const std::scoped_lock lock(modules_mutex);
  for (const auto& one : *kOwn)
    if (one->function == address) return one.get();
  kOwn->push_back(std::make_unique<CUfunc_st>(CUfunc_st{address, name, nullptr}));
  functions().insert(kOwn->back().get());
  return kOwn->back().get();
}

CUresult launched(CUfunction function, const Sizes& sizes, void** parameters, void** extra,
                  const ::dim3* cluster) {
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  void* packed[] = {const_cast<char*>(&torchport_cuda_packed), nullptr};
  for (void** one = extra; one != nullptr && *one != CU_LAUNCH_PARAM_END; one += 2) {
    if (*one == CU_LAUNCH_PARAM_BUFFER_POINTER) packed[1] = one[1];
    parameters = packed;
  }
  return in_context([&] { return call_with(function->function, sizes, parameters, cluster); });
}

}  // namespace

}  // namespace torchport::cuda

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return load(module, image, 0, nullptr, nullptr);
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count,
                            CUjit_option* options, void** values) {
  return load(module, image, count, options, values);
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load(module, image, 0, nullptr, nullptr);
}
CUresult cuModuleLoad(CUmodule* module, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream in(path, std::ios::binary);
  if (!in) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return load(module, text.c_str(), 0, nullptr, nullptr);
}
CUresult cuModuleUnload(CUmodule module) {
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  {
    const std::scoped_lock lock(modules_mutex);
    for (const auto& one : module->functions) functions().erase(one.get());
  }
  // The library stays: the runtime knows its variables.
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return get_function(function, module, name);
}
CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Dl_info own{};
  void* const mark = dlsym(module->library, "torchport_module_mark");
  if (mark == nullptr || dladdr(mark, &own) == 0) return CUDA_ERROR_NOT_FOUND;
  for (int device = 0; device < count_of_devices(); ++device) {
    for (const Range& range : ranges_of_device(device)) {
      Dl_info info{};
      if (range.name == nullptr || std::strcmp(range.name, name) != 0 ||
          dladdr(range.begin, &info) == 0 || info.dli_fbase != own.dli_fbase)
        continue;
      if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(range.begin);
      if (bytes != nullptr) *bytes = range.bytes;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* options,
                           void** values, unsigned int count, CUlibraryOption*, void**,
                           unsigned int) {
  return load(reinterpret_cast<CUmodule*>(library), code, count, options, values);
}
CUresult cuLibraryUnload(CUlibrary library) {
  return cuModuleUnload(reinterpret_cast<CUmodule>(library));
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return get_function(reinterpret_cast<CUfunction*>(kernel), reinterpret_cast<CUmodule>(library),
                      name);
}
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = reinterpret_cast<CUfunction>(kernel);
  return is_function(*function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute which, CUkernel kernel,
                              CUdevice /*device*/) {
  return cuFuncGetAttribute(value, which, reinterpret_cast<CUfunction>(kernel));
}
CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return cuFuncGetName(name, reinterpret_cast<CUfunction>(kernel));
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                            const char* name) {
  return cuModuleGetGlobal(address, bytes, reinterpret_cast<CUmodule>(library), name);
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
  cudaFuncAttributes a{};
  const CUresult error = in_context([&] { return cudaFuncGetAttributes(&a, function->function); });
  if (error != CUDA_SUCCESS) return error;
  const int all[] = {a.maxThreadsPerBlock,
                     static_cast<int>(a.sharedSizeBytes),
                     static_cast<int>(a.constSizeBytes),
                     static_cast<int>(a.localSizeBytes),
                     a.numRegs,
                     a.ptxVersion,
                     a.binaryVersion,
                     a.cacheModeCA,
                     a.maxDynamicSharedSizeBytes,
                     a.preferredShmemCarveout,
                     a.clusterDimMustBeSet,
                     a.requiredClusterWidth,
                     a.requiredClusterHeight,
                     a.requiredClusterDepth,
                     a.nonPortableClusterSizeAllowed,
                     a.clusterSchedulingPolicyPreference};
  if (which < 0 || which >= static_cast<int>(std::size(all))) return CUDA_ERROR_INVALID_VALUE;
  *value = all[which];
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
  return in_context([&] {
    return cudaFuncSetAttribute(function->function, static_cast<cudaFuncAttribute>(which), value);
  });
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return is_function(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
  *module = function->module;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int gridX, unsigned int gridY,
                        unsigned int gridZ, unsigned int blockX, unsigned int blockY,
                        unsigned int blockZ, unsigned int shared, CUstream stream,
                        void** parameters, void** extra) {
  return launched(function,
                  {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared, stream, false},
                  parameters, extra, nullptr);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int gridX, unsigned int gridY,
                                   unsigned int gridZ, unsigned int blockX, unsigned int blockY,
                                   unsigned int blockZ, unsigned int shared, CUstream stream,
                                   void** parameters) {
  return launched(function, {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared, stream, true},
                  parameters, nullptr, nullptr);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Sizes sizes{{config->gridDimX, config->gridDimY, config->gridDimZ},
              {config->blockDimX, config->blockDimY, config->blockDimZ},
              config->sharedMemBytes,
              config->hStream,
              false};
  ::dim3 cluster;
  bool has_cluster = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& one = config->attrs[i];
    if (one.id == cudaLaunchAttributeCooperative) sizes.cooperative = one.value.cooperative != 0;
    if (one.id != cudaLaunchAttributeClusterDimension) continue;
    has_cluster = true;
    cluster = {one.value.clusterDim.x, one.value.clusterDim.y, one.value.clusterDim.z};
  }
  return launched(function, sizes, parameters, extra, has_cluster ? &cluster : nullptr);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t shared) {
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
  return in_context([&] {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function->function, threads,
                                                         shared);
  });
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int threads, size_t shared,
                                                              unsigned int) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize sharedOf, size_t shared, int limit) {
  if (!is_function(function)) return CUDA_ERROR_INVALID_HANDLE;
  return in_context([&] {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        grid, block, function->function,
        [&](int threads) { return sharedOf == nullptr ? shared : sharedOf(threads); }, limit);
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* result, const void* function) {
  Kernel kernel{};
  if (result == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = find_kernel(function, kernel)) return told(error);
  *result = function_of(function, kernel.name);
  return cudaSuccess;
}
cudaError_t cudaGetKernel(cudaKernel_t* result, const void* function) {
  return cudaGetFuncBySymbol(reinterpret_cast<cudaFunction_t*>(result), function);
}
