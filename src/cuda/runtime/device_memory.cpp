#include <algorithm>

#include <sys/mman.h>

#include "cuda/runtime/memory.h"
#include "cuda/runtime/state.h"
#include "runtime/device/cuda_devices.h"

namespace torchport::cuda {

namespace {

constexpr std::size_t kLargestShared = std::size_t{1} << 20U;
// Pieces that a context has from its beginning.
constexpr int kFirstPieces = 2;
// Addresses, as a multiple of the memory: freed ones are not used again soon.
constexpr std::size_t kAddressesForMemory = 8;

char* mapped(void* where, std::size_t bytes, int protection, int flags) {
  void* found =
      mmap(where, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return found == MAP_FAILED ? nullptr : static_cast<char*>(found);
}

}  // namespace

DeviceMemory::DeviceMemory(int device) : device_(device) {
  const std::size_t whole = rounded_up(total(), kPiece);
  for (std::size_t size = whole * kAddressesForMemory; size >= whole / 2; size /= 2) {
    char* found = mapped(nullptr, size + kPiece, PROT_NONE, 0);
    if (found == nullptr) continue;
    base_ = reinterpret_cast<char*>(rounded_up(reinterpret_cast<std::size_t>(found), kPiece));
    size_ = size / kPiece * kPiece;
    break;
  }
  next_ = base_;
  if (base_ != nullptr) room_.emplace(base_, size_);
}

std::size_t DeviceMemory::total() const {
  if (const Devices* outside = devices_outside()) {
    std::size_t left = 0;
    std::size_t all = 0;
    outside->memory(device_, &left, &all);
    return all;
  }
  return device_state(device_).memory;
}

void DeviceMemory::info(std::size_t& left, std::size_t& all) const {
  if (const Devices* outside = devices_outside()) return outside->memory(device_, &left, &all);
  const std::scoped_lock lock(mutex_);
  all = total();
  left = all - used_;
}

bool DeviceMemory::take(char* at, std::size_t bytes) {
  std::uint64_t number = 0;
  if (const Devices* outside = devices_outside()) {
    number = outside->take(device_, bytes);
    if (number == 0) return false;
  } else {
    if (bytes > total() || used_ > total() - bytes) return false;
    used_ += bytes;
  }
  taken_[at] = {bytes, number};
  return true;
}

void DeviceMemory::give(char* at) {
  const auto found = taken_.find(at);
  if (found == taken_.end()) return;
  if (found->second.second != 0)
    devices_outside()->give(device_, found->second.second);
  else
    used_ -= found->second.first;
  taken_.erase(found);
}

// A piece without memory stays behind each block.
char* DeviceMemory::find_room(std::size_t bytes) {
  const std::size_t wanted = bytes + kPiece;
  const auto begin = room_.lower_bound(next_);
  for (const bool again : {false, true}) {
    for (auto it = again ? room_.begin() : begin; it != (again ? begin : room_.end()); ++it) {
      if (it->second < wanted) continue;
      char* found = it->first;
      const std::size_t rest = it->second - wanted;
      room_.erase(it);
      if (rest > 0) room_.emplace(found + wanted, rest);
      next_ = found + wanted;
      return found;
    }
  }
  return nullptr;
}

void DeviceMemory::free_room(char* begin, std::size_t bytes) {
  std::size_t size = bytes + kPiece;
  auto after = room_.lower_bound(begin);
  if (after != room_.end() && after->first == begin + size) {
    size += after->second;
    after = room_.erase(after);
  }
  if (after != room_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += size;
      return;
    }
  }
  room_.emplace(begin, size);
}

bool DeviceMemory::map(char* begin, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (!take(begin, bytes)) return false;
  if (mapped(begin, bytes, PROT_READ | PROT_WRITE, MAP_FIXED) != nullptr) return true;
  give(begin);
  return false;
}

void DeviceMemory::unmap(char* begin, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  mapped(begin, bytes, PROT_NONE, MAP_FIXED);
  give(begin);
}

char* DeviceMemory::reserve(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  return find_room(bytes);
}

void DeviceMemory::unreserve(char* begin, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  free_room(begin, bytes);
}

char* DeviceMemory::new_piece() {
  char* piece = find_room(kPiece);
  if (piece == nullptr) return nullptr;
  if (!take(piece, kPiece) || mapped(piece, kPiece, PROT_READ | PROT_WRITE, MAP_FIXED) == nullptr) {
    give(piece);
    free_room(piece, kPiece);
    return nullptr;
  }
  pieces_[piece].free.emplace(0, kPiece);
  return piece;
}

// With a checker there is room that belongs to nobody behind each block.
std::size_t DeviceMemory::size_in_piece(std::size_t bytes) {
  return rounded_up(std::max<std::size_t>(bytes, 1), kUnit) + (kernels_are_checked() ? kUnit : 0);
}

void* DeviceMemory::allocate(std::size_t bytes) {
  if (bytes > total()) return nullptr;
  if (bytes > kLargestShared) {
    const std::size_t size = rounded_up(bytes, kPiece);
    char* begin = reserve(size);
    if (begin == nullptr) return nullptr;
    if (map(begin, size)) return begin;
    unreserve(begin, size);
    return nullptr;
  }
  const std::scoped_lock lock(mutex_);
  if (pieces_.empty())
    for (int i = 0; i < kFirstPieces; ++i)
      if (new_piece() == nullptr) break;
  const std::size_t size = size_in_piece(bytes);
  for (const bool again : {false, true}) {
    for (auto& [begin, piece] : pieces_) {
      for (auto it = piece.free.begin(); it != piece.free.end(); ++it) {
        if (it->second < size) continue;
        const std::size_t offset = it->first;
        const std::size_t rest = it->second - size;
        piece.free.erase(it);
        if (rest > 0) piece.free.emplace(offset + size, rest);
        return begin + offset;
      }
    }
    if (again || new_piece() == nullptr) break;
  }
  return nullptr;
}

void DeviceMemory::free(void* address, std::size_t bytes) {
  char* begin = static_cast<char*>(address);
  if (bytes > kLargestShared) {
    const std::size_t size = rounded_up(bytes, kPiece);
    unmap(begin, size);
    unreserve(begin, size);
    return;
  }
  const std::scoped_lock lock(mutex_);
  if (!kernels_are_checked()) return free_in_piece(begin, bytes);
  // A checker finds a use after the block was freed, as long as nothing else lies there.
  constexpr std::size_t kKept = 256;
  late_.emplace_back(begin, bytes);
  if (late_.size() <= kKept) return;
  free_in_piece(late_.front().first, late_.front().second);
  late_.pop_front();
}

void DeviceMemory::free_in_piece(char* begin, std::size_t bytes) {
  const auto found = std::prev(pieces_.upper_bound(begin));
  auto& list = found->second.free;
  auto offset = static_cast<std::size_t>(begin - found->first);
  std::size_t size = size_in_piece(bytes);
  auto after = list.lower_bound(offset);
  if (after != list.end() && after->first == offset + size) {
    size += after->second;
    after = list.erase(after);
  }
  if (after != list.begin() && std::prev(after)->first + std::prev(after)->second == offset) {
    const auto before = std::prev(after);
    offset = before->first;
    size += before->second;
    list.erase(before);
  }
  list.emplace(offset, size);
  if (size < kPiece || pieces_.size() <= kFirstPieces) return;
  char* piece = found->first;
  pieces_.erase(found);
  mapped(piece, kPiece, PROT_NONE, MAP_FIXED);
  give(piece);
  free_room(piece, kPiece);
}

void DeviceMemory::free_all() {
  for (const Range& range : ranges_of_device(device_)) {
    if (range.owner != Owner::kDevice) continue;
    take_range(range.begin, {Owner::kDevice});
    free(range.begin, range.bytes);
  }
}

DeviceMemory& memory_of(int device) {
  static std::mutex mutex;
  static auto* const kAll = new std::map<int, std::unique_ptr<DeviceMemory>>();
  const std::scoped_lock lock(mutex);
  auto& found = (*kAll)[device];
  if (found == nullptr) found = std::make_unique<DeviceMemory>(device);
  return *found;
}

void* allocate_on_device(int device, std::size_t bytes) {
  void* data = memory_of(device).allocate(bytes);
  if (data != nullptr) {
    Range range;
    range.begin = static_cast<char*>(data);
    range.bytes = bytes;
    range.device = device;
    add_range(range);
  }
  return data;
}

}  // namespace torchport::cuda
