#include "runtime/deploy/engines/onnx_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <c10/core/Device.h>
#include <dlfcn.h>

#if __has_include(<onnxruntime_c_api.h>)
#include <onnxruntime_c_api.h>
#define TORCHPORT_SAME(name, member)                                       \
  static_assert(offsetof(OrtApi, member) / sizeof(void*) == name::kNumber, \
                "the table of ONNX Runtime's functions has changed")
namespace torchport::deploy::ort {
TORCHPORT_SAME(GetErrorMessage, GetErrorMessage);
TORCHPORT_SAME(CreateEnv, CreateEnv);
TORCHPORT_SAME(CreateSession, CreateSession);
TORCHPORT_SAME(Run, Run);
TORCHPORT_SAME(CreateTensorWithData, CreateTensorWithDataAsOrtValue);
TORCHPORT_SAME(GetTensorTypeAndShape, GetTensorTypeAndShape);
TORCHPORT_SAME(CreateCpuMemoryInfo, CreateCpuMemoryInfo);
TORCHPORT_SAME(GetAllocatorWithDefaultOptions, GetAllocatorWithDefaultOptions);
TORCHPORT_SAME(ReleaseSessionOptions, ReleaseSessionOptions);
}  // namespace torchport::deploy::ort
#endif

namespace torchport::deploy::ort {

namespace {

// OrtApiBase, which the one exported function returns.
struct Base {
  void* const* (*get_api)(std::uint32_t version);
  const char* (*get_version)();
};

constexpr std::uint32_t kApiVersion = 2;
constexpr const char* kVariable = "TORCHPORT_ONNXRUNTIME";

// The folder onnxruntime/capi beside torch in site-packages; torch's own libraries are in
// torch/lib.
std::filesystem::path beside_torch() {
  Dl_info place{};
  if (dladdr(reinterpret_cast<const void*>(&c10::isValidDeviceType), &place) == 0) return {};
  std::error_code error;
  const auto library = std::filesystem::canonical(place.dli_fname, error);
  return library.parent_path().parent_path().parent_path() / "onnxruntime" / "capi";
}

std::vector<std::string> candidates(const std::string& path) {
  if (!path.empty()) return {path};
  if (const char* chosen = std::getenv(kVariable); chosen != nullptr && *chosen != '\0')
    return {chosen};
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(beside_torch(), error)) {
    // The wheel has libonnxruntime.so.1.31.1, without a link of a shorter name.
    if (entry.path().filename().string().starts_with("libonnxruntime.so"))
      found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  found.emplace_back("libonnxruntime.so.1");
  found.emplace_back("libonnxruntime.so");
  return found;
}

}  // namespace

std::shared_ptr<const Library> Library::load(const std::string& path) {
  std::string tried;
  for (const std::string& name : candidates(path)) {
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto get_base = handle == nullptr
                              ? nullptr
                              : reinterpret_cast<const Base* (*)()>(dlsym(handle, "OrtGetApiBase"));
    if (get_base == nullptr) {
      const char* reason = dlerror();
      tried += "\n  " + name + ": " + (reason == nullptr ? "it is not ONNX Runtime" : reason);
      continue;
    }
    auto library = std::make_shared<Library>();
    library->table_ = get_base()->get_api(kApiVersion);
    library->version_ = get_base()->get_version();
    return library;
  }
  throw std::runtime_error(
      "ONNX models need ONNX Runtime's library, which was not found: pip install onnxruntime into "
      "the environment of torch, or name the file in " +
      std::string(kVariable) + ". Tried:" + tried);
}

void Library::fail(Status* status) const {
  std::string message = call<GetErrorMessage>(status);
  call<ReleaseStatus>(status);
  throw std::runtime_error("ONNX Runtime " + version_ + ": " + message);
}

}  // namespace torchport::deploy::ort
