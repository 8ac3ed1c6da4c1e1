// Runs a program once on devices without data, for each command that asks `torchport plan` more
// than one question.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace torchport::cli {

struct PlanOptions {
  std::string devices;
  std::vector<std::string> profiles;
  std::string memory;
  std::string keep = "64KiB";
  std::string format = "text";
  std::string search;
  std::string what_if;
  int ranks = 0;
  bool smallest = false;
  std::string snapshot;  // the file for PyTorch's memory viewer
  std::string page;      // the report as HTML
  // What ends a run early, or shortens it; 0 does not.
  int steps = 0;
  int batches = 0;
  int seconds = 0;
};

// The devices that the options name, or one of CUDA.
[[nodiscard]] inline std::string devices_of(const PlanOptions& options) {
  return options.devices.empty() ? "cuda:1" : options.devices;
}

// The error of a question that one of several runs leaves open, whose exit code is kNotKnown.
[[nodiscard]] base::Error hangs_on_values(const std::string& run, const plan::Plan& plan);

// Runs the program and reads what its processes wrote. `rest` are the words after the options, as
// `torchport run` takes them. The program's output is not shown if `quiet`. `variables` stay set.
// A program that failed before it used a device is told, and has a plan without devices; an error
// if `quiet`.
[[nodiscard]] base::Result<plan::Plan> run_once(
    const PlanOptions& options, const std::string& profile, const std::vector<std::string>& rest,
    bool quiet, const std::map<std::string, std::string>& variables = {});

// Runs the program as it is, then once with each of options.what_if, and prints a table. Returns
// the exit code: 0 if one of them fits.
int what_if(const PlanOptions& options, const std::string& profile,
            const std::vector<std::string>& rest);

// `torchport plan --smallest`: prints the smallest card, of options.profiles or of all of the kind,
// on which the program fits. Returns the exit code.
[[nodiscard]] int plan_smallest(const PlanOptions& options, const std::vector<std::string>& rest);

}  // namespace torchport::cli
