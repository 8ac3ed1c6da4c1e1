// Textures and surfaces in their simple forms: which texel, which weights (bits), at which edge.
#include "told.h"

namespace {

__global__ void linear_memory(cudaTextureObject_t t, float* out) {
  for (int i = 0; i < 12; ++i) out[i] = tex1Dfetch<float>(t, i - 2);
}
__global__ void look1(cudaTextureObject_t t, const float* x, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += 32) out[i] = tex1D<float>(t, x[i]);
}
__global__ void look2(cudaTextureObject_t t, const float* x, const float* y, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += 32) out[i] = tex2D<float>(t, x[i], y[i]);
}
__global__ void look3(cudaTextureObject_t t, const float* x, const float* y, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += 32) out[i] = tex3D<float>(t, x[i], y[i], x[n - 1 - i]);
}
__global__ void gathered(cudaTextureObject_t t, float4* out) { out[threadIdx.x] = tex2Dgather<float4>(t, threadIdx.x * 0.7f, 1.3f, 0); }
template <class T>
__global__ void read(cudaTextureObject_t t, const float* x, T* out, int n) {
  for (int i = threadIdx.x; i < n; i += 32) out[i] = tex2D<T>(t, x[i], 0.5f);
}
__global__ void surfaces(cudaSurfaceObject_t s, float* out) {
  float v = 0;
  surf2Dread(&v, s, 1 * 4, 1);
  out[0] = v;
  surf2Dwrite(v + 0.5f, s, 2 * 4, 1);
  surf2Dread(&v, s, 2 * 4, 1);
  out[1] = v;
  surf2Dread(&v, s, 100 * 4, 1, cudaBoundaryModeZero);
  out[2] = v;
  surf2Dread(&v, s, 100 * 4, 1, cudaBoundaryModeClamp);
  out[3] = v;
}

struct Texture {
  cudaArray_t array = nullptr;
  cudaTextureObject_t object = 0;
};

template <class T>
cudaArray_t array_of(const std::vector<T>& values, int width, int height, unsigned flags = 0) {
  cudaArray_t array;
  auto format = cudaCreateChannelDesc<T>();
  CHECK(cudaMallocArray(&array, &format, width, height, flags));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, values.data(), width * sizeof(T), width * sizeof(T), height ? height : 1, cudaMemcpyHostToDevice));
  return array;
}

cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureAddressMode address, cudaTextureFilterMode filter, bool normalized,
                               cudaTextureReadMode mode = cudaReadModeElementType) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture = {};
  for (auto& one : texture.addressMode) one = address;
  texture.filterMode = filter, texture.normalizedCoords = normalized, texture.readMode = mode;
  cudaTextureObject_t object = 0;
  CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  return object;
}

}  // namespace

int main() {
  Numbers numbers;
  std::vector<float> line(8), plane(8 * 4), volume(4 * 4 * 4);
  for (float& v : line) v = numbers.unit() * 100;
  for (float& v : plane) v = numbers.unit() * 100;
  for (float& v : volume) v = numbers.unit() * 100;
  tell_bits("line", line), tell_bits("plane", plane), tell_bits("volume", volume);
  std::vector<float> x, y;
  for (float v : {-9.3f, -1.0f, -0.5f, 0.0f, 0.25f, 0.49f, 0.5f, 0.501f, 0.502f, 0.503f, 0.504f, 0.75f, 1.0f, 1.5f, 1.99902f, 2.0f, 3.3333f,
                  6.7f, 7.5f, 7.75f, 8.0f, 8.25f, 9.1f, 17.6f, INFINITY, NAN, 1e9f, 2.001953125f, 2.0029297f, 2.00390625f, 2.005f})
    x.push_back(v), y.push_back(v * 0.45f);
  while (x.size() < 48) x.push_back(numbers.unit() * 8), y.push_back(numbers.unit() * 4);
  int n = static_cast<int>(x.size());
  Array<float> dx(x), dy(y), out(64), fx(64), fy(64);
  tell_bits("x", x), tell_bits("y", y);
  std::vector<float> nx = x, ny = y;
  for (float& v : nx) v *= 0.125f;
  for (float& v : ny) v *= 0.25f;
  Array<float> dnx(nx), dny(ny);
  auto whole = [&](const std::string& name) {
    FINISH();
    auto all = out.host();
    tell_bits(name, std::vector<float>(all.begin(), all.begin() + n));
  };
  {
    Array<float> memory(line);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = static_cast<float*>(memory);
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = 32;
    cudaTextureDesc texture = {};
    cudaTextureObject_t object = 0;
    CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    linear_memory<<<1, 1>>>(object, out);
    FINISH();
    auto all = out.host();
    tell_bits("tex1Dfetch -2..9", std::vector<float>(all.begin(), all.begin() + 12));
  }
  cudaArray_t a1 = array_of(line, 8, 0), a2 = array_of(plane, 8, 4, cudaArraySurfaceLoadStore | cudaArrayTextureGather);
  cudaArray_t a3;
  auto format = cudaCreateChannelDesc<float>();
  CHECK(cudaMalloc3DArray(&a3, &format, make_cudaExtent(4, 4, 4)));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(volume.data(), 16, 4, 4), copy.dstArray = a3, copy.extent = make_cudaExtent(4, 4, 4);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  const char* addresses[] = {"wrap", "clamp", "mirror", "border"};
  for (int address = 0; address < 4; ++address)
    for (bool linear : {false, true})
      for (bool normalized : {false, true}) {
        auto mode = static_cast<cudaTextureAddressMode>(address);
        auto filter = linear ? cudaFilterModeLinear : cudaFilterModePoint;
        std::string name = std::string(addresses[address]) + (linear ? " linear" : " point") + (normalized ? " normalized" : "");
        look1<<<1, 32>>>(texture_of(a1, mode, filter, normalized), normalized ? dnx : dx, out, n);
        whole("1D " + name);
        look2<<<1, 32>>>(texture_of(a2, mode, filter, normalized), normalized ? dnx : dx, normalized ? dny : dy, out, n);
        whole("2D " + name);
        if (address == 1) {
          look3<<<1, 32>>>(texture_of(a3, mode, filter, normalized), normalized ? dnx : dx, normalized ? dny : dy, out, n);
          whole("3D " + name);
        }
      }
  Array<float4> four(8);
  gathered<<<1, 8>>>(texture_of(a2, cudaAddressModeClamp, cudaFilterModePoint, false), four);
  FINISH();
  tell_bits("gather", four.host());
  std::vector<unsigned char> bytes = {0, 1, 64, 127, 128, 200, 254, 255};
  std::vector<short> shorts = {-32768, -32767, -1, 0, 1, 100, 32766, 32767};
  std::vector<uchar4> fours = {{0, 1, 2, 3}, {255, 254, 128, 7}};
  look2<<<1, 32>>>(texture_of(array_of(bytes, 8, 1), cudaAddressModeClamp, cudaFilterModeLinear, false, cudaReadModeNormalizedFloat), dx, dy, out, n);
  whole("bytes as floats, linear");
  look2<<<1, 32>>>(texture_of(array_of(shorts, 8, 1), cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat), dx, dy, out, n);
  whole("shorts as floats, point");
  Array<unsigned char> read_bytes(n);
  read<unsigned char><<<1, 32>>>(texture_of(array_of(bytes, 8, 1), cudaAddressModeClamp, cudaFilterModePoint, false), dx, read_bytes, n);
  Array<uchar4> read_fours(n);
  read<uchar4><<<1, 32>>>(texture_of(array_of(fours, 2, 1), cudaAddressModeClamp, cudaFilterModePoint, false), dx, read_fours, n);
  FINISH();
  tell_bits("bytes", read_bytes.host()), tell_bits("uchar4", read_fours.host());
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = a2;
  cudaSurfaceObject_t surface = 0;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  surfaces<<<1, 1>>>(surface, out);
  FINISH();
  auto all = out.host();
  tell_bits("surface", std::vector<float>(all.begin(), all.begin() + 4));
  return 0;
}
