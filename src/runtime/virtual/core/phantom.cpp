#include "runtime/virtual/core/phantom.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include <c10/util/Exception.h>
#include <sys/mman.h>

#include "runtime/device/spec.h"
#include "runtime/virtual/core/host_pages.h"
#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

// Addresses of one device. The memory model's own addresses of a device are as far apart at most,
// unless the program frees and takes segments for a long time; then they begin again.
constexpr std::uint64_t kWindow = std::uint64_t{1} << 40U;

// Reads are zeros and take no memory. NORESERVE: the system does not ask whether it could ever give
// the memory; where it is set up to ask anyway, the addresses can only be read.
char* reserve(std::uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (found == MAP_FAILED) found = mmap(nullptr, bytes, PROT_READ, kFlags, -1, 0);
  TORCH_CHECK(found != MAP_FAILED,
              "torchport: this host gives no addresses for a device without data; raise the limit "
              "of address space (ulimit -v)");
  return static_cast<char*>(found);
}

struct Window {
  std::once_flag once;
  char* begin = nullptr;
};

char* window_of(c10::DeviceIndex device) {
  static auto* windows = new std::array<Window, device::kMaxDevices>();
  Window& window = windows->at(static_cast<std::size_t>(device));
  std::call_once(window.once, [&] { window.begin = reserve(kWindow); });
  return window.begin;
}

// The blocks that a kernel may have written to. Usually there is none.
struct Written {
  std::mutex mutex;
  std::unordered_map<void*, std::uint64_t> bytes;
  std::atomic<std::size_t> count{0};
};

Written& written() {
  static auto* all = new Written();
  return *all;
}

void release(void* begin) {
  Written& all = written();
  if (all.count.load(std::memory_order_acquire) == 0) return;
  const std::scoped_lock lock(all.mutex);
  const auto found = all.bytes.find(begin);
  if (found == all.bytes.end()) return;
  // The addresses stay, and read as zeros again. Blocks begin at multiples of 512 bytes: what lies
  // beside it in its first and last page is of others.
  give_pages_back(begin, found->second);
  all.bytes.erase(found);
  all.count.store(all.bytes.size(), std::memory_order_release);
}

c10::DataPtr memory_in(char* window, std::uint64_t address, std::uint64_t bytes) {
  // A block does not go over the end of the window.
  std::uint64_t place = address % kWindow;
  if (place + bytes > kWindow) place = 0;
  return {window + place, window + place, &release, c10::Device(c10::DeviceType::CPU)};
}

}  // namespace

bool is_without_data() {
  return Runtime::get().data().has_value();
}

bool drops_data(std::uint64_t bytes) {
  return is_without_data() && bytes > *Runtime::get().data();
}

c10::DataPtr phantom_memory(c10::DeviceIndex device, std::uint64_t address, std::uint64_t bytes) {
  return memory_in(window_of(device), address, bytes);
}

c10::DataPtr phantom_memory_of_no_block(std::uint64_t bytes) {
  static char* window = reserve(kWindow);
  static std::atomic<std::uint64_t> next{0};
  // Blocks have addresses of their own, as multiples of 512 bytes.
  const std::uint64_t size = (bytes + 511) / 512 * 512;
  return memory_in(window, next.fetch_add(size), size);
}

bool is_phantom(const c10::DataPtr& memory) {
  return memory.get_deleter() == &release;
}

void may_be_written(const c10::DataPtr& memory, std::uint64_t bytes) {
  Written& all = written();
  const std::scoped_lock lock(all.mutex);
  all.bytes.insert_or_assign(memory.get_context(), bytes);
  all.count.store(all.bytes.size(), std::memory_order_release);
}

}  // namespace torchport::vdev
