#include "runtime/virtual/watch/late_streams.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <pthread.h>
#include <torch/library.h>

#include "runtime/device/access_history.h"
#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/watch/source_lines.h"

namespace torchport::vdev {

namespace {

using device::Access;
using device::Region;
using device::StreamNumber;

struct LateStreams {
  std::mutex mutex;
  device::StreamClocks clocks;
  device::AccessHistory history{clocks};
  std::set<std::tuple<std::string_view, std::int64_t, std::int64_t>> pairs;  // that were told
  std::vector<std::string> told;

  StreamNumber number_of(c10::DeviceIndex device, std::int64_t stream) {
    return clocks.number_of({device, stream});
  }
};

// Never destroyed: threads may use devices until the process ends.
LateStreams& late_streams() {
  static auto* all = [] {
    pthread_atfork([] { late_streams().mutex.lock(); }, [] { late_streams().mutex.unlock(); },
                   [] { late_streams().mutex.unlock(); });
    return new LateStreams();
  }();
  return *all;
}

// Streams that torch did not make may be ordered with the default stream without an event.
bool is_of_other_library(std::int64_t stream) {
  return stream != 0 && (stream & 1) == 0;
}

std::string text_of(std::int64_t stream) {
  return stream == 0 ? "the default stream" : fmt::format("stream {:#x}", stream);
}

std::string place_of(std::int64_t line) {
  const std::vector<std::string> lines = source_lines();
  const auto index = static_cast<std::size_t>(line);
  if (line <= 0 || index > lines.size()) return "a place without a Python line";
  return lines[index - 1];
}

// The bytes of a tensor; nothing if it is not one strided piece of a device's memory.
std::optional<Region> region_of(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!is_virtual(impl.device_type()) || !impl.has_storage() || impl.is_nested() ||
      impl.layout() != c10::kStrided || impl.numel() == 0)
    return std::nullopt;
  const std::uint64_t address = block_address(*impl.unsafe_storage().unsafeGetStorageImpl());
  if (address == 0) return std::nullopt;
  const auto element = static_cast<std::uint64_t>(impl.itemsize());
  std::vector<Region::Dimension> dimensions;
  for (std::int64_t i = 0; i < impl.dim(); ++i) {
    dimensions.push_back({static_cast<std::uint64_t>(impl.size(i)),
                          static_cast<std::uint64_t>(impl.stride(i)) * element});
  }
  const auto offset = static_cast<std::uint64_t>(impl.storage_offset());
  return Region::of(address + offset * element, element, std::move(dimensions));
}

std::uint64_t block_of(const at::Tensor& tensor) {
  return block_address(*tensor.storage().unsafeGetStorageImpl());
}

// What is wrong about two accesses, of which the second one does not wait for the first.
std::string text_of(const LateStreams& all, const Access& before, const Access& now) {
  const device::StreamName first = all.clocks.name(before.stream);
  const device::StreamName second = all.clocks.name(now.stream);
  const std::string where = fmt::format("torchport: {}:{}: {}", Runtime::get().kind_name(),
                                        second.device, text_of(second.id));
  const std::string other = text_of(first.id);
  const std::string at_first = place_of(before.line);
  const std::string at_second = place_of(now.line);
  if (before.of_freed)
    return fmt::format(
        "{} uses memory again at {} that {} may still use at {}: the tensor there was freed. Call "
        "`record_stream()` on that tensor, with its stream, before it is freed.",
        where, at_second, other, at_first);
  const std::string writer =
      first.id == 0 ? "torch.cuda.default_stream()" : "the stream of " + at_first;
  return fmt::format(
      "{} {} at {} what {} {} at {}, without waiting for it. Call "
      "`torch.cuda.current_stream().wait_stream()` with {} before it.",
      where, now.writes ? "writes" : "reads", at_second, other, before.writes ? "writes" : "reads",
      at_first, writer);
}

void tell(LateStreams& all, const Access& before, const Access& now) {
  const std::string_view kind = before.of_freed ? "freed" : before.writes ? "write" : "read";
  if (!all.pairs.insert({kind, before.line, now.line}).second) return;
  all.told.push_back(text_of(all, before, now));
  std::fprintf(stderr, "%s\n", all.told.back().c_str());
}

std::vector<std::string> unordered_accesses() {
  return late::told();
}

// A kernel without tensors starts on the calling thread's current stream.
void start_work() {
  if (!streams_are_late() || is_capturing_graph()) return;
  const c10::DeviceIndex device = current_device();
  const std::int64_t stream = current_stream(device);
  if (is_of_other_library(stream)) return;
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  static_cast<void>(all.clocks.start(all.number_of(device, stream)));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("start_work() -> ()", &start_work);
  library.def("streams_are_late() -> bool", &streams_are_late);
  library.def("unordered_accesses() -> str[]", &unordered_accesses);
}

}  // namespace

bool streams_are_late() {
  static const bool kLate = [] {
    const char* text = std::getenv("TORCHPORT_STREAMS");
    return text != nullptr && std::string_view(text) == "late" &&
           Runtime::get().kind().type == c10::DeviceType::CUDA;
  }();
  return kLate;
}

namespace late {

Event record(c10::DeviceIndex device, std::int64_t stream) {
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return {all.clocks.recorded(all.number_of(device, stream)), false};
}

void wait(c10::DeviceIndex device, std::int64_t stream, const Event& event) {
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.clocks.wait(all.number_of(device, stream), event.clock);
}

void host_waits(const Event& event) {
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.clocks.host_waits(event.clock);
}

void host_waits(c10::DeviceIndex device, std::int64_t stream) {
  host_waits(record(device, stream));
}

void host_waits(c10::DeviceIndex device) {
  const c10::DeviceIndex index = device < 0 ? current_device() : device;
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (StreamNumber i = 0; i < all.clocks.count(); ++i) {
    if (all.clocks.name(i).device == index) all.clocks.host_waits(all.clocks.recorded(i));
  }
}

bool is_over(const Event& event) {
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.clocks.host_knows(event.clock);
}

bool query(Event& event) {
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (!event.asked && !all.clocks.host_knows(event.clock)) {
    event.asked = true;
    return false;
  }
  all.clocks.host_waits(event.clock);
  return true;
}

void allocated(c10::DeviceIndex device, std::uint64_t address, std::uint64_t bytes) {
  const std::int64_t stream = current_stream(device);
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.history.allocate(address, bytes, all.number_of(device, stream));
}

void freed(std::uint64_t address) {
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.history.free(address);
}

void record_stream(c10::DeviceIndex device, std::int64_t stream, std::uint64_t address) {
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.history.record_stream(address, all.number_of(device, stream));
}

void wrote(const at::Tensor& tensor) {
  Call call;
  call.writes(tensor);
  call.start();
}

void Call::reads(const at::Tensor& tensor) {
  if (is_virtual(tensor.device())) uses_.push_back({tensor, false, false});
}

void Call::writes(const at::Tensor& tensor) {
  if (is_virtual(tensor.device())) uses_.push_back({tensor, true, false});
}

void Call::start() {
  if (uses_.empty() || is_capturing_graph()) return;
  // Python's lock may be taken for the line, so this comes before the mutex.
  const std::int64_t line = source_line();
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const c10::DeviceIndex first = uses_.front().tensor.device().index();
  for (const Use& use : uses_) {
    const c10::DeviceIndex device = use.tensor.device().index();
    if (device == first) continue;
    const StreamNumber one = all.number_of(first, current_stream(first));
    const StreamNumber other = all.number_of(device, current_stream(device));
    all.clocks.wait(one, all.clocks.recorded(other));
    all.clocks.wait(other, all.clocks.recorded(one));
  }
  for (Use& use : uses_) {
    const c10::DeviceIndex device = use.tensor.device().index();
    const std::int64_t stream = current_stream(device);
    auto region = region_of(use.tensor);
    if (!region || is_of_other_library(stream)) continue;
    const StreamNumber number = all.number_of(device, stream);
    const Access access{std::move(*region), number, all.clocks.start(number), use.writes, line};
    for (const Access& before : all.history.add(block_of(use.tensor), access)) {
      use.too_early = use.too_early || (before.writes && !before.of_freed && !use.writes);
      tell(all, before, access);
    }
  }
}

void Call::hide(Aliases& aliases) const {
  for (const Use& use : uses_) {
    if (!use.too_early) continue;
    const bool written = std::any_of(uses_.begin(), uses_.end(), [&](const Use& other) {
      return other.writes && other.tensor.is_alias_of(use.tensor);
    });
    if (!written) aliases.hide(use.tensor);
  }
}

void Call::host_waits() const {
  for (const Use& use : uses_) {
    const c10::DeviceIndex device = use.tensor.device().index();
    late::host_waits(device, current_stream(device));
  }
}

std::vector<std::string> told() {
  LateStreams& all = late_streams();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.told;
}

}  // namespace late

}  // namespace torchport::vdev
