#include "torchport/address_spaces.h"

#include <link.h>

#include "cuda/device/block.h"
#include "cuda/runtime/memory.h"

namespace torchport::cuda {

namespace {

// __shared__ variables are those of the thread of the host.
bool is_of_thread(const void* address) {
  struct Search {
    const char* address;
    bool found;
  } search{static_cast<const char*>(address), false};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const auto* begin = static_cast<const char*>(info->dlpi_tls_data);
        for (int i = 0; begin != nullptr && i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type == PT_TLS && wanted.address >= begin &&
              wanted.address < begin + part.p_memsz)
            wanted.found = true;
        }
        return wanted.found ? 1 : 0;
      },
      &search);
  return search.found;
}

}  // namespace

Space space_of(const void* address) {
  const Block* block = Block::current();
  if (block != nullptr && block->runs_kernel() && block->is_local(address)) return Space::kLocal;
  if (const auto range = range_of(address)) {
    const bool constant = range->owner == Owner::kVariable && range->flags != 0;
    return constant ? Space::kConstant : Space::kGlobal;
  }
  return is_of_thread(address) ? Space::kShared : Space::kGlobal;
}

}  // namespace torchport::cuda
