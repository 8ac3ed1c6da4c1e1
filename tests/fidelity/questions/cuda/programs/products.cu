// mma.sync: bits of results for inputs that show how products are aligned, cut off and summed.
// Rows of A and columns of B are 32 bytes (or 16) of K elements, so that all types lie alike in registers.
#include "told.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>

namespace {

enum Op { kHalf16, kHalf8, kHalfHalf16, kHalfHalf8, kBf16, kBf8, kTf8, kTf4, kE4m3, kE5m2, kInt32, kInt32Sat, kUint32, kInt16, kOps };
const char* const kNames[] = {"m16n8k16 f32 f16", "m16n8k8 f32 f16", "m16n8k16 f16 f16", "m16n8k8 f16 f16", "m16n8k16 f32 bf16",
                              "m16n8k8 f32 bf16", "m16n8k8 f32 tf32", "m16n8k4 f32 tf32", "m16n8k32 f32 e4m3",
                              "m16n8k32 f32 e5m2", "m16n8k32 s32 s8", "m16n8k32 s32 s8 satfinite", "m16n8k32 s32 u8",
                              "m16n8k16 s32 s8"};
// Bytes of an element, bytes of a row.
const int kSizes[] = {2, 2, 2, 2, 2, 2, 4, 4, 1, 1, 1, 1, 1, 1};
const int kRows[] = {32, 16, 32, 16, 32, 16, 32, 16, 32, 32, 32, 32, 32, 16};

#define LONG(OPCODE, KIND)                                                                        \
  asm volatile("mma.sync.aligned." OPCODE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+" KIND(d[0]), "+" KIND(d[1]), "+" KIND(d[2]), "+" KIND(d[3])                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define SHORT(OPCODE, KIND)                                                               \
  asm volatile("mma.sync.aligned." OPCODE " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
               : "+" KIND(d[0]), "+" KIND(d[1]), "+" KIND(d[2]), "+" KIND(d[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]))

template <int kOp>
__global__ void multiply(const unsigned char* A, const unsigned char* B, const float* C, float* D) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  constexpr int row = (kOp == kHalf8 || kOp == kHalfHalf8 || kOp == kBf8 || kOp == kTf4 || kOp == kInt16) ? 16 : 32;
  auto word = [&](const unsigned char* m, int r, int byte) { return *reinterpret_cast<const unsigned*>(m + r * row + byte); };
  unsigned a[4] = {word(A, g, t * 4), word(A, g + 8, t * 4), 0, 0}, b[2] = {word(B, g, t * 4), 0};
  if (row == 32) a[2] = word(A, g, t * 4 + 16), a[3] = word(A, g + 8, t * 4 + 16), b[1] = word(B, g, t * 4 + 16);
  int places[4] = {g * 8 + t * 2, g * 8 + t * 2 + 1, g * 8 + 64 + t * 2, g * 8 + 65 + t * 2};
  if constexpr (kOp == kHalfHalf16 || kOp == kHalfHalf8) {
    __half2 two[2] = {__floats2half2_rn(C[places[0]], C[places[1]]), __floats2half2_rn(C[places[2]], C[places[3]])};
    unsigned d[2];
    memcpy(d, two, 8);
    if constexpr (kOp == kHalfHalf16)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                   : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                   : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    memcpy(two, d, 8);
    for (int i = 0; i < 4; ++i) D[places[i]] = i % 2 ? __high2float(two[i / 2]) : __low2float(two[i / 2]);
  } else if constexpr (kOp >= kInt32) {
    int d[4];
    for (int i = 0; i < 4; ++i) d[i] = __float_as_int(C[places[i]]);
    if constexpr (kOp == kInt32) LONG("m16n8k32.row.col.s32.s8.s8.s32", "r");
    if constexpr (kOp == kInt32Sat) LONG("m16n8k32.row.col.satfinite.s32.s8.s8.s32", "r");
    if constexpr (kOp == kUint32) LONG("m16n8k32.row.col.s32.u8.s8.s32", "r");
    if constexpr (kOp == kInt16) SHORT("m16n8k16.row.col.s32.s8.s8.s32", "r");
    for (int i = 0; i < 4; ++i) D[places[i]] = __int_as_float(d[i]);
  } else {
    float d[4];
    for (int i = 0; i < 4; ++i) d[i] = C[places[i]];
    if constexpr (kOp == kHalf16) LONG("m16n8k16.row.col.f32.f16.f16.f32", "f");
    if constexpr (kOp == kHalf8) SHORT("m16n8k8.row.col.f32.f16.f16.f32", "f");
    if constexpr (kOp == kBf16) LONG("m16n8k16.row.col.f32.bf16.bf16.f32", "f");
    if constexpr (kOp == kBf8) SHORT("m16n8k8.row.col.f32.bf16.bf16.f32", "f");
    if constexpr (kOp == kTf8) LONG("m16n8k8.row.col.f32.tf32.tf32.f32", "f");
    if constexpr (kOp == kTf4) SHORT("m16n8k4.row.col.f32.tf32.tf32.f32", "f");
    if constexpr (kOp == kE4m3) LONG("m16n8k32.row.col.f32.e4m3.e4m3.f32", "f");
    if constexpr (kOp == kE5m2) LONG("m16n8k32.row.col.f32.e5m2.e5m2.f32", "f");
    for (int i = 0; i < 4; ++i) D[places[i]] = d[i];
  }
}

void put(int op, unsigned char* at, float value) {
  if (op >= kInt32) {
    *at = static_cast<unsigned char>(static_cast<int>(fmodf(value * 100.0f, 256.0f)));
  } else if (op == kE4m3 || op == kE5m2) {
    *at = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, op == kE4m3 ? __NV_E4M3 : __NV_E5M2);
  } else if (kSizes[op] == 4) {
    std::memcpy(at, &value, 4);  // as it is: the bits below tf32's are the unit's to drop
  } else if (op == kBf16 || op == kBf8) {
    __nv_bfloat16 x = __float2bfloat16(value);
    std::memcpy(at, &x, 2);
  } else {
    __half x = __float2half(value);
    std::memcpy(at, &x, 2);
  }
}

template <int kOp>
void ask(int kind) {
  Numbers numbers;
  int k_count = kRows[kOp] / kSizes[kOp];
  bool narrow = kOp == kE4m3;
  std::vector<unsigned char> a(16 * kRows[kOp]), b(8 * kRows[kOp]);
  std::vector<float> c(128);
  auto wide = [&](int range) { return ldexpf(numbers.unit(), static_cast<int>(numbers.word() % (2 * range + 1)) - range); };
  int range = narrow ? 4 : 9;
  for (int r = 0; r < 16; ++r)
    for (int k = 0; k < k_count; ++k) {
      float x = 0;
      if (kind == 0) x = numbers.unit();
      if (kind == 1) x = wide(range);
      if (kind == 2) x = k == 0 ? 1.0f : ldexpf(1.0f, -(narrow ? r % 7 : r % 14));
      if (kind == 3) x = ldexpf(k % 2 ? 1.5f : 1.0f, -(narrow ? r % 7 : r % 14));
      if (kind == 4) x = k == 1 ? 96.0f : k == k_count - 1 ? -96.0f : numbers.unit() * 0.25f;
      if (kind == 5) x = k == r % k_count ? 200.0f + numbers.unit() * 8 : numbers.unit() * 0.05f;
      if (kind == 6) x = k == 3 % k_count ? (r == 0 ? INFINITY : r == 1 ? NAN : r == 2 ? 6e4f : r == 3 ? 1e-7f : 0.0f) : (r > 8 ? -0.0f : 0.0f);
      put(kOp, &a[r * kRows[kOp] + k * kSizes[kOp]], x);
    }
  for (int n = 0; n < 8; ++n)
    for (int k = 0; k < k_count; ++k) {
      float x = 0;
      if (kind == 0) x = numbers.unit();
      if (kind == 1) x = wide(range);
      if (kind == 2) x = k == 0 ? ldexpf(1.0f, n) : ldexpf(1.0f, -(narrow ? n % 7 : n));
      if (kind == 3) x = ldexpf(1.0f, -n);
      if (kind == 4) x = k == 1 || k == k_count - 1 ? 32.0f : numbers.unit() * 0.25f;
      if (kind == 5) x = 1.0f + numbers.unit() * 0.4f;
      if (kind == 6) x = n == 0 ? 0.0f : n == 1 ? -1.0f : n == 2 ? 1e-7f : n == 3 ? 3.0f : 1.0f;
      put(kOp, &b[n * kRows[kOp] + k * kSizes[kOp]], x);
    }
  for (int i = 0; i < 128; ++i) {
    c[i] = kind == 0 ? 0 : kind == 1 ? wide(12) : kind == 2 ? 0 : kind == 3 ? (i % 2 ? -1.0f : 1.0f) : kind == 4 ? numbers.unit() * 1e-3f
           : kind == 5 ? (i % 3 ? 1e4f : -3e-5f) : (i % 2 ? -0.0f : i % 4 ? 1e-40f : 0.0f);
    if (kOp >= kInt32) {
      int whole = kind == 0 ? 0 : static_cast<int>(numbers.word()) | (kind == 2 ? 0x7fffff00 : 0);
      std::memcpy(&c[i], &whole, 4);
    }
  }
  Array<unsigned char> da(a), db(b);
  Array<float> dc(c), dd(128);
  multiply<kOp><<<1, 32>>>(da, db, dc, dd);
  FINISH();
  std::string name = std::string(kNames[kOp]) + " kind " + std::to_string(kind);
  tell_bits(name, dd.host(), kOp >= kInt32 ? 16 : 64);
  std::printf("%s inputs: %016llx %016llx %016llx\n", name.c_str(), (unsigned long long)hash_of(a.data(), a.size()),
              (unsigned long long)hash_of(b.data(), b.size()), (unsigned long long)hash_of(c.data(), 512));
}

template <int kOp>
void ask_kinds() {
  for (int kind = 0; kind < (kOp >= kInt32 ? 3 : 7); ++kind) ask<kOp>(kind);
  if constexpr (kOp + 1 < kOps) ask_kinds<kOp + 1>();
}

}  // namespace

int main() {
  ask_kinds<0>();
  return 0;
}
