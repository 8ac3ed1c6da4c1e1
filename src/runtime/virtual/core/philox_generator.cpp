#include "runtime/virtual/core/philox_generator.h"

#include <array>
#include <cstring>
#include <mutex>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKeySet.h>

#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/torch_releases.h"

namespace torchport::vdev {

namespace {

// A generator may be asked for any number; kernels of torch.jit need blocks of four.
constexpr std::uint64_t kWordsOfBlock = 4;

// The message of at::cuda::assertNotCapturing().
void assert_not_capturing(const char* attempt) {
  TORCH_CHECK(!is_capturing_graph(), attempt,
              " during CUDA graph capture. If you need this call to be captured, please file an "
              "issue. Current cudaStreamCaptureStatus: cudaStreamCaptureStatusActive");
}

}  // namespace

c10::DeviceType PhiloxGenerator::device_type() {
  return Runtime::get().kind().type;
}

PhiloxGenerator::PhiloxGenerator(c10::DeviceIndex device)
    : PhiloxGenerator(device, c10::make_intrusive<PhiloxState>(c10::default_rng_seed_val, 0)) {
  assert_not_capturing("Cannot construct a new CUDAGeneratorImpl");
}

PhiloxGenerator::PhiloxGenerator(c10::DeviceIndex device, c10::intrusive_ptr<PhiloxState> state)
    : GeneratorImpl(c10::Device(device_type(), device),
                    c10::DispatchKeySet(Runtime::get().kind().dense)),
      state_(std::move(state)) {}

std::uint64_t PhiloxGenerator::get_offset() const {
  assert_not_capturing("Cannot call CUDAGeneratorImpl::get_offset");
  return state_->offset;
}

std::uint64_t PhiloxGenerator::current_seed() const {
  if (!kCapturesTakeTheSeed) assert_not_capturing("Cannot call CUDAGeneratorImpl::current_seed");
  return state_->seed;
}

void PhiloxGenerator::set_current_seed(std::uint64_t seed) {
  if (!kCapturesTakeTheSeed)
    assert_not_capturing("Cannot call CUDAGeneratorImpl::set_current_seed");
  if (is_capturing_graph()) {
    TORCH_CHECK(state_->seed == seed,
                "CUDAGeneratorImpl::set_current_seed can be called during stream capture only if "
                "new seed is the same as the original seed.");
    return;
  }
  state_->seed = seed;
  state_->offset = 0;
  seeded_ = true;
}

void PhiloxGenerator::set_offset(std::uint64_t offset) {
  assert_not_capturing("Cannot call CUDAGeneratorImpl::set_offset");
  TORCH_CHECK(offset % kWordsOfBlock == 0, "offset must be a multiple of 4");
  state_->offset = offset;
  seeded_ = true;
}

std::uint64_t PhiloxGenerator::seed() {
  assert_not_capturing("Cannot call CUDAGeneratorImpl::seed");
  const std::uint64_t random = c10::detail::getNonDeterministicRandom(true);
  set_current_seed(random);
  return random;
}

void PhiloxGenerator::set_state(const c10::TensorImpl& state) {
  if (!kCapturesTakeTheSeed)
    assert_not_capturing(
        "Please ensure to utilize the CUDAGeneratorImpl::set_state_index method during capturing.");
  at::detail::check_rng_state(state);
  std::array<std::uint64_t, 2> seed_and_offset{};
  const auto bytes = static_cast<std::size_t>(state.numel());
  TORCH_CHECK(bytes == sizeof(seed_and_offset) || bytes == sizeof(std::uint64_t),
              "RNG state is wrong size");
  std::memcpy(seed_and_offset.data(), state.data(), bytes);
  set_current_seed(seed_and_offset[0]);
  // What a graph draws is counted apart from the offset of a state.
  if (!is_capturing_graph()) set_offset(seed_and_offset[1]);
}

c10::intrusive_ptr<c10::TensorImpl> PhiloxGenerator::get_state() const {
  const std::array<std::uint64_t, 2> seed_and_offset{current_seed(), state_->offset};
  const at::Tensor bytes = at::detail::empty_cpu({sizeof(seed_and_offset)}, at::kByte, std::nullopt,
                                                 std::nullopt, std::nullopt, std::nullopt);
  std::memcpy(bytes.mutable_data_ptr(), seed_and_offset.data(), sizeof(seed_and_offset));
  return bytes.getIntrusivePtr();
}

void PhiloxGenerator::graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& other) {
  const auto same = c10::dynamic_intrusive_pointer_cast<PhiloxGenerator>(other);
  TORCH_CHECK(same, "Expected a CUDA Generator");
  state_ = same->state_;
}

c10::intrusive_ptr<c10::GeneratorImpl> PhiloxGenerator::graphsafe_get_state() const {
  return c10::make_intrusive<PhiloxGenerator>(device_.index(), state_);
}

device::PhiloxPlace PhiloxGenerator::reserve(std::uint64_t numbers) {
  const std::scoped_lock lock(mutex_);
  const bool is_capturing = is_capturing_graph();
  TORCH_CHECK(state_->captured || !is_capturing,
              "Attempt to increase offset for a CUDA generator not in capture mode.");
  TORCH_CHECK(!state_->captured || is_capturing,
              "Offset increment outside graph capture encountered unexpectedly.");
  const device::PhiloxPlace place{state_->seed, state_->offset};
  state_->offset += (numbers + kWordsOfBlock - 1) / kWordsOfBlock * kWordsOfBlock;
  return place;
}

c10::GeneratorImpl* PhiloxGenerator::clone_impl() const {
  return new PhiloxGenerator(device_.index(),
                             c10::make_intrusive<PhiloxState>(state_->seed, state_->offset));
}

}  // namespace torchport::vdev
