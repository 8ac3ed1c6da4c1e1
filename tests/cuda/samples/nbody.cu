// Bodies that attract each other: positions go through shared memory in tiles, steps of leapfrog.
#include "sample.h"

__device__ float3 attract(float3 a, float4 me, float4 other, float softening) {
  const float3 r = make_float3(other.x - me.x, other.y - me.y, other.z - me.z);
  const float inverse = rsqrtf(r.x * r.x + r.y * r.y + r.z * r.z + softening);
  const float s = other.w * inverse * inverse * inverse;
  a.x += r.x * s, a.y += r.y * s, a.z += r.z * s;
  return a;
}

template <int kTile>
__global__ void step(float4* __restrict__ to, const float4* __restrict__ from, float4* speeds,
                     int n, float dt) {
  extern __shared__ float4 tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 me = i < n ? from[i] : make_float4(0, 0, 0, 0);
  float3 a = {0, 0, 0};
  for (int base = 0; base < n; base += kTile) {
    const int j = base + threadIdx.x;
    tile[threadIdx.x] = j < n ? from[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < kTile; ++k) a = attract(a, me, tile[k], 0.01f);
    __syncthreads();
  }
  if (i >= n) return;
  float4 v = speeds[i];
  v.x += a.x * dt, v.y += a.y * dt, v.z += a.z * dt;
  speeds[i] = v;
  to[i] = make_float4(me.x + v.x * dt, me.y + v.y * dt, me.z + v.z * dt, me.w);
}

int main() {
  const int n = 500, steps = 3;
  const float dt = 0.01f;
  std::vector<float4> bodies(n), speeds(n, make_float4(0, 0, 0, 0));
  Numbers numbers(53);
  for (float4& b : bodies)
    b = make_float4(numbers.real(-1, 1), numbers.real(-1, 1), numbers.real(-1, 1), numbers.real());
  Array<float4> a(bodies), b(n), v(speeds);
  float4 *from = a, *to = b;
  for (int s = 0; s < steps; ++s) {
    step<64><<<(n + 63) / 64, 64, 64 * sizeof(float4)>>>(to, from, v, n, dt);
    std::swap(from, to);
    std::vector<float4> next(bodies);
    for (int i = 0; i < n; ++i) {
      double ax = 0, ay = 0, az = 0;
      for (const float4& o : bodies) {
        const double x = o.x - bodies[i].x, y = o.y - bodies[i].y, z = o.z - bodies[i].z;
        const double f = o.w / std::pow(x * x + y * y + z * z + 0.01, 1.5);
        ax += x * f, ay += y * f, az += z * f;
      }
      speeds[i].x += ax * dt, speeds[i].y += ay * dt, speeds[i].z += az * dt;
      next[i].x += speeds[i].x * dt, next[i].y += speeds[i].y * dt, next[i].z += speeds[i].z * dt;
    }
    bodies = next;
  }
  const auto result = (steps & 1 ? b : a).host();
  bool right = true;
  for (int i = 0; i < n; ++i)
    right = right && close(result[i].x, bodies[i].x, 2e-4) &&
            close(result[i].y, bodies[i].y, 2e-4) && close(result[i].z, bodies[i].z, 2e-4) &&
            result[i].w == bodies[i].w;
  return finish("nbody", right);
}
