#include "cuda/check/kernel_checker.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "cuda/check/lines.h"
#include "cuda/check/words.h"
#include "cuda/device/block.h"
#include "cuda/device/error_codes.h"
#include "torchport/kernel.h"

namespace torchport::cuda::check {

namespace {

std::uint64_t number_of(const Block& block) {
  const ::dim3& grid = block.launch().sizes.grid;
  const ::uint3 place = block.place();
  return place.x + std::uint64_t{grid.x} * (place.y + std::uint64_t{grid.y} * place.z);
}

struct FileVariable {
  const volatile void* (*where)() = nullptr;
  std::size_t bytes = 0;
  std::string name;
  std::size_t element = 1;
};

struct FileVariables {
  std::mutex mutex;
  std::vector<FileVariable> all;
};

// It outlives the objects that add to it.
FileVariables& file_variables() {
  static auto* const kVariables = new FileVariables();
  return *kVariables;
}

}  // namespace

void KernelChecker::add_file_shared(const volatile void* (*where)(), std::size_t bytes,
                                    const char* name, std::size_t element) {
  FileVariables& variables = file_variables();
  const std::scoped_lock lock(variables.mutex);
  variables.all.push_back({where, bytes, name, element});
}

void KernelChecker::remove_file_shared(const volatile void* (*where)()) {
  FileVariables& variables = file_variables();
  const std::scoped_lock lock(variables.mutex);
  std::erase_if(variables.all, [&](const FileVariable& one) { return one.where == where; });
}

KernelChecker::Running& KernelChecker::running_of(const Block& block) {
  std::unique_ptr<Running>& one = running_[&block];
  if (one == nullptr) one = std::make_unique<Running>();
  return *one;
}

// ---- what blocks tell ----

void KernelChecker::begin(const Launch& launch) {
  const std::scoped_lock lock(mutex_);
  ++(launch.kernel.checked ? launches_.checked : launches_.unchecked);
  launch_start_ = next();
  released_.clear();
  for (auto& [block, running] : running_) running->cache.fill({});
  if (!launch.kernel.checked && unchecked_.insert(launch.kernel.name).second)
    fmt::print(stderr,
               "torchport: the kernel {} is not checked: build it again under `torchport run "
               "--check-kernels`, or with `torchport nvcc --check-kernels`\n",
               launch.kernel.name);
}

void KernelChecker::end(const Launch& /*launch*/) {
  const std::scoped_lock lock(mutex_);
  tell_reads_of_atomics();
  shadow_.trim();
  arguments_.clear();
}

void KernelChecker::end_block(const Block& block) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  settle(running, block);
  tell_unwritten(running, block);
}

void KernelChecker::begin_block(const Block& block) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  running.unwritten.clear();
  running.copies.clear();
  running.seen_flags.clear();
  running.unordered_reads.clear();
  running.reads = nullptr;
  running.pending.bytes = 0;
  running.shared.clear();
  {
    FileVariables& variables = file_variables();
    const std::scoped_lock lock_of_variables(variables.mutex);
    for (const FileVariable& one : variables.all) {
      const auto* begin = static_cast<const char*>(const_cast<const void*>(one.where()));
      running.shared.push_back({begin, begin + one.bytes, one.name, one.element});
    }
  }
  running.cache.fill({});
  running.order.begin(number_of(block), threads_of(block), launch_start_, next());
}

void KernelChecker::met(const Block& block, const std::vector<Fiber*>& waiting, bool all) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  settle(running, block);
  if (!all) {
    std::vector<unsigned> threads;
    threads.reserve(waiting.size());
    for (const Fiber* one : waiting) threads.push_back(one->thread);
    running.order.some_met(threads, next());
    return;
  }
  tell_unwritten(running, block);
  running.order.all_met(next());
  if (waiting.empty()) return;
  const Site& first = *waiting.front()->site;
  for (const Fiber* one : waiting) {
    const Site& site = *one->site;
    if (site.line == first.line && std::strcmp(site.file, first.file) == 0) continue;
    if (!is_ignored(line_of_site(first)) && !is_ignored(line_of_site(site)) &&
        findings_.is_new(Cause::kBarrier, key_of(first), key_of(site)))
      findings_.print(
          Cause::kBarrier,
          fmt::format("{}: {} of block {} of {} waits in {} here, {} at {}; all threads of a block "
                      "have to come to the same barrier",
                      line_of_site(first), thread_words(block, waiting.front()->thread),
                      text_of(block.place()), block.launch().kernel.name, first.what,
                      thread_words(block, one->thread), line_of_site(site)));
    break;
  }
  if (waiting.size() < threads_of(block) && !is_ignored(line_of_site(first)) &&
      findings_.is_new(Cause::kBarrier, key_of(first)))
    findings_.print(
        Cause::kBarrier,
        fmt::format("{}: {} of {} threads of block {} of {} come to {}; the others have "
                    "ended, and all threads of a block have to come to a barrier",
                    line_of_site(first), waiting.size(), threads_of(block), text_of(block.place()),
                    block.launch().kernel.name, first.what));
}

void KernelChecker::warp_met(const Block& block, unsigned warp, unsigned lanes) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  settle(running, block);
  running.order.warp_met(warp, lanes, next());
}

void KernelChecker::grid_met(const Block& block) {
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(block);
  settle(running, block);
  tell_unwritten(running, block);
  running.order.all_met(next());
  running.order.grid_met(next());
  running.seen_flags.clear();
}

void KernelChecker::not_in_mask(const Block& block, unsigned mask, const Site& site) {
  if (is_ignored(line_of_site(site)) || !findings_.is_new(Cause::kWarp, key_of(site), 1)) return;
  findings_.print(
      Cause::kWarp,
      fmt::format("{}: {} calls {} with the mask 0x{:08x}, which does not name its lane",
                  line_of_site(site), here(block), site.what, mask));
}

void KernelChecker::incomplete(const Block& block, unsigned warp, unsigned mask, unsigned came,
                               const Site& site) {
  if (is_ignored(line_of_site(site)) || !findings_.is_new(Cause::kWarp, key_of(site), 2)) return;
  findings_.print(
      Cause::kWarp,
      fmt::format(
          "{}: warp {} of block {} of {} calls {} with the mask 0x{:08x}, but only the lanes "
          "0x{:08x} come to it; the others wait elsewhere",
          line_of_site(site), warp, text_of(block.place()), block.launch().kernel.name, site.what,
          mask, came));
}

void KernelChecker::absent_lane(const Block& block, unsigned lane, const Site& site) {
  if (is_ignored(line_of_site(site)) || !findings_.is_new(Cause::kWarp, key_of(site), 3)) return;
  findings_.print(Cause::kWarp,
                  fmt::format("{}: {} reads in {} the value of lane {}, which took no part",
                              line_of_site(site), here(block), site.what, lane));
}

void KernelChecker::memory_changed(const void* begin, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  shadow_.for_cells(reinterpret_cast<std::uintptr_t>(begin), bytes,
                    [](Cell& cell, std::size_t /*step*/) { cell = {}; });
  for (auto& [block, running] : running_) running->cache.fill({});
}

void KernelChecker::note_shared(const char* at, std::size_t bytes, const char* name,
                                std::size_t element) {
  const Block* block = Block::current();
  if (block == nullptr) return;
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(*block);
  for (const Shared& one : running.shared)
    if (one.begin == at) return;
  running.shared.push_back({at, at + bytes, name, element});
  running.cache.fill({});
}

void KernelChecker::note_arguments(std::vector<Argument> arguments) {
  const std::scoped_lock lock(mutex_);
  arguments_ = std::move(arguments);
}

}  // namespace torchport::cuda::check
