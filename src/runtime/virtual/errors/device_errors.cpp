#include "runtime/virtual/errors/device_errors.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/library.h>

#include "devices/cuda_errors.h"
#include "runtime/device/runtime_error_words.h"
#include "runtime/device/spec.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/errors/lost_by_kernels.h"
#include "runtime/virtual/errors/runtime_errors.h"
#include "runtime/virtual/watch/source_lines.h"

namespace torchport::vdev {

namespace {

enum class Health : std::uint8_t { kGood, kFailed, kLost };

struct LostDevices {
  std::array<std::atomic<Health>, device::kMaxDevices> health{};
  std::mutex mutex;
  std::array<std::string, device::kMaxDevices> where;  // of the first failure of each device
  std::array<bool, device::kMaxDevices> accessed{};    // it was an illegal access, no assertion
  std::vector<std::string> all;
};

// Never destroyed: threads may use devices until the process ends.
LostDevices& lost_devices() {
  static auto* devices = new LostDevices();
  return *devices;
}

bool is_set(std::string_view variable, std::string_view value) {
  const char* text = std::getenv(std::string(variable).c_str());
  return text != nullptr && text == value;
}

std::string lines_of(const FailedAssertion& assertion) {
  const std::string line = assertion.line > 0 ? fmt::format("{}:", assertion.line) : "";
  std::string text;
  const auto begin = [&](const GridThread& at) {
    return fmt::format("{}{}:{} {}: block: [{},{},{}], thread: [{},{},{}]",
                       assertion.file[0] == '/' ? "" : "/pytorch/aten/src/ATen/native/cuda/",
                       assertion.file, line, assertion.kernel, at.block[0], at.block[1],
                       at.block[2], at.thread[0], at.thread[1], at.thread[2]);
  };
  // As CUDA_KERNEL_ASSERT_PRINTF and the driver print it. The folder is that of the builds of
  // PyTorch on PyPI.
  for (const GridThread& at : assertion.threads) {
    if (!assertion.message.empty())
      text += fmt::format("[CUDA_KERNEL_ASSERT] {}: Assertion failed: `{}`: {}\n", begin(at),
                          assertion.condition, assertion.message);
  }
  for (const GridThread& at : assertion.threads)
    text += fmt::format("{} Assertion `{}` failed.\n", begin(at), assertion.condition);
  return text;
}

std::size_t number_of(c10::DeviceIndex device) {
  return static_cast<std::size_t>(static_cast<unsigned char>(device));
}

// What the first call raises that learns of the failure, and all after it.
[[noreturn]] void raise_failure(bool is_access, const std::string& where) {
  const devices::DeviceKind& kind = Runtime::get().description();
  const device::RuntimeErrorWords access =
      device::runtime_error_words(static_cast<std::int64_t>(RuntimeError::kIllegalAddress));
  const std::string text =
      is_access ? devices::cuda_error_text(access.text, /*help=*/"", access.name, each_call_waits())
                : kind.failed_assertion(each_call_waits());
  throw c10::AcceleratorError(
      {"check_device", __FILE__, static_cast<std::uint32_t>(__LINE__)},
      is_access ? static_cast<int>(access.number) : kind.failed_assertion_code, text + where);
}

[[noreturn]] void raise_lost(c10::DeviceIndex device) {
  LostDevices& devices = lost_devices();
  const auto index = number_of(device);
  devices.health[index] = Health::kLost;
  std::unique_lock<std::mutex> lock(devices.mutex);
  const std::string where = devices.where[index];
  const bool is_access = devices.accessed[index];
  lock.unlock();
  raise_failure(is_access, where);
}

std::string line_of(c10::DeviceIndex device, const std::string& op, const std::string& reason) {
  const std::string place = source_place();
  return fmt::format("torchport: it happened {}in {} on {}:{}: {}. A GPU cannot tell this.\n",
                     place.empty() ? "" : "at " + place + ", ", op, Runtime::get().kind_name(),
                     static_cast<int>(device), reason);
}

// Prints `lines` and where it happened unless the device has failed before.
void lose(c10::DeviceIndex device, const std::string& lines, const std::string& where,
          bool is_access) {
  LostDevices& devices = lost_devices();
  const auto index = number_of(device);
  {
    const std::lock_guard<std::mutex> lock(devices.mutex);
    // No kernel runs on a device after the one that failed, so no other failure is printed.
    Health good = Health::kGood;
    if (!devices.health[index].compare_exchange_strong(good, Health::kFailed)) return;
    devices.where[index] = where;
    devices.accessed[index] = is_access;
    devices.all.push_back(where.substr(0, where.size() - 1));
  }
  const std::string text = lines + where;
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  detail::any_failed = true;
  if (each_call_waits()) raise_lost(device);
}

void start_kernel(std::int64_t device) {
  check_device(static_cast<c10::DeviceIndex>(device), Asks::kToStart);
}

// What code that was generated for the host asserted: it knows neither the line nor the thread.
// NOLINTBEGIN(performance-unnecessary-value-param): torch asks for values
void failed_assertion(std::int64_t device, std::string op, std::string file, std::string condition,
                      std::string reason) {
  fail(static_cast<c10::DeviceIndex>(device), op,
       {.file = file.c_str(),
        .kernel = "unknown",
        .condition = condition,
        .threads = {GridThread{}},
        .reason = reason});
}
// NOLINTEND(performance-unnecessary-value-param)

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("failed_assertion(int device, str op, str file, str condition, str reason) -> ()",
              &failed_assertion);
  library.def("start_kernel(int device) -> ()", &start_kernel);
  library.def("errors_are_late() -> bool", &errors_are_late);
  library.def("failures() -> str[]", &failures);
}

}  // namespace

bool each_call_waits() {
  static const bool kWaits = is_set(Runtime::get().description().launch_blocking_variable, "1");
  return kWaits;
}

std::atomic<bool> detail::any_failed{false};

bool errors_are_late() {
  static const bool kLate = is_set("TORCHPORT_ERRORS", "device") &&
                            Runtime::get().description().failed_assertion != nullptr;
  return kLate;
}

void fail(c10::DeviceIndex device, const std::string& op, const FailedAssertion& assertion) {
  lose(device, lines_of(assertion), line_of(device, op, assertion.reason), /*is_access=*/false);
}

void raise_illegal_access(c10::DeviceIndex device, const std::string& op,
                          const std::string& reason) {
  const std::string where = line_of(device, op, reason);
  if (!errors_are_late()) raise_failure(/*is_access=*/true, where);
  lose(device, "", where, /*is_access=*/true);
  raise_lost(device);
}

void lose_by_kernel(c10::DeviceIndex device, const std::string& kernel, bool is_access) {
  if (!errors_are_late()) return;
  try {
    lose(device, "", line_of(device, kernel, "the kernel ended with an error"), is_access);
  } catch (const c10::Error&) {  // NOLINT(bugprone-empty-catch)
    // Each call waits: the runtime's own call has the error, and the next one of PyTorch raises.
  }
}

void detail::raise_if_lost(c10::DeviceIndex device, Asks asks) {
  const c10::DeviceIndex index = device < 0 ? current_device() : device;
  if (index >= Runtime::get().count()) return;  // whoever uses it says that there is none
  const Health health = lost_devices().health[number_of(index)];
  if (health == Health::kLost || (health == Health::kFailed && asks == Asks::kToWait))
    raise_lost(index);
}

std::vector<std::string> failures() {
  LostDevices& devices = lost_devices();
  const std::lock_guard<std::mutex> lock(devices.mutex);
  return devices.all;
}

}  // namespace torchport::vdev
