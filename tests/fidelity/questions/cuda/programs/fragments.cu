// mma.h: which element of the matrix each element of a lane's fragment is, and products.
#include "told.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace {

using namespace nvcuda;
using bf16 = __nv_bfloat16;

// `shift`: which byte of the index an element of 8 bits holds.
template <class Fragment, class T>
__device__ void places(Fragment& fragment, int* out) {
  for (int i = 0; i < fragment.num_elements; ++i) {
    unsigned long long bits = 0;
    auto value = fragment.x[i];
    memcpy(&bits, &value, sizeof(T));
    out[threadIdx.x * fragment.num_elements + i] += static_cast<int>(bits);
  }
}

template <class Use, int M, int N, int K, class Kind, class Layout, class T>
__global__ void loaded(const T* in, int leading, int* out) {
  wmma::fragment<Use, M, N, K, Kind, Layout> fragment;
  wmma::load_matrix_sync(fragment, in, leading);
  places<decltype(fragment), T>(fragment, out);
}

template <int M, int N, int K, class T>
__global__ void loaded_sums(const T* in, int leading, bool rows, int* out) {
  wmma::fragment<wmma::accumulator, M, N, K, T> fragment;
  wmma::load_matrix_sync(fragment, in, leading, rows ? wmma::mem_row_major : wmma::mem_col_major);
  places<decltype(fragment), T>(fragment, out);
}

template <class T>
std::vector<T> indexes(int count, int shift) {
  std::vector<T> values(count);
  for (int i = 0; i < count; ++i) {
    unsigned long long bits = sizeof(T) == 1 ? (i >> shift) & 255 : i;
    std::memcpy(static_cast<void*>(&values[i]), &bits, sizeof(T));
  }
  return values;
}

template <class T, class Launch>
void tell_places(const std::string& name, int count, int elements, Launch launch) {
  Array<int> out(32 * elements), high(32 * elements);
  Array<T> low_in(indexes<T>(count, 0)), high_in(indexes<T>(count, 8));
  launch(low_in, out);
  if (sizeof(T) == 1) launch(high_in, high);
  FINISH();
  auto a = out.host(), b = high.host();
  for (size_t i = 0; i < a.size(); ++i) a[i] = (a[i] & (sizeof(T) == 1 ? 255 : -1)) + (b[i] & 255) * 256;
  std::vector<int> first(a.begin(), a.begin() + a.size() / 2), second(a.begin() + a.size() / 2, a.end());
  tell(name + " lanes 0-15", first, 256);
  tell(name + " lanes 16-31", second, 256);
}

template <int M, int N, int K, class Kind, class T>
void ask_operands(const std::string& type) {
  std::string shape = type + " m" + std::to_string(M) + "n" + std::to_string(N) + "k" + std::to_string(K);
  using A = wmma::fragment<wmma::matrix_a, M, N, K, Kind, wmma::row_major>;
  using B = wmma::fragment<wmma::matrix_b, M, N, K, Kind, wmma::row_major>;
  tell_places<T>(shape + " a row", M * K, A::num_elements,
                 [](const T* in, int* out) { loaded<wmma::matrix_a, M, N, K, Kind, wmma::row_major><<<1, 32>>>(in, K, out); });
  tell_places<T>(shape + " a col", M * K, A::num_elements,
                 [](const T* in, int* out) { loaded<wmma::matrix_a, M, N, K, Kind, wmma::col_major><<<1, 32>>>(in, M, out); });
  tell_places<T>(shape + " b row", N * K, B::num_elements,
                 [](const T* in, int* out) { loaded<wmma::matrix_b, M, N, K, Kind, wmma::row_major><<<1, 32>>>(in, N, out); });
  tell_places<T>(shape + " b col", N * K, B::num_elements,
                 [](const T* in, int* out) { loaded<wmma::matrix_b, M, N, K, Kind, wmma::col_major><<<1, 32>>>(in, K, out); });
}

template <int M, int N, int K, class T>
void ask_sums(const std::string& type) {
  std::string shape = type + " m" + std::to_string(M) + "n" + std::to_string(N) + "k" + std::to_string(K);
  using C = wmma::fragment<wmma::accumulator, M, N, K, T>;
  tell_places<T>(shape + " c row", M * N, C::num_elements,
                 [](const T* in, int* out) { loaded_sums<M, N, K, T><<<1, 32>>>(in, N, true, out); });
  tell_places<T>(shape + " c col", M * N, C::num_elements,
                 [](const T* in, int* out) { loaded_sums<M, N, K, T><<<1, 32>>>(in, M, false, out); });
}

template <int M, int N, int K, class Kind, class T, class Sum, bool kSaturates>
__global__ void product(const T* a, const T* b, const Sum* c, Sum* d) {
  wmma::fragment<wmma::matrix_a, M, N, K, Kind, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, Kind, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> fc, fd;
  wmma::load_matrix_sync(fa, a, K), wmma::load_matrix_sync(fb, b, K), wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
  if constexpr (std::is_same_v<Kind, wmma::precision::tf32>) {
    for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
    for (int i = 0; i < fb.num_elements; ++i) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
  }
  if constexpr (std::is_same_v<Sum, int>)
    wmma::mma_sync(fd, fa, fb, fc, kSaturates);
  else
    wmma::mma_sync(fd, fa, fb, fc);
  wmma::store_matrix_sync(d, fd, N, wmma::mem_row_major);
}

template <int M, int N, int K, class Kind, class T, class Sum, bool kSaturates = false>
void ask_product(const std::string& name, float scale) {
  Numbers numbers;
  std::vector<T> a(M * K), b(N * K);
  std::vector<Sum> c(M * N);
  for (T& x : a) x = T(numbers.unit() * scale);
  for (T& x : b) x = T(numbers.unit() * scale);
  for (Sum& x : c) x = kSaturates ? Sum(2147483000.0 * numbers.unit() + 0.0) : Sum(numbers.unit() * 4);
  Array<T> da(a), db(b);
  Array<Sum> dc(c), dd(M * N);
  product<M, N, K, Kind, T, Sum, kSaturates><<<1, 32>>>(da, db, dc, dd);
  FINISH();
  tell_bits("product " + name, dd.host(), 96);
}

}  // namespace

int main() {
  ask_operands<16, 16, 16, __half, __half>("half");
  ask_operands<32, 8, 16, __half, __half>("half");
  ask_operands<8, 32, 16, __half, __half>("half");
  ask_sums<16, 16, 16, float>("float");
  ask_sums<32, 8, 16, float>("float");
  ask_sums<8, 32, 16, float>("float");
  ask_sums<16, 16, 16, __half>("half");
  ask_operands<16, 16, 16, bf16, bf16>("bfloat16");
  ask_operands<16, 16, 8, wmma::precision::tf32, float>("tf32");
  ask_sums<16, 16, 8, float>("float");
  ask_operands<16, 16, 16, signed char, signed char>("s8");
  ask_operands<16, 16, 16, unsigned char, unsigned char>("u8");
  ask_sums<16, 16, 16, int>("int");
  ask_operands<8, 8, 4, double, double>("double");
  ask_sums<8, 8, 4, double>("double");
  ask_product<16, 16, 16, __half, __half, float>("half float", 1);
  ask_product<16, 16, 16, __half, __half, __half>("half half", 1);
  ask_product<32, 8, 16, __half, __half, float>("half float 32x8", 1);
  ask_product<8, 32, 16, __half, __half, __half>("half half 8x32", 1);
  ask_product<16, 16, 16, bf16, bf16, float>("bfloat16 float", 1);
  ask_product<16, 16, 8, wmma::precision::tf32, float, float>("tf32 float", 1);
  ask_product<16, 16, 16, signed char, signed char, int>("s8 int", 127);
  ask_product<16, 16, 16, signed char, signed char, int, true>("s8 int satf", 127);
  ask_product<8, 8, 4, double, double, double>("double", 1);
  return 0;
}
