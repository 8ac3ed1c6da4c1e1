// A separable convolution of an image: coefficients in constant memory, tiles with halos in shared
// memory, columns padded against conflicts of banks.
#include "sample.h"

constexpr int kRadius = 8;
__constant__ float coefficients[2 * kRadius + 1];

constexpr int kX = 16, kY = 4, kSteps = 4, kHalo = 1;

__global__ void rows(float* out, const float* in, int width, int height, int pitch) {
  __shared__ float tile[kY][(kSteps + 2 * kHalo) * kX];
  const int x0 = (blockIdx.x * kSteps - kHalo) * kX + threadIdx.x;
  const int y = blockIdx.y * kY + threadIdx.y;
  in += y * pitch, out += y * pitch;
#pragma unroll
  for (int i = 0; i < kSteps + 2 * kHalo; ++i) {
    const int x = x0 + i * kX;
    tile[threadIdx.y][threadIdx.x + i * kX] = x >= 0 && x < width && y < height ? in[x] : 0;
  }
  __syncthreads();
  if (y >= height) return;
#pragma unroll
  for (int i = kHalo; i < kHalo + kSteps; ++i) {
    float sum = 0;
#pragma unroll
    for (int j = -kRadius; j <= kRadius; ++j)
      sum += coefficients[kRadius - j] * tile[threadIdx.y][threadIdx.x + i * kX + j];
    if (x0 + i * kX < width) out[x0 + i * kX] = sum;
  }
}

__global__ void columns(float* out, const float* in, int width, int height, int pitch) {
  __shared__ float tile[kX][(kSteps + 2 * kHalo * 2) * 8 + 1];
  const int x = blockIdx.x * kX + threadIdx.x;
  const int y0 = (blockIdx.y * kSteps - 2 * kHalo) * 8 + threadIdx.y;
  for (int i = 0; i < kSteps + 4 * kHalo; ++i) {
    const int y = y0 + i * 8;
    tile[threadIdx.x][threadIdx.y + i * 8] =
        x < width && y >= 0 && y < height ? in[y * pitch + x] : 0;
  }
  __syncthreads();
  for (int i = 2 * kHalo; i < 2 * kHalo + kSteps; ++i) {
    const int y = y0 + i * 8;
    float sum = 0;
    for (int j = -kRadius; j <= kRadius; ++j)
      sum += coefficients[kRadius - j] * tile[threadIdx.x][threadIdx.y + i * 8 + j];
    if (x < width && y < height) out[y * pitch + x] = sum;
  }
}

int main() {
  const int width = 180, height = 101;
  std::vector<float> image(width * height), middle(width * height), expected(width * height);
  float weights[2 * kRadius + 1];
  Numbers numbers(37);
  for (float& one : image) one = numbers.real(0, 16);
  for (float& one : weights) one = numbers.real(-1, 1);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int j = -kRadius; j <= kRadius; ++j)
        if (x + j >= 0 && x + j < width)
          middle[y * width + x] += weights[kRadius - j] * image[y * width + x + j];
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int j = -kRadius; j <= kRadius; ++j)
        if (y + j >= 0 && y + j < height)
          expected[y * width + x] += weights[kRadius - j] * middle[(y + j) * width + x];
  CHECK(cudaMemcpyToSymbol(coefficients, weights, sizeof(weights)));
  float *in, *between, *out;
  size_t pitch;
  CHECK(cudaMallocPitch(&in, &pitch, width * sizeof(float), height));
  CHECK(cudaMallocPitch(&between, &pitch, width * sizeof(float), height));
  CHECK(cudaMallocPitch(&out, &pitch, width * sizeof(float), height));
  CHECK(cudaMemcpy2D(in, pitch, image.data(), width * sizeof(float), width * sizeof(float), height,
                     cudaMemcpyHostToDevice));
  const int stride = int(pitch / sizeof(float));
  const dim3 row_blocks((width + kX * kSteps - 1) / (kX * kSteps), (height + kY - 1) / kY);
  const dim3 column_blocks((width + kX - 1) / kX, (height + 8 * kSteps - 1) / (8 * kSteps));
  rows<<<row_blocks, dim3(kX, kY)>>>(between, in, width, height, stride);
  columns<<<column_blocks, dim3(kX, 8)>>>(out, between, width, height, stride);
  CHECK(cudaGetLastError());
  std::vector<float> result(width * height);
  CHECK(cudaMemcpy2D(result.data(), width * sizeof(float), out, pitch, width * sizeof(float),
                     height, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(in));
  CHECK(cudaFree(between));
  CHECK(cudaFree(out));
  return finish("convolution_separable", all_close(result, expected, 1e-4));
}
