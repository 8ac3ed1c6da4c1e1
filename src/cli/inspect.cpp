// Implements `torchport inspect`.
#include <algorithm>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/tell.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "runtime/checkpoint/checksums.h"
#include "runtime/checkpoint/contents.h"
#include "runtime/checkpoint/extract.h"
#include "runtime/checkpoint/json.h"
#include "source/report/report.h"

namespace torchport::cli::inspect_command {

namespace {

using checkpoint::Contents;
using checkpoint::TensorEntry;

struct InspectOptions {
  std::vector<std::string> paths;
  bool json = false;
  bool verify = false;
  std::string extract;
  std::string key;
};

std::uint64_t elements(const TensorEntry& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t size : tensor.shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

std::string shape(const TensorEntry& tensor) {
  if (tensor.kind == "nested") return "ragged";
  return tensor.shape.empty() ? "scalar" : fmt::format("{}", fmt::join(tensor.shape, " x "));
}

// Tensors that share the bytes of another one, listed under its name.
std::vector<std::string> shared_with(const Contents& contents) {
  std::map<std::size_t, const TensorEntry*> first;
  std::vector<std::string> result;
  for (const TensorEntry& tensor : contents.tensors) {
    std::string name;
    if (tensor.storage) {
      const auto [known, fresh] = first.emplace(*tensor.storage, &tensor);
      if (!fresh) name = known->second->path;
    }
    result.push_back(std::move(name));
  }
  return result;
}

void print_tensors(const Contents& contents) {
  std::size_t names = 0;
  std::size_t shapes = 0;
  for (const TensorEntry& tensor : contents.tensors) {
    names = std::max(names, std::min<std::size_t>(report::one_line(tensor.path).size(), 60));
    shapes = std::max(shapes, std::min<std::size_t>(shape(tensor).size(), 30));
  }
  const auto shared = shared_with(contents);
  for (std::size_t i = 0; i < contents.tensors.size(); ++i) {
    const TensorEntry& tensor = contents.tensors[i];
    std::string more = tensor.kind == "tensor" ? "" : "  " + tensor.kind;
    if (!shared[i].empty()) more += fmt::format("  shares {}", report::one_line(shared[i]));
    fmt::print("  {:<{}}  {:<{}}  {:<10} {}{}\n", report::one_line(tensor.path), names,
               shape(tensor), shapes, tensor.dtype, tensor.device, more);
  }
}

void print_text(const std::string& path, const Contents& contents) {
  std::uint64_t count = 0;
  for (const TensorEntry& tensor : contents.tensors) count += elements(tensor);
  const auto devices = contents.devices();
  fmt::print("{}: {}, {} tensor{} with {} values, {}{}{}\n", report::one_line(path),
             contents.format, contents.tensors.size(), contents.tensors.size() == 1 ? "" : "s",
             count, base::format_bytes(contents.bytes()), devices.empty() ? "" : " on ",
             fmt::join(devices, ", "));
  print_tensors(contents);
  for (const checkpoint::ValueEntry& value : contents.values)
    fmt::print("  {}{}{}\n", report::one_line(value.path), value.path.empty() ? "" : " = ",
               report::one_line(value.text));
  if (!contents.refused.empty())
    fmt::print("names that a safe load refuses: {}\n",
               report::one_line(checkpoint::first_names(contents.refused)));
  for (const std::string& note : contents.notes) fmt::print("note: {}\n", report::one_line(note));
  for (const std::string& danger : contents.dangers)
    fmt::print("broken: {}\n", report::one_line(danger));
  for (const std::string& fault : contents.broken)
    fmt::print("broken: {}\n", report::one_line(fault));
}

// Compares the bytes of a file with its checksums. The names of tensors come from the contents.
int verify(const std::string& path, const Contents& contents) {
  const auto checked = checkpoint::compare_checksums(path, contents);
  if (!checked) {
    print_error(checked.error());
    return kFindings;
  }
  for (const std::string& fault : checked->damaged)
    fmt::print("damaged: {}\n", report::one_line(fault));
  if (checked->compared > 0)
    fmt::print("checksums: {} of {} parts agree\n", checked->compared - checked->damaged.size(),
               checked->compared);
  else
    fmt::print("checksums: {} has none\n", contents.format);
  return checked->damaged.empty() ? kClean : kFindings;
}

int extract(const InspectOptions& options) {
  if (options.paths.size() != 1) {
    base::tell("torchport: --extract takes one checkpoint, and {} were given\n",
               options.paths.size());
    return kUsageError;
  }
  const auto done = checkpoint::extract(options.paths.front(), options.extract, options.key);
  if (!done) {
    print_error(done.error());
    return kFindings;
  }
  fmt::print("{}: {} tensor{}, {}\n", report::one_line(options.extract), done->tensors,
             done->tensors == 1 ? "" : "s", base::format_bytes(done->bytes));
  for (const std::string& left : done->left_out)
    fmt::print("left out: {}\n", report::one_line(left));
  return done->left_out.empty() ? kClean : kFindings;
}

int inspect(const InspectOptions& options) {
  if (!options.extract.empty()) return extract(options);
  int code = kClean;
  bool first = true;
  for (const std::string& path : options.paths) {
    const auto contents = checkpoint::inspect(path);
    if (!contents) {
      print_error(contents.error());
      code = kFindings;
      continue;
    }
    if (!contents->fault().empty()) code = kFindings;
    if (options.json) {
      fmt::print("{}", checkpoint::to_json(path, *contents));
      continue;
    }
    if (!first) fmt::print("\n");
    first = false;
    print_text(path, *contents);
    if (options.verify) code = std::max(code, verify(path, *contents));
  }
  return code;
}

void attach(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* sub = app.add_subcommand(
      "inspect", "Print what a checkpoint holds; nothing in it is loaded or run");
  sub->add_option("files", options->paths,
                  "Checkpoints: torch.save, TorchScript, torch.export, safetensors; folders of "
                  "safetensors with an index, or of torch.distributed.checkpoint")
      ->required()
      ->type_name("FILE");
  auto* json = sub->add_flag("--json", options->json, "Print one JSON object for each file");
  sub->add_flag("--verify", options->verify,
                "Read the whole file and compare it with its checksums")
      ->excludes(json);
  auto* extract = sub->add_option("--extract", options->extract,
                                  "Write the tensors of one checkpoint to this safetensors file, "
                                  "also of a whole model that was pickled; nothing in it is run")
                      ->type_name("FILE");
  sub->add_option("--key", options->key, "Extract only what is under this name, without it: model")
      ->type_name("NAME")
      ->needs(extract);
  sub->footer(
      "\nExit codes: 0 all can be read; 1 one is damaged or not a checkpoint, or a tensor cannot "
      "be "
      "extracted; 2 wrong use.");
  sub->callback([options] { set_exit_code(inspect(*options)); });
}

const CommandRegistration kInspect{{.order = 8, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::inspect_command
