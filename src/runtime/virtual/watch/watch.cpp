#include "runtime/virtual/watch/watch.h"

#include <cstdlib>
#include <memory>

#include "runtime/observer/observer.h"
#include "runtime/virtual/watch/report.h"
#include "runtime/virtual/watch/trace.h"

namespace torchport::vdev {

namespace {

// The report of this process; null if none is asked for.
const std::shared_ptr<RunReport>& report() {
  static const auto& report = *new std::shared_ptr<RunReport>(
      std::getenv("TORCHPORT_REPORT") == nullptr ? nullptr : std::make_shared<RunReport>());
  return report;
}

struct StartWatching {
  StartWatching() {
    if (report() != nullptr) observer::start(report());
    if (TraceWriter::of_environment() != nullptr) observer::start(TraceWriter::of_environment());
  }
};

const StartWatching kWatching;

}  // namespace

void watch_this_thread() {
  observer::Listeners listeners;
  if (report() != nullptr) listeners.push_back(report());
  if (TraceWriter::of_environment() != nullptr) listeners.push_back(TraceWriter::of_environment());
  observer::join_this_thread(listeners);
}

std::string watched() {
  return report() == nullptr ? RunReport().json() : report()->json();
}

void flush_trace() {
  if (const auto trace = TraceWriter::of_environment()) trace->flush();
}

void begin_traced_step(const std::vector<at::Tensor>& parameters) {
  if (const auto trace = TraceWriter::of_environment()) trace->begin_step(parameters);
}

void end_traced_step(const std::vector<at::Tensor>& parameters) {
  if (const auto trace = TraceWriter::of_environment()) trace->end_step(parameters);
}

}  // namespace torchport::vdev
