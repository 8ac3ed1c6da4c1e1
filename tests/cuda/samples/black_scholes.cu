// Prices of options by Black and Scholes' formula, two at once, and by trees of prices (binomial).
#include "sample.h"

__device__ inline float normal(float d) {
  const float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
  const float tail =
      0.39894228f * __expf(-0.5f * d * d) *
      (k * (0.31938153f +
            k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - tail : tail;
}

__device__ inline void price(float& call, float& put, float s, float x, float t, float r, float v) {
  const float root = __fsqrt_rn(t);
  const float d1 = __fdividef(__logf(s / x) + (r + 0.5f * v * v) * t, v * root), d2 = d1 - v * root;
  const float discount = __expf(-r * t);
  call = s * normal(d1) - x * discount * normal(d2);
  put = x * discount * (1.0f - normal(d2)) - s * (1.0f - normal(d1));
}

__launch_bounds__(128) __global__
    void black_scholes(float2* __restrict__ calls, float2* __restrict__ puts,
                       const float2* __restrict__ s, const float2* __restrict__ x,
                       const float2* __restrict__ t, float r, float v, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n / 2) return;
  float call0, call1, put0, put1;
  price(call0, put0, s[i].x, x[i].x, t[i].x, r, v);
  price(call1, put1, s[i].y, x[i].y, t[i].y, r, v);
  calls[i] = make_float2(call0, call1);
  puts[i] = make_float2(put0, put1);
}

// A block goes back through the tree of one option; threads hold neighbouring leaves.
template <int kSteps>
__global__ void binomial(double* out, const float* s, const float* x, const float* t, double r,
                         double v) {
  __shared__ double values[2][kSteps + 1];
  const int option = blockIdx.x;
  const double dt = t[option] / kSteps, up = exp(v * sqrt(dt)), down = 1 / up;
  const double p = (exp(r * dt) - down) / (up - down), discount = exp(-r * dt);
  for (int i = threadIdx.x; i <= kSteps; i += blockDim.x)
    values[0][i] = fmax(0.0, s[option] * exp(v * sqrt(dt) * (2 * i - kSteps)) - x[option]);
  int from = 0;
  for (int step = kSteps; step > 0; --step) {
    __syncthreads();
    for (int i = threadIdx.x; i < step; i += blockDim.x)
      values[1 - from][i] = discount * (p * values[from][i + 1] + (1 - p) * values[from][i]);
    from = 1 - from;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[option] = values[from][0];
}

int main() {
  const int n = 2000, trees = 16;
  const double r = 0.02, v = 0.3;
  std::vector<float> s(n), x(n), t(n), calls(n), puts(n);
  Numbers numbers(113);
  for (int i = 0; i < n; ++i) {
    s[i] = numbers.real(5, 30), x[i] = numbers.real(1, 100), t[i] = numbers.real(0.25f, 10);
    const double root = std::sqrt(double(t[i])),
                 d1 = (std::log(double(s[i]) / x[i]) + (r + v * v / 2) * t[i]) / (v * root);
    auto cdf = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
    const double discount = x[i] * std::exp(-r * t[i]), d2 = d1 - v * root;
    calls[i] = float(s[i] * cdf(d1) - discount * cdf(d2));
    puts[i] = float(discount * cdf(-d2) - s[i] * cdf(-d1));
  }
  Array<float> ds(s), dx(x), dt(t), dc(n), dp(n);
  auto two = [](float* p) { return reinterpret_cast<float2*>(p); };
  black_scholes<<<(n / 2 + 127) / 128, 128>>>(two(dc), two(dp), two(ds), two(dx), two(dt), float(r),
                                              float(v), n);
  bool right = all_close(dc.host(), calls, 1e-4) && all_close(dp.host(), puts, 1e-4);
  Array<double> prices(trees);
  binomial<128><<<trees, 64>>>(prices, ds, dx, dt, r, v);
  calls.resize(trees);
  right = right && all_close(prices.host(), calls, 0.05);
  return finish("black_scholes", right);
}
