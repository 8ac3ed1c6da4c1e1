// Copies, sets, pitches, what is known of a pointer, host memory and its flags.
#include "told.h"

namespace {

void tell_pointer(const std::string& name, const void* p) {
  cudaPointerAttributes a{};
  cudaError_t error = cudaPointerGetAttributes(&a, p);
  std::printf("pointer %s: %s type %d device %d at %d host %d\n", name.c_str(), cudaGetErrorName(error), a.type, a.device,
              a.devicePointer ? (a.devicePointer == p ? 1 : 2) : 0, a.hostPointer ? (a.hostPointer == p ? 1 : 2) : 0);
  cudaGetLastError();
}

void tell_call(const std::string& name, cudaError_t error) {
  cudaError_t peek = cudaPeekAtLastError(), first = cudaGetLastError();
  std::printf("%s: %s peek %s get %s\n", name.c_str(), cudaGetErrorName(error), cudaGetErrorName(peek), cudaGetErrorName(first));
}

}  // namespace

int main() {
  std::vector<long long> pitches;
  for (size_t width : {1, 4, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 257, 500, 511, 512, 513, 1000, 1024, 1025, 4095, 4097, 100000}) {
    void* p = nullptr;
    size_t pitch = 0;
    CHECK(cudaMallocPitch(&p, &pitch, width, 3));
    pitches.push_back(width), pitches.push_back(pitch);
    CHECK(cudaFree(p));
  }
  tell("width and pitch", pitches);
  for (cudaExtent extent : {make_cudaExtent(1, 1, 1), make_cudaExtent(33, 5, 7), make_cudaExtent(600, 2, 2)}) {
    cudaPitchedPtr p;
    CHECK(cudaMalloc3D(&p, extent));
    tell("malloc 3D", std::vector<long long>{(long long)extent.width, (long long)p.pitch, (long long)p.xsize, (long long)p.ysize});
    cudaFree(p.ptr);
  }
  void* p = nullptr;
  size_t pitch = 0;
  tell_call("pitch width 0", cudaMallocPitch(&p, &pitch, 0, 3));
  tell_call("pitch height 0", cudaMallocPitch(&p, &pitch, 10, 0));
  tell("pitch of height 0", std::vector<long long>{(long long)pitch, p != nullptr});
  std::vector<long long> offsets;
  std::vector<void*> kept;
  for (size_t size : {1, 255, 256, 257, 512, 1000, 100000, 1048576, 1048577, 2097152, 3000000}) {
    void* one = nullptr;
    CHECK(cudaMalloc(&one, size));
    kept.push_back(one);
    offsets.push_back(reinterpret_cast<size_t>(one) % 4096), offsets.push_back(reinterpret_cast<size_t>(one) % (2 << 20) == 0);
  }
  tell("addresses mod 4096, multiple of 2 MiB", offsets);
  size_t before = 0, after = 0, all = 0;
  std::vector<long long> taken;
  for (size_t size : {1, 1000000, 1100000, 2097152, 2097153, 5000000}) {
    CHECK(cudaMemGetInfo(&before, &all));
    void* one = nullptr;
    CHECK(cudaMalloc(&one, size));
    CHECK(cudaMemGetInfo(&after, &all));
    taken.push_back(size), taken.push_back(static_cast<long long>(before - after));
  }
  tell("size and memory taken", taken);
  Array<unsigned char> memory(64 * 8);
  unsigned char* d = memory;
  CHECK(cudaMemset2D(d, 64, 0xab, 5, 3));
  std::vector<unsigned char> from(200);
  for (int i = 0; i < 200; ++i) from[i] = static_cast<unsigned char>(i);
  CHECK(cudaMemcpy2D(d + 256, 64, from.data(), 10, 7, 3, cudaMemcpyHostToDevice));
  tell_bits("2D", memory.host(), 512);
  tell_call("2D pitch below width", cudaMemcpy2D(d, 4, from.data(), 10, 7, 3, cudaMemcpyHostToDevice));
  tell_call("2D source pitch below width", cudaMemcpy2D(d, 64, from.data(), 4, 7, 3, cudaMemcpyHostToDevice));
  tell_call("2D width 0", cudaMemcpy2D(d, 64, from.data(), 10, 0, 3, cudaMemcpyHostToDevice));
  tell_call("2D pitch 2^40", cudaMemcpy2D(d, 1ull << 40, from.data(), 10, 7, 1, cudaMemcpyHostToDevice));
  tell_call("set 2D pitch below width", cudaMemset2D(d, 4, 0, 5, 3));
  std::vector<unsigned char> other(600), host(600);
  tell_call("copy H2D", cudaMemcpy(d, from.data(), 100, cudaMemcpyHostToDevice));
  tell_call("copy default", cudaMemcpy(d, from.data(), 100, cudaMemcpyDefault));
  tell_call("copy H2H", cudaMemcpy(host.data(), from.data(), 100, cudaMemcpyHostToHost));
  tell_call("copy H2D of device pointers", cudaMemcpy(d, d + 256, 100, cudaMemcpyHostToDevice));
  tell_call("copy D2H of device pointers", cudaMemcpy(d, d + 256, 100, cudaMemcpyDeviceToHost));
  tell_call("copy D2H to device swapped", cudaMemcpy(d, host.data(), 100, cudaMemcpyDeviceToHost));
  tell_call("copy kind 9", cudaMemcpy(d, host.data(), 100, static_cast<cudaMemcpyKind>(9)));
  tell_call("copy 0 bytes of null", cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  tell_call("copy to null", cudaMemcpy(nullptr, host.data(), 4, cudaMemcpyHostToDevice));
  tell_call("copy past the end", cudaMemcpy(d, host.data(), 600, cudaMemcpyHostToDevice));
  tell_call("copy of overlap", cudaMemcpy(d + 1, d, 100, cudaMemcpyDeviceToDevice));
  tell_call("set null", cudaMemset(nullptr, 0, 4));
  tell_call("peer copy to itself", cudaMemcpyPeer(d, 0, d + 256, 0, 100));
  tell_pointer("device", d), tell_pointer("device inside", d + 100), tell_pointer("host", host.data()), tell_pointer("null", nullptr);
  void *pinned = nullptr, *mapped = nullptr, *managed = nullptr, *plain = std::malloc(1 << 16), *given = nullptr;
  tell_call("malloc host", cudaMallocHost(&pinned, 100));
  tell_call("host alloc mapped portable", cudaHostAlloc(&mapped, 100, cudaHostAllocMapped | cudaHostAllocPortable | cudaHostAllocWriteCombined));
  tell_call("host alloc flags 64", cudaHostAlloc(&given, 100, 64));
  tell_call("malloc managed", cudaMallocManaged(&managed, 100));
  tell_call("malloc managed flags 9", cudaMallocManaged(&given, 100, 9));
  tell_pointer("pinned", pinned), tell_pointer("mapped", mapped), tell_pointer("managed", managed), tell_pointer("unregistered", plain);
  tell_call("register", cudaHostRegister(plain, 1 << 16, cudaHostRegisterDefault));
  tell_pointer("registered", plain);
  tell_pointer("registered inside", static_cast<char*>(plain) + 1000);
  tell_call("register again", cudaHostRegister(plain, 1 << 16, cudaHostRegisterDefault));
  tell_call("register flags 64", cudaHostRegister(host.data(), 64, 64));
  tell_call("register 0", cudaHostRegister(host.data(), 0, 0));
  tell_call("register device", cudaHostRegister(d, 64, 0));
  unsigned flags = 77;
  tell_call("flags of pinned", cudaHostGetFlags(&flags, pinned));
  tell("flags pinned", flags);
  tell_call("flags of mapped", cudaHostGetFlags(&flags, mapped));
  tell("flags mapped", flags);
  tell_call("flags of registered", cudaHostGetFlags(&flags, plain));
  tell("flags registered", flags);
  tell_call("flags of plain", cudaHostGetFlags(&flags, host.data()));
  tell_call("device pointer of pinned", cudaHostGetDevicePointer(&given, pinned, 0));
  tell("the same address", given == pinned);
  tell_call("device pointer of plain", cudaHostGetDevicePointer(&given, host.data(), 0));
  tell_call("unregister", cudaHostUnregister(plain));
  tell_call("unregister again", cudaHostUnregister(plain));
  tell_call("free pinned by cudaFree", cudaFree(pinned));
  tell_call("free pinned", cudaFreeHost(pinned));
  tell_call("free pinned twice", cudaFreeHost(pinned));
  tell_call("free managed by cudaFreeHost", cudaFreeHost(managed));
  tell_call("free managed", cudaFree(managed));
  cudaExtent extent = make_cudaExtent(8, 4, 2);
  cudaPitchedPtr box;
  CHECK(cudaMalloc3D(&box, extent));
  CHECK(cudaMemset3D(box, 0x11, extent));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(from.data(), 8, 8, 4), copy.dstPtr = box, copy.extent = make_cudaExtent(3, 2, 2);
  copy.srcPos = make_cudaPos(1, 1, 0), copy.dstPos = make_cudaPos(4, 1, 0), copy.kind = cudaMemcpyHostToDevice;
  tell_call("3D", cudaMemcpy3D(&copy));
  std::vector<unsigned char> back(box.pitch * 8);
  CHECK(cudaMemcpy(back.data(), box.ptr, back.size(), cudaMemcpyDeviceToHost));
  for (int row = 0; row < 8; ++row)
    tell_bits("3D row " + std::to_string(row), std::vector<unsigned char>(back.begin() + row * box.pitch, back.begin() + row * box.pitch + 8));
  copy.extent = make_cudaExtent(3, 9, 2);
  tell_call("3D too high", cudaMemcpy3D(&copy));
  tell_call("copy D2H with both host", cudaMemcpy(host.data(), from.data(), 100, cudaMemcpyDeviceToHost));
  tell_call("copy H2D with both host", cudaMemcpy(host.data(), from.data(), 100, cudaMemcpyHostToDevice));
  tell_call("copy D2D with both host", cudaMemcpy(host.data(), from.data(), 100, cudaMemcpyDeviceToDevice));
  tell_call("copy D2D from host", cudaMemcpy(d, from.data(), 100, cudaMemcpyDeviceToDevice));
  tell_call("copy H2H from device", cudaMemcpy(host.data(), d, 100, cudaMemcpyHostToHost));
  tell_call("copy from null", cudaMemcpy(d, nullptr, 4, cudaMemcpyHostToDevice));
  tell_call("set host", cudaMemset(host.data(), 0, 4));
  tell_call("copy far past the end", cudaMemcpyAsync(d, d, 1ull << 36, cudaMemcpyDeviceToDevice));
  tell_call("set past the end", cudaMemset(d, 0, 1ull << 36));
  tell_error("at last", cudaDeviceSynchronize());
  return 0;
}
