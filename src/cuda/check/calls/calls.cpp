// What GCC's -fsanitize=thread, bounds and alignment call in a kernel that was built for checks
// (names and arguments: GCC's gcc/sanitizer.def and libsanitizer). On the host these do nothing.
#include "cuda/check/calls.h"

#include <cstdint>
#include <cstring>

namespace {

using torchport::cuda::torchport_cuda_walk;

// As AccessFlags of kernel_checker.h, which this library does not link.
constexpr unsigned kRead = 0;
constexpr unsigned kWrite = 1;
constexpr unsigned kAtomic = 2;
constexpr unsigned kVolatile = 4;
constexpr unsigned kUnaligned = 8;
constexpr unsigned kAcquires = 16;
constexpr unsigned kReleases = 32;
constexpr unsigned kStores = 64;

// What an operation with an order of memory is: __ATOMIC_RELEASE and above are fences.
unsigned atomic_flags(unsigned access, int order) {
  unsigned flags = access | kAtomic | kAcquires;
  if (order >= __ATOMIC_RELEASE) flags |= kReleases;
  return flags;
}

struct SourceLocation {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
};
struct TypeName {
  std::uint16_t kind;
  // Of a float its bits; of an integer the logarithm of them, and whether it is signed below.
  std::uint16_t information;
  char name[1];
  [[nodiscard]] unsigned bits() const { return 1U << (information >> 1U); }
  [[nodiscard]] bool is_signed() const { return (information & 1U) != 0; }
};
struct Bounds {
  SourceLocation at;
  const TypeName* array;
  const TypeName* index;
};
struct Shift {
  SourceLocation at;
  const TypeName* value;
  const TypeName* amount;
};
struct CastTypes {
  const TypeName* from;
  const TypeName* to;
};
// Behind a location, if GCC knows one: then the first bytes are those of a file's name, and not the
// kind of a type (as libubsan tells them apart).
CastTypes cast_types(const void* data) {
  const auto* const* words = static_cast<const unsigned char* const*>(data);
  const bool has_location = words[0][0] + words[0][1] >= 2 && words[0][0] != 0xff;
  CastTypes types{};
  std::memcpy(&types, static_cast<const void*>(words + (has_location ? 2 : 0)), sizeof(types));
  return types;
}
struct Mismatch {
  SourceLocation at;
  const TypeName* type;
  unsigned char alignment;  // its logarithm
  unsigned char kind;
};

}  // namespace

#define TORCHPORT_TELL(address, bytes, flags) \
  if (torchport_cuda_walk != nullptr)         \
  torchport_cuda_check_access(address, bytes, flags, __builtin_return_address(0))

#define TORCHPORT_CALL extern "C" TORCHPORT_CUDA_API

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,bugprone-macro-parentheses)

#define TORCHPORT_ACCESS(NAME, BYTES, FLAGS) \
  TORCHPORT_CALL void NAME(void* address) {  \
    TORCHPORT_TELL(address, BYTES, FLAGS);   \
  }
#define TORCHPORT_ACCESSES(BYTES)                                                                \
  TORCHPORT_ACCESS(__tsan_read##BYTES, BYTES, kRead)                                             \
  TORCHPORT_ACCESS(__tsan_write##BYTES, BYTES, kWrite)                                           \
  TORCHPORT_ACCESS(__tsan_unaligned_read##BYTES, BYTES, kRead | kUnaligned)                      \
  TORCHPORT_ACCESS(__tsan_unaligned_write##BYTES, BYTES, kWrite | kUnaligned)                    \
  TORCHPORT_ACCESS(__tsan_volatile_read##BYTES, BYTES, kRead | kVolatile)                        \
  TORCHPORT_ACCESS(__tsan_volatile_write##BYTES, BYTES, kWrite | kVolatile)                      \
  TORCHPORT_ACCESS(__tsan_unaligned_volatile_read##BYTES, BYTES, kRead | kVolatile | kUnaligned) \
  TORCHPORT_ACCESS(__tsan_unaligned_volatile_write##BYTES, BYTES, kWrite | kVolatile | kUnaligned)
TORCHPORT_ACCESSES(1)
TORCHPORT_ACCESSES(2)
TORCHPORT_ACCESSES(4)
TORCHPORT_ACCESSES(8)
TORCHPORT_ACCESSES(16)

TORCHPORT_CALL void __tsan_read_range(void* address, unsigned long bytes) {
  TORCHPORT_TELL(address, bytes, kRead | kUnaligned);
}
TORCHPORT_CALL void __tsan_write_range(void* address, unsigned long bytes) {
  TORCHPORT_TELL(address, bytes, kWrite | kUnaligned);
}
TORCHPORT_CALL void __tsan_vptr_update(void** address, void* /*value*/) {
  TORCHPORT_TELL(static_cast<void*>(address), sizeof(void*), kWrite);
}
TORCHPORT_CALL void __tsan_vptr_read(void** address) {
  TORCHPORT_TELL(static_cast<void*>(address), sizeof(void*), kRead);
}
TORCHPORT_CALL void __tsan_init() {}
TORCHPORT_CALL void __tsan_func_entry(void* /*caller*/) {}
TORCHPORT_CALL void __tsan_func_exit() {}

#define TORCHPORT_ATOMIC_CHANGE(BITS, T, NAME)                                             \
  TORCHPORT_CALL T __tsan_atomic##BITS##_##NAME(volatile T* address, T value, int order) { \
    TORCHPORT_TELL(address, sizeof(T), atomic_flags(kWrite, order));                       \
    return __atomic_##NAME(address, value, __ATOMIC_SEQ_CST);                              \
  }
#define TORCHPORT_ATOMIC_EXCHANGE(BITS, T, FORM, WEAK)                                   \
  TORCHPORT_CALL bool __tsan_atomic##BITS##_compare_exchange_##FORM(                     \
      volatile T* address, T* expected, T value, int order, int /*failed*/) {            \
    TORCHPORT_TELL(address, sizeof(T), atomic_flags(kWrite, order));                     \
    return __atomic_compare_exchange_n(address, expected, value, WEAK, __ATOMIC_SEQ_CST, \
                                       __ATOMIC_SEQ_CST);                                \
  }
#define TORCHPORT_ATOMICS(BITS, T)                                                           \
  TORCHPORT_CALL T __tsan_atomic##BITS##_load(const volatile T* address, int order) {        \
    TORCHPORT_TELL(address, sizeof(T), atomic_flags(kRead, order));                          \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                       \
  }                                                                                          \
  TORCHPORT_CALL void __tsan_atomic##BITS##_store(volatile T* address, T value, int order) { \
    TORCHPORT_TELL(address, sizeof(T), atomic_flags(kWrite | kStores, order));               \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                      \
  }                                                                                          \
  TORCHPORT_CALL T __tsan_atomic##BITS##_exchange(volatile T* address, T value, int order) { \
    TORCHPORT_TELL(address, sizeof(T), atomic_flags(kWrite, order));                         \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                            \
  }                                                                                          \
  TORCHPORT_ATOMIC_CHANGE(BITS, T, fetch_add)                                                \
  TORCHPORT_ATOMIC_CHANGE(BITS, T, fetch_sub)                                                \
  TORCHPORT_ATOMIC_CHANGE(BITS, T, fetch_and)                                                \
  TORCHPORT_ATOMIC_CHANGE(BITS, T, fetch_or)                                                 \
  TORCHPORT_ATOMIC_CHANGE(BITS, T, fetch_xor)                                                \
  TORCHPORT_ATOMIC_CHANGE(BITS, T, fetch_nand)                                               \
  TORCHPORT_ATOMIC_EXCHANGE(BITS, T, strong, false)                                          \
  TORCHPORT_ATOMIC_EXCHANGE(BITS, T, weak, true)
TORCHPORT_ATOMICS(8, std::uint8_t)
TORCHPORT_ATOMICS(16, std::uint16_t)
TORCHPORT_ATOMICS(32, std::uint32_t)
TORCHPORT_ATOMICS(64, std::uint64_t)

TORCHPORT_CALL void __tsan_atomic_thread_fence(int /*order*/) {
  if (torchport_cuda_walk != nullptr) torchport_cuda_check_fence();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
TORCHPORT_CALL void __tsan_atomic_signal_fence(int /*order*/) {}

TORCHPORT_CALL void __ubsan_handle_out_of_bounds(const Bounds* data, unsigned long index) {
  if (torchport_cuda_walk != nullptr)
    torchport_cuda_check_index(data->at.file, data->at.line, &data->array->name[0], index);
}
// Only an access has to be aligned, to 16 bytes at most; a reference or a member may be of any
// type.
TORCHPORT_CALL void __ubsan_handle_type_mismatch_v1(const Mismatch* data, unsigned long address) {
  constexpr unsigned char kStore = 1;
  constexpr unsigned kWidest = 4;
  const unsigned long bytes = 1UL << (data->alignment < kWidest ? data->alignment : kWidest);
  if (torchport_cuda_walk == nullptr || data->kind > kStore || address % bytes == 0) return;
  torchport_cuda_check_alignment(data->at.file, data->at.line, &data->type->name[0], bytes,
                                 reinterpret_cast<const void*>(address));  // NOLINT
}

TORCHPORT_CALL void __ubsan_handle_shift_out_of_bounds(const Shift* data, unsigned long /*value*/,
                                                       unsigned long amount) {
  if (torchport_cuda_walk != nullptr)
    torchport_cuda_check_shift(data->value->bits(), amount, __builtin_return_address(0));
}
TORCHPORT_CALL void __ubsan_handle_float_cast_overflow(const void* data, unsigned long value) {
  if (torchport_cuda_walk == nullptr) return;
  const CastTypes types = cast_types(data);
  constexpr unsigned kFloat = 32;
  constexpr unsigned kDouble = 64;
  const unsigned bits = types.from->information;
  if (bits != kFloat && bits != kDouble) return;
  double number = 0;
  if (bits == kFloat) {
    float narrow = 0;
    std::memcpy(&narrow, &value, sizeof(narrow));
    number = narrow;
  } else {
    std::memcpy(&number, &value, sizeof(number));
  }
  torchport_cuda_check_cast(number, types.to->bits(), types.to->is_signed(), bits == kDouble,
                            &types.to->name[0], __builtin_return_address(0));
}

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,bugprone-macro-parentheses)
