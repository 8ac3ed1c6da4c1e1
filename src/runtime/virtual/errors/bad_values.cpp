#include "runtime/virtual/errors/bad_values.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace torchport::vdev {

namespace {

constexpr std::int64_t kThreads = 128;
constexpr std::int64_t kElementsOfThread = 4;

GridThread grid_thread(std::int64_t block, std::int64_t thread) {
  return {{static_cast<std::uint32_t>(block), 0, 0}, {static_cast<std::uint32_t>(thread), 0, 0}};
}

// The threads of positions, in the order in which a grid has them, each once.
template <typename ThreadOf>
std::vector<GridThread> threads_of(const std::vector<std::int64_t>& positions,
                                   const ThreadOf& thread_of) {
  std::vector<GridThread> threads;
  for (const std::int64_t position : positions) {
    if (threads.size() == kThreadsShown) break;
    const GridThread thread = thread_of(position);
    const bool known = std::any_of(threads.begin(), threads.end(), [&](const GridThread& other) {
      return other.block == thread.block && other.thread == thread.thread;
    });
    if (!known) threads.push_back(thread);
  }
  return threads;
}

}  // namespace

BadIndices::BadIndices(const at::Tensor& indices, std::int64_t low, std::int64_t high)
    : indices_(indices) {
  find(low, high);
}

BadIndices::BadIndices(const at::Tensor& indices, std::int64_t low, std::int64_t high,
                       std::int64_t ignored)
    : indices_(indices), ignores_(true), ignored_(ignored) {
  find(low, high);
}

void BadIndices::find(std::int64_t low, std::int64_t high) {
  // The host refuses an index of another type.
  if (!at::isIntegralType(indices_.scalar_type(), false)) return;
  const at::Tensor flat = indices_.reshape(-1).to(at::kLong).contiguous();
  const auto* values = flat.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    if ((values[i] < low || values[i] >= high) && !(ignores_ && values[i] == ignored_))
      positions_.push_back(i);
  }
}

std::string BadIndices::text(std::string_view what, std::string_view of,
                             std::string_view limit) const {
  const auto value = indices_.reshape(-1)[first()].item().toLong();
  std::string text = fmt::format("{} {} at {} of {} [{}] is out of range for {}", what, value,
                                 place_text(first(), indices_.sizes()), of,
                                 fmt::join(indices_.sizes(), ", "), limit);
  if (positions_.size() > 1) text += fmt::format(", and {} more", positions_.size() - 1);
  return text;
}

std::string place_text(std::int64_t position, at::IntArrayRef sizes) {
  std::vector<std::int64_t> place(sizes.size());
  for (std::size_t i = sizes.size(); i > 0; --i) {
    place[i - 1] = position % sizes[i - 1];
    position /= sizes[i - 1];
  }
  return fmt::format("[{}]", fmt::join(place, ", "));
}

std::vector<GridThread> strided_threads(const std::vector<std::int64_t>& positions) {
  return threads_of(positions, [](std::int64_t position) {
    return grid_thread(position / (kThreads * kElementsOfThread), position % kThreads);
  });
}

std::vector<GridThread> loop_threads(const std::vector<std::int64_t>& positions,
                                     std::int64_t per_block) {
  return threads_of(positions, [&](std::int64_t position) {
    return grid_thread(position / per_block, position % per_block);
  });
}

std::vector<GridThread> all_threads(std::int64_t blocks, std::int64_t per_block) {
  std::vector<GridThread> threads;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t thread = 0; thread < per_block; ++thread) {
      if (threads.size() == kThreadsShown) return threads;
      threads.push_back(grid_thread(block, thread));
    }
  }
  return threads;
}

}  // namespace torchport::vdev
