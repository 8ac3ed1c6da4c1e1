// What was taken and given back on one device, in its order: who held the memory when most was
// held, who held it when a request first found no room, and how much there was over time.
//
// What a block holds is often known only later (a gradient is named when the optimizer's step
// begins), so that events are kept and played again at the end. A program may run for long: of too
// many events the older half is played at once, and only its sums stay. So the log needs bounded
// memory. A block that is named after its event was played has its old name in the older part of
// the timeline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace torchport::vdev {

// What a block holds.
enum class Holds : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizer,
  kActivations,
  kBackward,  // gradients of activations, and what is computed again
  kStep,      // temporary memory of an optimizer's step
  kWorkspaces,
  kCommunication,  // what a collective reads or writes and has no other name
  kInputs,         // taken outside of modules, and without gradients
};

// The names in the report.
inline constexpr std::array<const char*, 9> kHoldsNames = {
    "parameters",       "gradients",  "optimizer states", "activations",      "backward pass",
    "optimizer's step", "workspaces", "communication",    "inputs and others"};

struct HeldBlock {
  std::uint64_t bytes = 0;  // as the allocator counts them
  std::int32_t line = 0;
  std::int32_t module = 0;
  Holds holds = Holds::kInputs;
};

// The bytes at one moment.
struct MemoryMoment {
  std::uint64_t event = 0;  // how many blocks had been taken or given back
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;
  std::array<std::uint64_t, kHoldsNames.size()> held{};  // by Holds; the sum is `allocated`
};

// Moments, reduced to a number of intervals of the same length. An interval is the moment at which
// most was allocated in it, with the most that was reserved.
class MemoryTimeline {
 public:
  explicit MemoryTimeline(std::size_t most) : most_(most) {}  // an even number
  void add(const MemoryMoment& moment);
  [[nodiscard]] const std::vector<MemoryMoment>& moments() const { return moments_; }

 private:
  void halve();

  std::size_t most_;
  std::uint64_t length_ = 1;  // moments of an interval
  std::uint64_t in_last_ = 0;
  std::vector<MemoryMoment> moments_;
};

// Not thread safe.
class MemoryLog {
 public:
  static constexpr std::size_t kMostEvents = 1'000'000;  // 40 bytes each
  static constexpr std::size_t kMostMoments = 2000;

  explicit MemoryLog(std::size_t most_events = kMostEvents, std::size_t most_moments = kMostMoments)
      : most_events_(most_events), played_(most_moments) {}

  // `reserved`: the bytes that the allocator has of the device then.
  void taken(std::uint64_t address, const HeldBlock& block, std::uint64_t reserved);
  void given_back(std::uint64_t address);
  // Says what a block holds. Does nothing if there is none at the address.
  void mark(std::uint64_t address, Holds holds);
  // What the block at an address holds, as far as it is known; none if there is no block.
  [[nodiscard]] std::optional<Holds> holds(std::uint64_t address) const;
  // A request found no room. The first one is kept.
  void ran_out();

  struct Told {
    std::uint64_t events = 0;
    std::uint64_t most_reserved = 0;
    MemoryMoment most;               // when most was allocated
    std::vector<HeldBlock> at_most;  // the blocks that were held then
    // When the first request found no room.
    std::optional<std::uint64_t> ran_out_at;
    std::vector<HeldBlock> at_ran_out;
    std::vector<MemoryMoment> timeline;
  };
  [[nodiscard]] Told told() const;

 private:
  struct Event {
    std::uint64_t address;
    std::uint64_t reserved;
    HeldBlock block;  // 0 bytes: the block at `address` was given back
  };
  // What the events that were played lead to.
  struct Played {
    explicit Played(std::size_t most_moments) : timeline(most_moments) {}
    MemoryMoment now;
    MemoryTimeline timeline;
    std::unordered_map<std::uint64_t, HeldBlock> blocks;
    MemoryMoment most;
    std::vector<HeldBlock> at_most;
    std::vector<HeldBlock> at_ran_out;
  };
  struct Live {
    std::uint64_t event;  // its number, from 0
    std::uint64_t bytes;
  };

  void play(Played& played, const Event& event) const;
  void play_older_half();

  std::size_t most_events_;
  Played played_;
  std::vector<Event> events_;  // those after the played ones
  std::unordered_map<std::uint64_t, Live> live_;
  std::uint64_t held_ = 0;
  std::uint64_t most_held_ = 0;
  std::uint64_t at_most_ = 0;  // how many events there were then
  std::optional<std::uint64_t> ran_out_at_;
  std::uint64_t reserved_ = 0;
  std::uint64_t most_reserved_ = 0;
};

}  // namespace torchport::vdev
