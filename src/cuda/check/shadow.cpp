#include "cuda/check/shadow.h"

namespace torchport::cuda::check {

void Shadow::Page::refine() {
  std::vector<Cell> fine(kPageBytes);
  for (std::size_t i = 0; i < kPageBytes; ++i) fine[i] = cells[i / step];
  cells = std::move(fine);
  step = 1;
}

void Shadow::trim() {
  constexpr std::size_t kMostPages = 65536;
  if (pages_.size() <= kMostPages) return;
  pages_.clear();
  last_ = nullptr;
}

}  // namespace torchport::cuda::check
