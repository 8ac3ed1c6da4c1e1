// How findings name threads, blocks and lines.
#pragma once

#include <cstdint>
#include <string>

#include "cuda/device/block.h"
#include "torchport/kernel.h"

namespace torchport::cuda::check {

unsigned threads_of(const Block& block);
std::string text_of(const ::uint3& place);
std::string thread_words(const Block& block, unsigned thread);
// The thread that runs.
std::string here(const Block& block);
std::string line_of_site(const Site& site);
// For findings at the same line.
std::uintptr_t key_of(const std::string& line);
std::uintptr_t key_of(const Site& site);

}  // namespace torchport::cuda::check
