// Files of tensors, and the pipeline with workers of its own: no artefact is loaded.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "runtime/infer/feed.h"
#include "runtime/infer/npy.h"
#include "runtime/infer/pipeline.h"
#include "runtime/infer/tensor_file.h"

namespace torchport::infer {

namespace {

using Folder = base::TemporaryFolder;

std::string npy_bytes(const at::Tensor& tensor) {
  return npy_header_for(tensor) +
         std::string(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
}

// .npy, version 1, with this dictionary and these elements.
std::string npy_with(const std::string& dictionary, const std::string& elements) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(dictionary.size() & 0xff));
  bytes.push_back(static_cast<char>(dictionary.size() >> 8));
  return bytes + dictionary + elements;
}

// One input x and one output, both float32 [rows, 2].
Contract rows_of_two() {
  Contract contract;
  const TensorSpec spec{"x", c10::ScalarType::Float, {{-1, "rows"}, {2, ""}}};
  contract.inputs = {spec};
  contract.outputs = {spec};
  contract.axes["rows"] = {};
  return contract;
}

Worker doubling(std::string name, std::chrono::milliseconds pause) {
  return {std::move(name), [pause](const std::vector<at::Tensor>& inputs) {
            std::this_thread::sleep_for(pause);
            return std::vector<at::Tensor>{inputs.front().mul(2)};
          }};
}

// A run over a file of rows, one row a batch.
class PipelineRun {
 public:
  explicit PipelineRun(const at::Tensor& rows) {
    write_tensors(folder_.file("x.npy"), {{"x", rows}});
    feed_.emplace(contract_, FeedOptions{{folder_.file("x.npy")}, 1});
  }

  void operator()(const std::vector<Worker>& workers, const Sink& sink) {
    run_all(*feed_, workers, sink, progress, stop);
  }

  Progress progress;
  std::atomic<bool> stop{false};

 private:
  Folder folder_;
  Contract contract_ = rows_of_two();
  std::optional<Feed> feed_;
};

}  // namespace

TEST_CASE("what is written as .npy is read again: every dtype, no rows, no dimensions") {
  for (const auto dtype :
       {at::kFloat, at::kDouble, at::kHalf, at::kLong, at::kInt, at::kShort, at::kChar, at::kByte,
        at::kBool, at::kComplexFloat, at::kComplexDouble}) {
    for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{3, 2}, {0, 4}, {}}) {
      CAPTURE(c10::toString(dtype));
      const at::Tensor written = at::ones(sizes, dtype);
      const auto bytes = std::make_shared<const std::string>(npy_bytes(written));
      REQUIRE(is_npy(*bytes));
      const NpyHeader header = read_npy_header(*bytes);
      CHECK(header.data == npy_header_size(*bytes));
      REQUIRE(header.data + header.bytes == bytes->size());
      const at::Tensor read = npy_tensor(header, bytes->data() + header.data, bytes);
      CHECK((read.scalar_type() == dtype));  // doctest cannot print a ScalarType
      CHECK(read.sizes().equals(written.sizes()));
      CHECK(at::equal(read, written));
    }
  }
  CHECK_THROWS_AS((void)npy_header_for(at::ones({2}, at::kBFloat16)), std::runtime_error);
}

TEST_CASE("an array in Fortran's order has the same elements at the same places") {
  const at::Tensor wanted = at::arange(6, at::kFloat).view({2, 3});
  const at::Tensor columns = wanted.t().contiguous();
  const auto bytes = std::make_shared<const std::string>(
      npy_with("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n",
               {static_cast<const char*>(columns.const_data_ptr()), columns.nbytes()}));
  const NpyHeader header = read_npy_header(*bytes);
  CHECK(header.fortran_order);
  CHECK(at::equal(npy_tensor(header, bytes->data() + header.data, bytes), wanted));
}

TEST_CASE("a header that is damaged is refused") {
  const std::string whole = npy_bytes(at::ones({3, 2}));
  const std::size_t data = read_npy_header(whole).data;
  for (std::size_t size = 0; size < data; ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS((void)read_npy_header(std::string_view(whole).substr(0, size)),
                    std::runtime_error);
  }
  for (const char* const dictionary : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2), }\n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }\n",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }\n",
           "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
           "{'descr': '<U12', 'fortran_order': False, 'shape': (1,), }\n",
           "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n",
           "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }\n",
           "{'fortran_order': False, 'shape': (1,), }\n",
           "not a dictionary\n",
           "",
       }) {
    CAPTURE(dictionary);
    CHECK_THROWS_AS((void)read_npy_header(npy_with(dictionary, "")), std::runtime_error);
  }
}

TEST_CASE("tensors that are written as safetensors and as .npy are read again") {
  const Folder folder;
  const at::Tensor a = at::arange(6, at::kFloat).view({3, 2});
  const at::Tensor b = at::ones({4}, at::kBFloat16);
  write_tensors(folder.file("both.safetensors"), {{"a", a}, {"b", b}});
  const NamedTensors both = read_tensors(folder.file("both.safetensors"));
  REQUIRE(both.size() == 2);
  for (const auto& [name, tensor] : both) CHECK(at::equal(tensor, name == "a" ? a : b));
  write_tensors(folder.file("one.npy"), {{"a", a}});
  const NamedTensors one = read_tensors(folder.file("one.npy"));
  REQUIRE(one.size() == 1);
  CHECK(one.front().name.empty());
  CHECK(at::equal(one.front().tensor, a));
  CHECK_THROWS_AS(check_writable(folder.file("two.npy"), 2), std::runtime_error);
  CHECK_THROWS_AS((void)read_tensors(folder.file("absent.npy")), std::runtime_error);
  std::ofstream(folder.file("cut.npy")) << npy_bytes(a).substr(0, 100);
  CHECK_THROWS_AS((void)read_tensors(folder.file("cut.npy")), std::runtime_error);
}

TEST_CASE("batches of all files, in their order, the last of a file with what is left") {
  const Folder folder;
  write_tensors(folder.file("five.npy"), {{"x", at::zeros({5, 2})}});
  write_tensors(folder.file("two.npy"), {{"x", at::ones({2, 2})}});
  const Contract contract = rows_of_two();
  Feed feed(contract, {{folder.file("five.npy"), folder.file("two.npy")}, 2});
  CHECK(feed.total_rows() == 7);
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> indices;
  while (const auto batch = feed.next()) {
    rows.push_back(batch->rows);
    indices.push_back(batch->index);
    CHECK(batch->inputs.front().size(0) == batch->rows);
  }
  CHECK(rows == std::vector<std::int64_t>{2, 2, 1, 2});
  CHECK(indices == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK_FALSE(feed.next());
}

TEST_CASE("results come in the order of the data, whichever worker is faster") {
  const at::Tensor data = at::arange(400, at::kFloat).view({200, 2});
  PipelineRun run(data);
  std::int64_t next = 0;
  run({doubling("fast", std::chrono::milliseconds(0)),
       doubling("slow", std::chrono::milliseconds(3)),
       doubling("middle", std::chrono::milliseconds(1))},
      [&](const std::vector<at::Tensor>& outputs) {
        CHECK(at::equal(outputs.front(), data.narrow(0, next, 1).mul(2)));
        ++next;
      });
  CHECK(next == 200);
  CHECK(run.progress.rows == 200);
  CHECK(run.progress.batches == 200);
}

TEST_CASE("the error of one worker ends all, and names the batch and the worker") {
  PipelineRun run(at::zeros({100, 2}));
  std::atomic<int> calls{0};
  const Worker failing{"cuda:1", [&](const std::vector<at::Tensor>& inputs) {
                         if (++calls == 3) throw std::runtime_error("out of memory");
                         return inputs;
                       }};
  std::string said;
  try {
    run({doubling("cuda:0", std::chrono::milliseconds(1)), failing}, [](const auto&) {});
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  CAPTURE(said);
  CHECK(said.find("batch ") == 0);
  CHECK(said.find("cuda:1: out of memory") != std::string::npos);
  CHECK(run.progress.batches < 100);
}

TEST_CASE("stop ends the run early and without an error") {
  PipelineRun run(at::zeros({1000, 2}));
  run({doubling("a", std::chrono::milliseconds(1)), doubling("b", std::chrono::milliseconds(1))},
      [&](const std::vector<at::Tensor>&) {
        if (run.progress.batches >= 10) run.stop = true;
      });
  CHECK(run.progress.batches >= 10);
  CHECK(run.progress.batches < 1000);
}

}  // namespace torchport::infer
