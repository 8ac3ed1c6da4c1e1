// Writes the phases of a kernel, and the arrays of what its threads keep from one to the next.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/source/kernel_rules.h"

namespace torchport::cuda {

class PhaseWriter : protected KernelRules {
 public:
  using KernelRules::KernelRules;

 protected:
  static constexpr std::size_t kMostThreads = 1024;
  static constexpr std::size_t kMostKept = std::size_t{128} << 10U;  // bytes of a stack

  // Edits at one place hold in the order in which they were made.
  void insert(std::size_t at, std::string what) { edits_.push_back({at, at, std::move(what)}); }
  void replace(std::size_t from, std::size_t to, std::string with) {
    edits_.push_back({begin_of(from), end_of(to), std::move(with)});
  }

  // A declaration of numbers, pointers and arrays that is known up to token `scope_end`.
  void declaration(std::size_t p, std::size_t end, std::size_t scope_end);

  // The phase that begins at token p, unless one is open; whether it begins.
  bool open_phase(std::size_t p);
  // How many threads of a row may take part in the open phase, if it gets no other statement.
  void set_most_in_phase(std::string code) { most_in_phase_ = std::move(code); }
  // The open phase ends before the text's position `at`.
  void close_phase(std::size_t at);
  // Code at the end of the open phase, which uses what tokens [begin, end) name.
  void at_end_of_phase(std::size_t begin, std::size_t end, const std::string& code);
  // A variable of the whole kernel.
  void declare_for_kernel(const std::string& code) { of_kernel_ += code; }
  // A variable that stands before the open phase.
  void declare_before_phase(const std::string& code) { new_arrays_ += code; }
  // `return` at token q, in a statement of the open phase. `early`: threads meet behind it.
  void leave(std::size_t q, bool early);

  // All edits, in order.
  [[nodiscard]] std::vector<PhaseEdit> finish();

  // What replaces a call; others are written as they are.
  struct Replaced {
    std::size_t begin, end;  // tokens
    std::string with;
  };

  std::vector<std::string> guards_;         // conditions of a thread to take part in the phases
  std::string most_in_row_ = "blockDim.x";  // of the threads that the guards let pass
  std::vector<Replaced> calls_;             // of the statement that is written
  std::size_t kept_bytes_ = 0;
  bool may_leave_ = false;  // threads return before others meet
  bool only_declared_ = true;

 private:
  struct Type {
    std::string name;  // without const
    bool is_const = false;
    bool is_constexpr = false;
    bool is_integer = true;
    bool is_class = false;  // or may be one
    std::size_t bytes = 4;  // at most
  };
  // What declarations leave of their statement: before the phases, and in their own.
  struct Left {
    std::string outside;
    std::string inside;
    bool keeps = false;
  };
  [[nodiscard]] Type type_at(std::size_t& q) const;
  std::size_t declarator(const Type& type, std::size_t q, std::size_t end, std::size_t scope_end,
                         Left& left);
  void keep(const Type& type, const std::string& stars, const std::string& extents,
            std::size_t number);
  [[nodiscard]] std::string value_text(std::size_t begin, std::size_t end) const;
  [[nodiscard]] bool loads(std::size_t begin, std::size_t end) const;
  void check_name(std::string_view name, std::size_t declared, std::size_t scope_end) const;
  [[nodiscard]] std::string variables_of_phase(std::size_t last) const;

  std::vector<PhaseEdit> edits_;
  std::string of_kernel_;
  // The phase that is open: where it begins, and what has to stand before it and at its end.
  bool is_open_ = false;
  bool returns_ = false;
  bool early_ = false;  // while others meet later
  std::size_t phase_begin_ = 0;
  std::size_t phase_token_ = 0;
  std::string before_;
  std::string new_arrays_;
  std::string most_in_phase_;
  std::string last_;
  Words last_uses_;
};

}  // namespace torchport::cuda
