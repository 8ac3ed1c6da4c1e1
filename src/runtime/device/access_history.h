// Keeps which streams read and wrote which memory of a device, and finds accesses that no wait puts
// in order.
//
// Two accesses of the same bytes, of which at least one writes, must be in order. Streams may share
// a storage if they keep to different elements (halves of a buffer, columns of a matrix), so bytes
// are compared and not storages, and where that is too much work nothing is said.
//
// Memory that is freed goes back to the stream that it was allocated for, which may get it again at
// once. So what other streams did to it is kept, and compared with what is done to the memory next.
// Tensor.record_stream() says that the allocator waits for a stream.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "runtime/device/stream_clocks.h"

namespace torchport::device {

// The bytes of a tensor, by addresses of the memory model.
struct Region {
  struct Dimension {
    std::uint64_t size = 0;
    std::uint64_t stride = 0;  // bytes
    bool operator==(const Dimension&) const = default;
  };
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // behind the last byte
  std::uint64_t element = 0;
  std::vector<Dimension> dimensions{};  // empty if all bytes from begin to end belong to it

  // Of a tensor whose first element is at `begin`. Dimensions of one element and of stride 0 may be
  // there; REQUIRED that no size is 0.
  [[nodiscard]] static Region of(std::uint64_t begin, std::uint64_t element,
                                 std::vector<Dimension> dimensions);
  bool operator==(const Region&) const = default;
};

// Whether two regions have a byte in common. False, too, if that is too much work to find out.
[[nodiscard]] bool overlap(const Region& a, const Region& b);

struct Access {
  Region region;
  StreamNumber stream = 0;
  std::uint64_t work = 0;  // number of the piece of work (StreamClocks::start())
  bool writes = false;
  std::int64_t line = 0;  // where; any number of the caller's
  bool of_freed = false;  // it was an access to memory that has been freed and allocated again
};

// Not thread safe. Addresses are those of the blocks of all devices, which have no address in
// common.
class AccessHistory {
 public:
  // `clocks` must outlive this object.
  explicit AccessHistory(const StreamClocks& clocks) : clocks_(clocks) {}

  // A block was allocated for a stream.
  void allocate(std::uint64_t address, std::uint64_t bytes, StreamNumber owner);
  // A block will not be given to anybody before the stream has done what it was asked until free().
  void record_stream(std::uint64_t address, StreamNumber stream);
  void free(std::uint64_t address);

  // Adds an access to a block. Returns the earlier ones that it may come before, oldest first.
  // Unknown blocks are passed over.
  std::vector<Access> add(std::uint64_t address, Access access);

 private:
  struct Block {
    std::uint64_t end = 0;
    StreamNumber owner = 0;
    std::set<StreamNumber> recorded;
    std::vector<Access> accesses;
  };
  struct Freed {
    std::uint64_t end = 0;
    std::vector<Access> accesses;
  };

  const StreamClocks& clocks_;
  std::map<std::uint64_t, Block> blocks_;
  std::map<std::uint64_t, Freed> freed_;
};

}  // namespace torchport::device
