// What threads copy asynchronously, and who uses it too early.
#include <algorithm>

#include <fmt/format.h>

#include "cuda/check/kernel_checker.h"
#include "cuda/check/lines.h"
#include "cuda/check/words.h"
#include "cuda/device/block.h"

namespace torchport::cuda::check {

void KernelChecker::copies_later(const char* to, std::size_t bytes, std::uintptr_t code) {
  const Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel() || bytes == 0) return;
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(*block);
  settle(running, *block);
  const Known* known = known_at(running, *block, to);
  if (known == nullptr || known->kind != Kind::kShared) return;
  running.copies.add(block->thread(), to, bytes, site_of(code));
}

void KernelChecker::commit_copies() {
  const Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel()) return;
  const std::scoped_lock lock(mutex_);
  running_of(*block).copies.commit(block->thread());
}

void KernelChecker::wait_for_copies(unsigned left, bool all) {
  const Block* block = Block::current();
  if (block == nullptr || !block->runs_kernel()) return;
  const std::scoped_lock lock(mutex_);
  Running& running = running_of(*block);
  settle(running, *block);
  const unsigned thread = block->thread();
  // What was copied is written now, not when the copy began.
  for (const AsyncCopy& one : running.copies.wait(thread, left, all))
    shadow_.for_cells(
        reinterpret_cast<std::uintptr_t>(one.begin), static_cast<std::size_t>(one.end - one.begin),
        [&](Cell& cell, std::size_t /*step*/) {
          cell = {{who_is(running.order.block(), thread), stamp_, one.site, false}, {}, {}, {}};
        });
}

void KernelChecker::find_early_use(Running& running, const Block& block, const char* at,
                                   std::size_t bytes, unsigned flags, std::uintptr_t code) {
  if (running.copies.empty()) return;
  const AsyncCopy* copy = running.copies.find(at, bytes);
  if (copy == nullptr) return;
  const std::uintptr_t begun = sites_[copy->site];
  if (code == begun || !is_new(Cause::kRace, std::min(code, begun), std::max(code, begun))) return;
  findings_.print(
      Cause::kRace,
      fmt::format("{}: {} {} {}, which {} copies asynchronously since {}; that thread has to wait "
                  "for the copy before (__pipeline_wait_prior, cp.async.wait_group)",
                  line_of(code), here(block), (flags & kWrite) != 0 ? "writes" : "reads",
                  name_of(running, block, std::max(at, copy->begin)),
                  thread_words(block, copy->thread), line_of(begun)));
}

}  // namespace torchport::cuda::check
