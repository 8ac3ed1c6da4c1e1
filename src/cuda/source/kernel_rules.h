// What a kernel must be to be split into phases, and what is known of its expressions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/source/kernel_body.h"
#include "cuda/source/phases.h"
#include "cuda/source/scopes.h"
#include "cuda/source/tokens.h"

namespace torchport::cuda {

// Functions at which the lanes of a warp give each other values: __shfl_sync and its kin.
bool is_shuffle(std::string_view name);
// Where threads meet: __syncthreads, __syncwarp and shuffles.
bool is_meeting(std::string_view name);

class KernelRules : protected KernelBody {
 public:
  KernelRules(std::string_view text, const std::vector<Token>& tokens, const Scopes& scopes,
              const KernelTokens& kernel, const IsOfUser& is_of_user)
      : KernelBody(text, tokens, kernel.body, kernel.end),
        scopes_(scopes),
        kernel_(kernel),
        is_of_user_(is_of_user) {}

 protected:
  // What a thread knows of itself.
  struct Local {
    std::string_view name;
    std::size_t begin;         // the token of its declaration
    bool is_again;             // declared anew in each phase; else kept
    bool is_uniform;           // the same for all threads, and declared outside of the phases
    std::string text;          // what declares it in a phase
    std::string type{};        // of a number, without const; empty: a pointer or an array
    std::size_t bytes{};       // of it, at most
    bool is_thread_x = false;  // int x = threadIdx.x
  };

  // Throws Refused for a kernel that cannot be split; counts where its threads meet.
  void look_at_whole_kernel();

  [[nodiscard]] bool is_type(std::string_view word) const;
  [[nodiscard]] const Local* local(std::string_view name) const;
  // A number or parameter of the template, or a constant of a namespace.
  [[nodiscard]] bool is_constant(std::string_view name);
  // Whether an expression of integers and addresses has the same value whenever this thread asks.
  // Sets `uniform` to false if threads differ in it.
  [[nodiscard]] bool is_pure(std::size_t begin, std::size_t end, bool& uniform);
  // Whether all threads that run a part of a loop's head do the same.
  [[nodiscard]] bool is_uniform(std::size_t begin, std::size_t end) const;
  [[nodiscard]] bool is_thread_x(std::size_t begin, std::size_t end) const;
  // For a condition like (threadIdx.x < n): code that says how many threads of a row may fulfil it,
  // from the first one on. Empty: nothing is known.
  [[nodiscard]] std::string most_in_row(std::size_t open, std::size_t close);
  [[nodiscard]] bool meets(std::size_t begin, std::size_t end) const;
  [[nodiscard]] bool shuffles(std::size_t begin, std::size_t end) const;
  // Whether an expression may be evaluated where the program would not.
  [[nodiscard]] bool may_run_in_vain(std::size_t begin, std::size_t end) const;

  const Scopes& scopes_;
  KernelTokens kernel_;
  const IsOfUser& is_of_user_;
  Words types_;                        // parameters of the template
  Words pointers_, scalars_, floats_;  // parameters; floats_: those that are not of integers
  Words loops_;                        // variables of the loops around
  std::vector<Local> locals_;
  std::size_t meetings_ = 0;  // that no statement was found for yet

 private:
  void template_types();
  void parameters();
  void parameter(std::size_t begin, std::size_t end);
  void unchanging_members(std::string_view name) const;
  void look_for_what_waits();
  void no_spinning(std::size_t p) const;
  void call(std::size_t p);
  [[nodiscard]] bool is_users_function(std::string_view name) const;
  [[nodiscard]] bool is_friend(std::size_t i) const;
  void reference(std::size_t p) const;
  [[nodiscard]] bool is_template_parameter(std::size_t i) const;

  Words constants_, unknown_;
  Words functions_;  // that are called
};

}  // namespace torchport::cuda
