// Finite differences of a field in three dimensions, in time: planes in shared memory with halos,
// the values before and behind a plane in registers.
#include "sample.h"

constexpr int kRadius = 4, kX = 32, kY = 8;
__constant__ float weights[kRadius + 1];

__global__ __launch_bounds__(kX* kY) void step(float* out, const float* in, int nx, int ny,
                                               int nz) {
  __shared__ float tile[kY + 2 * kRadius][kX + 2 * kRadius];
  const int x = blockIdx.x * kX + threadIdx.x, y = blockIdx.y * kY + threadIdx.y;
  const int tx = threadIdx.x + kRadius, ty = threadIdx.y + kRadius;
  const int row = nx + 2 * kRadius, plane = row * (ny + 2 * kRadius);
  const bool inside = x < nx && y < ny;
  int at = (y + kRadius) * row + x + kRadius;
  float behind[kRadius], front[kRadius], current = 0;
  if (inside) {
#pragma unroll
    for (int i = kRadius - 1; i >= 0; --i) behind[i] = in[at], at += plane;
    current = in[at];
    const int output = at;
    at += plane;
#pragma unroll
    for (int i = 0; i < kRadius; ++i) front[i] = in[at], at += plane;
    at = output;
  }
  int ahead = at + (kRadius + 1) * plane;
  for (int z = 0; z < nz; ++z) {
    __syncthreads();
    if (inside) {
      if (threadIdx.y < kRadius) tile[threadIdx.y][tx] = in[at - kRadius * row];
      // The last rows of a block have their neighbours loaded by the first threads that are inside.
      const int rows = min(kY, ny - int(blockIdx.y) * kY),
                columns = min(kX, nx - int(blockIdx.x) * kX);
      if (int(threadIdx.y) >= rows - kRadius) tile[ty + kRadius][tx] = in[at + kRadius * row];
      if (threadIdx.x < kRadius) tile[ty][threadIdx.x] = in[at - kRadius];
      if (int(threadIdx.x) >= columns - kRadius) tile[ty][tx + kRadius] = in[at + kRadius];
      tile[ty][tx] = current;
    }
    __syncthreads();
    if (!inside) continue;
    float value = weights[0] * current;
#pragma unroll
    for (int i = 1; i <= kRadius; ++i)
      value += weights[i] * (front[i - 1] + behind[i - 1] + tile[ty - i][tx] + tile[ty + i][tx] +
                             tile[ty][tx - i] + tile[ty][tx + i]);
    out[at] = value;
#pragma unroll
    for (int i = kRadius - 1; i > 0; --i) behind[i] = behind[i - 1];
    behind[0] = current;
    current = front[0];
#pragma unroll
    for (int i = 0; i < kRadius - 1; ++i) front[i] = front[i + 1];
    if (z + 1 < nz) front[kRadius - 1] = in[ahead];
    ahead += plane, at += plane;
  }
}

int main() {
  const int nx = 40, ny = 20, nz = 12, steps = 2;
  const int row = nx + 2 * kRadius, plane = row * (ny + 2 * kRadius),
            volume = plane * (nz + 2 * kRadius);
  const float w[kRadius + 1] = {0.4f, 0.05f, 0.03f, 0.015f, 0.005f};
  std::vector<float> field(volume), next;
  Numbers numbers(43);
  for (float& one : field) one = numbers.real();
  next = field;
  Array<float> a(field), b(field);
  CHECK(cudaMemcpyToSymbol(weights, w, sizeof(w)));
  const dim3 block(kX, kY), grid((nx + kX - 1) / kX, (ny + kY - 1) / kY);
  float *from = a, *to = b;
  for (int t = 0; t < steps; ++t) {
    step<<<grid, block>>>(to, from, nx, ny, nz);
    std::swap(from, to);
    for (int z = kRadius; z < nz + kRadius; ++z)
      for (int y = kRadius; y < ny + kRadius; ++y)
        for (int x = kRadius; x < nx + kRadius; ++x) {
          const int i = z * plane + y * row + x;
          float value = w[0] * field[i];
          for (int k = 1; k <= kRadius; ++k)
            value += w[k] * (field[i - k] + field[i + k] + field[i - k * row] + field[i + k * row] +
                             field[i - k * plane] + field[i + k * plane]);
          next[i] = value;
        }
    field.swap(next);
  }
  return finish("finite_differences", all_close((steps & 1 ? b : a).host(), field, 1e-5));
}
