// Instructions of PTX on matrices that the lanes of a warp hold in parts: ldmatrix, stmatrix,
// movmatrix and mma.sync. Which lane holds what is the PTX ISA's, section "Warp-level matrix
// instructions". How products are summed was measured on an H100: see matrix_sum.
#pragma once

#include "ptx_conversion.h"
#include "ptx_memory.h"
#include "ptx_warp.h"

namespace torchport::ptx {

// Words of all lanes, after each left `kWords`.
template <int kWords>
struct Lanes {
  unsigned words[32][kWords];

  Lanes(const unsigned (&mine)[kWords], const Site& site) {
    memcpy(words, cuda::exchange(~0u, mine, sizeof(mine), site), sizeof(words));
  }
};

// Matrix i of 8 rows of 16 bytes: lanes 8 i to 8 i + 7 have the rows' addresses. Lane l gets the
// pair l % 4 of row l / 4, or, transposed, of column l / 4.
template <int kCount>
void ldmatrix(unsigned (&d)[kCount], const char* row, bool transposed, const Site& site) {
  unsigned long long mine = reinterpret_cast<unsigned long long>(row), rows[32];
  memcpy(rows, cuda::exchange(~0u, &mine, sizeof(mine), site), sizeof(rows));
  const unsigned lane = cuda::lane_of_thread(), r = lane / 4, c = lane % 4 * 2;
  for (int i = 0; i < kCount; ++i) {
    unsigned short pair[2];
    for (unsigned k = 0; k < 2; ++k) {
      const unsigned from = transposed ? c + k : r, element = transposed ? r : c + k;
      memcpy(&pair[k],
             reinterpret_cast<const char*>(rows[8 * i + static_cast<int>(from)]) + 2 * element, 2);
    }
    d[i] = pair[0] | static_cast<unsigned>(pair[1]) << 16;
  }
  // Nobody may write to a row before all have read.
  unsigned done = 0;
  (void)cuda::exchange(~0u, &done, sizeof(done), site);
}

template <int kCount>
void stmatrix(char* row, const unsigned (&a)[kCount], bool transposed, const Site& site) {
  struct Left {
    unsigned long long row;
    unsigned words[kCount];
  } mine{reinterpret_cast<unsigned long long>(row), {}}, all[32];
  memcpy(mine.words, a, sizeof(mine.words));
  memcpy(all, cuda::exchange(~0u, &mine, sizeof(mine), site), sizeof(all));
  const unsigned lane = cuda::lane_of_thread(), matrix = lane / 8, r = lane % 8;
  if (static_cast<int>(matrix) < kCount) {
    // The row that this lane addresses.
    for (unsigned c = 0; c < 8; ++c) {
      const unsigned from = transposed ? c * 4 + r / 2 : r * 4 + c / 2,
                     k = transposed ? r % 2 : c % 2;
      const unsigned short element =
          static_cast<unsigned short>(all[from].words[matrix] >> (16 * k));
      memcpy(row + 2 * c, &element, 2);
    }
  }
  unsigned done = 0;
  (void)cuda::exchange(~0u, &done, sizeof(done), site);
}

template <class D, class A>
void movmatrix(D& d, A a, const Site& site) {
  const unsigned mine[1] = {static_cast<unsigned>(a)};
  const Lanes<1> all(mine, site);
  const unsigned lane = cuda::lane_of_thread(), r = lane / 4, c = lane % 4 * 2;
  unsigned result = 0;
  for (unsigned k = 0; k < 2; ++k)
    result |= (all.words[(c + k) * 4 + r / 2][0] >> (16 * (r % 2)) & 0xffff) << (16 * k);
  set_bits(d, result);
}

// ---- mma.sync ----
struct tf32 {};

// A number as its significand and exponent: m * 2^e, or what is none.
struct Term {
  long long m = 0;
  int e = 0;
  bool infinite = false, nan = false, negative = false;
};
// kMantissa: bits behind the point, so that m is below 2^(kMantissa + 1) and a subnormal has the
// least e.
template <int kExponent, int kMantissa>
Term term_of(unsigned b) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  const unsigned e = b >> kMantissa & ((1u << kExponent) - 1), f = b & ((1u << kMantissa) - 1);
  Term t;
  t.negative = b >> (kExponent + kMantissa) & 1;
  if (e == (1u << kExponent) - 1) {
    t.nan = f != 0;
    t.infinite = f == 0;
  }
  t.m = e ? f | 1u << kMantissa : f;
  t.e = (e ? static_cast<int>(e) : 1) - kBias;  // of the bit before the point
  return t;
}

// How an H100 multiplies and adds elements of a type: kSum products at a time; the sum and they are
// cut off below the bit kKept behind the largest one's point.
template <class T>
struct Elements;
template <>
struct Elements<f16> {
  static constexpr int kBits = 16, kMantissa = 10, kSum = 16, kKept = 25;
  static Term term(unsigned b) { return term_of<5, 10>(b); }
};
template <>
struct Elements<bf16> {
  static constexpr int kBits = 16, kMantissa = 7, kSum = 16, kKept = 25;
  static Term term(unsigned b) { return term_of<8, 7>(b); }
};
template <>
struct Elements<tf32> {
  static constexpr int kBits = 32, kMantissa = 10, kSum = 8, kKept = 25;
  static Term term(unsigned b) { return term_of<8, 10>(b >> 13); }
};
template <>
struct Elements<e4m3> {
  static constexpr int kBits = 8, kMantissa = 3, kSum = 16, kKept = 25;
  static Term term(unsigned b) {
    Term t = term_of<4, 3>(b);
    t.nan = (b & 0x7f) == 0x7f;
    t.infinite = false;
    return t;
  }
};
template <>
struct Elements<e5m2> {
  static constexpr int kBits = 8, kMantissa = 2, kSum = 16, kKept = 25;
  static Term term(unsigned b) { return term_of<5, 2>(b); }
};

// c + the sum of a[k] b[k], each step as the unit does it. The result is cut off to float.
template <class TA, class TB, int kDepth>
float matrix_sum(const unsigned* a, const unsigned* b, float c) {
  constexpr int kStep = Elements<TA>::kSum < kDepth ? Elements<TA>::kSum : kDepth;
  constexpr int kPoint = Elements<TA>::kMantissa + Elements<TB>::kMantissa;
  constexpr int kKept = Elements<TA>::kKept;
  // Elements of 8 bits are taken by halves of words, and their sum from 0 is added to c.
  constexpr bool kLast = Elements<TA>::kBits == 8;
  const float added = c;
  if (kLast) c = 0;
  for (int k0 = 0; k0 < kDepth; k0 += kStep) {
    Term terms[kStep + 1];
    bool nan = false, up = false, down = false;
    int largest = -100000;
    for (int k = 0; k < kStep; ++k) {
      const int at = kLast ? k / 2 * 4 + k % 2 + k0 / 16 * 2 : k0 + k;
      const Term x = Elements<TA>::term(a[at]), y = Elements<TB>::term(b[at]);
      Term& t = terms[k];
      t.m = x.m * y.m;
      t.e = x.e + y.e;
      t.negative = x.negative != y.negative;
      if (x.nan || y.nan || (x.infinite && y.m == 0) || (y.infinite && x.m == 0))
        nan = true;
      else if (x.infinite || y.infinite)
        (t.negative ? down : up) = true;
      if (t.m != 0 && t.e > largest) largest = t.e;
    }
    const Term last = term_of<8, 23>(bits<unsigned>(c));
    if (last.nan)
      nan = true;
    else if (last.infinite)
      (last.negative ? down : up) = true;
    if (nan || (up && down)) {
      c = float_nan();
      continue;
    }
    if (up || down) {
      c = up ? INFINITY : -INFINITY;
      continue;
    }
    if (last.m != 0 && last.e > largest) largest = last.e;
    if (largest == -100000) {
      c = 0.0f;  // without a sign, whatever theirs
      continue;
    }
    // Units of 2^(largest - kKept).
    auto units = [&](const Term& t, int point) {
      const int shift = t.e - point - (largest - kKept);
      const long long m = shift >= 0 ? t.m << shift : shift < -62 ? 0 : t.m >> -shift;
      return t.negative ? -m : m;
    };
    long long sum = units(last, 23);
    for (int k = 0; k < kStep; ++k) sum += units(terms[k], kPoint);
    c = sum == 0 ? 0.0f
                 : to_float<Round::kZero>(std::ldexp(static_cast<double>(sum), largest - kKept));
  }
  return kLast ? plain_nan(c + added) : c;
}

struct Place {
  unsigned row, column;
};
// Element i of a lane's registers, in matrices of 8 rows of 16 bytes: A has 16 rows (8 for shapes
// m8), B is read by columns.
template <int kBits>
constexpr unsigned per_word() {
  return 32 / kBits;
}

template <int kM, int kN, int kK, class TA, class TB, class TD, int kD, int kA, int kB, int kC>
void mma(unsigned (&d)[kD], const unsigned (&a)[kA], const unsigned (&b)[kB],
         const unsigned (&c)[kC], bool saturate, const Site& site) {
  static_assert((kM == 16 || (kM == 8 && kK == 16 && std::is_same_v<TD, s32>)) && kN == 8,
                "this shape of mma.sync is not available on virtual devices");
  constexpr unsigned kHalves = kM / 8;  // a lane has results of two columns in each 8 rows
  unsigned mine[kA + kB];
  for (int i = 0; i < kA; ++i) mine[i] = a[i];
  for (int i = 0; i < kB; ++i) mine[kA + i] = b[i];
  const Lanes<kA + kB> all(mine, site);
  const unsigned lane = cuda::lane_of_thread(), row = lane / 4, column = lane % 4 * 2;
  constexpr unsigned kEach = per_word<Elements<TA>::kBits>();  // elements of a word
  constexpr unsigned kMask =
      Elements<TA>::kBits == 32 ? ~0u : (1u << (Elements<TA>::kBits % 32)) - 1;
  // Words of a row: 4 lanes have the first 4, then the next 4.
  auto words = [&](unsigned(&to)[kK], unsigned group, unsigned first, unsigned step) {
    for (unsigned k = 0; k < kK; ++k) {
      const unsigned word = k / kEach, shift = k % kEach * Elements<TA>::kBits;
      to[k] = all.words[group * 4 + word % 4][first + word / 4 * step] >> (shift % 32) & kMask;
    }
  };
  unsigned x[kHalves][kK], y[2][kK];
  for (unsigned half = 0; half < kHalves; ++half) words(x[half], row, half, kHalves);
  words(y[0], column, kA, 1);
  words(y[1], column + 1, kA, 1);
  for (unsigned i = 0; i < 2 * kHalves; ++i) {
    const unsigned(&left)[kK] = x[i / 2];
    const unsigned(&right)[kK] = y[i % 2];
    if constexpr (std::is_same_v<TD, s32>) {
      long long sum = static_cast<int>(c[i]);
      for (unsigned k = 0; k < kK; ++k)
        sum += static_cast<long long>(get<TA>(left[k])) * get<TB>(right[k]);
      if (saturate)
        sum = sum > 2147483647ll ? 2147483647ll : sum < -2147483648ll ? -2147483648ll : sum;
      d[i] = static_cast<unsigned>(sum);
    } else if constexpr (std::is_same_v<TD, f16>) {
      const unsigned half = c[i / 2] >> (16 * (i % 2)) & 0xffff;
      const float sum =
          matrix_sum<TA, TB, kK>(left, right, HalfBits::widen(static_cast<unsigned short>(half)));
      d[i / 2] = i % 2 ? d[i / 2] | static_cast<unsigned>(HalfBits::narrow(sum)) << 16
                       : HalfBits::narrow(sum);
    } else {
      d[i] = bits<unsigned>(matrix_sum<TA, TB, kK>(left, right, bits<float>(c[i])));
    }
  }
  (void)saturate;
}
template <>
struct Elements<u8> {
  static constexpr int kBits = 8;
};
template <>
struct Elements<s8> {
  static constexpr int kBits = 8;
};

// m8n8k4 of double: each lane has one of A and of B, and two of C.
template <int kM, int kN, int kK, class TA, class TB, class TD>
void mma(unsigned long long (&d)[2], const unsigned long long (&a)[1],
         const unsigned long long (&b)[1], const unsigned long long (&c)[2], bool,
         const Site& site) {
  static_assert(kM == 8 && kN == 8 && kK == 4,
                "this shape of mma.sync is not available on virtual devices");
  const double mine[2] = {bits<double>(a[0]), bits<double>(b[0])};
  double all[32][2];
  memcpy(all, cuda::exchange(~0u, mine, sizeof(mine), site), sizeof(all));
  const unsigned lane = cuda::lane_of_thread(), row = lane / 4, column = lane % 4 * 2;
  for (unsigned i = 0; i < 2; ++i) {
    double sum = bits<double>(c[i]);
    for (unsigned k = 0; k < 4; ++k)
      sum = __builtin_fma(all[row * 4 + k][0], all[(column + i) * 4 + k][1], sum);
    d[i] = bits<unsigned long long>(sum);
  }
}

}  // namespace torchport::ptx
