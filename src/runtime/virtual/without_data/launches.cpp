#include "runtime/virtual/without_data/launches.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include "runtime/device/addresses_in.h"
#include "runtime/virtual/core/phantom.h"
#include "runtime/virtual/core/placed_blocks.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/planning/work_record.h"
#include "runtime/virtual/without_data/values.h"

namespace torchport::vdev {

namespace {

c10::DeviceIndex device_of_launch(int device) {
  return static_cast<c10::DeviceIndex>(device);
}

bool find_storage(const void* address, cuda::StoragePlace* found) {
  return with_blocks_at(address, [&](const StorageBlock& block) {
    const bool has_memory = !is_phantom(block.twin->data_ptr());
    *found = {static_cast<const char*>(block.data), block.bytes, block.device, has_memory,
              !has_memory || block.made_up};
  });
}

void make_up_at(const void* address) {
  with_blocks_at(address, [](StorageBlock& block) { block.made_up = true; });
}

void launched(int device, const char* kernel, std::size_t bytes, bool ran) {
  if (!ran) note_not_run(kernel);
  if (records_work()) record_kernel(device_of_launch(device), bytes);
}

void copied(int device, std::size_t bytes, cuda::CopyWay way, bool host_waits) {
  if (!records_work()) return;
  if (way == cuda::CopyWay::kOnDevice)
    record_kernel(device_of_launch(device), 2 * bytes);
  else
    record_host_copy(device_of_launch(device), bytes, way == cuda::CopyWay::kFromHost, !host_waits,
                     host_waits);
}

// What a launch is given.
class Given {
 public:
  void add(const void* address, std::uint64_t bytes, bool may_be_written) {
    cuda::StoragePlace found;
    if (!find_storage(address, &found)) return;
    if (may_be_written) written_.push_back(address);
    bytes_ += bytes;
    lacks_ = lacks_ || found.lacks_values ||
             (found.has_memory &&
              device::holds_address(found.begin, std::min(found.bytes, device::kTableOfAddresses),
                                    &begins_without));
  }

  // Whether the launch is not run.
  bool launch(int device, const std::string& kernel) {
    launched(device, kernel.c_str(), bytes_, !lacks_);
    if (lacks_) std::for_each(written_.begin(), written_.end(), &make_up_at);
    return lacks_;
  }

 private:
  // Whether an address that lies in memory is one of a storage without memory: a kernel goes there.
  static bool begins_without(const void* address) {
    cuda::StoragePlace found;
    return find_storage(address, &found) && !found.has_memory && found.begin == address;
  }

  std::vector<const void*> written_;
  std::uint64_t bytes_ = 0;
  bool lacks_ = false;
};

// A kernel of Triton is launched on a device, with pointers to `addresses`, of which the tensors
// have `bytes` (0: not known); it only reads where `written` is 0. True: it must not run.
bool leaves_out_kernel(const std::string& kernel, std::int64_t device, at::IntArrayRef addresses,
                       at::IntArrayRef bytes, at::IntArrayRef written) {
  if (!is_without_data()) return false;
  Given given;
  std::unordered_set<std::int64_t> seen;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::int64_t counted = seen.insert(addresses[i]).second ? bytes[i] : 0;
    given.add(reinterpret_cast<const void*>(addresses[i]),  // NOLINT(performance-no-int-to-ptr)
              static_cast<std::uint64_t>(counted), written[i] != 0);
  }
  return given.launch(static_cast<int>(device), kernel);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def(
      "leaves_out_kernel(str kernel, int device, int[] addresses, int[] bytes, int[] written) "
      "-> bool",
      &leaves_out_kernel);
}

}  // namespace

const cuda::WithoutData* launches_without_data() {
  static const cuda::WithoutData kWithout{
      .kept = is_without_data() ? static_cast<std::size_t>(*Runtime::get().data()) : 0,
      .find = &find_storage,
      .make_up = &make_up_at,
      .launched = &launched,
      .copied = &copied,
      .read = &note_read_by_call};
  return is_without_data() ? &kWithout : nullptr;
}

}  // namespace torchport::vdev
