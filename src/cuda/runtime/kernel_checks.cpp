// The checker of kernels in a process (TORCHPORT_CHECK_KERNELS): what it knows of memory, what
// kernels tell it, and what it says at the end.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include "cuda/check/calls.h"
#include "cuda/check/kernel_checker.h"
#include "cuda/check/lines.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/state.h"
#include "runtime/device/cuda_devices.h"

namespace torchport::cuda {

namespace {

using check::Kind;
using check::Known;

// Whether an address is of what the program was loaded with: constants, tables of functions,
// variables that are no device's, and those of the threads of the host.
std::optional<Known> loaded_part(const void* address) {
  struct Search {
    std::uintptr_t address;
    std::optional<Known> found;
  } search{reinterpret_cast<std::uintptr_t>(address), std::nullopt};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
          if (part.p_type == PT_TLS) begin = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
          if ((part.p_type != PT_LOAD && part.p_type != PT_TLS) || begin == 0) continue;
          if (wanted.address < begin || wanted.address >= begin + part.p_memsz) continue;
          const auto* first = reinterpret_cast<const char*>(begin);  // NOLINT
          wanted.found = Known{first, first + part.p_memsz, Kind::kQuiet};
          // Variables of a device lie among others where a program may write.
          if (part.p_type == PT_TLS || (part.p_flags & PF_W) != 0) {
            const auto* at = reinterpret_cast<const char*>(wanted.address);  // NOLINT
            wanted.found = Known{at, at + 1, Kind::kQuiet};
          }
          return 1;
        }
        return 0;
      },
      &search);
  return search.found;
}

std::string name_of(const Range& range) {
  if (range.name != nullptr && *range.name != '\0')
    return fmt::format("the variable {} of {} bytes", range.name, range.bytes);
  std::string text = fmt::format("memory of {} bytes", range.bytes);
  if (range.code != nullptr)
    text += fmt::format(" that was allocated at {}",
                        check::line_of(reinterpret_cast<std::uintptr_t>(range.code)));
  return text;
}

class Map final : public check::MemoryMap {
 public:
  [[nodiscard]] std::optional<Known> find(const void* address) const override {
    if (const auto range = range_of(address)) {
      const bool constant = range->owner == Owner::kVariable && range->flags != 0;
      return Known{range->begin, range->begin + range->bytes,
                   constant ? Kind::kQuiet : Kind::kGlobal};
    }
    if (const auto block = heap_block_of(address))
      return Known{block->begin, block->begin + block->bytes, Kind::kGlobal};
    if (const Devices* outside = devices_outside(); outside != nullptr && outside->version >= 2) {
      TensorBytes bytes;
      if (outside->find_bytes(address, &bytes))
        return Known{bytes.begin, bytes.begin + bytes.count, Kind::kGlobal};
    }
    return loaded_part(address);
  }

  [[nodiscard]] Words describe(const void* address) const override {
    const auto words_of = [](const Range& range) {
      return Words{name_of(range), range.begin, range.begin + range.bytes, false};
    };
    if (const auto range = range_of(address)) return words_of(*range);
    if (const auto block = heap_block_of(address)) return words_of_heap(*block);
    constexpr std::uintptr_t kNearNull = 65536;
    if (reinterpret_cast<std::uintptr_t>(address) < kNearNull)
      return {"a null pointer", nullptr, nullptr, false};
    if (const auto freed = freed_range_of(address)) {
      Words words = words_of(*freed);
      words.name += ", which was freed";
      words.freed = true;
      return words;
    }
    if (auto words = of_tensor(address)) return *words;
    // Whose end is near.
    constexpr std::ptrdiff_t kNear = 4096;
    const auto* at = static_cast<const char*>(address);
    if (const auto block = heap_block_before(address);
        block && at - (block->begin + block->bytes) < kNear)
      return words_of_heap(*block);
    for (int i = 0; i < count_of_devices(); ++i) {
      if (!memory_of(i).has(address)) continue;
      const auto before = range_before(address);
      if (!before || before->device != i || !memory_of(i).has(before->begin))
        return {"memory of the device that was freed, or never allocated", nullptr, nullptr, true};
      return words_of(*before);
    }
    if (const auto before = range_before(address);
        before && at - (before->begin + before->bytes) < kNear)
      return words_of(*before);
    return {fmt::format("address {}, which is memory of the host that no device reaches",
                        fmt::ptr(address)),
            nullptr, nullptr, false};
  }

 private:
  static Words words_of_heap(const HeapBlock& block) {
    return {fmt::format("memory of {} bytes of the heap of kernels", block.bytes), block.begin,
            block.begin + block.bytes, false};
  }
  static std::optional<Words> of_tensor(const void* address) {
    const Devices* outside = devices_outside();
    if (outside == nullptr || outside->version < 2) return std::nullopt;
    TensorBytes bytes;
    std::array<char, 256> text{};
    if (!outside->describe_bytes(address, &bytes, text.data(), text.size())) return std::nullopt;
    return Words{text.data(), bytes.begin, bytes.begin + bytes.count, bytes.freed};
  }
};

check::KernelChecker* the_checker = nullptr;

// Memory of cudaMalloc that the program did not give back.
void find_leaks(check::Findings& findings) {
  for (int device = 0; device < count_of_devices(); ++device) {
    // A device that a kernel has ended takes no calls, so nothing can be freed.
    if (device_state(device).error != 0) continue;
    for (const Range& range : ranges_of_device(device)) {
      if (range.owner != Owner::kDevice && range.owner != Owner::kManaged &&
          range.owner != Owner::kPinned)
        continue;
      if (range.name != nullptr) continue;  // a variable
      if (findings.is_new(check::Cause::kLeak, reinterpret_cast<std::uintptr_t>(range.code)))
        findings.print(check::Cause::kLeak,
                       fmt::format("{} of device {} was never freed", name_of(range), device));
    }
  }
}

// A program that would have ended well ends with 1 if something was found.
void say_at_end(int status, void* /*nothing*/) {
  find_leaks(the_checker->findings());
  const check::Launches launches = the_checker->launches();
  if (launches.checked + launches.unchecked + the_checker->findings().count() == 0) return;
  std::fflush(nullptr);
  fmt::print(stderr, "{}", the_checker->findings().summary(launches));
  if (status != 0 || the_checker->findings().count() == 0) return;
  std::fflush(nullptr);
  _exit(1);
}

const bool kStarted = [] {
  const char* wanted = std::getenv("TORCHPORT_CHECK_KERNELS");
  if (wanted == nullptr || *wanted == '\0') return false;
  static const auto* const kMap = new Map();
  the_checker = new check::KernelChecker(*kMap);
  set_checker(the_checker);
  on_exit(&say_at_end, nullptr);
  return true;
}();

}  // namespace

bool kernels_are_checked() {
  return the_checker != nullptr;
}

}  // namespace torchport::cuda

using torchport::cuda::the_checker;

void torchport_cuda_check_access(const volatile void* address, std::size_t bytes, unsigned flags,
                                 const void* code) {
  if (the_checker != nullptr)
    the_checker->access(static_cast<const char*>(const_cast<const void*>(address)), bytes, flags,
                        reinterpret_cast<std::uintptr_t>(code));
}

void torchport_cuda_check_fence() {
  if (the_checker != nullptr) the_checker->fence();
}

void torchport_cuda_check_index(const char* file, unsigned line, const char* array,
                                unsigned long long index) {
  if (the_checker != nullptr)
    the_checker->beyond_array(
        fmt::format("index {} of an array {}", static_cast<long long>(index), array),
        fmt::format("{}:{}", file, line));
}

void torchport_cuda_check_alignment(const char* file, unsigned line, const char* type,
                                    unsigned long long bytes, const void* address) {
  if (the_checker != nullptr)
    the_checker->misaligned(
        fmt::format("a value of type {} at the address {}, which is no multiple of {}", type,
                    fmt::ptr(address), bytes),
        fmt::format("{}:{}", file, line));
}

void torchport_cuda_check_shift(unsigned bits, unsigned long long amount, const void* code) {
  if (the_checker != nullptr)
    the_checker->arithmetic(
        fmt::format("shifts a number of {} bits by {}: a GPU shifts everything out, a virtual "
                    "device does not here",
                    bits, static_cast<long long>(amount)),
        reinterpret_cast<std::uintptr_t>(code));
}

void torchport_cuda_check_cast(double value, unsigned bits, bool is_signed, bool of_double,
                               const char* type, const void* code) {
  constexpr unsigned kWord = 32;
  // The low bits of a number of 32 bits: both do the same.
  const bool is_alike = bits < kWord && (is_signed ? value >= -0x1p31 : value > -1) &&
                        value < (is_signed ? 0x1p31 : 0x1p32);
  if (the_checker == nullptr || is_alike) return;
  std::string gives = value < 0 ? "the lowest" : "the highest";
  if (std::isnan(value)) gives = of_double || bits > kWord ? "its highest bit alone as" : "0 as";
  the_checker->arithmetic(
      fmt::format("converts {} to {}: a GPU gives {} {}, a virtual device does not here", value,
                  type, gives, type),
      reinterpret_cast<std::uintptr_t>(code));
}

void torchport_cuda_add_finding(unsigned cause, const char* key, const char* text) {
  using namespace torchport::cuda::check;
  if (the_checker == nullptr || cause >= kCauses) return;
  const auto which = static_cast<Cause>(cause);
  if (the_checker->findings().is_new(which, std::hash<std::string>()(key)))
    the_checker->findings().print(which, text);
}

void torchport_cuda_count_launch() {
  if (the_checker != nullptr) the_checker->count_launch();
}

namespace torchport::cuda {

FileShared::FileShared(const volatile void* (*where)(), std::size_t bytes, const char* name,
                       std::size_t element)
    : where_(where) {
  check::KernelChecker::add_file_shared(where, bytes, name, element);
}

FileShared::~FileShared() {
  check::KernelChecker::remove_file_shared(where_);
}

void torchport_cuda_note_shared(const volatile void* address, std::size_t bytes, const char* name,
                                std::size_t element) {
  if (the_checker != nullptr)
    the_checker->note_shared(static_cast<const char*>(const_cast<const void*>(address)), bytes,
                             name, element);
}

void torchport_cuda_check_copy(const volatile void* to, const volatile void* from,
                               std::size_t bytes) {
  if (the_checker == nullptr || bytes == 0) return;
  const auto code = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  const auto tell = [&](const volatile void* at, unsigned flags) {
    the_checker->access(static_cast<const char*>(const_cast<const void*>(at)), bytes,
                        flags | check::kUnaligned, code);
  };
  if (from != nullptr) tell(from, 0);
  tell(to, check::kWrite);
}

void torchport_cuda_check_async(const volatile void* to, std::size_t bytes) {
  if (the_checker != nullptr)
    the_checker->copies_later(static_cast<const char*>(const_cast<const void*>(to)), bytes,
                              reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}

void torchport_cuda_check_commit() {
  if (the_checker != nullptr) the_checker->commit_copies();
}

void torchport_cuda_check_wait(unsigned left) {
  if (the_checker != nullptr) the_checker->wait_for_copies(left, left == kNoCopies);
}

void torchport_cuda_note_arguments(const NotedArgument* first, std::size_t count) {
  if (the_checker == nullptr) return;
  std::vector<check::Argument> all;
  for (const NotedArgument* one = first; one != first + count; ++one)
    if (one->pointer != nullptr)
      all.push_back({one->name, static_cast<const char*>(const_cast<const void*>(one->pointer)),
                     one->element});
  the_checker->note_arguments(std::move(all));
}

}  // namespace torchport::cuda
