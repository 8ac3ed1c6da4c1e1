// __shfl_sync in its four forms: widths, sources out of range, part of a warp, types.
#include "told.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

constexpr unsigned kAll = 0xffffffffu;

template <class T>
__device__ T shuffled(int form, unsigned mask, T value, int source, int width) {
  switch (form) {
    case 0: return __shfl_sync(mask, value, source, width);
    case 1: return __shfl_up_sync(mask, value, source, width);
    case 2: return __shfl_down_sync(mask, value, source, width);
    default: return __shfl_xor_sync(mask, value, source, width);
  }
}

// `own` adds the lane's place to the source, so that each lane asks another.
__global__ void widths(int form, int source, int own, int width, int* out) {
  int lane = threadIdx.x;
  out[lane] = shuffled(form, kAll, lane, source + own * lane, width);
}

__global__ void parts(unsigned mask, int form, int source, int width, int* out) {
  int lane = threadIdx.x;
  out[lane] = -1;
  if (mask >> lane & 1) out[lane] = shuffled(form, mask, lane + 100, source, width);
}

template <class T>
__global__ void types(const T* in, T* out) {
  int lane = threadIdx.x;
  for (int form = 0; form < 4; ++form) out[form * 32 + lane] = shuffled(form, kAll, in[lane], 5, 16);
}

// The value and the predicate of the instruction: whether the source was in range.
__global__ void predicates(int kind, unsigned b, unsigned c, int* out) {
  int lane = threadIdx.x, value = 0, inside = 0;
#define ONE(K, NAME)                                                                                  \
  case K:                                                                                             \
    asm volatile("{.reg .pred p; shfl.sync." NAME ".b32 %0|p, %2, %3, %4, 0xffffffff; selp.s32 %1, 1, 0, p;}" \
                 : "=r"(value), "=r"(inside) : "r"(lane), "r"(b), "r"(c));                            \
    break;
  switch (kind) {
    ONE(0, "idx")
    ONE(1, "up")
    ONE(2, "down")
    ONE(3, "bfly")
  }
  out[lane] = value + 1000 * inside;
}

template <class T>
void ask_type(const char* name) {
  std::vector<T> values(32);
  Numbers numbers;
  for (T& one : values) {
    unsigned char bytes[sizeof(T)];
    for (unsigned char& b : bytes) b = static_cast<unsigned char>(numbers.word());
    std::memcpy(static_cast<void*>(&one), bytes, sizeof(T));
  }
  Array<T> in(values), out(128);
  types<T><<<1, 32>>>(in, out);
  FINISH();
  tell_bits(std::string("in ") + name, values, 4);
  tell_bits(std::string("type ") + name, out.host(), 8);
}

}  // namespace

int main() {
  const char* forms[] = {"idx", "up", "down", "xor"};
  Array<int> out(32);
  for (int form = 0; form < 4; ++form)
    for (int width : {32, 16, 8, 4, 2, 1})
      for (int source : {0, 1, 3, 7, 17, 31, 32, 33, 40, 64, -1, -5}) {
        widths<<<1, 32>>>(form, source, 0, width, out);
        FINISH();
        tell(std::string(forms[form]) + " width " + std::to_string(width) + " source " + std::to_string(source),
             out.host());
      }
  for (int form = 0; form < 4; ++form)
    for (int source : {0, 1, -3, 20}) {
      widths<<<1, 32>>>(form, source, 1, 8, out);
      FINISH();
      tell(std::string(forms[form]) + " width 8 source lane + " + std::to_string(source), out.host());
    }
  for (unsigned mask : {0x0000ffffu, 0xaaaaaaaau, 0xff00ff00u, 0x80000001u})
    for (int form = 0; form < 4; ++form)
      for (int source : {0, 8}) {
        if (form != 0 && mask == 0x80000001u) continue;
        if (mask == 0xaaaaaaaau && form == 0) continue;  // lane 0 takes no part
        if (mask == 0xff00ff00u && form == 0) continue;
        int width = mask == 0x0000ffffu ? 16 : 32;
        if (form == 0 && mask == 0x80000001u) source = 31;
        int by = form == 0 ? source : mask == 0xaaaaaaaau ? 2 : mask == 0xff00ff00u ? 1 + source / 2 : source;
        if (mask == 0xff00ff00u) width = 8;
        parts<<<1, 32>>>(mask, form, by, width, out);
        FINISH();
        char name[80];
        std::snprintf(name, sizeof name, "mask %08x %s by %d width %d", mask, forms[form], by, width);
        tell(name, out.host());
      }
  for (int kind = 0; kind < 4; ++kind)
    for (unsigned b : {0u, 1u, 9u, 31u, 32u, 37u})
      for (unsigned c : {0x1fu, 0u, 0x181fu, 0x1c00u, 0x0a15u}) {
        predicates<<<1, 32>>>(kind, b, c, out);
        FINISH();
        char name[80];
        std::snprintf(name, sizeof name, "ptx %s b %u c %04x", forms[kind], b, c);
        tell(name, out.host());
      }
  ask_type<int>("int");
  ask_type<unsigned>("unsigned");
  ask_type<long>("long");
  ask_type<unsigned long long>("unsigned long long");
  ask_type<float>("float");
  ask_type<double>("double");
  ask_type<__half>("half");
  ask_type<__half2>("half2");
  ask_type<__nv_bfloat16>("bfloat16");
  ask_type<__nv_bfloat162>("bfloat162");
  return 0;
}
