// The generator of a virtual CUDA device that draws what a real one draws: a seed and an offset.
//
// It follows at::CUDAGeneratorImpl (aten/src/ATen/cuda/CUDAGeneratorImpl.cpp): the state is 16
// bytes, each kernel reserves as many numbers as one of its threads may draw, and offsets are
// multiples of 4. The state is an object of its own, because graphsafe_set_state() lets generators
// share one.
#pragma once

#include <atomic>
#include <cstdint>

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "runtime/device/philox.h"

namespace torchport::vdev {

struct PhiloxState final : c10::intrusive_ptr_target {
  PhiloxState(std::uint64_t first_seed, std::uint64_t first_offset)
      : seed(first_seed), offset(first_offset) {}
  std::uint64_t seed;
  std::uint64_t offset;
  bool captured = false;  // a CUDA graph that is being captured draws from it
};

// Thread safe where it says so, else like at::CUDAGeneratorImpl: the caller holds mutex_. While
// this thread captures a CUDA graph, all functions but reserve() and those for graphs raise
// c10::Error.
class PhiloxGenerator final : public c10::GeneratorImpl {
 public:
  // For at::check_generator().
  [[nodiscard]] static c10::DeviceType device_type();

  explicit PhiloxGenerator(c10::DeviceIndex device);
  PhiloxGenerator(c10::DeviceIndex device, c10::intrusive_ptr<PhiloxState> state);

  void set_current_seed(std::uint64_t seed) override;
  // Raises c10::Error if `offset` is not a multiple of 4.
  void set_offset(std::uint64_t offset) override;
  [[nodiscard]] std::uint64_t get_offset() const override;
  [[nodiscard]] std::uint64_t current_seed() const override;
  std::uint64_t seed() override;
  // Takes 16 bytes, seed and offset, or 8 without an offset. Raises c10::Error for another size,
  // type or device.
  void set_state(const c10::TensorImpl& state) override;
  [[nodiscard]] c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& other) override;
  [[nodiscard]] c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override;

  // Whether a seed or an offset was set since the last call, or the generator is new. cuDNN's
  // dropout starts again then. Thread safe.
  [[nodiscard]] bool take_seeded() { return seeded_.exchange(false); }

  // Tells states apart: several generators may draw from one. Thread safe.
  [[nodiscard]] const void* identity() const { return state_.get(); }

  // Says that the graph that is being captured draws from this generator, or no longer.
  void set_captured(bool captured) { state_->captured = captured; }

  // Where a kernel draws from, whose threads draw up to `numbers` each. Later kernels draw after
  // that. Raises c10::Error if a graph is being captured and this generator is not registered with
  // it. Thread safe.
  [[nodiscard]] device::PhiloxPlace reserve(std::uint64_t numbers);

 private:
  [[nodiscard]] GeneratorImpl* clone_impl() const override;

  c10::intrusive_ptr<PhiloxState> state_;
  std::atomic<bool> seeded_{true};
};

}  // namespace torchport::vdev
