// Checks what kernels do with memory and with each other. Kernels that were built for it tell of
// each access before they make it (calls/calls.cpp); blocks tell where threads meet
// (device/checker.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cuda/check/async_copies.h"
#include "cuda/check/findings.h"
#include "cuda/check/memory_map.h"
#include "cuda/check/order.h"
#include "cuda/check/shadow.h"
#include "cuda/device/checker.h"

namespace torchport::cuda::check {

// What an access is.
enum AccessFlags : unsigned {
  kWrite = 1,
  kAtomic = 2,
  kVolatile = 4,
  kUnaligned = 8,  // the type allows any address
  kAcquires = 16,
  kReleases = 32,  // a fence as well
  kStores = 64,    // an atomic write that reads nothing
};

// A pointer among a kernel's arguments.
struct Argument {
  std::string name;
  const char* pointer = nullptr;
  std::size_t element = 1;
};

class KernelChecker final : public Checker {
 public:
  explicit KernelChecker(const MemoryMap& map) : map_(map) {}

  void begin(const Launch& launch) override;
  void end(const Launch& launch) override;
  void begin_block(const Block& block) override;
  void end_block(const Block& block) override;
  void met(const Block& block, const std::vector<Fiber*>& waiting, bool all) override;
  void warp_met(const Block& block, unsigned warp, unsigned lanes) override;
  void grid_met(const Block& block) override;
  void not_in_mask(const Block& block, unsigned mask, const Site& site) override;
  void incomplete(const Block& block, unsigned warp, unsigned mask, unsigned came,
                  const Site& site) override;
  void absent_lane(const Block& block, unsigned lane, const Site& site) override;
  void memory_changed(const void* begin, std::size_t bytes) override;

  // The thread that runs is going to use memory; `code`: the return address of its call. Thread
  // safe. Does not return if the kernel ends here: with a write where nothing may be written, or a
  // misaligned access.
  void access(const char* at, std::size_t bytes, unsigned flags, std::uintptr_t code);
  // It is going to fence its writes.
  void fence();
  // It has begun an asynchronous copy; its copies up to now are a group; it has waited for all
  // groups but the newest `left`, or (`all`) for every copy.
  void copies_later(const char* to, std::size_t bytes, std::uintptr_t code);
  void commit_copies();
  void wait_for_copies(unsigned left, bool all);
  // An index is beyond its array, or an address not as its type wants it, with the words of what it
  // is and the line.
  void beyond_array(const std::string& what, const std::string& line);
  void misaligned(const std::string& what, const std::string& line);
  // What C++ does not define, and a GPU does otherwise; `what` says both.
  void arithmetic(const std::string& what, std::uintptr_t code);
  // The block that runs has a shared variable.
  void note_shared(const char* at, std::size_t bytes, const char* name, std::size_t element);
  // Every block has a variable of its own at what `where` gives on the thread of the host that runs
  // it. It need not be known of a checker yet.
  static void add_file_shared(const volatile void* (*where)(), std::size_t bytes, const char* name,
                              std::size_t element);
  static void remove_file_shared(const volatile void* (*where)());
  // The kernel that this thread of the host calls next has these arguments.
  void note_arguments(std::vector<Argument> arguments);

  [[nodiscard]] Findings& findings() { return findings_; }
  [[nodiscard]] Launches launches() const { return launches_; }
  void count_launch() {
    const std::scoped_lock lock(mutex_);
    ++launches_.checked;
  }

 private:
  struct Shared {
    const char* begin = nullptr;
    const char* end = nullptr;
    std::string name;
    std::size_t element = 1;
  };
  // A write over another thread's write, which is a race unless it writes the same value. It is
  // known when the thread goes on.
  struct Pending {
    std::size_t bytes = 0;  // 0: there is none
    const char* at = nullptr;
    std::array<char, 64> before{};
    Access one;
    Access other;
    Kind kind = Kind::kGlobal;
  };
  // A read of what nobody has written. If another thread writes it before the next barrier, it is a
  // race, which depends on the order of threads.
  struct Unwritten {
    const char* at = nullptr;
    std::size_t bytes = 0;
    std::uintptr_t code = 0;
    unsigned thread = 0;
  };
  // The volatile writes of a thread before it wrote a flag, which no fence orders before that.
  struct Unfenced {
    Stamp from = 0;
    Stamp to = 0;
  };
  // What threads know that use a word atomically.
  struct Word {
    Stamp released = 0;
    std::vector<Who> writers;
    std::map<Who, Unfenced> unfenced;  // of these writers
  };
  // A volatile read of what another thread has written; nothing orders the two.
  struct UnorderedRead {
    const char* at = nullptr;
    std::uint32_t site = 0;
    Access write;
  };
  // Of a block that runs, by the thread of the host.
  struct Running {
    Order order;
    std::vector<Shared> shared;
    Pending pending;
    std::vector<Unwritten> unwritten;
    AsyncCopies copies;
    std::map<Who, Unfenced> seen_flags;                           // by the thread that wrote them
    std::unordered_map<unsigned, UnorderedRead> unordered_reads;  // by thread
    // The word that a thread reads atomically now, without a write. Another block, on another
    // thread of the host, may write it before the read is done; so what it orders is learned once
    // more afterwards.
    const char* reads = nullptr;
    unsigned reader = 0;
    std::array<Known, 64> cache{};
  };

  Running& running_of(const Block& block);
  // What ends a kernel: an error, and its text.
  struct Ends {
    int error = 0;
  };
  std::optional<Ends> check(const Block& block, const char* at, std::size_t bytes, unsigned flags,
                            std::uintptr_t code);
  const Known* known_at(Running& running, const Block& block, const char* at);
  std::optional<Known> find(Running& running, const Block& block, const char* at) const;
  std::optional<Ends> nothing_there(Running& running, const Block& block, const char* at,
                                    std::size_t bytes, unsigned flags, std::uintptr_t code);
  void check_cells(Running& running, const Block& block, const Known& known, const char* at,
                   std::size_t bytes, unsigned flags, std::uint32_t site);
  void find_early_use(Running& running, const Block& block, const char* at, std::size_t bytes,
                      unsigned flags, std::uintptr_t code);
  // Whether a race with a volatile write was found.
  bool volatile_race(Running& running, const Block& block, const Cell& cell, const char* at,
                     std::size_t bytes, const Access& now, bool writes);
  // What a thread knows that has read a word atomically.
  void learn(Running& running, unsigned thread, const char* at);
  void note_flag(Running& running, unsigned thread, Word& word, bool reads, bool releases);
  void order_by(Running& running, unsigned thread, const char* at, unsigned flags);
  void settle(Running& running, const Block& block);
  void race(Running& running, const Block& block, Kind kind, const char* at, const Access& one,
            bool writes, const Access& other, bool other_writes);
  // What is said of a race between its two lines, and behind.
  void words_of_race(Running& running, const Block& block, Kind kind, const char* at,
                     const Access& one, bool writes, const Access& other, bool other_writes,
                     std::string& text, std::string& end);
  void tell_unwritten(Running& running, const Block& block);
  void tell_reads_of_atomics();
  std::string name_of(const Running& running, const Block& block, const char* at) const;
  // Whether a finding is new at these lines; code of one line may stand at several places.
  bool is_new(Cause cause, std::uintptr_t code, std::uintptr_t other = 0);
  std::uint32_t site_of(std::uintptr_t code);
  Stamp next() { return ++stamp_; }

  const MemoryMap& map_;
  Findings findings_;
  std::mutex mutex_;
  Stamp stamp_ = 1;
  Stamp launch_start_ = 1;
  Shadow shadow_;
  std::unordered_map<const char*, Word> released_;  // by the address of a word
  std::unordered_map<const Block*, std::unique_ptr<Running>> running_;
  std::vector<Argument> arguments_;
  // Plain reads of what others change atomically: races, but for those by which a loop of
  // compare-and-swap begins. Which they are is known when the launch is over.
  struct ReadOfAtomic {
    std::uint32_t read = 0;  // the site
    std::uintptr_t code = 0;
    std::uintptr_t other = 0;
    std::string text;  // behind the line
    std::string end;   // behind the other line
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, ReadOfAtomic> reads_of_atomics_;
  std::unordered_set<std::uint32_t> begins_loop_;  // sites
  std::vector<std::uintptr_t> sites_{0};
  std::unordered_map<std::uintptr_t, std::uint32_t> numbers_;
  std::set<std::tuple<Cause, std::uintptr_t, std::uintptr_t>> seen_;  // places of code
  std::unordered_set<std::string> unchecked_;  // kernels that were not built for checks
  Launches launches_;
};

}  // namespace torchport::cuda::check
