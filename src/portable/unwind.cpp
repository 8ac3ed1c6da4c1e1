// Where the unwinder of a statically linked libgcc finds the tables of an address, for a glibc
// before 2.35. It is in a file of its own, because only programs need it: a library uses
// libgcc_s.so.1.
#include <cstddef>
#include <cstdint>

#include <dlfcn.h>
#include <link.h>

#if __GLIBC_PREREQ(2, 35)
namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* object;
};

// Answers 1 at the object that contains the address, which ends the walk, and else 0. An object
// without tables leaves `dlfo_eh_frame` at null.
int look_at(dl_phdr_info* info, std::size_t, void* data) {
  const auto& search = *static_cast<Search*>(data);
  bool inside = false;
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  void* tables = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uintptr_t first = info->dlpi_addr + header.p_vaddr;
    const std::uintptr_t last = first + header.p_memsz;
    if (header.p_type == PT_GNU_EH_FRAME) tables = reinterpret_cast<void*>(first);
    if (header.p_type != PT_LOAD) continue;
    inside = inside || (search.address >= first && search.address < last);
    begin = first < begin ? first : begin;
    end = last > end ? last : end;
  }
  if (!inside) return 0;
  search.object->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.object->dlfo_map_end = reinterpret_cast<void*>(end);
  search.object->dlfo_eh_frame = tables;
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* object) noexcept {
  *object = {};
  Search search{reinterpret_cast<std::uintptr_t>(address), object};
  dl_iterate_phdr(look_at, &search);
  return object->dlfo_eh_frame != nullptr ? 0 : -1;
}
#endif
