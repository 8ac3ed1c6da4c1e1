// ATen/cuda/CUDAGeneratorImpl.h: kernels of extensions that draw random numbers. The generators are
// those of the virtual devices, which have the same base class; only functions that are declared
// here are called on them.
#include <tuple>

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/cuda/CUDAFunctions.h>

namespace at {

namespace {

// As the virtual generator: the numbers of a kernel are a multiple of 4.
std::pair<uint64_t, uint64_t> reserved(c10::GeneratorImpl& generator, uint64_t increment) {
  const uint64_t offset = generator.get_offset();
  generator.set_offset(offset + (increment + 3) / 4 * 4);
  return {generator.current_seed(), offset};
}

}  // namespace

PhiloxCudaState CUDAGeneratorImpl::philox_cuda_state(uint64_t increment) {
  const auto [seed, offset] = reserved(*this, increment);
  return {seed, offset};
}

std::pair<uint64_t, uint64_t> CUDAGeneratorImpl::philox_engine_inputs(uint64_t increment) {
  return reserved(*this, increment);
}

void CUDAGeneratorImpl::set_philox_offset_per_thread(uint64_t offset) {
  static_cast<c10::GeneratorImpl*>(this)->set_offset(offset);
}

uint64_t CUDAGeneratorImpl::philox_offset_per_thread() const {
  return static_cast<const c10::GeneratorImpl*>(this)->get_offset();
}

// Asked by check_generator of a generator that a program gives.
c10::DeviceType CUDAGeneratorImpl::device_type() {
  return c10::DeviceType::CUDA;
}

namespace cuda::detail {

const Generator& getDefaultCUDAGenerator(DeviceIndex device_index) {
  const DeviceIndex index = device_index < 0 ? c10::cuda::current_device() : device_index;
  return at::globalContext().defaultGenerator(Device(DeviceType::CUDA, index));
}

Generator createCUDAGenerator(DeviceIndex device_index) {
  return getDefaultCUDAGenerator(device_index).clone();
}

}  // namespace cuda::detail

}  // namespace at
