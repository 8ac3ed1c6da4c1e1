// The cosine transform of squares of 8 by 8 pixels, quantization, and back; a block has 8 squares.
#include "sample.h"

__constant__ float cosines[8][8];
__constant__ short quantities[64] = {16,  11,  10,  16,  24, 40, 51,  61,  12,  12,  14,  19,  26,
                                     58,  60,  55,  14,  13, 16, 24,  40,  57,  69,  56,  14,  17,
                                     22,  29,  51,  87,  80, 62, 18,  22,  37,  56,  68,  109, 103,
                                     77,  24,  35,  55,  64, 81, 104, 113, 92,  49,  64,  78,  87,
                                     103, 121, 120, 101, 72, 92, 95,  98,  112, 100, 103, 99};

template <bool kBack>
__device__ void transform(float (*tile)[9], int x, int y) {
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += (kBack ? cosines[i][x] : cosines[x][i]) * tile[y][i];
  __syncthreads();
  tile[y][x] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 8; ++i) sum += (kBack ? cosines[i][y] : cosines[y][i]) * tile[i][x];
  __syncthreads();
  tile[y][x] = sum;
  __syncthreads();
}

__global__ void code(short* coefficients, float* back, const unsigned char* picture, int width) {
  __shared__ float tiles[8][8][9];
  float(*tile)[9] = tiles[threadIdx.z];
  const int x = threadIdx.x, y = threadIdx.y;
  const int at = (blockIdx.y * 8 + y) * width + (blockIdx.x * 8 + threadIdx.z) * 8 + x;
  tile[y][x] = float(picture[at]) - 128.0f;
  __syncthreads();
  transform<false>(tile, x, y);
  const short quantity = quantities[y * 8 + x];
  const short value = short(rintf(tile[y][x] / quantity));
  coefficients[at] = value;
  tile[y][x] = float(value * quantity);
  __syncthreads();
  transform<true>(tile, x, y);
  back[at] = __saturatef((tile[y][x] + 128.0f) / 255.0f) * 255.0f;
}

int main() {
  const int width = 128, height = 16;
  float table[8][8];
  for (int k = 0; k < 8; ++k)
    for (int i = 0; i < 8; ++i)
      table[k][i] = float(std::sqrt(k == 0 ? 0.125 : 0.25) * std::cos((2 * i + 1) * k * M_PI / 16));
  CHECK(cudaMemcpyToSymbol(cosines, table, sizeof(table)));
  short quantity[64];
  CHECK(cudaMemcpyFromSymbol(quantity, quantities, sizeof(quantity)));
  std::vector<unsigned char> picture(width * height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      picture[y * width + x] =
          (unsigned char)(127 + 90 * std::sin(x * 0.11) * std::cos(y * 0.23) + (x * y) % 7);
  Array<unsigned char> in(picture);
  Array<short> coefficients(width * height);
  Array<float> back(width * height);
  code<<<dim3(width / 64, height / 8), dim3(8, 8, 8)>>>(coefficients, back, in, width);
  const auto c = coefficients.host();
  const auto b = back.host();
  bool right = true;
  double error = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      double sum = 0;
      for (int v = 0; v < 8; ++v)
        for (int u = 0; u < 8; ++u)
          sum += double(table[y % 8][v]) * table[x % 8][u] *
                 (picture[(y / 8 * 8 + v) * width + x / 8 * 8 + u] - 128.0);
      right = right && std::fabs(sum / quantity[y % 8 * 8 + x % 8] - c[y * width + x]) < 0.501;
      error += std::pow(b[y * width + x] - picture[y * width + x], 2);
    }
  return finish("dct8x8", right && quantity[63] == 99 && error / (width * height) < 60);
}
