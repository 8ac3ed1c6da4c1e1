// What `torchport prove` compares: the original with the port on the same devices, and the port
// with itself on others. Each comparison prints what it found.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <regex.h>

#include "runtime/proof/program.h"
#include "runtime/proof/trace.h"

namespace torchport::cli::prove_command {

struct ProveOptions {
  std::string original;
  std::string fixed;
  std::string devices = "cuda:1";
  std::string seed = "0";
  std::vector<std::string> files;
  std::vector<std::string> elsewhere = {"none", "mps"};
  bool elsewhere_asked = false;  // the user named them
  std::string lines;
  bool in_place = false;
};

struct ProvedRun {
  proof::ProgramResult result;
  std::optional<proof::Trace> trace;
  std::string script;
};

// A POSIX extended regular expression.
class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : error_(regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB)) {}
  ~Pattern() {
    if (error_ == 0) regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // What is wrong with the expression; empty if nothing is.
  [[nodiscard]] std::string error() const {
    if (error_ == 0) return {};
    std::array<char, 200> words{};
    regerror(error_, &compiled_, words.data(), words.size());
    return words.data();
  }
  [[nodiscard]] bool found_in(const std::string& line) const {
    return regexec(&compiled_, line.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  int error_;
};

// The lines of the output that --lines selects.
[[nodiscard]] std::string chosen_lines(const ProveOptions& options, const std::string& output);

// The last line of a run's errors, and the compiler's errors.
void print_last_error(const ProvedRun& subject);

// Compares the runs on the same devices: every operator, bit by bit.
[[nodiscard]] bool same_program(const ProveOptions& options, const ProvedRun& a,
                                const ProvedRun& b);

// What a comparison of runs on two devices says, the worst last. kUnused: the results agree, but
// nothing was computed on the device.
enum class Elsewhere : std::uint8_t { kSame, kUnused, kUnknown, kDifferent };

// Compares the runs on another device: results within the tolerance of their types or, where they
// part, the same output; and the files of --files. `devices` is where `b` ran.
[[nodiscard]] Elsewhere compare_elsewhere(const ProveOptions& options, const ProvedRun& a,
                                          const ProvedRun& b, const std::string& devices);

}  // namespace torchport::cli::prove_command
