#include "cuda/check/words.h"

#include <functional>

#include <fmt/format.h>

namespace torchport::cuda::check {

unsigned threads_of(const Block& block) {
  const ::dim3& size = block.launch().sizes.block;
  return size.x * size.y * size.z;
}

std::string text_of(const ::uint3& place) {
  return fmt::format("({}, {}, {})", place.x, place.y, place.z);
}

std::string thread_words(const Block& block, unsigned thread) {
  return fmt::format("thread {}", text_of(place_in(thread, block.launch().sizes.block)));
}

std::string here(const Block& block) {
  return fmt::format("thread {} of block {} of {}", text_of(block.thread_index()),
                     text_of(block.place()), block.launch().kernel.name);
}

std::string line_of_site(const Site& site) {
  return fmt::format("{}:{}", site.file, site.line);
}

std::uintptr_t key_of(const std::string& line) {
  return std::hash<std::string>()(line);
}
std::uintptr_t key_of(const Site& site) {
  return key_of(line_of_site(site));
}

}  // namespace torchport::cuda::check
