#include "runtime/virtual/core/blas_workspaces.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/util/env.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/planning/memory_record.h"
#include "runtime/virtual/torch_releases.h"

namespace torch::autograd {
// torch/csrc/autograd/graph_task.h, which includes much. -1 outside backward passes.
TORCH_API int get_current_graph_task_id();
}  // namespace torch::autograd

namespace torchport::vdev {

namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr int kHopper = 9;

bool are_unified() {
  static const bool kUnified = c10::utils::check_env("TORCH_CUBLASLT_UNIFIED_WORKSPACE")
                                   .value_or(kUnifiedWorkspacesByDefault);
  return kUnified;
}

// Reads a number at the begin of `text`, and removes it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// The sum of ":SIZE:COUNT:SIZE:COUNT...", sizes in KiB, in bytes; nothing if there is no pair.
std::optional<std::uint64_t> parsed(std::string_view text) {
  std::optional<std::uint64_t> total;
  while (!text.empty()) {
    if (text.front() != ':') {
      text.remove_prefix(1);
      continue;
    }
    std::string_view rest = text.substr(1);
    const auto size = take_number(rest);
    if (!size || rest.empty() || rest.front() != ':') {
      text.remove_prefix(1);
      continue;
    }
    rest.remove_prefix(1);
    const auto count = take_number(rest);
    if (!count) {
      text.remove_prefix(1);
      continue;
    }
    total = total.value_or(0) + *size * *count * kKiB;
    text = rest;
  }
  return total;
}

// ":4096:2:16:8", and 32 MiB for Hopper and newer devices.
std::uint64_t default_size() {
  constexpr std::uint64_t kOfHopper = std::uint64_t{32} * 1024 * kKiB;
  constexpr std::uint64_t kOfOthers = (std::uint64_t{4096} * 2 + std::uint64_t{16} * 8) * kKiB;
  const auto* profile = Runtime::get().profile();
  const std::uint64_t usual =
      profile != nullptr && profile->major >= kHopper ? kOfHopper : kOfOthers;
  const char* given = std::getenv("CUBLAS_WORKSPACE_CONFIG");  // NOLINT(concurrency-mt-unsafe)
  if (given == nullptr) return usual;
  const auto size = parsed(given);
  if (!size) {
    TORCH_WARN("Could not parse CUBLAS_WORKSPACE_CONFIG, using default workspace size of ", usual,
               " bytes.");
  }
  return size.value_or(usual);
}

std::uint64_t default_size_of_lt() {
  std::uint64_t size = are_unified() ? default_size() : 1024 * kKiB;
  const char* given = std::getenv("CUBLASLT_WORKSPACE_SIZE");  // NOLINT(concurrency-mt-unsafe)
  if (given == nullptr) return size;
  std::string_view text(given);
  const auto number = take_number(text);
  if (!number) {
    TORCH_WARN("invalid CUBLASLT_WORKSPACE_SIZE, using default workspace size of ", size / kKiB,
               " KiB.");
  }
  return number ? *number * kKiB : size;
}

// A size in bytes that a program may choose.
class Size {
 public:
  explicit Size(std::uint64_t (*usual)()) : usual_(usual) {}
  [[nodiscard]] std::uint64_t get() const {
    const std::int64_t chosen = chosen_.load();
    return chosen >= 0 ? static_cast<std::uint64_t>(chosen) : usual_();
  }
  void set(std::int64_t bytes) { chosen_ = bytes; }

 private:
  std::uint64_t (*usual_)();
  std::atomic<std::int64_t> chosen_{-1};
};

Size& size_of(BlasUse use) {
  static Size cublas(+[] {
    if (!kWorkspaceSizeIsReadOnce) return default_size();
    static const std::uint64_t kSize = default_size();
    return kSize;
  });
  static Size lt(+[] {
    static const std::uint64_t kSize = default_size_of_lt();
    return kSize;
  });
  return use == BlasUse::kCublasLt ? lt : cublas;
}

// The handles of threads that have ended serve later ones.
class Handles {
 public:
  std::int64_t take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return next_++;
    const std::int64_t handle = free_.back();
    free_.pop_back();
    return handle;
  }
  void give_back(std::int64_t handle) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(handle);
  }
  static Handles& get() {
    static auto& handles = *new Handles;
    return handles;
  }

 private:
  std::mutex mutex_;
  std::vector<std::int64_t> free_;
  std::int64_t next_ = 0;
};

struct HandleOfThread {
  HandleOfThread() : number(Handles::get().take()) {}
  ~HandleOfThread() { Handles::get().give_back(number); }
  HandleOfThread(const HandleOfThread&) = delete;
  HandleOfThread& operator=(const HandleOfThread&) = delete;
  HandleOfThread(HandleOfThread&&) = delete;
  HandleOfThread& operator=(HandleOfThread&&) = delete;
  std::int64_t number;
};

// In a backward pass it is that of the device's thread of autograd, which here is the caller's.
std::int64_t current_handle() {
  constexpr std::int64_t kOfBackward = -1;
  if (torch::autograd::get_current_graph_task_id() != -1) return kOfBackward;
  static const thread_local HandleOfThread kHandle;
  return kHandle.number;
}

class HeldWorkspaces {
 public:
  using Key = std::tuple<BlasUse, c10::DeviceIndex, std::int64_t, std::int64_t>;

  void take(const Key& key, std::uint64_t size, c10::DeviceIndex device) {
    {
      const std::scoped_lock lock(mutex_);
      const auto found = all_.find(key);
      if (found != all_.end() && found->second.first >= size) return;
    }
    const c10::DeviceIndex before = current_device();
    if (before != device) set_current_device(device);
    // Not below the lock: memory that runs out runs the program's observers.
    const TakesWorkspace workspace;
    c10::DataPtr memory = device_allocator()->allocate(size);
    if (before != device) set_current_device(before);
    const std::scoped_lock lock(mutex_);
    all_.insert_or_assign(key, std::pair{size, std::move(memory)});
  }

  void clear() {
    std::map<Key, std::pair<std::uint64_t, c10::DataPtr>> gone;
    const std::scoped_lock lock(mutex_);
    gone.swap(all_);
  }

  static HeldWorkspaces& get() {
    static auto& workspaces = *new HeldWorkspaces;
    return workspaces;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::pair<std::uint64_t, c10::DataPtr>> all_;
};

// Source of what is not in ATen's products: tests/fidelity/questions/memory/workspaces.py, asked of
// an NVIDIA H200.
constexpr auto kUses = std::to_array<std::pair<std::string_view, BlasUse>>({
    {"aten::mm", BlasUse::kCublas},
    {"aten::bmm", BlasUse::kCublas},
    {"aten::baddbmm", BlasUse::kCublas},
    {"aten::addbmm", BlasUse::kCublas},
    {"aten::addmv", BlasUse::kCublas},
    {"aten::addmv_", BlasUse::kCublas},
    {"aten::dot", BlasUse::kCublas},
    {"aten::vdot", BlasUse::kCublas},
    {"aten::_int_mm", BlasUse::kCublas},
    {"aten::linalg_inv_ex", BlasUse::kCublas},
    {"aten::linalg_lu_solve", BlasUse::kCublas},
    {"aten::linalg_lstsq", BlasUse::kCublas},
    {"aten::linalg_matrix_exp", BlasUse::kCublasOfOne},
    {"aten::linalg_solve_triangular", BlasUse::kCublas},
    {"aten::_linalg_solve_ex", BlasUse::kCublas},
    {"aten::linalg_lu_factor_ex", BlasUse::kCublasForBatch},
    {"aten::addmm", BlasUse::kLtForBias},
    {"aten::addmm_", BlasUse::kLtForBias},
    {"aten::_addmm_activation", BlasUse::kLtForBias},
    {"aten::_scaled_mm", BlasUse::kCublasLt},
    {"aten::_scaled_mm_v2", BlasUse::kCublasLt},
});

// ATen/native/cuda/Blas.cpp: a bias that is added to each row is added by cuBLASLt.
bool adds_bias_by_lt(const c10::IValue* arguments) {
  const at::Tensor& bias = arguments[0].toTensor();
  const at::Tensor& second = arguments[2].toTensor();
  return bias.dim() == 1 && bias.is_contiguous() && second.dim() == 2 &&
         bias.size(0) == second.size(1) && second.size(0) > 1 && second.size(1) > 1 &&
         at::isFloatingType(bias.scalar_type()) && arguments[3].isScalar() &&
         arguments[3].toScalar().toDouble() == 1.0;
}

void clear_blas_workspaces() {
  HeldWorkspaces::get().clear();
}

std::int64_t blas_workspace_size(bool lt) {
  return static_cast<std::int64_t>(size_of(lt ? BlasUse::kCublasLt : BlasUse::kCublas).get());
}

void set_blas_workspace_size(bool lt, std::int64_t bytes) {
  size_of(lt ? BlasUse::kCublasLt : BlasUse::kCublas).set(bytes);
}

}  // namespace

BlasUse blas_use_of(const std::string& name) {
  const auto* const found =
      std::ranges::find(kUses, std::string_view(name), [](const auto& use) { return use.first; });
  return found == kUses.end() ? BlasUse::kNone : found->second;
}

BlasUse blas_use(BlasUse use, const c10::IValue* arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  if (self.numel() == 0) return BlasUse::kNone;  // nothing is called
  // cuSPARSE multiplies what is not strided.
  const auto is_strided = [](const at::Tensor& tensor) { return tensor.layout() == at::kStrided; };
  if (use == BlasUse::kCublasOfOne) return is_strided(self) ? BlasUse::kCublas : BlasUse::kNone;
  if (!is_strided(self) || (arguments[1].isTensor() && !is_strided(arguments[1].toTensor())))
    return BlasUse::kNone;
  if (use == BlasUse::kCublasForBatch) return self.dim() > 2 ? BlasUse::kCublas : BlasUse::kNone;
  if (use == BlasUse::kLtForBias)
    return adds_bias_by_lt(arguments) ? BlasUse::kCublasLt : BlasUse::kCublas;
  return use;
}

void take_blas_workspaces(BlasUse use, c10::DeviceIndex device) {
  if (use == BlasUse::kNone || Runtime::get().kind_name() != "cuda") return;
  const std::int64_t stream = current_stream(device);
  const std::int64_t handle = current_handle();
  // A handle of cuBLASLt is one of cuBLAS, which has its workspace from the start.
  HeldWorkspaces::get().take({BlasUse::kCublas, device, stream, handle},
                             size_of(BlasUse::kCublas).get(), device);
  if (use == BlasUse::kCublasLt && !are_unified()) {
    HeldWorkspaces::get().take({BlasUse::kCublasLt, device, stream, handle},
                               size_of(BlasUse::kCublasLt).get(), device);
  }
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("clear_blas_workspaces() -> ()", &clear_blas_workspaces);
  library.def("blas_workspace_size(bool lt) -> int", &blas_workspace_size);
  library.def("set_blas_workspace_size(bool lt, int bytes) -> ()", &set_blas_workspace_size);
}

}  // namespace torchport::vdev
