// Surfaces: kernels write arrays that other kernels read as textures; a game of life on them.
#include "sample.h"

__global__ void fill(cudaSurfaceObject_t surface, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    surf2Dwrite((x * 7 + y * 13) % 5 < 2 ? 1 : 0, surface, x * sizeof(int), y);
}

__global__ void step(cudaTextureObject_t from, cudaSurfaceObject_t to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int neighbours = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy) neighbours += tex2D<int>(from, x + dx, y + dy);
  const int alive = tex2D<int>(from, x, y);
  surf2Dwrite(int(neighbours == 3 || (alive && neighbours == 2)), to, x * sizeof(int), y);
}

__global__ void swap_channels(cudaSurfaceObject_t volume) {
  uchar4 colour;
  surf3Dread(&colour, volume, threadIdx.x * sizeof(uchar4), threadIdx.y, threadIdx.z);
  surf3Dwrite(make_uchar4(colour.w, colour.z, colour.y, colour.x), volume,
              threadIdx.x * sizeof(uchar4), threadIdx.y, threadIdx.z, cudaBoundaryModeTrap);
}

int main() {
  const int width = 40, height = 30, rounds = 8;
  cudaArray_t arrays[2];
  cudaSurfaceObject_t surfaces[2];
  cudaTextureObject_t textures[2];
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaMallocArray(&arrays[i], &format, width, height, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = arrays[i];
    CHECK(cudaCreateSurfaceObject(&surfaces[i], &resource));
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeBorder;
    CHECK(cudaCreateTextureObject(&textures[i], &resource, &how, nullptr));
  }
  const dim3 block(8, 8), grid((width + 7) / 8, (height + 7) / 8);
  fill<<<grid, block>>>(surfaces[0], width, height);
  for (int i = 0; i < rounds; ++i)
    step<<<grid, block>>>(textures[i & 1], surfaces[1 - (i & 1)], width, height);
  std::vector<int> cells(width * height), next(width * height), result(width * height);
  CHECK(cudaMemcpy2DFromArray(result.data(), width * 4, arrays[0], 0, 0, width * 4, height,
                              cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) cells[y * width + x] = (x * 7 + y * 13) % 5 < 2;
  for (int i = 0; i < rounds; ++i) {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        int neighbours = 0;
        for (int q = std::max(0, y - 1); q <= std::min(height - 1, y + 1); ++q)
          for (int p = std::max(0, x - 1); p <= std::min(width - 1, x + 1); ++p)
            if (p != x || q != y) neighbours += cells[q * width + p];
        next[y * width + x] = neighbours == 3 || (cells[y * width + x] && neighbours == 2);
      }
    cells.swap(next);
  }
  bool right = result == cells;
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaDestroySurfaceObject(surfaces[i]));
    CHECK(cudaDestroyTextureObject(textures[i]));
    CHECK(cudaFreeArray(arrays[i]));
  }
  std::vector<uchar4> colours(4 * 3 * 2), back(4 * 3 * 2);
  for (int i = 0; i < 24; ++i) colours[i] = make_uchar4(i, i + 1, i + 2, i + 3);
  cudaArray_t volume;
  const cudaChannelFormatDesc four = cudaCreateChannelDesc<uchar4>();
  const cudaExtent extent = make_cudaExtent(4, 3, 2);
  CHECK(cudaMalloc3DArray(&volume, &four, extent, cudaArraySurfaceLoadStore));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(colours.data(), 4 * sizeof(uchar4), 4, 3);
  copy.dstArray = volume, copy.extent = extent, copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = volume;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  swap_channels<<<1, dim3(4, 3, 2)>>>(surface);
  CHECK(cudaDeviceSynchronize());
  cudaMemcpy3DParms out = {};
  out.srcArray = volume, out.dstPtr = make_cudaPitchedPtr(back.data(), 4 * sizeof(uchar4), 4, 3);
  out.extent = extent, out.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&out));
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(volume));
  for (int i = 0; i < 24; ++i) right = right && back[i].x == i + 3 && back[i].w == i;
  return finish("surface_writes", right);
}
