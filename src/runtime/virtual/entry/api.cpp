// Answers the torch._C shim of the virtual devices, as operators torch.ops.torchport.*.
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/Generator.h>
#include <nlohmann/json.hpp>
#include <torch/library.h>

#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/core/pool_memory.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/watch/watch.h"

namespace torchport::vdev {

namespace {

c10::DeviceIndex index_of(std::int64_t device) {
  return static_cast<c10::DeviceIndex>(device < 0 ? current_device() : device);
}

std::int64_t device_count() {
  Runtime::get().look_again();
  // CUDA's runtime starts when it is asked, and reads the variable once.
  Runtime::get().settle();
  return shown_devices();
}

void show(std::int64_t count) {
  TORCH_CHECK_VALUE(count >= 1 && count <= Runtime::get().count(), "torchport: there are ",
                    static_cast<int>(Runtime::get().count()), " devices, not ", count);
  show_devices(static_cast<c10::DeviceIndex>(count));
}

std::int64_t get_device() {
  return current_device();
}

void set_device(std::int64_t device) {
  set_current_device(static_cast<c10::DeviceIndex>(device));
}

// As check_gpu() in c10/cuda/CUDAStream.cpp; -1 is the current device.
std::int64_t get_stream(std::int64_t device) {
  const std::int64_t index = device == -1 ? current_device() : device;
  TORCH_CHECK(index >= 0 && index < shown_devices(), "Device index value ", index,
              " is out of index range [0, ", static_cast<int>(shown_devices()), ")");
  return current_stream(static_cast<c10::DeviceIndex>(index));
}

// Raises what the allocator raises for a device that does not exist.
device::MemoryModel& memory_of(std::int64_t device) {
  return Runtime::get().memory(static_cast<c10::DeviceIndex>(device));
}

at::Generator generator_of(std::int64_t device) {
  return default_generator(index_of(device));
}

// Generators that draw as the CPU need no registration with graphs.
void capture_generator(const at::Generator& generator, bool captured) {
  if (auto* philox = dynamic_cast<PhiloxGenerator*>(generator.unsafeGetGeneratorImpl()))
    philox->set_captured(captured);
}

// A number for the state of a generator, the same for all generators that draw from it.
std::int64_t state_number(const at::Generator& generator) {
  const auto* philox = dynamic_cast<const PhiloxGenerator*>(generator.unsafeGetGeneratorImpl());
  const void* state = philox == nullptr ? generator.unsafeGetGeneratorImpl() : philox->identity();
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(state));
}

nlohmann::json json_of(const devices::Profile& profile) {
  return {{"profile", profile.name},
          {"name", profile.device_name},
          {"major", profile.major},
          {"minor", profile.minor},
          {"multi_processor_count", profile.multiprocessors},
          {"L2_cache_size", profile.l2_cache},
          {"max_threads_per_multi_processor", profile.max_threads_per_multiprocessor},
          {"regs_per_multiprocessor", profile.registers_per_multiprocessor},
          {"shared_memory_per_block", profile.shared_memory_per_block},
          {"shared_memory_per_block_optin", profile.shared_memory_per_block_optin},
          {"shared_memory_per_multiprocessor", profile.shared_memory_per_multiprocessor},
          {"clock_rate", profile.clock_khz},
          {"memory_clock_rate", profile.memory_clock_khz},
          {"memory_bus_width", profile.memory_bus_bits}};
}

// The profile of the devices as JSON; unlike describe(), it is no use of devices.
std::string profile() {
  const devices::Profile* of_devices = Runtime::get().profile();
  return of_devices == nullptr ? "null" : json_of(*of_devices).dump();
}

// The profile and the memory of each device, the UUIDs of all, and the numbers of the visible ones,
// as JSON.
std::string describe() {
  const device::Spec& spec = Runtime::get().spec();
  nlohmann::json result = {{"kind", spec.kind},
                           {"count", spec.count},
                           {"memory", spec.memory},
                           {"random", draws_as_device() ? "device" : "cpu"},
                           {"data", spec.data ? nlohmann::json(*spec.data) : nlohmann::json()},
                           {"uuids", Runtime::get().uuids()},
                           {"visible", Runtime::get().visible()}};
  if (spec.profile != nullptr) {
    result["profile"] = json_of(*spec.profile);
    result["nvlink"] = spec.profile->nvlink_bandwidth;  // 10^9 bytes a second, both directions
  }
  return result.dump();
}

nlohmann::json json_of(const device::PoolStat& stat) {
  static constexpr std::array<const char*, 3> kPools{"all", "small_pool", "large_pool"};
  nlohmann::json result;
  for (std::size_t i = 0; i < kPools.size(); ++i) {
    const device::Stat& part = stat.of[i];
    result[kPools[i]] = {{"current", part.current},
                         {"peak", part.peak},
                         {"allocated", part.allocated},
                         {"freed", part.freed}};
  }
  return result;
}

// The statistics as JSON, in the structure of torch._C._cuda_memoryStats.
std::string memory_stats(std::int64_t device) {
  const device::MemoryStats stats = memory_of(device).stats();
  const auto alone = [](const device::Stat& stat) {
    return nlohmann::json{{"current", stat.current},
                          {"peak", stat.peak},
                          {"allocated", stat.allocated},
                          {"freed", stat.freed}};
  };
  return nlohmann::json{{"allocation", json_of(stats.allocation)},
                        {"segment", json_of(stats.segment)},
                        {"active", json_of(stats.active)},
                        {"inactive_split", json_of(stats.inactive_split)},
                        {"allocated_bytes", json_of(stats.allocated_bytes)},
                        {"reserved_bytes", json_of(stats.reserved_bytes)},
                        {"active_bytes", json_of(stats.active_bytes)},
                        {"inactive_split_bytes", json_of(stats.inactive_split_bytes)},
                        {"requested_bytes", json_of(stats.requested_bytes)},
                        {"oversize_allocations", alone(stats.oversize_allocations)},
                        {"oversize_segments", alone(stats.oversize_segments)},
                        {"num_alloc_retries", stats.alloc_retries},
                        {"num_ooms", stats.ooms},
                        {"num_sync_all_streams", 0},
                        {"num_device_alloc", stats.device_allocs},
                        {"num_device_free", stats.device_frees},
                        {"max_split_size", -1}}
      .dump();
}

// The segments and blocks of a device, as JSON.
std::string memory_snapshot(std::int64_t device) {
  nlohmann::json result = nlohmann::json::array();
  for (const device::SegmentView& segment : memory_of(device).snapshot()) {
    // The segments of private pools lie where their tensors say; `number` is the model's address.
    const std::uint64_t place =
        place_of_segment(static_cast<c10::DeviceIndex>(device), segment.address, segment.size)
            .value_or(segment.address);
    nlohmann::json blocks = nlohmann::json::array();
    for (const device::BlockView& block : segment.blocks) {
      blocks.push_back({{"address", place + (block.address - segment.address)},
                        {"number", block.address},
                        {"size", block.size},
                        {"requested_size", block.requested},
                        {"state", block.allocated ? "active_allocated" : "inactive"}});
    }
    result.push_back({{"device", device},
                      {"address", place},
                      {"total_size", segment.size},
                      {"stream", segment.stream},
                      {"segment_type", segment.small ? "small" : "large"},
                      {"segment_pool_id", {segment.pool.first, segment.pool.second}},
                      {"blocks", blocks}});
  }
  return result.dump();
}

std::tuple<std::int64_t, std::int64_t> memory_info(std::int64_t device) {
  const auto index = static_cast<c10::DeviceIndex>(device);
  check_exists(index);  // the device becomes the current one for the call
  check_device(index, Asks::kToWait);
  const device::MemoryModel& memory = Runtime::get().memory(index);
  return {static_cast<std::int64_t>(memory.device_free()),
          static_cast<std::int64_t>(memory.total())};
}

void set_memory_fraction(std::int64_t device, double fraction) {
  memory_of(device).set_fraction(fraction);
}

double get_memory_fraction(std::int64_t device) {
  return memory_of(device).fraction();
}

void reset_peak(std::int64_t device) {
  memory_of(device).reset_peak();
}

void reset_accumulated(std::int64_t device) {
  memory_of(device).reset_accumulated();
}

TORCH_LIBRARY(torchport, library) {
  library.def("watch_this_thread() -> ()", &watch_this_thread);
  library.def("watched() -> str", &watched);
  library.def("flush_trace() -> ()", &flush_trace);
  library.def("begin_traced_step(Tensor[] parameters) -> ()", &begin_traced_step);
  library.def("end_traced_step(Tensor[] parameters) -> ()", &end_traced_step);
  library.def("device_count() -> int", &device_count);
  library.def("show_devices(int count) -> ()", &show);
  library.def("get_device() -> int", &get_device);
  library.def("set_device(int device) -> ()", &set_device);
  library.def("get_stream(int device) -> int", &get_stream);
  library.def("default_generator(int device) -> Generator?", &generator_of);
  library.def("capture_generator(Generator? generator, bool captured) -> ()", &capture_generator);
  library.def("state_number(Generator? generator) -> int", &state_number);
  library.def("describe() -> str", &describe);
  library.def("profile() -> str", &profile);
  library.def("devices_are_made() -> bool", [] { return Runtime::get().are_made(); });
  library.def("memory_stats(int device) -> str", &memory_stats);
  library.def("memory_snapshot(int device) -> str", &memory_snapshot);
  library.def("memory_info(int device) -> (int, int)", &memory_info);
  library.def("empty_cache() -> ()", &empty_caches);
  library.def("set_memory_fraction(int device, float fraction) -> ()", &set_memory_fraction);
  library.def("get_memory_fraction(int device) -> float", &get_memory_fraction);
  library.def("reset_peak(int device) -> ()", &reset_peak);
  library.def("reset_accumulated(int device) -> ()", &reset_accumulated);
}

}  // namespace

}  // namespace torchport::vdev
