// Writes weights and reads them back: shared, cast, mapped, truncated.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <doctest/doctest.h>
#include <torchport/checkpoint.h>

#include "base/temporary_folder.h"

namespace torchport {

using Folder = base::TemporaryFolder;

TEST_CASE("what is written is read, shared memory shared, over the mapped file or not") {
  const Folder folder;
  const std::string path = folder.file("w.safetensors");
  const at::Tensor weight = at::arange(6, at::kFloat).view({2, 3});
  save_safetensors(
      path, {{"a", weight}, {"tied", weight}, {"t", weight.t()}, {"half", weight.to(at::kHalf)}});
  for (const bool map : {true, false}) {
    CAPTURE(map);
    LoadOptions options;
    options.map = map;
    LoadedTensors loaded = load_tensors(path, options);
    REQUIRE(loaded.tensors.size() == 4);
    const auto named = [&](const std::string& name) {
      for (const NamedTensor& one : loaded.tensors)
        if (one.name == name) return one.tensor;
      return at::Tensor();
    };
    CHECK(named("a").equal(weight));
    CHECK(named("t").equal(weight.t()));
    CHECK((named("half").scalar_type() == at::kHalf));
    CHECK(named("tied").data_ptr() == named("a").data_ptr());
    named("a").fill_(9);  // changes the process's copy of the pages, not the file
    CHECK(load_tensors(path).tensors.front().tensor.equal(weight));
  }
}

TEST_CASE("tensors outlive the call that mapped their file, and the file itself") {
  at::Tensor kept;
  {
    const Folder folder;
    const std::string path = folder.file("w.safetensors");
    save_safetensors(path, {{"a", at::ones({100'000})}});
    kept = load_tensors(path).tensors.front().tensor;
  }
  CHECK(kept.sum().item<float>() == 100'000);
}

TEST_CASE("a file that is cut off anywhere is refused") {
  const Folder folder;
  const std::string whole = folder.file("w.safetensors");
  save_safetensors(whole, {{"a", at::ones({8})}, {"b", at::ones({3, 3})}});
  std::ifstream in(whole, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (std::size_t length = 0; length < bytes.size(); length += 7) {
    CAPTURE(length);
    const std::string cut = folder.file("cut.safetensors");
    std::ofstream(cut, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(length));
    CHECK_THROWS_AS(static_cast<void>(load_tensors(cut)), std::runtime_error);
    CHECK_FALSE(summarize(cut).fault.empty());
  }
}

TEST_CASE("threads load one file at once") {
  const Folder folder;
  const std::string path = folder.file("w.safetensors");
  save_safetensors(path, {{"a", at::arange(1000, at::kFloat)}});
  std::vector<std::thread> threads;
  std::vector<float> sums(4);
  for (std::size_t i = 0; i < sums.size(); ++i)
    threads.emplace_back(
        [&, i] { sums[i] = load_tensors(path).tensors.front().tensor.sum().item<float>(); });
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<float>(4, 499'500));
}

}  // namespace torchport
