// What a C++ program does with torchport: chooses a device, loads weights, moves a batch.
// uses_torchport FILE prints one line a check; any failure ends it with exit code 1.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torchport/checkpoint.h>
#include <torchport/device.h>
#include <torchport/move.h>

namespace {

void require(bool condition, const char* what) {
  if (!condition) {
    std::printf("failed: %s\n", what);
    std::exit(1);
  }
  std::printf("passed: %s\n", what);
}

template <class Error, class Function>
std::string words_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

struct Batch {
  at::Tensor ids;
  std::optional<at::Tensor> mask;
  int size = 0;

  template <class Visitor>
  auto torchport_fields(Visitor&& visit) {
    return visit(ids, mask);
  }
};

struct Net : torch::nn::Module {
  Net() {
    first = register_module("first", torch::nn::Linear(4, 3));
    scale = register_buffer("scale", at::ones({3}));
  }
  torch::nn::Linear first{nullptr};
  at::Tensor scale;
};

// The output layer's weight is the embedding's, as language models have it.
struct Tied : torch::nn::Module {
  Tied() {
    embedding = register_module("embedding", torch::nn::Embedding(5, 3));
    head = register_parameter("head", embedding->weight);
  }
  torch::nn::Embedding embedding{nullptr};
  at::Tensor head;
};

void devices() {
  const auto choice = torchport::choose_device({"cuda:5,cpu", {}, {}});
  require(choice.device.is_cpu() && choice.refused.size() == 1, "a device and what was refused");
  require(words_of<std::invalid_argument>([] {
            (void)torchport::choose_device({"gpu", {}, {}});
          }).find("is not a device") != std::string::npos,
          "what is no device is said");
}

void moving() {
  const c10::Device meta(c10::DeviceType::Meta);
  const auto moved = torchport::to(
      std::map<std::string, std::vector<Batch>>{{"a", {{at::ones({2}), at::ones({2}), 2}}}}, meta);
  const Batch& batch = moved.at("a").front();
  require(batch.ids.is_meta() && batch.mask->is_meta() && batch.size == 2,
          "nested containers and own types are moved");
  const auto tuple = torchport::to(std::tuple{at::ones({1}), 3, std::string("x")}, meta);
  require(std::get<0>(tuple).is_meta() && std::get<2>(tuple) == "x", "tuples are moved");
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("t", at::ones({1}));
  const auto value = torchport::to(c10::IValue(dict), meta);
  require(value.toGenericDict().at("t").toTensor().is_meta(), "script values are moved");
}

void checkpoints(const std::string& path) {
  Net net;
  const at::Tensor weight = at::rand({3, 4});
  torchport::save_safetensors(path, {{"module.first.weight", weight},
                                     {"module.first.bias", at::rand({3})},
                                     {"module.scale", at::rand({3})}});
  const std::string words =
      words_of<std::runtime_error>([&] { (void)torchport::load_into(net, path); });
  require(words.find("3 missing from the file") != std::string::npos, "a report names what misses");
  torchport::LoadIntoOptions options;
  options.remap_prefixes = true;
  const auto report = torchport::load_into(net, path, options);
  require(report.complete() && at::equal(net.first->weight, weight), "weights are loaded");
  const auto loaded = torchport::load_tensors(path);
  require(loaded.tensors.size() == 3 && loaded.format == "safetensors", "tensors are listed");
  Tied tied;
  const at::Tensor table = at::rand({5, 3});
  torchport::save_safetensors(path, {{"embedding.weight", table}});
  const auto one_name = torchport::load_into(tied, path);
  require(one_name.complete() && at::equal(tied.head, table) &&
              tied.head.is_same(tied.embedding->weight),
          "one name of a tied weight is enough, and it stays tied");
  torchport::save_safetensors(path, {{"other", table}});
  require(words_of<std::runtime_error>([&] {
            (void)torchport::load_into(tied, path);
          }).find("2 missing from the file: head, embedding.weight") != std::string::npos,
          "no name of a tied weight is not");
}

}  // namespace

int main(int, char** argv) {
  devices();
  moving();
  checkpoints(argv[1]);
  return 0;
}
