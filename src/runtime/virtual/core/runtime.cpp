#include "runtime/virtual/core/runtime.h"

#include <cstdio>
#include <cstdlib>

#include <c10/core/TensorOptions.h>
#include <c10/util/Exception.h>

#include "devices/visibility.h"
#include "runtime/device/accounts.h"
#include "runtime/virtual/core/build_facts.h"

namespace torchport::vdev {

namespace {

using c10::DispatchKey;

KindKeys keys_of(const devices::DeviceKind& description) {
  const DispatchKey dense = c10::parseDispatchKey(std::string(description.backend));
  const c10::BackendComponent backend = c10::toBackendComponent(dense);
  const auto key = [&](DispatchKey functionality) {
    return c10::toRuntimePerBackendFunctionalityKey(functionality, backend);
  };
  return {c10::dispatchKeyToDeviceType(dense),
          dense,
          key(DispatchKey::Sparse),
          key(DispatchKey::SparseCsr),
          key(DispatchKey::Quantized),
          key(DispatchKey::NestedTensor),
          key(DispatchKey::AutogradFunctionality)};
}

device::Spec spec_of_environment() {
  const char* text = std::getenv(device::kVariable);
  auto spec = device::parse_spec(text == nullptr ? "none" : text);
  if (spec) return *spec;
  // Nothing can catch an exception while a library is being loaded.
  std::fprintf(stderr, "torchport: %s: %s\n", device::kVariable, spec.error().message.c_str());
  std::exit(2);
}

}  // namespace

Runtime::Runtime()
    : spec_(spec_of_environment()),
      description_(spec_.description != nullptr ? spec_.description : devices::find_kind("cuda")),
      kind_(keys_of(*description_)) {
  // CUDA's unified addresses begin here. Each device's addresses are far from the next one's.
  constexpr std::uint64_t kBase = 0x7000'0000'0000;
  constexpr std::uint64_t kApart = std::uint64_t{1} << 42U;
  for (int i = 0; i < spec_.count; ++i) {
    memories_.push_back(std::make_unique<device::MemoryModel>(
        kBase + static_cast<std::uint64_t>(i) * kApart, spec_.memory));
    uuids_.push_back(device::uuid_of(spec_, i));
  }
  look_again();
  publish_memory();
}

void Runtime::publish_memory() {
  const char* const folder = std::getenv(device::kAccountsVariable);
  if (memories_.empty()) return;
  std::vector<device::Account> accounts;
  for (std::size_t i = 0; i < memories_.size(); ++i)
    accounts.push_back({spec_.kind + ":" + std::to_string(i), memories_[i]->total(), 0});
  const auto published = folder == nullptr ? device::PublishedAccounts::make_unnamed(accounts)
                                           : device::PublishedAccounts::make(folder, accounts);
  if (published == nullptr) return;
  for (std::size_t i = 0; i < memories_.size(); ++i) memories_[i]->publish(published->used(i));
}

void Runtime::look_again() {
  if (settled_) return;
  const std::string variable(description_->visibility_variable);
  const char* visible = variable.empty() ? nullptr : std::getenv(variable.c_str());
  visible_ = devices::visible_numbers(visible, spec_.count, uuids_);
}

Runtime& Runtime::get() {
  static auto* runtime = new Runtime();
  return *runtime;
}

device::MemoryModel& Runtime::memory(c10::DeviceIndex index) {
  // The index is written as a letter, as c10::DeviceIndex is one: the allocator does the same.
  TORCH_CHECK(index >= 0 && index < count(), "Invalid device argument ", static_cast<char>(index),
              ": did you call init?");
  const int number = visible_[static_cast<std::size_t>(index)];
  return *memories_[static_cast<std::size_t>(number)];
}

void check_dtype(c10::ScalarType dtype) {
  static const auto& refused = Runtime::get().description().refused_types;
  for (const devices::RefusedType& type : refused) {
    if (type.type != c10::toString(dtype)) continue;
    TORCH_CHECK_TYPE(false, type.message);
  }
}

}  // namespace torchport::vdev
