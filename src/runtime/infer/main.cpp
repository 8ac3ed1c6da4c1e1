// The program torchport-infer ARTEFACT FILES... --output OUT.
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <torchport/device.h>
#include <torchport/session.h>
#include <unistd.h>

#include "base/tell.h"
#include "runtime/infer/feed.h"
#include "runtime/infer/monitor.h"
#include "runtime/infer/npy.h"
#include "runtime/infer/pipeline.h"
#include "runtime/infer/tensor_file.h"
#include "runtime/infer/virtual_devices.h"

namespace torchport::infer {

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kInterrupted = 130;

struct Options {
  std::string artefact;
  std::vector<std::string> files;
  std::string output;
  std::vector<std::string> devices;
  std::int64_t batch_size = 0;
  int threads = 0;
  bool check_finite = false;
  bool contract = false;
  bool watch = false;
  bool quiet = false;
};

std::atomic<bool>& interrupted() {
  static std::atomic<bool> flag{false};
  return flag;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("artefact", options.artefact, "the file that torchport export wrote")->required();
  app.add_option("inputs", options.files,
                 "safetensors, .npy, .npz or torch.save files, in order; - reads .npy arrays from "
                 "standard input, one after another");
  app.add_option("-o,--output", options.output,
                 "a .safetensors file, or .npy for one output; - writes .npy arrays to standard "
                 "output, batch by batch");
  app.add_option(
         "--device", options.devices,
         "cpu, cuda:0, ...; with several, a worker runs on each (default: the artefact's device)")
      ->delimiter(',');
  app.add_option("--batch-size", options.batch_size,
                 "rows of each call (default: all rows of a file)")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "CPU threads of each worker")
      ->check(CLI::PositiveNumber);
  app.footer(
      "  --engine ray ...           Run it on the machines of a Ray cluster; `torchport infer "
      "--engine ray --help`");
  app.add_flag("--check-finite", options.check_finite, "stop on NaN or Inf in inputs or outputs");
  app.add_flag("--contract", options.contract, "print the artefact's contract and exit");
  app.add_flag("--watch", options.watch, "show the load and the memory of the devices");
  app.add_flag("-q,--quiet", options.quiet, "do not print progress");
}

std::vector<Session> open_sessions(const Options& options) {
  std::vector<Session> sessions;
  SessionOptions settings;
  settings.check_finite = options.check_finite;
  settings.threads = options.threads;
  if (options.devices.empty()) sessions.emplace_back(options.artefact, settings);
  for (const std::string& name : options.devices) {
    settings.device = choose_device({name, std::nullopt, {}}).device;
    sessions.emplace_back(options.artefact, settings);
  }
  return sessions;
}

// Collects the outputs of all batches, and joins them at the end: their size is not known before.
class Collected {
 public:
  explicit Collected(const Contract& contract)
      : contract_(contract), cut_(cut_of(contract)), parts_(contract.outputs.size()) {}

  void add(std::vector<at::Tensor> outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!cut_.outputs[i] && !parts_[i].empty()) {
        throw std::runtime_error(
            "the output " + contract_.outputs[i].name +
            " does not have one row for each row of the inputs, so the batches cannot be joined; "
            "run one batch, or write to standard output (--output -)");
      }
      parts_[i].push_back(std::move(outputs[i]));
    }
  }

  [[nodiscard]] NamedTensors joined() const {
    NamedTensors tensors;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto& parts = parts_[i];
      tensors.push_back(
          {contract_.outputs[i].name, parts.size() == 1 ? parts.front() : at::cat(parts)});
    }
    return tensors;
  }

 private:
  const Contract& contract_;
  Cut cut_;
  std::vector<std::vector<at::Tensor>> parts_;
};

void write_array(const at::Tensor& tensor) {
  const std::string header = npy_header_for(tensor);
  if (std::fwrite(header.data(), 1, header.size(), stdout) != header.size() ||
      std::fwrite(tensor.data_ptr(), 1, tensor.nbytes(), stdout) != tensor.nbytes() ||
      std::fflush(stdout) != 0)
    throw std::runtime_error("cannot write to standard output");
}

void report(const Progress& progress, const std::vector<Session>& sessions,
            const std::string& output) {
  std::string devices;
  for (const Session& session : sessions)
    devices += (devices.empty() ? "" : ", ") + session.device().str();
  const double seconds = progress.seconds();
  base::tell("{} rows in {} batch{}, {:.2f} s, {:.1f} rows/s: {} on {}, to {}\n",
             progress.rows.load(), progress.batches.load(), progress.batches == 1 ? "" : "es",
             seconds, static_cast<double>(progress.rows.load()) / seconds,
             sessions.front().runtime(), devices, output == "-" ? "standard output" : output);
}

int infer(const Options& options) {
  set_up_virtual_devices();
  load_accelerators();
  const Contract contract = read_contract(options.artefact);
  if (options.contract) {
    fmt::print("{}\n", contract.json);
    return 0;
  }
  const bool stream = options.output == "-";
  if (!stream) check_writable(options.output, contract.outputs.size());
  if (options.threads > 0) at::set_num_threads(options.threads);
  std::vector<Session> sessions = open_sessions(options);
  Feed feed(contract, {options.files, options.batch_size});
  Collected collected(contract);
  const Sink sink = [&](std::vector<at::Tensor> outputs) {
    if (!stream) return collected.add(std::move(outputs));
    for (const at::Tensor& output : outputs) write_array(output);
  };
  Progress progress;
  {
    std::vector<c10::Device> devices;
    for (const Session& session : sessions) devices.push_back(session.device());
    std::optional<Monitor> monitor;
    if (!options.quiet) monitor.emplace(progress, feed.total_rows(), devices, options.watch);
    std::vector<Worker> workers;
    workers.reserve(sessions.size());
    for (Session& session : sessions) workers.push_back(worker_of(session));
    run_all(feed, workers, sink, progress, interrupted());
  }
  if (interrupted()) return kInterrupted;
  if (progress.batches == 0) throw std::runtime_error("the inputs have no data");
  if (!stream) write_tensors(options.output, collected.joined());
  if (!options.quiet) report(progress, sessions, options.output);
  return 0;
}

// The part of an exception's message that is for people: c10 appends a stack trace, and the library
// begins with its own name.
std::string_view message_of(const std::exception& error) {
  const auto* torchs = dynamic_cast<const c10::Error*>(&error);
  std::string_view message = torchs == nullptr ? error.what() : torchs->what_without_backtrace();
  constexpr std::string_view kLibrary = "torchport: ";
  if (message.starts_with(kLibrary)) message.remove_prefix(kLibrary.size());
  return message;
}

int run(int argc, char** argv) {
  CLI::App app{"Run batches through an artefact of torchport export, without Python.",
               "torchport infer"};
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
    if (!options.contract && (options.files.empty() || options.output.empty()))
      throw CLI::ValidationError("inputs and --output are needed");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  std::signal(SIGINT, [](int) { interrupted() = true; });
  std::signal(SIGTERM, [](int) { interrupted() = true; });
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return infer(options);
  } catch (const std::exception& error) {
    base::tell("torchport infer: {}\n", message_of(error));
    return interrupted() ? kInterrupted : kFailed;
  }
}

}  // namespace

}  // namespace torchport::infer

int main(int argc, char** argv) {
  torchport::base::keep_standard_streams();
  const int code = torchport::infer::run(argc, argv);
  // Ends without the destructors of libraries that have threads of their own, because their order
  // is unspecified.
  std::fflush(nullptr);
  _exit(code);
}
