// Textures: a picture is rotated with linear filtering, wrapped, filtered by boxes and Sobel's
// edges; bytes that are read as fractions, a texture of layers, linear memory.
#include <cstring>

#include "sample.h"

__global__ void rotate(float* out, cudaTextureObject_t picture, int width, int height,
                       float angle) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = (x + 0.5f) / width - 0.5f, v = (y + 0.5f) / height - 0.5f;
  const float tu = u * cosf(angle) - v * sinf(angle) + 0.5f;
  const float tv = v * cosf(angle) + u * sinf(angle) + 0.5f;
  out[y * width + x] = tex2D<float>(picture, tu, tv);
}

__global__ void sobel(float* out, cudaTextureObject_t bytes, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float at[3][3];
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) at[dy + 1][dx + 1] = tex2D<float>(bytes, x + dx, y + dy);
  const float h = at[0][2] + 2 * at[1][2] + at[2][2] - at[0][0] - 2 * at[1][0] - at[2][0];
  const float v = at[0][0] + 2 * at[0][1] + at[0][2] - at[2][0] - 2 * at[2][1] - at[2][2];
  out[y * width + x] = fabsf(h) + fabsf(v);
}

__global__ void layers(float* out, cudaTextureObject_t stack, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  out[(z * height + y) * width + x] =
      -tex2DLayered<float>(stack, (x + 0.5f) / width, (y + 0.5f) / height, z);
}

__global__ void gather(float4* out, cudaTextureObject_t table, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float4>(table, index[i]);
}

int main() {
  const int width = 32, height = 24;
  Numbers numbers(41);
  std::vector<float> picture(width * height);
  std::vector<unsigned char> bytes(width * height);
  for (int i = 0; i < width * height; ++i)
    picture[i] = numbers.real(), bytes[i] = numbers.next() & 255;
  const dim3 block(16, 8), grid((width + 15) / 16, (height + 7) / 8);
  Array<float> out(width * height);
  bool right = true;

  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&array, &format, width, height));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, picture.data(), width * 4, width * 4, height,
                            cudaMemcpyHostToDevice));
  cudaResourceDesc resource;
  memset(&resource, 0, sizeof(resource));
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how;
  memset(&how, 0, sizeof(how));
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeWrap;
  how.filterMode = cudaFilterModeLinear;
  how.readMode = cudaReadModeElementType;
  how.normalizedCoords = 1;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  const float angle = 0.5f;
  rotate<<<grid, block>>>(out, texture, width, height, angle);
  const auto rotated = out.host();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double u = (x + 0.5) / width - 0.5, v = (y + 0.5) / height - 0.5;
      double tu = u * cos(angle) - v * sin(angle) + 0.5, tv = v * cos(angle) + u * sin(angle) + 0.5;
      tu = (tu - floor(tu)) * width - 0.5, tv = (tv - floor(tv)) * height - 0.5;
      const int i = int(floor(tu)), j = int(floor(tv));
      const double a = tu - i, b = tv - j;
      auto at = [&](int p, int q) {
        return picture[(q + height) % height * width + (p + width) % width];
      };
      const double expected = (1 - a) * (1 - b) * at(i, j) + a * (1 - b) * at(i + 1, j) +
                              (1 - a) * b * at(i, j + 1) + a * b * at(i + 1, j + 1);
      right = right && std::fabs(rotated[y * width + x] - expected) < 0.01;  // weights have 8 bits
    }
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));

  size_t pitch;
  unsigned char* pitched;
  CHECK(cudaMallocPitch(&pitched, &pitch, width, height));
  CHECK(cudaMemcpy2D(pitched, pitch, bytes.data(), width, width, height, cudaMemcpyHostToDevice));
  memset(&resource, 0, sizeof(resource));
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = pitched;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
  resource.res.pitch2D.width = width, resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  memset(&how, 0, sizeof(how));
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.readMode = cudaReadModeNormalizedFloat;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  sobel<<<grid, block>>>(out, texture, width, height);
  const auto edges = out.host();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      auto at = [&](int dx, int dy) {
        const int p = std::min(std::max(x + dx, 0), width - 1),
                  q = std::min(std::max(y + dy, 0), height - 1);
        return bytes[q * width + p] / 255.0;
      };
      const double h = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
      const double v = at(-1, -1) + 2 * at(0, -1) + at(1, -1) - at(-1, 1) - 2 * at(0, 1) - at(1, 1);
      right = right && close(edges[y * width + x], std::fabs(h) + std::fabs(v), 1e-5);
    }
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFree(pitched));

  const int w = 8, h = 8, count = 3;
  std::vector<float> stack(w * h * count), negative(w * h * count);
  for (size_t i = 0; i < stack.size(); ++i) negative[i] = -(stack[i] = float(i % 17));
  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(w, h, count), cudaArrayLayered));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(stack.data(), w * 4, w, h);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(w, h, count);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  memset(&resource, 0, sizeof(resource));
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  memset(&how, 0, sizeof(how));
  how.filterMode = cudaFilterModePoint;
  how.normalizedCoords = 1;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  Array<float> back(stack.size());
  layers<<<count, dim3(w, h)>>>(back, texture, w, h);
  right = right && back.host() == negative;
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));

  std::vector<float4> table(100);
  std::vector<int> index(200);
  for (int i = 0; i < 100; ++i) table[i] = make_float4(i, i + 0.25f, i + 0.5f, i + 0.75f);
  for (int& one : index) one = numbers.next() % 100;
  Array<float4> rows(table), found(200);
  Array<int> places(index);
  memset(&resource, 0, sizeof(resource));
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = rows;
  resource.res.linear.desc = cudaCreateChannelDesc<float4>();
  resource.res.linear.sizeInBytes = 100 * sizeof(float4);
  memset(&how, 0, sizeof(how));
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  gather<<<2, 100>>>(found, texture, places, 200);
  const auto fetched = found.host();
  for (int i = 0; i < 200; ++i)
    right = right && fetched[i].x == index[i] && fetched[i].w == index[i] + 0.75f;
  CHECK(cudaDestroyTextureObject(texture));
  return finish("texture_filters", right);
}
