#include "cuda/runtime/without_values.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "cuda/runtime/memory.h"
#include "cuda/runtime/state.h"
#include "runtime/device/addresses_in.h"
#include "runtime/device/cuda_devices.h"

namespace torchport::cuda {

namespace {

// Null if the devices have data.
const WithoutData* without_data() {
  const Devices* outside = devices_outside();
  return outside == nullptr || outside->version < 3 ? nullptr : outside->without_data;
}

// The block of memory that contains an address: a tensor's, or one that the program took from CUDA.
std::optional<StoragePlace> place_of(const WithoutData& without, const void* address) {
  StoragePlace found;
  if (without.find(address, &found)) return found;
  const auto range = range_of(address);
  // Registered memory is the host's: it has the values that the host wrote.
  if (!range || range->owner == Owner::kRegistered) return std::nullopt;
  const bool is_large =
      range->is_on_device() && range->name == nullptr && range->bytes > without.kept;
  return StoragePlace{range->begin, range->bytes, range->device, !is_large,
                      is_large || range->made_up};
}

bool is_of_device(const std::optional<StoragePlace>& place, const void* address) {
  return place && (!range_of(address) || is_device_memory(address));
}

void make_up(const WithoutData& without, const void* address) {
  without.make_up(address);
  make_up_range(address);
}

// What a launch is given.
class GivenMemory {
 public:
  explicit GivenMemory(const WithoutData& without) : without_(without) {}

  void add(const void* address) {
    const auto place = place_of(without_, address);
    if (!place) return;
    addresses_.push_back(address);
    if (std::find(begins_.begin(), begins_.end(), place->begin) != begins_.end()) return;
    begins_.push_back(place->begin);
    bytes_ += place->bytes;
    const auto begins_without = [&](const void* one) {
      const auto other = place_of(without_, one);
      return other && !other->has_memory && other->begin == one;
    };
    lacks_ = lacks_ || place->lacks_values ||
             device::holds_address(place->begin, std::min(place->bytes, device::kTableOfAddresses),
                                   begins_without);
  }

  bool leave_out(const char* kernel) {
    without_.launched(current_device(), kernel, bytes_, !lacks_);
    if (!lacks_) return false;
    for (const void* address : addresses_) make_up(without_, address);
    return true;
  }

 private:
  const WithoutData& without_;
  std::vector<const void*> addresses_;
  std::vector<const char*> begins_;
  std::size_t bytes_ = 0;
  bool lacks_ = false;
};

void fill_with_zeros(const Box& box) {
  for (std::size_t z = 0; z < box.depth; ++z)
    for (std::size_t y = 0; y < box.height; ++y)
      std::memset(box.to + z * box.to_slice + y * box.to_pitch, 0, box.width);
}

}  // namespace

bool leaves_out(const char* kernel, const void* arguments, std::size_t bytes) {
  const WithoutData* without = without_data();
  if (without == nullptr) return false;
  GivenMemory given(*without);
  device::each_address_in(arguments, bytes, [&](const void* address) { given.add(address); });
  return given.leave_out(kernel);
}

bool leaves_out_call(const char* name, std::initializer_list<const void*> memory) {
  const WithoutData* without = without_data();
  if (without == nullptr) return false;
  GivenMemory given(*without);
  for (const void* address : memory) given.add(address);
  return given.leave_out(name);
}

bool is_to_be_copied(const Box& box, bool waits) {
  const WithoutData* without = without_data();
  if (without == nullptr) return true;
  const auto to = place_of(*without, box.to);
  const auto from = place_of(*without, box.from);
  const bool to_device = is_of_device(to, box.to);
  const bool from_device = is_of_device(from, box.from);
  const CopyWay way = to_device && from_device ? CopyWay::kOnDevice
                      : to_device              ? CopyWay::kFromHost
                                               : CopyWay::kToHost;
  if (to_device || from_device)
    without->copied(to_device ? to->device : from->device, box.width * box.height * box.depth, way,
                    waits);
  const bool lacks = from && from->lacks_values;
  if (lacks && to_device) make_up(*without, box.to);
  if (lacks && !to_device) without->read("cudaMemcpy");
  if (to && !to->has_memory) return false;
  if (!lacks || from->has_memory) return true;
  fill_with_zeros(box);
  return false;
}

bool is_to_be_set(const void* to, std::size_t bytes) {
  const WithoutData* without = without_data();
  if (without == nullptr) return true;
  const auto place = place_of(*without, to);
  if (!place) return true;
  without->launched(place->device, "cudaMemset", bytes, true);
  return place->has_memory;
}

}  // namespace torchport::cuda

bool torchport_cuda_leaves_out(const char* name, const void* memory) {
  return torchport::cuda::leaves_out_call(name, {memory});
}
