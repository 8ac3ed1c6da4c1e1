#include "runtime/virtual/core/runtime.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

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
    : loaded_(spec_of_environment()),
      description_(loaded_.description != nullptr ? loaded_.description
                                                  : devices::find_kind("cuda")),
      kind_(keys_of(*description_)) {}

Runtime::Devices Runtime::described_by(const device::Spec& spec) const {
  Devices result;
  result.spec = spec;
  for (int i = 0; i < spec.count; ++i) result.uuids.push_back(device::uuid_of(spec, i));
  look_again(result);
  return result;
}

bool Runtime::has_devices() const {
  const Devices* made = devices_.load(std::memory_order_acquire);
  return !(made != nullptr ? made->visible : described_by(spec_of_now()).visible).empty();
}

device::Spec Runtime::spec_of_now() const {
  // Other kernels would be needed where a program has changed the variable for processes that it
  // starts.
  const char* text = std::getenv(device::kVariable);
  const auto now = device::parse_spec(text == nullptr ? "none" : text);
  device::Spec spec = now && is_like_loaded(*now) ? *now : loaded_;
  spec.profile = loaded_.profile;
  return spec;
}

bool Runtime::is_like_loaded(const device::Spec& spec) const {
  const auto name_of_profile = [](const device::Spec& of) {
    return of.profile == nullptr ? std::string_view() : std::string_view(of.profile->name);
  };
  return spec.kind == loaded_.kind && spec.random == loaded_.random && spec.data == loaded_.data &&
         name_of_profile(spec) == name_of_profile(loaded_);
}

Runtime::Devices& Runtime::make_devices() const {
  const std::lock_guard lock(making_);
  if (Devices* made = devices_.load(std::memory_order_acquire)) return *made;
  auto made = std::make_unique<Devices>(described_by(spec_of_now()));
  // CUDA's unified addresses begin here. Each device's addresses are far from the next one's.
  constexpr std::uint64_t kBase = 0x7000'0000'0000;
  constexpr std::uint64_t kApart = std::uint64_t{1} << 42U;
  for (int i = 0; i < made->spec.count; ++i)
    made->memories.push_back(std::make_unique<device::MemoryModel>(
        kBase + static_cast<std::uint64_t>(i) * kApart, made->spec.memory));
  for (const auto& set_up : set_up_)
    for (const auto& memory : made->memories) set_up(*memory);
  publish_memory(*made);
  devices_.store(made.get(), std::memory_order_release);
  return *made.release();
}

void Runtime::publish_memory(Devices& of) {
  const char* const folder = std::getenv(device::kAccountsVariable);
  if (of.memories.empty()) return;
  std::vector<device::Account> accounts;
  for (std::size_t i = 0; i < of.memories.size(); ++i)
    accounts.push_back({of.spec.kind + ":" + std::to_string(i), of.memories[i]->total(), 0});
  const auto published = folder == nullptr ? device::PublishedAccounts::make_unnamed(accounts)
                                           : device::PublishedAccounts::make(folder, accounts);
  if (published == nullptr) return;
  for (std::size_t i = 0; i < of.memories.size(); ++i) of.memories[i]->publish(published->used(i));
}

void Runtime::look_again(Devices& at) const {
  if (at.settled) return;
  const std::string variable(description_->visibility_variable);
  const char* visible = variable.empty() ? nullptr : std::getenv(variable.c_str());
  at.visible = devices::visible_numbers(visible, at.spec.count, at.uuids);
}

void Runtime::look_again() {
  look_again(devices());
}

Runtime& Runtime::get() {
  static auto* runtime = new Runtime();
  return *runtime;
}

device::MemoryModel& Runtime::memory(c10::DeviceIndex index) {
  // The index is written as a letter, as c10::DeviceIndex is one: the allocator does the same.
  TORCH_CHECK(index >= 0 && index < count(), "Invalid device argument ", static_cast<char>(index),
              ": did you call init?");
  const Devices& all = devices();
  const int number = all.visible[static_cast<std::size_t>(index)];
  return *all.memories[static_cast<std::size_t>(number)];
}

void Runtime::for_each_memory(std::function<void(device::MemoryModel&)> set_up) {
  const std::lock_guard lock(making_);
  if (Devices* made = devices_.load(std::memory_order_acquire))
    for (const auto& memory : made->memories) set_up(*memory);
  else
    set_up_.push_back(std::move(set_up));
}

void check_dtype(c10::ScalarType dtype) {
  static const auto& refused = Runtime::get().description().refused_types;
  for (const devices::RefusedType& type : refused) {
    if (type.type != c10::toString(dtype)) continue;
    TORCH_CHECK_TYPE(false, type.message);
  }
}

}  // namespace torchport::vdev
