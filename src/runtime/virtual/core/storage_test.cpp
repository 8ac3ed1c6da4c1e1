// Tests twins, charged memory and aliases with two virtual CUDA devices
// (src/runtime/virtual/CMakeLists.txt).
#include "runtime/virtual/core/storage.h"

#include <atomic>
#include <thread>
#include <vector>

#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <doctest/doctest.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/test_options.h"

namespace torchport::vdev {

namespace {

std::int64_t allocated(c10::DeviceIndex device) {
  return Runtime::get().memory(device).stats().allocated_bytes.of[device::PoolStat::kAll].current;
}

}  // namespace

TEST_CASE("a block is charged to its device while its storage lives, and views share it") {
  const std::int64_t before = allocated(1);
  {
    const at::Tensor tensor = at::ones({1000}, on(1));
    CHECK(allocated(1) == before + 4096);  // 4,000 bytes in blocks of 512
    const at::Tensor view = tensor.view({10, 100}).select(0, 3);
    CHECK(allocated(1) == before + 4096);
    CHECK(view.storage().unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl());
  }
  CHECK(allocated(1) == before);
}

TEST_CASE("the twin owns the bytes, and whoever keeps it keeps them") {
  c10::intrusive_ptr<c10::StorageImpl> twin;
  {
    const at::Tensor tensor = at::arange(4, on(0).dtype(at::kFloat));
    twin = twin_of(*tensor.storage().unsafeGetStorageImpl());
    CHECK(twin->device().is_cpu());
    CHECK(twin->nbytes() == 16);
  }
  CHECK(static_cast<const float*>(twin->data())[3] == 3.0F);
}

TEST_CASE("the address that a program sees is not the host's") {
  const at::Tensor tensor = at::ones({4}, on(0));
  const auto twin = twin_of(*tensor.storage().unsafeGetStorageImpl());
  const at::Tensor other = at::ones({4}, on(1));
  CHECK(tensor.storage().data_ptr().get() != nullptr);
  CHECK(tensor.data_ptr() != other.data_ptr());
}

TEST_CASE("a resize moves the account, and a full device raises") {
  const std::int64_t before = allocated(0);
  at::Tensor tensor = at::ones({128}, on(0));
  tensor.resize_({100'000});
  CHECK(allocated(0) - before >= 400'000);
  tensor.resize_({1});
  tensor = at::Tensor();
  CHECK(allocated(0) == before);
  const auto total = static_cast<std::int64_t>(Runtime::get().memory(0).total());
  CHECK_THROWS_AS(static_cast<void>(at::empty({total + 1}, on(0).dtype(at::kByte))),
                  c10::OutOfMemoryError);
  CHECK(allocated(0) == before);
}

TEST_CASE("an adopted storage has the same bytes; one of another process is not charged") {
  const std::int64_t before = allocated(0);
  const at::Tensor host = at::ones({1024});
  {
    const c10::Storage mine = adopt(host.storage(), 0);
    CHECK(allocated(0) == before + 4096);
    const c10::Storage theirs = adopt(at::ones({1024}).storage(), 0, /*charged=*/false);
    CHECK(allocated(0) == before + 4096);
    CHECK(twin_of(*mine.unsafeGetStorageImpl())->data() == host.data_ptr());
  }
  CHECK(allocated(0) == before);
}

TEST_CASE("an alias is over the same bytes, once for each tensor, and results come back") {
  const at::Tensor tensor = at::arange(6, on(1).dtype(at::kFloat)).view({2, 3}).t();
  Aliases aliases;
  const at::Tensor alias = aliases.of(tensor);
  CHECK(alias.is_cpu());
  CHECK(alias.strides() == tensor.strides());
  CHECK(aliases.of(tensor).is_same(alias));
  alias.fill_(7);
  CHECK(tensor.sum().item<float>() == 42);
  CHECK(aliases.back(alias).is_same(tensor));
  const at::Tensor view = aliases.back(alias.select(0, 1));
  CHECK(view.device() == tensor.device());
  CHECK(view.storage().unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl());
  const at::Tensor made = aliases.back(at::add(alias, 1));
  CHECK(made.device() == tensor.device());
  CHECK(made.sum().item<float>() == 48);
  const at::Tensor host = at::ones({2});
  CHECK(aliases.of(host).is_same(host));
}

TEST_CASE("threads allocate, compute and free on both devices at once") {
  const std::int64_t before = allocated(0) + allocated(1);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([number, &wrong] {
      const auto options = on(static_cast<c10::DeviceIndex>(number % 2));
      at::Tensor kept = at::ones({64, 64}, options);
      for (int i = 0; i < 50; ++i) {
        const at::Tensor made = at::randn({64 + i, 64}, options);
        kept = at::add(kept, made.narrow(0, i, 64), 0);
        if (kept.device() != options.device()) ++wrong;
      }
      if (kept.sum().item<float>() != 4096) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(allocated(0) + allocated(1) == before);
}

}  // namespace torchport::vdev
