#include "cuda/source/phases.h"

#include <utility>

#include <fmt/format.h>

#include "cuda/source/kernel_body.h"
#include "cuda/source/phase_writer.h"

namespace torchport::cuda {

namespace {

class Splitter : PhaseWriter {
 public:
  using PhaseWriter::PhaseWriter;

  std::vector<PhaseEdit> run() {
    for (std::size_t p = 0; p < at_.size(); ++p)
      if (is_meeting(word(p))) last_meeting_ = p;
    require(last_meeting_ > 0);
    look_at_whole_kernel();
    for (std::size_t p = 1; p <= last_meeting_; p = behind_statement(p))
      early_end_ = behind_statement(p);
    may_leave_ = has(0, early_end_, "return");
    compound(0, at_.size() - 1);
    require(meetings_ == 0 && kept_bytes_ <= kMostKept);
    return finish();
  }

 private:
  // ---- statements ----

  void compound(std::size_t open, std::size_t close) {
    statements(open + 1, close, close);
    close_phase(begin_of(close));
  }

  // What a branch or a loop runs: a compound or one statement.
  void body(std::size_t p, std::size_t end) {
    if (is(p, "{")) {
      require(partner(p) + 1 == end);
      return compound(p, end - 1);
    }
    insert(begin_of(p), "{ ");
    statements(p, end, end);
    close_phase(end_of(end - 1));
    insert(end_of(end - 1), " }");
  }

  void statements(std::size_t p, std::size_t stop, std::size_t scope_end) {
    while (p < stop) {
      if (is(p, ";")) {
        ++p;
        continue;
      }
      if (is(p, "__syncthreads") || is(p, "__syncwarp")) {
        p = barrier(p);
        continue;
      }
      const std::size_t end = behind_statement(p);
      require(end <= stop);
      statement(p, end, scope_end);
      p = end;
    }
  }

  void statement(std::size_t p, std::size_t end, std::size_t scope_end) {
    const bool is_declaration = is_type(word(p)) || is(p, "const") || is(p, "constexpr");
    if (meets(p, end)) {
      if (is(p, "if"))
        branch(p, end);
      else if (is(p, "for"))
        loop(p, end);
      else
        exchange(p, end, scope_end, is_declaration);
    } else if (has(p, end, "__shared__")) {
      shared(p, end);  // refuses what is no declaration
    } else if (is_declaration) {
      declaration(p, end, scope_end);
    } else if (!(is(p, "for") && rounds(p, end))) {
      plain(p, end);
    }
  }

  // __syncthreads(); in the whole block, or __syncwarp(); anywhere. Returns what is behind it.
  std::size_t barrier(std::size_t p) {
    require(is(p + 1, "("));
    const std::size_t close = partner(p + 1);
    require(is(close + 1, ";"));
    if (is(p, "__syncthreads"))
      require(close == p + 2 && guards_.empty());
    else
      require(!meets(p + 1, close) && !has_effects(p + 1, close));
    close_phase(begin_of(p));
    replace(p, close, "");
    --meetings_;
    return close + 2;
  }

  // for (int k = 0; k < n; ++k) ... in which threads meet.
  void loop(std::size_t p, std::size_t end) {
    require(is(p + 1, "("));
    const std::size_t last = partner(p + 1);
    std::size_t name = p + 2;
    while (integer_types().count(word(name)) != 0) ++name;
    require(name > p + 2 && is_name(name) && is(name + 1, "=") && !is_two(name + 1, "=="));
    const std::string_view it = word(name);
    require(is_new(it));
    std::size_t depth = 0;
    for (std::size_t q = name + 1; !is(q, ";"); ++q) {
      require(q < last && !is(q, "{"));
      if (opens(q)) ++depth;
      if (is(q, ")") || is(q, "]")) --depth;
      require(!is(q, ",") || depth > 0);
    }
    close_phase(begin_of(p));
    require(is_uniform(name + 1, last));
    // It runs even if no thread takes part, so it may not read what then is not there.
    require(guards_.empty() || may_run_in_vain(name + 1, last));
    // Only the loop changes its variable.
    require(!is_changed(it, last, end));
    loops_.insert(it);
    body(last + 1, end);
    loops_.erase(it);
  }

  [[nodiscard]] bool is_new(std::string_view name) {
    return local(name) == nullptr && scalars_.count(name) == 0 && pointers_.count(name) == 0 &&
           loops_.count(name) == 0 && !is_constant(name);
  }

  void branch(std::size_t p, std::size_t end) {
    std::size_t open = p + 1;
    if (is(open, "constexpr")) ++open;
    const std::size_t last = partner(open);
    const bool all_alike = guards_.empty() && is_uniform(open + 1, last);
    if (all_alike || open > p + 1) {
      require(all_alike);
      choice(p, open, last, end);
    } else {
      guarded(p, last, end);
    }
  }

  // if (blockDim.x >= 512) ..., which all threads run alike.
  void choice(std::size_t p, std::size_t open, std::size_t last, std::size_t end) {
    require(is_condition(open, last));
    close_phase(begin_of(p));
    const std::size_t stop = behind_statement(last + 1);
    body(last + 1, stop);
    if (is(stop, "else"))
      body(stop + 1, end);
    else
      require(stop == end);
  }

  // No declaration, and nothing that changes.
  [[nodiscard]] bool is_condition(std::size_t open, std::size_t last) const {
    for (std::size_t q = open + 1; q < last; ++q)
      if (is(q, ";") || (is(q, "=") && !compares(q))) return false;
    return true;
  }

  // if (threadIdx.x < 32) ... with shuffles: each thread knows whether it takes part.
  void guarded(std::size_t p, std::size_t last, std::size_t end) {
    require(!meets(p + 1, last) && is_condition(p + 1, last));
    open_phase(p);
    only_declared_ = false;
    const std::string guard = fmt::format("torchport_if_{}", at_[p]);
    kept_bytes_ += kMostThreads;
    declare_before_phase(fmt::format("bool {}[{}]; ", guard, kMostThreads));
    replace(p, p + 1, fmt::format("{}[torchport_t] = static_cast<bool>(", guard));
    replace(last, last, "); ");
    close_phase(begin_of(last + 1));
    const std::size_t stop = behind_statement(last + 1);
    guards_.push_back(guard + "[torchport_t]");
    const std::string before = most_in_row_;
    if (const std::string most = most_in_row(p + 1, last); !most.empty()) most_in_row_ = most;
    body(last + 1, stop);
    most_in_row_ = before;
    if (is(stop, "else")) {
      guards_.back() = fmt::format("!{}[torchport_t]", guard);
      replace(stop, stop, "");
      body(stop + 1, end);
    } else {
      require(stop == end);
    }
    guards_.pop_back();
  }

  // v += __shfl_down_sync(mask, v, 16); a phase ends at which threads leave their values.
  void exchange(std::size_t p, std::size_t end, std::size_t scope_end, bool is_declaration) {
    require(!is(p, "while") && !is(p, "do") && !is(p, "switch"));
    std::size_t changes = 0;
    for (std::size_t q = p; q < end; ++q) {
      require(!is(q, "{") && !is(q, "return") && !is(q, "__syncthreads") && !is(q, "__syncwarp"));
      if (assigns(q)) {
        ++changes;
        require(!is_two(q, "++") && !is_two(q, "--"));
        while (!is(q, "=")) ++q;
      }
    }
    require(changes == 1);
    for (std::size_t q = p; q < end; ++q)
      if (is_shuffle(word(q))) q = shuffle(p, q);
    close_phase(begin_of(p));
    if (is_declaration) {
      declaration(p, end, scope_end);
    } else {
      for (const Replaced& call : calls_) replace(call.begin, call.end, call.with);
      plain(p, end);
    }
    calls_.clear();
  }

  // The call at token q of the statement at p. Returns its last token.
  std::size_t shuffle(std::size_t p, std::size_t q) {
    require(is(q + 1, "("));
    const std::size_t close = partner(q + 1);
    std::vector<std::size_t> ends;  // of the arguments
    for (std::size_t a = q + 2; a <= close; a = opens(a) ? partner(a) + 1 : a + 1)
      if (is(a, ",") || a == close) ends.push_back(a);
    require(ends.size() == 3 || ends.size() == 4);
    require(!meets(q + 2, close) && !has_effects(q + 2, close));
    // A number of the thread's own; what else there is has a type that is not known here.
    require(ends[1] == ends[0] + 2);
    const std::string_view name = word(ends[0] + 1);
    const Local* mine = local(name);
    require(mine != nullptr && !mine->type.empty());
    const std::string left = fmt::format("torchport_left_{}", at_[q]);
    kept_bytes_ += kMostThreads * mine->bytes;
    declare_for_kernel(fmt::format("::torchport::cuda::Left<{}, {}> {}({}); ", mine->type,
                                   kMostThreads, left, "blockDim.x * blockDim.y * blockDim.z"));
    open_phase(p);
    at_end_of_phase(ends[0] + 1, ends[1], fmt::format("{}.leave(torchport_t, {}); ", left, name));
    const std::string_view form = word(q).substr(2, word(q).size() - 7);  // shfl, shfl_up, ...
    calls_.push_back({q, close,
                      fmt::format("{}.take_{}(torchport_t, {}, {}{})", left, form,
                                  joined_text(q + 2, ends[0]), joined_text(ends[1] + 1, ends[2]),
                                  ends.size() == 4 ? ", " + joined_text(ends[2] + 1, close) : "")});
    --meetings_;
    return close;
  }

  [[nodiscard]] bool has_effects(std::size_t begin, std::size_t end) const {
    for (std::size_t p = begin; p < end; ++p)
      if (assigns(p) || is_atomic(p) || is(p, "printf")) return true;
    return false;
  }

  void shared(std::size_t p, std::size_t end) {
    // It has to be known in all phases; what it splits are declarations.
    require(only_declared_ && !has(p, end, "{") && !has(p, end, "("));
    require(is(p, "__shared__") || is(p, "extern") || is(p, "static") || is(p, "const") ||
            is_type(word(p)));
    close_phase(begin_of(p));
    for (std::size_t q = p; q < end; ++q)
      if (const Local* one = is_name(q) && !is_member(q) ? local(word(q)) : nullptr)
        require(one->is_uniform);
  }

  // for (int i = threadIdx.x; i < n; i += blockDim.x) ...: all threads run a round of it before the
  // next one, so that they read memory side by side. False: it is another loop.
  bool rounds(std::size_t p, std::size_t end) {
    const std::size_t last = partner(p + 1);
    std::size_t name = p + 2;
    while (is(name, "int") || is(name, "long") || is(name, "size_t") || is(name, "int64_t") ||
           is(name, "int32_t"))
      ++name;
    if (name == p + 2 || !is_name(name) || !is(name + 1, "=") || is_two(name + 1, "=="))
      return false;
    const std::string_view it = word(name);
    const std::size_t first = name + 2;
    const std::size_t condition = find_outside(first, last, ";");
    const std::size_t step = find_outside(condition + 1, last, ";");
    const bool known = is(condition + 1, it) && is(condition + 2, "<") && !joined(condition + 2) &&
                       is(step + 1, it) && is_two(step + 2, "+=");
    if (!known || !is_new(it)) return false;
    bool same_start = true;
    bool same_step = true;
    bool same_bound = true;
    if (!is_pure(first, condition, same_start) || same_start ||
        !is_pure(step + 4, last, same_step) || !same_step ||
        !is_pure(condition + 3, step, same_bound) || !same_bound)
      return false;
    // Neighbours in steps of a few: each thread has a part of its own.
    if (is_number(step + 4) && last == step + 5 && word(step + 4).size() < 2) return false;
    if (find_outside(first, last, ",") < last) return false;
    for (std::size_t q = last + 1; q < end; ++q)
      if (is(q, "break") || is(q, "continue") || is(q, "return") || is(q, "printf") || is_atomic(q))
        return false;
    if (is_changed(it, last, end)) return false;
    // They are evaluated even if no thread takes part.
    if (!may_run_in_vain(condition + 3, step) || !may_run_in_vain(step + 4, last)) return false;
    write_rounds(p, end, joined_text(p + 2, name), it,
                 {joined_text(first, condition), joined_text(condition + 3, step),
                  joined_text(step + 4, last)});
    return true;
  }

  struct Head {
    std::string first, bound, step;
  };
  // Rounds in which no thread has come to the bound yet have no condition, so that they vectorize.
  void write_rounds(std::size_t p, std::size_t end, const std::string& type, std::string_view name,
                    const Head& head) {
    close_phase(begin_of(p));
    const std::size_t number = at_[p];
    insert(
        begin_of(p),
        fmt::format("{{ const long long torchport_step_{0} = {1}; const auto torchport_bound_{0} "
                    "= {2}; long long torchport_most_{0} = -0x7fffffffffffffff; ",
                    number, head.step, head.bound));
    open_phase(p);
    at_end_of_phase(p, partner(p + 1),
                    fmt::format("const long long torchport_first = static_cast<{0}>({1}); "
                                "if (torchport_first > torchport_most_{2}) "
                                "torchport_most_{2} = torchport_first; ",
                                type, head.first, number));
    close_phase(begin_of(p));
    insert(begin_of(p),
           fmt::format("for (long long torchport_past_{0} = 0, torchport_ran_{0} = 1; "
                       "torchport_ran_{0} != 0; torchport_past_{0} += torchport_step_{0}) {{ "
                       "torchport_ran_{0} = 0; const bool torchport_all_{0} = "
                       "::torchport::cuda::is_below<{1}>(torchport_most_{0} + "
                       "torchport_past_{0}, torchport_bound_{0}); ",
                       number, type));
    open_phase(p);
    only_declared_ = false;
    replace(p, partner(p + 1),
            fmt::format("const auto torchport_round = [&](const {} {}) {} {{ ", type, name,
                        kernel_.attributes));
    insert(end_of(end - 1),
           fmt::format(" }}; const {0} torchport_first = {1}; if (torchport_all_{2}) {{ "
                       "++torchport_ran_{2}; torchport_round(torchport_first + static_cast<{0}>("
                       "torchport_past_{2})); }} else if (::torchport::cuda::is_below<{0}>("
                       "static_cast<long long>(torchport_first) + torchport_past_{2}, "
                       "torchport_bound_{2})) {{ ++torchport_ran_{2}; torchport_round("
                       "static_cast<{0}>(torchport_first + static_cast<{0}>(torchport_past_{2}))); "
                       "}}",
                       type, head.first, number));
    close_phase(end_of(end - 1));
    insert(end_of(end - 1), "} }");
  }

  void plain(std::size_t p, std::size_t end) {
    const bool is_loop = is(p, "for") || is(p, "while") || is(p, "do");
    require(is_loop || !(has(p, end, "break") || has(p, end, "continue")));
    for (std::size_t q = p; q < end; ++q) {
      if (!is(q, "return")) continue;
      require(is(q + 1, ";"));
      open_phase(p);
      // A thread that leaves before others meet is not there in the phases behind it.
      leave(q, p < early_end_);
    }
    static const Words kStatements{"if", "for", "while", "do", "switch", "return", "static_assert"};
    if (is_name(p) && kStatements.count(word(p)) == 0) {
      // Not a declaration: of a type that is not known here, nothing could be kept.
      const std::size_t q = p + 1;
      const bool changes = is(q, "=") || is_two(q, "++") || is_two(q, "--") ||
                           (joined(q) && is(q + 1, "=")) ||
                           ((is_two(q, "<<") || is_two(q, ">>")) && is(q + 2, "="));
      require(changes || is(q, "[") || is(q, ".") || is_two(q, "->") || is(q, "("));
    } else if (!is_name(p)) {
      require(is(p, "*") || is(p, "(") || is_two(p, "++") || is_two(p, "--") || is(p, "{"));
    }
    const bool is_first = open_phase(p);
    only_declared_ = false;
    if (is_first && is(p, "if") && is(p + 1, "(") && !has_else(p, end))
      set_most_in_phase(most_in_row(p + 1, partner(p + 1)));
  }

  [[nodiscard]] bool has_else(std::size_t p, std::size_t end) const {
    return behind_statement(partner(p + 1) + 1) != end;
  }

  std::size_t last_meeting_ = 0;
  std::size_t early_end_ = 0;  // behind the statement with the last meeting
};

}  // namespace

std::optional<std::vector<PhaseEdit>> phases_of(std::string_view text,
                                                const std::vector<Token>& tokens,
                                                const Scopes& scopes, const KernelTokens& kernel,
                                                const IsOfUser& is_of_user) {
  try {
    return Splitter(text, tokens, scopes, kernel, is_of_user).run();
  } catch (const Refused&) {
    return std::nullopt;
  }
}

}  // namespace torchport::cuda
