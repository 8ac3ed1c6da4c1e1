// torchport/kernel.h and torchport/module_check.h, used as a program of a user would.
#include <cstdio>
#include <stdexcept>

#include <ATen/ops/add.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torchport/kernel.h>
#include <torchport/module_check.h>

namespace {

int failures = 0;

void check(bool held, const char* what, int line) {
  if (held) return;
  ++failures;
  std::printf("failed: line %d: %s\n", line, what);
}

#define EXPECT(condition) check(condition, #condition, __LINE__)

template <class Error, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool has(const std::string& text, const char* part) {
  if (text.find(part) != std::string::npos) return true;
  std::printf("not in: %s\n", text.c_str());
  return false;
}

const at::TensorOptions kMeta = at::TensorOptions(c10::DeviceType::Meta);

struct Layer : torch::nn::Module, torchport::ListsMembers {
  Layer() {
    weight = register_parameter("weight", at::ones({2, 3}));
    mean_ = register_buffer("mean", at::zeros({3}));
  }
  std::vector<torchport::ModuleMember> torchport_members() const override {
    return {TORCHPORT_MEMBER(weight), {"mean", mean_}, TORCHPORT_MEMBER(extra)};
  }
  at::Tensor weight, mean_, extra;
};

struct Net : torch::nn::Module {
  Net() {
    first = register_module("first", std::make_shared<Layer>());
    second = register_module("second", std::make_shared<Layer>());
    second->weight = second->register_parameter("tied", first->weight);
  }
  std::shared_ptr<Layer> first, second;
};

void kernels() {
  torchport::Kernel<std::string(const at::Tensor&, std::optional<at::Tensor>, double)> contrast(
      "contrast");
  contrast.on(c10::DeviceType::Meta,
              [](const at::Tensor&, const std::optional<at::Tensor>&, double) { return "meta"; });
  const at::Tensor here = at::ones({2});
  const at::Tensor there = at::ones({2}, kMeta);
  EXPECT(contrast(there, std::nullopt, 1.0) == "meta");
  EXPECT(contrast(there, at::ones({}), 1.0) == "meta");
  EXPECT(has(message_of<c10::NotImplementedError>([&] { contrast(here, std::nullopt, 1.0); }),
             "contrast has no kernel for cpu; it has meta"));
  EXPECT(has(message_of<std::invalid_argument>([&] { contrast(there, here, 1.0); }),
             "argument 1 on meta, argument 2 on cpu"));
  contrast.fallback(
      [](const at::Tensor&, const std::optional<at::Tensor>&, double) { return "plain"; });
  EXPECT(contrast(here, here, 1.0) == "plain");
  EXPECT(
      has(message_of<std::invalid_argument>([&] { contrast.on(c10::DeviceType::Meta, nullptr); }),
          "already has a kernel for meta"));
  EXPECT(has(message_of<std::invalid_argument>([&] { contrast.fallback(nullptr); }),
             "already has a fallback"));

  torchport::Kernel<int(const std::vector<at::Tensor>&, c10::Device)> lists("lists");
  lists.on(c10::DeviceType::Meta, [](const auto&, c10::Device) { return 1; })
      .on(c10::DeviceType::CPU, [](const auto&, c10::Device) { return 2; });
  EXPECT(lists({there, there}, c10::Device("cpu")) == 1);
  EXPECT(lists({}, c10::Device("cpu")) == 2);
  torchport::Kernel<int(double)> numbers("numbers");
  EXPECT(has(message_of<std::invalid_argument>([&] { numbers(1.0); }), "neither a tensor nor a"));
}

void members() {
  using Kind = torchport::ModuleFinding::Kind;
  Net net;
  net.second->weight = net.second->named_parameters(false)["weight"];
  EXPECT(torchport::check_module(net).empty());
  net.to(at::kDouble);  // in place: members see it
  EXPECT(torchport::check_module(net).empty());

  net.first->weight = net.first->weight.to(at::kFloat);
  net.second->extra = at::ones({1});
  const auto found = torchport::check_module(net);
  EXPECT(found.size() == 2);
  if (found.size() == 2) {
    EXPECT(found[0].kind == Kind::kReplaced && found[0].name == "first.weight");
    EXPECT(has(found[0].message, "the member (Float on cpu) and the registered tensor (Double"));
    EXPECT(found[1].kind == Kind::kUnregistered && found[1].name == "second.extra");
  }
  const auto by_name = torchport::members_of(*net.first);
  EXPECT(by_name.size() == 1 && by_name[0].name == "weight");
  EXPECT(torchport::check_members(*net.first, by_name).size() == 1);
}

void ties() {
  Net net;
  const torchport::SharedParameters before(net);
  EXPECT(before.groups().size() == 1);
  EXPECT(before.groups() ==
         (std::vector<std::vector<std::string>>{{"first.weight", "second.tied"}}));
  net.to(at::kDouble);
  EXPECT(before.broken(net).empty());
  net.second->named_parameters(false)["tied"].set_data(at::zeros({2, 3}, at::kDouble));
  EXPECT(before.broken(net).empty());  // one object still, whatever its data

  Net apart;
  apart.second = apart.replace_module("second", std::make_shared<Layer>());
  apart.second->register_parameter("tied", at::zeros({2, 3}));
  const auto found = before.broken(apart);
  EXPECT(found.size() == 1);
  if (found.size() == 1) {
    EXPECT(found[0].name == "second.tied");
    EXPECT(has(found[0].message, "was the same tensor as first.weight"));
  }
}

}  // namespace

int main() {
  kernels();
  members();
  ties();
  std::printf("%d failures\n", failures);
  return failures;
}
