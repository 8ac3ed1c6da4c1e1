// Lets the memory model follow the settings of the allocator: PYTORCH_CUDA_ALLOC_CONF, and what a
// program sets later. torch reads them since 2.10; what only a build with CUDA knows is read here,
// as c10/cuda/CUDAAllocatorConfig.cpp does.
#include <bit>
#include <string>
#include <unordered_set>

#include <c10/core/AllocatorConfig.h>
#include <nlohmann/json.hpp>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/torch_releases.h"

namespace torchport::vdev {

namespace {

#if TORCHPORT_HAS_ALLOCATOR_SETTINGS

using c10::CachingAllocator::AcceleratorAllocatorConfig;
using c10::CachingAllocator::ConfigTokenizer;

constexpr std::size_t kMostThreads = 128;  // pinned_max_register_threads()

std::string& chosen_allocator() {
  static std::string chosen = "native";
  return chosen;
}

// Reads the value of one of CUDA's own keys at `key`, and returns the index of its last token.
std::size_t read_value(const ConfigTokenizer& tokens, std::size_t key) {
  const std::string& name = tokens[key];
  const std::size_t value = key + 2;
  tokens.checkToken(key + 1, ":");
  if (name == "backend") {
    TORCH_CHECK_VALUE(tokens[value] == "native" || tokens[value] == "cudaMallocAsync",
                      "Unknown allocator backend, options are native and cudaMallocAsync");
    TORCH_CHECK(chosen_allocator() == tokens[value],
                "Allocator backend parsed at runtime != allocator backend parsed at load time, ",
                tokens[value], " != ", chosen_allocator());
  } else if (name == "pinned_num_register_threads") {
    const std::size_t threads = tokens.toSizeT(value);
    TORCH_CHECK_VALUE(std::has_single_bit(threads),
                      "Number of register threads has to be power of 2, got ", threads);
    TORCH_CHECK_VALUE(threads <= kMostThreads,
                      "Number of register threads should be less than or equal to ", kMostThreads,
                      ", got ", threads);
  } else if (name == "pinned_reserve_segment_size_mb") {
    TORCH_CHECK_VALUE(tokens.toSizeT(value) > 0,
                      "Pinned reserve segment size has to be greater than 0");
  } else {
    static_cast<void>(tokens.toBool(value));
  }
  return value;
}

const std::unordered_set<std::string>& keys_of_cuda() {
  static const std::unordered_set<std::string> kKeys{"backend",
                                                     "release_lock_on_cudamalloc",
                                                     "release_lock_on_hipmalloc",
                                                     "pinned_use_cuda_host_register",
                                                     "pinned_use_hip_host_register",
                                                     "pinned_num_register_threads",
                                                     "pinned_reserve_segment_size_mb",
                                                     "graph_capture_record_stream_reuse"};
  return kKeys;
}

void read_settings(const std::string& text) {
  const ConfigTokenizer tokens(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& key = tokens[i];
    if (keys_of_cuda().contains(key)) {
      i = read_value(tokens, i);
    } else {
      TORCH_CHECK_VALUE(AcceleratorAllocatorConfig::getKeys().contains(key), "Unrecognized key '",
                        key, "' in CUDA allocator config.");
      i = tokens.skipKey(i);
    }
    if (i + 1 < tokens.size()) tokens.checkToken(++i, ",");
  }
}

// The allocator is chosen once, from the environment.
void choose_allocator() {
  const ConfigTokenizer tokens(AcceleratorAllocatorConfig::last_allocator_settings());
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i] == "backend") chosen_allocator() = tokens[i + 2];
  }
  if (chosen_allocator() == "native") return;
  Runtime::get().for_each_memory([](device::MemoryModel& memory) { memory.use_drivers_pool(); });
}

void follow_settings() {
  // A build with CUDA reads its own keys.
  if (!device_parses_its_settings<AcceleratorAllocatorConfig>())
    AcceleratorAllocatorConfig::registerDeviceConfigParserHook(&read_settings, keys_of_cuda());
  choose_allocator();
  const device::MemorySettings settings{
      [](std::uint64_t size) -> std::uint64_t {
        return AcceleratorAllocatorConfig::roundup_power2_divisions(size);
      },
      []() -> std::uint64_t { return AcceleratorAllocatorConfig::max_split_size(); },
      []() -> std::uint64_t { return AcceleratorAllocatorConfig::max_non_split_rounding_size(); },
      [] { return AcceleratorAllocatorConfig::use_expandable_segments(); },
      [] { return AcceleratorAllocatorConfig::garbage_collection_threshold(); }};
  Runtime::get().for_each_memory(
      [settings](device::MemoryModel& memory) { memory.set_settings(settings); });
}

// As the snapshot of the real allocator has them.
std::string settings_as_json() {
  using Config = AcceleratorAllocatorConfig;
  nlohmann::json divisions = nlohmann::json::object();
  std::uint64_t mebibytes = 1;
  for (const std::size_t one : Config::roundup_power2_divisions()) {
    divisions[std::to_string(mebibytes)] = one;
    mebibytes *= 2;
  }
  return nlohmann::json{{"PYTORCH_CUDA_ALLOC_CONF", Config::last_allocator_settings()},
                        {"max_split_size", static_cast<std::int64_t>(Config::max_split_size())},
                        {"garbage_collection_threshold", Config::garbage_collection_threshold()},
                        {"expandable_segments", Config::use_expandable_segments()},
                        {"roundup_power2_divisions", std::move(divisions)}}
      .dump();
}

#else

void follow_settings() {}

std::string settings_as_json() {
  return nlohmann::json{{"PYTORCH_CUDA_ALLOC_CONF", ""},
                        {"max_split_size", -1},
                        {"garbage_collection_threshold", 0.0},
                        {"expandable_segments", false}}
      .dump();
}

#endif

bool is_drivers_pool() {
  return Runtime::get().count() > 0 && Runtime::get().memory(0).uses_drivers_pool();
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("uses_drivers_pool() -> bool", &is_drivers_pool);
  library.def("follow_allocator_settings() -> ()", &follow_settings);
  library.def("allocator_settings() -> str", &settings_as_json);
}

}  // namespace

}  // namespace torchport::vdev
