#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file_system.h"
#include "build_gate/extension_stub.h"
#include "build_gate/provenance.h"
#include "cli/build_plan.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "runtime/checkpoint/archive.h"
#include "source/report/report.h"

namespace torchport::cli {

namespace {

// The largest library in a wheel, in bytes; libtorch_cuda.so has 1.3 GiB.
constexpr std::uint64_t kMostOfOne = std::uint64_t{8} << 30;

constexpr std::string_view kUntold =
    "\nnothing in it says how it was built: only torchport's CMake function and torchport.build "
    "write a note\n";

int failed(base::Error error, const std::string& path) {
  if (error.path.empty()) error.path = path;
  print_error(error);
  return kUsageError;
}

base::Result<std::vector<std::string>> contents(const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    auto text = base::real_file_system().read(path);
    if (!text) return tl::unexpected(text.error());
    texts.push_back(std::move(*text));
  }
  return texts;
}

void print_one(const build_gate::Provenance& one) {
  print_row(stdout, "extension", one.extension);
  print_row(stdout, "built",
            one.outcome == "cuda"
                ? fmt::format("with CUDA code for {}, by nvcc {}", one.archs, one.nvcc)
            : one.outcome == "cpu"
                ? "for the CPU only"
                : fmt::format("with {} code, by its compiler {}", one.outcome, one.nvcc));
  print_row(stdout, "against",
            fmt::format("torch {}{}{}", one.torch,
                        one.torch_cuda.empty() ? "" : ", CUDA " + one.torch_cuda,
                        one.cxx11_abi ? "" : ", without the C++11 ABI"));
  print_row(stdout, "by", fmt::format("{}, torchport {}", one.built_by, one.torchport));
  print_row(stdout, "why", fmt::format("{} [{}]", one.reason, one.code));
  print_row(stdout, "to change it", one.remedy);
}

void print_text(const build_gate::ExtensionFile& file, const std::string& wrong) {
  for (const build_gate::Provenance& one : file.provenance) print_one(one);
  print_row(stdout, "device code",
            file.archs.empty() ? (file.kernels ? "for unknown GPUs" : "none")
                               : fmt::format("{}", fmt::join(file.archs, " ")));
  print_row(stdout, "links", fmt::format("{}", fmt::join(file.needed, " ")));
  if (!wrong.empty()) fmt::print("\n{}\n", report::one_line(wrong));
}

nlohmann::ordered_json as_json(const build_gate::ExtensionFile& file, const std::string& wrong) {
  nlohmann::ordered_json whole{{"provenance", nlohmann::ordered_json::array()},
                               {"kernels", file.kernels},
                               {"archs", file.archs},
                               {"needed", file.needed},
                               {"contradiction", wrong}};
  for (const build_gate::Provenance& one : file.provenance)
    whole["provenance"].push_back(nlohmann::ordered_json::parse(to_json(one)));
  return whole;
}

void print_json(const nlohmann::ordered_json& whole) {
  fmt::print("{}\n", whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

int print_file(const std::string& path, std::string_view bytes, bool json) {
  const auto file = build_gate::read_extension(bytes);
  if (!file) return failed(file.error(), path);
  const std::string wrong = contradiction(*file);
  if (json)
    print_json(as_json(*file, wrong));
  else
    print_text(*file, wrong);
  if (!json && file->provenance.empty()) fmt::print("{}", kUntold);
  return file->provenance.empty() || !wrong.empty() ? kFindings : kClean;
}

// Whether a name is a library's: "pkg/_C.cpython-311-x86_64-linux-gnu.so", "pkg.libs/libfoo.so.2".
bool is_library(std::string_view name) {
  const std::string_view last = base::file_name(name);
  return last.ends_with(".so") || last.find(".so.") != std::string_view::npos;
}

// A wheel says how it was built if one of its libraries does; the others may come from other
// projects.
int print_wheel(const std::string& path, std::string_view bytes, bool json) {
  const auto wheel = checkpoint::Archive::open(path, bytes);
  if (!wheel) return failed(wheel.error(), path);
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  bool told = false;
  bool belied = false;
  for (const checkpoint::Archive::Entry& entry : wheel->entries()) {
    if (!is_library(entry.name)) continue;
    const auto content = wheel->read(entry, kMostOfOne);
    if (!content) return failed(content.error(), path);
    const auto file = build_gate::read_extension(*content);
    if (!file) return failed(file.error(), path + ": " + entry.name);
    const std::string wrong = contradiction(*file);
    told = told || !file->provenance.empty();
    belied = belied || !wrong.empty();
    if (!json) fmt::print("{}{}\n", all.empty() ? "" : "\n", report::one_line(entry.name));
    all[entry.name] = as_json(*file, wrong);
    if (!json) print_text(*file, wrong);
  }
  if (json)
    print_json({{"libraries", all}});
  else if (all.empty())
    fmt::print("{} contains no library, so no extension was built\n", path);
  else if (!told)
    fmt::print("{}", kUntold);
  return told && !belied ? kClean : kFindings;
}

}  // namespace

void add_extension_stub_options(CLI::App& command, ExtensionStubOptions& options) {
  // These are for build tools, so --help does not list them.
  auto* output = command.add_option("--extension-stub", options.output)->group("");
  command.add_option("--extension", options.extension)->group("")->needs(output);
  command.add_option("--built-by", options.built_by)->group("")->needs(output);
  command.add_option("--cuda-source", options.cuda_sources)->group("")->needs(output);
  command.add_option("--object", options.objects)->group("")->needs(output);
}

int write_extension_stub(const build_gate::BuildInputs& inputs, const build_gate::BuildPlan& plan,
                         const ExtensionStubOptions& options) {
  build_gate::CudaPart part;
  // What a build compiles it does not name as left out. One for ROCm leaves out SYCL's sources.
  const bool left_out =
      !options.cuda_sources.empty() && plan.outcome != build_gate::BuildOutcome::kCuda;
  if (left_out || plan.outcome == build_gate::BuildOutcome::kCpu) {
    auto sources = contents(options.cuda_sources);
    if (!sources) return failed(sources.error(), {});
    auto objects = contents(options.objects);
    if (!objects) return failed(objects.error(), {});
    part = {std::move(*sources), std::move(*objects)};
  }
  const auto text = build_gate::extension_stub_source(
      build_gate::provenance_of(inputs, plan, TORCHPORT_VERSION, options.extension,
                                options.built_by),
      part);
  if (!text) return failed(text.error(), options.extension);
  base::FileSystem& files = base::real_file_system();
  if (const auto old = files.read(options.output); old && *old == *text) return kClean;
  if (const auto done = files.write_atomic(options.output, *text, 0644); !done)
    return failed(done.error(), options.output);
  return kClean;
}

int print_provenance(const std::string& path, bool json) {
  const auto bytes = base::real_file_system().read(path);
  if (!bytes) return failed(bytes.error(), path);
  return bytes->starts_with("PK\3\4") ? print_wheel(path, *bytes, json)
                                      : print_file(path, *bytes, json);
}

}  // namespace torchport::cli
