// The program torchport-infer ARTEFACT FILES... --output OUT.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
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
#include "runtime/infer/cut_input.h"
#include "runtime/infer/feed.h"
#include "runtime/infer/kept_parts.h"
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
  std::int64_t keep_every = 10;  // seconds
  bool fresh = false;
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
  app.add_option(
         "--keep-every", options.keep_every,
         "seconds after which results are kept in OUTPUT.parts, from which the same command "
         "goes on (default: 10)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--fresh", options.fresh, "delete the parts of an earlier run first");
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
// Keeps them on disk meanwhile, if the inputs can be read again.
class Collected {
 public:
  Collected(const Contract& contract, std::optional<KeptParts> kept)
      : contract_(contract),
        cut_(cut_of(contract)),
        parts_(contract.outputs.size()),
        kept_(std::move(kept)) {
    if (!kept_) return;
    KeptParts::Found found = kept_->found();
    for (std::vector<at::Tensor>& stretch : found.stretches)
      for (std::size_t i = 0; i < stretch.size(); ++i) parts_[i].push_back(std::move(stretch[i]));
    before_ = batches_ = saved_ = found.batches;
    saved_parts_ = found.stretches.size();
  }

  // The batches that an earlier run has done.
  [[nodiscard]] std::size_t before() const { return before_; }

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
    ++batches_;
    if (!kept_ || !kept_->is_due()) return;
    try {
      keep();
    } catch (const std::runtime_error& error) {  // the run itself can go on
      base::tell("torchport infer: results are not kept: {}\n", error.what());
      kept_.reset();
    }
  }

  // Keeps what has been done. Returns the folder; empty if nothing can be kept, or there is
  // nothing.
  std::string keep() {
    if (!kept_ || batches_ == 0) return {};
    if (batches_ > saved_) {
      std::vector<at::Tensor> outputs;
      for (const auto& parts : parts_) outputs.push_back(joined(parts, saved_parts_));
      kept_->add(saved_, batches_, outputs);
      saved_ = batches_;
      saved_parts_ = parts_.front().size();
    }
    return kept_->folder();
  }

  [[nodiscard]] NamedTensors joined() const {
    NamedTensors tensors;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      tensors.push_back({contract_.outputs[i].name, joined(parts_[i], 0)});
    return tensors;
  }

  // The result is written: nothing has to be kept any more.
  void finish() const {
    if (kept_) kept_->remove();
  }

 private:
  static at::Tensor joined(const std::vector<at::Tensor>& parts, std::size_t first) {
    return parts.size() == first + 1 ? parts.back() : at::cat(at::TensorList(parts).slice(first));
  }

  const Contract& contract_;
  Cut cut_;
  std::vector<std::vector<at::Tensor>> parts_;  // of each output
  std::optional<KeptParts> kept_;
  std::size_t before_ = 0;
  std::size_t batches_ = 0;
  std::size_t saved_ = 0;        // batches on disk
  std::size_t saved_parts_ = 0;  // what of parts_ is on disk
};

// Throws std::runtime_error if the output would replace a file that is read.
void keep_inputs(const Options& options) {
  std::vector<std::string> read = options.files;
  read.push_back(options.artefact);
  for (const std::string& file : read) {
    std::error_code error;
    if (file != "-" && std::filesystem::equivalent(file, options.output, error))
      throw std::runtime_error("--output " + options.output + " is " +
                               (file == options.artefact ? "the artefact" : "one of the inputs") +
                               ": name another file");
  }
}

// What keeps the results on disk; nothing if the inputs cannot be read again.
std::optional<KeptParts> kept_parts(const Options& options, const Contract& contract) {
  if (options.output == "-" ||
      std::find(options.files.begin(), options.files.end(), "-") != options.files.end())
    return std::nullopt;
  KeptParts::Settings settings;
  settings.output = options.output;
  settings.plan = plan_of(contract.json, options.files, options.batch_size);
  for (const TensorSpec& output : contract.outputs) settings.names.push_back(output.name);
  settings.every = std::chrono::seconds(options.keep_every);
  settings.fresh = options.fresh;
  return KeptParts(std::move(settings));
}

// Goes past the batches that an earlier run has done. Returns their rows.
std::int64_t skip(Feed& feed, std::size_t batches) {
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < batches; ++i) {
    const std::optional<Batch> batch = feed.next();
    if (batch) rows += batch->rows;
  }
  return rows;
}

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
  if (!stream) {
    check_writable(options.output, contract.outputs.size());
    keep_inputs(options);
  }
  if (options.threads > 0) at::set_num_threads(options.threads);
  std::vector<Session> sessions = open_sessions(options);
  Feed feed(contract, {options.files, options.batch_size});
  Collected collected(contract, kept_parts(options, contract));
  const std::int64_t skipped = skip(feed, collected.before());
  if (skipped > 0 && !options.quiet)
    base::tell("goes on after {} rows, which are in {}\n", skipped, collected.keep());
  const Sink sink = [&](std::vector<at::Tensor> outputs) {
    if (!stream) return collected.add(std::move(outputs));
    for (const at::Tensor& output : outputs) write_array(output);
  };
  Progress progress;
  progress.before = collected.before();
  const auto ends_early = [&] {
    try {
      if (const std::string folder = collected.keep(); !folder.empty())
        base::tell("torchport infer: the same command goes on from {}\n", folder);
    } catch (const std::runtime_error& error) {
      base::tell("torchport infer: results are not kept: {}\n", error.what());
    }
  };
  try {
    std::vector<c10::Device> devices;
    for (const Session& session : sessions) devices.push_back(session.device());
    std::optional<Monitor> monitor;
    if (!options.quiet) {
      auto total = feed.total_rows();
      if (total) *total -= skipped;
      monitor.emplace(progress, total, devices, options.watch);
    }
    std::vector<Worker> workers;
    workers.reserve(sessions.size());
    for (Session& session : sessions) workers.push_back(worker_of(session));
    run_all(feed, workers, sink, progress, interrupted());
  } catch (const std::exception&) {
    ends_early();
    throw;
  }
  if (interrupted()) {
    ends_early();
    return kInterrupted;
  }
  if (progress.batches == 0 && collected.before() == 0)
    throw std::runtime_error("the inputs have no data");
  if (!stream) {
    write_tensors(options.output, collected.joined());
    collected.finish();
  }
  if (!options.quiet) report(progress, sessions, options.output);
  if (const auto rows = feed.cut_by_contract(); rows && !options.quiet)
    base::tell("the rows were cut into calls of {}: the artefact takes no more at a time\n", *rows);
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
  report_cut_inputs();
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
