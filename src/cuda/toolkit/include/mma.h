// Fragments of matrices in the lanes of a warp: nvcuda::wmma. Which elements a lane has, and how
// products are summed, is as recorded from an H100 (sm_90).
#pragma once

#include <cstddef>
#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "torchport/ptx_matrix.h"

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

namespace detail {

template <class T>
struct Kind {
  using storage = T;
  static constexpr bool kByte = false, kTf32 = false;
};
template <>
struct Kind<precision::tf32> {
  using storage = float;
  static constexpr bool kByte = false, kTf32 = true;
};
template <>
struct Kind<signed char> {
  using storage = signed char;
  static constexpr bool kByte = true, kTf32 = false;
};
template <>
struct Kind<unsigned char> {
  using storage = unsigned char;
  static constexpr bool kByte = true, kTf32 = false;
};

template <int m, int n, int k, class T>
constexpr bool is_shape() {
  const bool usual = (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32);
  if (std::is_same_v<T, double>) return m == 8 && n == 8 && k == 4;
  if (Kind<T>::kTf32) return m == 16 && n == 16 && k == 8;
  if (std::is_same_v<T, float> || std::is_same_v<T, int>)
    return (usual && k == 16) || (m == 16 && n == 16 && k == 8);
  return usual && k == 16;
}

// Rows of A, columns of B: 8, 16 or 32 of them. A lane has a part of `each` in a row; halves of
// shapes are there twice or four times, so that all fragments of half have 16 elements.
template <class Use, int m, int n, int k, class T>
constexpr int count_of() {
  if (std::is_same_v<T, double>) return std::is_same_v<Use, accumulator> ? 2 : 1;
  if (std::is_same_v<Use, accumulator>) return m * n / 32;
  if (std::is_same_v<T, __half>) return 16;
  return (std::is_same_v<Use, matrix_a> ? m : n) * k / 32;
}

struct Place {
  int line, depth;  // row and column of A and of sums; of B its column and its row
};
// Element i of a lane.
template <class Use, int m, int n, int k, class T>
constexpr Place place(int lane, int i) {
  const int g = lane / 4, t = lane % 4;
  const int b0 = i & 1, b1 = i >> 1 & 1, b2 = i >> 2 & 1, b3 = i >> 3 & 1;
  if (std::is_same_v<T, double>)
    return std::is_same_v<Use, accumulator> ? Place{g, 2 * t + b0} : Place{g, t};
  if (std::is_same_v<Use, accumulator>) {
    if (m == 32) return {g + 8 * b1 + 16 * b2, 2 * t + b0};
    if (m == 8) return {2 * t + b0, g + 8 * b1 + 16 * b2};
    return {g + 8 * b1, 2 * t + b0 + 8 * b2};
  }
  constexpr bool kA = std::is_same_v<Use, matrix_a>;
  constexpr int kLines = kA ? m : n;
  if (Kind<T>::kTf32) return kA ? Place{g + 8 * b0, t + 4 * b1} : Place{g + 8 * b1, t + 4 * b0};
  if (Kind<T>::kByte) return {g + 8 * b2 + 16 * b3, 4 * t + (i & 3)};
  if (kLines == 8) return {g, 2 * t + b0 + 8 * b1};
  if (kLines == 32) return {g + 8 * b1 + 16 * b3, 2 * t + b0 + 8 * b2};
  return kA ? Place{g + 8 * b1, 2 * t + b0 + 8 * b2} : Place{g + 8 * b2, 2 * t + b0 + 8 * b1};
}

}  // namespace detail

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static_assert(detail::is_shape<m, n, k, T>(),
                "this shape of a fragment is not available on virtual devices");
  using element_type = T;
  using storage_element_type = typename detail::Kind<T>::storage;
  static constexpr int num_elements = detail::count_of<Use, m, n, k, T>();
  static constexpr int num_storage_elements = num_elements;
  storage_element_type x[num_elements];
};

inline float __float_to_tf32(float x) {
  unsigned result = 0;
  ::torchport::ptx::cvt_tf32<::torchport::Round::kNearest>(result, ::torchport::bits<unsigned>(x),
                                                           true);
  return ::torchport::bits<float>(result);
}

template <class Use, int m, int n, int k, class T, class Layout, class V>
inline void fill_fragment(fragment<Use, m, n, k, T, Layout>& f, const V& value) {
  for (auto& x : f.x) x = static_cast<typename detail::Kind<T>::storage>(value);
}

namespace detail {

template <class Use, int m, int n, int k, class T>
inline std::size_t offset(int lane, int i, unsigned leading, bool rows) {
  const Place p = place<Use, m, n, k, T>(lane, i);
  const bool swapped = std::is_same_v<Use, matrix_b>;
  const auto row = static_cast<std::size_t>(swapped ? p.depth : p.line);
  const auto column = static_cast<std::size_t>(swapped ? p.line : p.depth);
  return rows ? row * leading + column : column * leading + row;
}

}  // namespace detail

template <class Use, int m, int n, int k, class T, class Layout, class P>
inline void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f, const P* from,
                             unsigned leading) {
  static_assert(!std::is_same_v<Use, accumulator>,
                "an accumulator is loaded with its layout as the last argument");
  ::__syncwarp();
  const int lane = static_cast<int>(::torchport::cuda::lane_of_thread());
  for (int i = 0; i < f.num_elements; ++i)
    f.x[i] =
        from[detail::offset<Use, m, n, k, T>(lane, i, leading, std::is_same_v<Layout, row_major>)];
}
template <int m, int n, int k, class T, class P>
inline void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const P* from, unsigned leading,
                             layout_t layout) {
  ::__syncwarp();
  const int lane = static_cast<int>(::torchport::cuda::lane_of_thread());
  for (int i = 0; i < f.num_elements; ++i)
    f.x[i] =
        from[detail::offset<accumulator, m, n, k, T>(lane, i, leading, layout == mem_row_major)];
}
template <int m, int n, int k, class T, class P>
inline void store_matrix_sync(P* to, const fragment<accumulator, m, n, k, T>& f, unsigned leading,
                              layout_t layout) {
  ::__syncwarp();
  const int lane = static_cast<int>(::torchport::cuda::lane_of_thread());
  for (int i = 0; i < f.num_elements; ++i)
    to[detail::offset<accumulator, m, n, k, T>(lane, i, leading, layout == mem_row_major)] = f.x[i];
}

namespace detail {

// The bits of an element as mma.sync has them.
template <class T, class S>
inline unsigned element_bits(S x) {
  if constexpr (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>)
    return ::torchport::bits<unsigned short>(x);
  else if constexpr (Kind<T>::kTf32)
    return ::torchport::bits<unsigned>(x);
  else
    return static_cast<unsigned>(static_cast<int>(x));
}
template <class T>
using Element =
    std::conditional_t<std::is_same_v<T, __half>, ::torchport::ptx::f16,
                       std::conditional_t<std::is_same_v<T, __nv_bfloat16>, ::torchport::ptx::bf16,
                                          ::torchport::ptx::tf32>>;

// A sum of products, for which a and b are bits, or doubles.
template <int k, class T, class S, class W>
inline S sum(const W* a, const W* b, S c, bool saturate) {
  if constexpr (std::is_same_v<T, double>) {
    for (int i = 0; i < k; ++i) c = __builtin_fma(a[i], b[i], c);
    return c;
  } else if constexpr (Kind<T>::kByte) {
    long long total = c;
    for (int i = 0; i < k; ++i)
      total += static_cast<long long>(static_cast<int>(a[i])) * static_cast<int>(b[i]);
    if (saturate)
      total = total > 2147483647ll ? 2147483647ll : total < -2147483648ll ? -2147483648ll : total;
    return static_cast<int>(static_cast<unsigned>(total));
  } else {
    (void)saturate;
    using E = Element<T>;
    // The unit takes 4 products of TF32 at a time here, unlike in mma.sync of the same depth.
    if constexpr (Kind<T>::kTf32) {
      for (int i = 0; i < k; i += 4) c = ::torchport::ptx::matrix_sum<E, E, 4>(a + i, b + i, c);
      return c;
    } else if constexpr (std::is_same_v<S, __half>)
      return __float2half(::torchport::ptx::matrix_sum<E, E, k>(a, b, __half2float(c)));
    else
      return ::torchport::ptx::matrix_sum<E, E, k>(a, b, c);
  }
}

}  // namespace detail

template <int m, int n, int k, class T, class LayoutA, class LayoutB, class D, class C>
inline void mma_sync(fragment<accumulator, m, n, k, D>& d,
                     const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                     const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                     const fragment<accumulator, m, n, k, C>& c, bool saturate = false) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, unsigned>;
  constexpr int kA = m * k / 32, kB = n * k / 32;  // without what is there twice
  W mine[kA + kB];
  for (int i = 0; i < kA + kB; ++i) {
    const auto x = i < kA ? a.x[i] : b.x[i - kA];
    if constexpr (std::is_same_v<T, double>)
      mine[i] = x;
    else
      mine[i] = detail::element_bits<T>(x);
  }
  const auto* all = static_cast<const W*>(::torchport::cuda::exchange(
      ~0u, mine, sizeof(mine),
      ::torchport::cuda::Site{"mma_sync", __builtin_FILE(), __builtin_LINE()}));
  W left[m][k], right[n][k];
  for (int lane = 0; lane < 32; ++lane) {
    const W* one = all + lane * (kA + kB);
    for (int i = 0; i < kA; ++i) {
      const detail::Place p = detail::place<matrix_a, m, n, k, T>(lane, i);
      left[p.line][p.depth] = one[i];
    }
    for (int i = 0; i < kB; ++i) {
      const detail::Place p = detail::place<matrix_b, m, n, k, T>(lane, i);
      right[p.line][p.depth] = one[kA + i];
    }
  }
  const int lane = static_cast<int>(::torchport::cuda::lane_of_thread());
  for (int i = 0; i < d.num_elements; ++i) {
    const detail::Place p = detail::place<accumulator, m, n, k, C>(lane, i);
    d.x[i] = static_cast<typename detail::Kind<D>::storage>(
        detail::sum<k, T>(left[p.line], right[p.depth], c.x[i], saturate));
  }
}

}  // namespace wmma
}  // namespace nvcuda
