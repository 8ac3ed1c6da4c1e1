#include <atomic>
#include <deque>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "devices/profile.h"
#include "runtime/device/memory_model.h"
#include "runtime/device/spec.h"

namespace torchport {
namespace {

using device::MemoryEvent;
using device::MemoryModel;
using device::OutOfMemory;
using device::parse_spec;
using device::PoolStat;

using devices::kMiB;

TEST_CASE("devices are described in one line") {
  const auto spec = parse_spec("cuda:4,memory=16GiB,profile=t4");
  REQUIRE(spec.has_value());
  CHECK(spec->count == 4);
  CHECK(spec->memory == std::uint64_t{16} * 1024 * kMiB);
  CHECK(spec->profile->device_name == "Tesla T4");
  CHECK(parse_spec(spec->text())->text() == spec->text());
  CHECK(parse_spec("cuda")->memory == parse_spec("cuda")->profile->memory);
  CHECK(parse_spec("none")->count == 0);
  CHECK(parse_spec("mps")->description->name == "mps");
}

TEST_CASE("a profile of one's own has its path in the spec, also with commas and per cent signs") {
  const auto folder = base::TemporaryFolder::make("torchport, 5%2C");
  REQUIRE(folder.has_value());
  const std::string path = folder->file("card.toml");
  std::ofstream(path) << "kind = \"cuda\"\nname = \"mine\"\ndevice-name = \"Mine\"\n"
                         "capability = \"8.6\"\nmemory = \"3 GiB\"\nmultiprocessors = 9\n"
                         "clock-mhz = 1000\n";
  std::string escaped = path;
  for (auto at = escaped.find('%'); at != std::string::npos; at = escaped.find('%', at + 3))
    escaped.replace(at, 1, "%25");
  for (auto at = escaped.find(','); at != std::string::npos; at = escaped.find(','))
    escaped.replace(at, 1, "%2C");
  const auto spec = parse_spec("cuda:2,profile=" + escaped);
  REQUIRE(spec.has_value());
  CHECK(spec->profile->file == path);
  CHECK(spec->memory == 3072 * kMiB);
  const auto again = parse_spec(spec->text());
  REQUIRE(again.has_value());
  CHECK(again->profile == spec->profile);
  const auto other = parse_spec("xpu,profile=" + escaped);
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().code == base::ErrorCode::kUsage);
  CHECK(other.error().message.find("--devices cuda:1") != std::string::npos);
}

TEST_CASE("random numbers are a real CUDA device's unless the CPU's are asked for") {
  CHECK(parse_spec("cuda")->random == device::RandomNumbers::kDevice);
  CHECK(parse_spec("cuda,random=device")->random == device::RandomNumbers::kDevice);
  const auto host = parse_spec("cuda:2,random=cpu");
  CHECK(host->random == device::RandomNumbers::kCpu);
  CHECK(parse_spec(host->text())->random == device::RandomNumbers::kCpu);
  CHECK(parse_spec(parse_spec("cuda")->text())->random == device::RandomNumbers::kDevice);
  CHECK(parse_spec("mps")->random == device::RandomNumbers::kCpu);
  CHECK(parse_spec(parse_spec("xpu,random=cpu")->text())->random == device::RandomNumbers::kCpu);
}

TEST_CASE("0 is a size of tensors that have data") {
  CHECK(parse_spec("cuda,data=0")->data == 0);
  CHECK(parse_spec(parse_spec("cuda,data=0")->text())->data == 0);
}

TEST_CASE("what is no device is refused with what would be right") {
  for (const char* text :
       {"tpu:1", "cuda:0", "cuda:x", "cuda:65", "cuda:2x", "mps:2", "none:1", "cuda,memory=0",
        "cuda,memory=ten", "cuda,profile=max-1550", "none,profile=t4", "cuda,random=gpu",
        "mps,random=device", "cuda,x=1", "", "cuda,"}) {
    CAPTURE(text);
    const auto spec = parse_spec(text);
    REQUIRE_FALSE(spec.has_value());
    CHECK(spec.error().code == base::ErrorCode::kUsage);
    CHECK(spec.error().message.size() > 10);
  }
}

std::uint64_t taken(MemoryModel& memory, std::uint64_t bytes) {
  OutOfMemory failure;
  return memory.allocate(bytes, 0, failure).value();
}

std::int64_t now(const device::PoolStat& stat) {
  return stat.of[PoolStat::kAll].current;
}

TEST_CASE("blocks of 512 bytes in segments of 2 MiB, 20 MiB or their own size") {
  MemoryModel memory(kMiB, 1024 * kMiB);
  const auto small = taken(memory, 1);
  CHECK(now(memory.stats().allocated_bytes) == 512);
  CHECK(now(memory.stats().reserved_bytes) == static_cast<std::int64_t>(2 * kMiB));
  const auto middle = taken(memory, 3 * kMiB);
  CHECK(now(memory.stats().reserved_bytes) == static_cast<std::int64_t>(22 * kMiB));
  const auto large = taken(memory, 11 * kMiB);
  // 11 MiB do not go into what is left of the 20; a segment of its own, in steps of 2 MiB.
  CHECK(now(memory.stats().segment) == 2 + (large < middle + 20 * kMiB ? 0 : 1));
  for (const auto block : {small, middle, large}) memory.free(block);
  CHECK(now(memory.stats().allocated_bytes) == 0);
  CHECK(now(memory.stats().allocation) == 0);
  CHECK(now(memory.stats().inactive_split) == 0);
  CHECK(now(memory.stats().reserved_bytes) > 0);
  memory.empty_cache();
  CHECK(now(memory.stats().reserved_bytes) == 0);
  CHECK(memory.device_free() == memory.total());
}

TEST_CASE("no bytes take no block, and freeing twice does nothing") {
  MemoryModel memory(kMiB, 64 * kMiB);
  CHECK(taken(memory, 0) == 0);
  memory.free(0);
  const auto block = taken(memory, 100);
  memory.free(block);
  memory.free(block);
  CHECK(now(memory.stats().allocated_bytes) == 0);
}

TEST_CASE("a full device says so, after its cache was given back") {
  MemoryModel memory(kMiB, 64 * kMiB);
  const auto first = taken(memory, 40 * kMiB);
  memory.free(first);
  // 40 MiB are cached; 60 fit only without them.
  const auto second = taken(memory, 60 * kMiB);
  CHECK(memory.stats().alloc_retries == 1);
  OutOfMemory failure;
  CHECK_FALSE(memory.allocate(10 * kMiB, 0, failure).has_value());
  CHECK(failure.total == 64 * kMiB);
  CHECK(failure.free == 4 * kMiB);
  CHECK(memory.stats().ooms == 1);
  const std::string message = devices::find_kind("cuda")->out_of_memory(failure, 3);
  CHECK(message.find("CUDA out of memory. Tried to allocate 10.00 MiB. GPU 3") == 0);
  memory.free(second);
  CHECK(memory.allocate(10 * kMiB, 0, failure).has_value());
}

TEST_CASE("a fraction bounds what one process takes") {
  MemoryModel memory(kMiB, 64 * kMiB);
  memory.set_fraction(0.5);
  OutOfMemory failure;
  CHECK_FALSE(memory.allocate(40 * kMiB, 0, failure).has_value());
  CHECK(failure.allowed == 32 * kMiB);
  CHECK(memory.allocate(20 * kMiB, 0, failure).has_value());
}

TEST_CASE("any order of taking and freeing leaves nothing behind") {
  MemoryModel memory(kMiB, 4096 * kMiB);
  std::minstd_rand random(7);
  std::vector<std::uint64_t> held;
  for (int i = 0; i < 20'000; ++i) {
    if (held.empty() || random() % 2 == 0) {
      OutOfMemory failure;
      const auto bytes = random() % 3 == 0 ? random() % (8 * kMiB) : random() % 5000;
      const auto block = memory.allocate(bytes + 1, random() % 3, failure);
      if (block) held.push_back(*block);
    } else {
      std::swap(held[random() % held.size()], held.back());
      memory.free(held.back());
      held.pop_back();
    }
  }
  std::uint64_t reserved = 0;
  for (const auto& segment : memory.snapshot()) {
    std::uint64_t inside = 0;
    std::uint64_t address = segment.address;
    for (const auto& block : segment.blocks) {
      CHECK(block.address == address);
      address += block.size;
      inside += block.size;
    }
    CHECK(inside == segment.size);
    reserved += segment.size;
  }
  CHECK(static_cast<std::int64_t>(reserved) == now(memory.stats().reserved_bytes));
  for (const auto block : held) memory.free(block);
  const auto stats = memory.stats();
  CHECK(now(stats.allocated_bytes) == 0);
  CHECK(now(stats.requested_bytes) == 0);
  CHECK(now(stats.inactive_split_bytes) == 0);
  memory.empty_cache();
  CHECK(memory.snapshot().empty());
}

TEST_CASE("threads share a device") {
  MemoryModel memory(kMiB, 1024 * kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory, t] {
      for (int i = 0; i < 5000; ++i) {
        OutOfMemory failure;
        const auto block = memory.allocate(static_cast<std::uint64_t>(i % 3000 + 1), t, failure);
        if (block) memory.free(*block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(now(memory.stats().allocated_bytes) == 0);
}

TEST_CASE("a block may be freed by another thread, while others look on") {
  MemoryModel memory(kMiB, 8192 * kMiB);
  std::mutex mutex;
  std::deque<std::uint64_t> handed;
  std::atomic<int> made{0};
  std::atomic<int> noted{0};
  std::atomic<bool> done{false};
  constexpr int kBlocks = 4000;
  std::vector<std::thread> makers;
  std::vector<std::thread> others;
  for (int t = 0; t < 2; ++t) {
    makers.emplace_back([&, t] {
      for (int i = 0; i < kBlocks; ++i) {
        OutOfMemory failure;
        const std::uint64_t bytes = i % 7 == 0 ? 2 * kMiB : i % 5000 + 1;
        const auto block = memory.allocate(bytes, t, failure);
        if (!block) continue;
        ++made;
        const std::lock_guard<std::mutex> lock(mutex);
        handed.push_back(*block);
      }
    });
  }
  others.emplace_back([&] {
    for (bool last = false; !last;) {
      last = done;
      std::deque<std::uint64_t> mine;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        mine.swap(handed);
      }
      for (const std::uint64_t block : mine) memory.free(block);
    }
  });
  others.emplace_back([&] {
    for (int i = 0; !done; ++i) {
      memory.observe([&](const MemoryEvent&) { ++noted; });
      if (i % 2 == 0) memory.observe({});
      if (i % 10 == 0) memory.empty_cache();
      memory.reset_peak();
      memory.set_fraction(i % 2 == 0 ? 1.0 : 0.5);
      CHECK(memory.stats().allocated_bytes.of[0].current >= 0);
      CHECK(memory.device_free() <= memory.total());
      std::uint64_t reserved = 0;
      for (const auto& segment : memory.snapshot()) reserved += segment.size;
      CHECK(reserved <= memory.total());
    }
  });
  for (std::thread& thread : makers) thread.join();
  done = true;
  for (std::thread& thread : others) thread.join();
  memory.observe({});
  CHECK(made == 2 * kBlocks);
  CHECK(memory.stats().allocation.of[0].allocated == made);
  CHECK(now(memory.stats().allocated_bytes) == 0);
  memory.empty_cache();
  CHECK(memory.snapshot().empty());
}

}  // namespace
}  // namespace torchport
