#include "cuda/source/phase_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace torchport::cuda {

// ---- declarations ----

// The type that begins at q, which is behind it then.
PhaseWriter::Type PhaseWriter::type_at(std::size_t& q) const {
  Type type;
  for (; is_type(word(q)) || is(q, "const") || is(q, "constexpr"); ++q) {
    const std::string_view it = word(q);
    type.is_const = type.is_const || it == "const";
    type.is_constexpr = type.is_constexpr || it == "constexpr";
    if (it == "const" || it == "constexpr") continue;
    type.is_integer = type.is_integer && integer_types().count(it) != 0;
    type.is_class = type.is_class || types_.count(it) != 0;
    if (!type.name.empty()) type.name += ' ';
    type.name += it;
    if (it != "int" && it != "float" && it != "bool" && it != "char") type.bytes = 8;
  }
  if (type.is_class) type.bytes = 16;
  require(!type.name.empty());
  return type;
}

void PhaseWriter::declaration(std::size_t p, std::size_t end, std::size_t scope_end) {
  std::size_t q = p;
  const Type type = type_at(q);
  Left left;
  while (true) {
    q = declarator(type, q, end, scope_end, left);
    if (is(q, ";")) break;
    ++q;
  }
  require(q + 1 == end);
  if (left.keeps) open_phase(p);
  if (is_open_) before_ += std::exchange(left.outside, {});
  replace(p, end - 1, left.outside + left.inside);
}

// One variable: [*] name [extents] [= value]. Returns where the next one begins.
std::size_t PhaseWriter::declarator(const Type& type, std::size_t q, std::size_t end,
                                    std::size_t scope_end, Left& left) {
  std::string stars;
  for (; is(q, "*") || is(q, "__restrict__") || is(q, "__restrict"); ++q)
    if (is(q, "*")) stars += '*';
  require(is_name(q) && !is(q, "const") && !is_member(q));
  const std::size_t name = q++;
  std::string extents;
  std::size_t elements = 1;
  for (; is(q, "["); q += 3) {
    require(is_number(q + 1) && is(q + 2, "]"));
    const std::string extent(word(q + 1));
    require(extent.size() < 5 && extent.find_first_not_of("0123456789") == std::string::npos);
    elements *= std::stoul(extent);
    extents += fmt::format("[{}]", extent);
  }
  std::size_t stop = q;
  while (!is(stop, ",") && !is(stop, ";")) {
    require(stop < end && !is(stop, "{"));
    stop = opens(stop) ? partner(stop) + 1 : stop + 1;
  }
  const bool has_value = is(q, "=");
  require((has_value || stop == q) && (extents.empty() || !has_value));
  check_name(word(name), name, scope_end);
  const std::string value = has_value ? value_text(q + 1, stop) : "";
  // A branch that not all threads take may be what keeps a division from its zero.
  bool uniform = guards_.empty();
  const bool is_again = has_value && (type.is_integer || !stars.empty()) &&
                        !is_changed(word(name), stop, scope_end) && is_pure(q + 1, stop, uniform);
  Local one{word(name), at_[name], is_again, uniform && is_again, {}};
  if (stars.empty() && extents.empty()) {
    one.type = type.name;
    one.bytes = type.bytes;
    one.is_thread_x = is_again && is_thread_x(q + 1, stop);
  }
  if (is_again) {
    const bool adds_const = !stars.empty() || !(type.is_const || type.is_constexpr);
    one.text = fmt::format("{}{}{} {}{} {} = {}; ", type.is_constexpr ? "constexpr " : "",
                           type.is_const && !type.is_constexpr ? "const " : "", type.name, stars,
                           adds_const ? "const" : "", word(name), value);
    if (uniform) left.outside += one.text;
  } else {
    // A constant may have to be one for the compiler; a value from memory is none.
    require(!type.is_constexpr);
    require(!type.is_const || !stars.empty() ||
            (has_value && (loads(q + 1, stop) || shuffles(q + 1, stop))));
    kept_bytes_ += kMostThreads * elements * (stars.empty() ? type.bytes : sizeof(void*));
    one.text = fmt::format("auto& {} = torchport_{}[torchport_t]; ", word(name), at_[name]);
    keep(type, stars, extents, at_[name]);
    if (type.is_class && stars.empty())
      left.inside += fmt::format("{} = {}({}); ", word(name), type.name, value);
    else if (has_value)
      left.inside += fmt::format("{} = {}; ", word(name), value);
    left.keeps = true;
  }
  locals_.push_back(std::move(one));
  return stop;
}

// The array of a variable of all threads.
void PhaseWriter::keep(const Type& type, const std::string& stars, const std::string& extents,
                       std::size_t number) {
  if (type.is_class && stars.empty()) {
    require(extents.empty());
    new_arrays_ += fmt::format("::torchport::cuda::KeptOf<{}, {}> torchport_{}; ", type.name,
                               kMostThreads, number);
    return;
  }
  new_arrays_ +=
      fmt::format("{}{} {} torchport_{}[{}]{}; ", type.is_const && !stars.empty() ? "const " : "",
                  type.name, stars, number, kMostThreads, extents);
}

// Whether a value comes from where a parameter points to.
bool PhaseWriter::loads(std::size_t begin, std::size_t end) const {
  for (std::size_t p = begin; p < end; ++p)
    if (pointers_.count(word(p)) != 0 && is(p + 1, "[")) return true;
  return false;
}

// One variable has this name where it is known, and none elsewhere in the kernel.
void PhaseWriter::check_name(std::string_view name, std::size_t declared,
                             std::size_t scope_end) const {
  require(!is_place(name) && local(name) == nullptr && scalars_.count(name) == 0 &&
          pointers_.count(name) == 0 && loops_.count(name) == 0);
  for (std::size_t p = 0; p < at_.size(); ++p)
    if (is_name(p) && is(p, name) && !is_member(p)) require(p >= declared && p < scope_end);
}

// The text of a value, with what replaces calls in it.
std::string PhaseWriter::value_text(std::size_t begin, std::size_t end) const {
  std::string all;
  for (std::size_t p = begin; p < end; ++p) {
    if (p > begin && !joined(p - 1)) all += ' ';
    const auto call = std::find_if(calls_.begin(), calls_.end(),
                                   [p](const Replaced& one) { return one.begin == p; });
    if (call == calls_.end()) {
      all += word(p);
    } else {
      all += call->with;
      p = call->end;
    }
  }
  return all;
}

// ---- phases ----

bool PhaseWriter::open_phase(std::size_t p) {
  most_in_phase_.clear();
  if (is_open_) return false;
  is_open_ = true;
  phase_begin_ = begin_of(p);
  phase_token_ = p;
  return true;
}

void PhaseWriter::at_end_of_phase(std::size_t begin, std::size_t end, const std::string& code) {
  last_ += code;
  most_in_phase_.clear();
  for (std::size_t p = begin; p < end; ++p)
    if (is_name(p) && !is_member(p)) last_uses_.insert(word(p));
}

void PhaseWriter::leave(std::size_t q, bool early) {
  replace(q, q,
          fmt::format("{}goto torchport_next_{}",
                      early ? "{ torchport_gone[torchport_t] = true; --torchport_left; " : "",
                      phase_begin_));
  if (early) replace(q + 1, q + 1, "; }");
  returns_ = true;
  early_ = early_ || early;
}

// Declares what a phase up to token `last` uses, and what that uses.
std::string PhaseWriter::variables_of_phase(std::size_t last) const {
  std::string mine;
  Words used = last_uses_;
  for (std::size_t p = phase_token_; p < last; ++p)
    if (is_name(p) && !is_member(p)) used.insert(word(p));
  for (auto one = locals_.rbegin(); one != locals_.rend(); ++one) {
    if (one->is_uniform || used.count(one->name) == 0) continue;
    mine.insert(0, one->text);
    if (!one->is_again) continue;
    for (std::size_t p = 0; p < at_.size(); ++p) {
      if (at_[p] != one->begin) continue;
      for (std::size_t q = p; !is(q, ";"); ++q)
        if (is_name(q) && !is_member(q)) used.insert(word(q));
    }
  }
  return mine;
}

void PhaseWriter::close_phase(std::size_t at) {
  only_declared_ = true;
  if (!is_open_) return;
  is_open_ = false;
  std::size_t last = phase_token_;
  while (last < at_.size() && begin_of(last) < at) ++last;
  std::string guards;
  for (const std::string& one : guards_) guards += fmt::format("if (!({})) continue; ", one);
  insert(phase_begin_,
         fmt::format(
             "{}{}for (unsigned torchport_z = 0; torchport_z < blockDim.z; ++torchport_z) "
             "for (unsigned torchport_y = 0; torchport_y < blockDim.y; ++torchport_y) {{ "
             "torchport_walk->z = torchport_z; torchport_walk->y = torchport_y; "
             "const ::std::size_t torchport_row = "
             "(::std::size_t{{torchport_z}} * blockDim.y + torchport_y) * blockDim.x; "
             "const unsigned torchport_most = {}; "
             "for (unsigned torchport_x = 0; torchport_x < torchport_most; ++torchport_x) {{ "
             "torchport_walk->x = torchport_x; const ::std::size_t torchport_t [[maybe_unused]] "
             "= torchport_row + torchport_x; const ::uint3 threadIdx [[maybe_unused]]"
             "{{torchport_x, torchport_y, torchport_z}}; {}{}{}{{ ",
             before_, new_arrays_, most_in_phase_.empty() ? most_in_row_ : most_in_phase_,
             may_leave_ ? "if (torchport_gone[torchport_t]) continue; " : "", guards,
             variables_of_phase(last)));
  insert(at, fmt::format("{}}}{} }}}} {}", last_,
                         returns_ ? fmt::format(" torchport_next_{}: ;", phase_begin_) : "",
                         // What all threads do alike behind it, none of them does.
                         early_ ? "if (torchport_left == 0) return; " : ""));
  early_ = false;
  before_.clear();
  new_arrays_.clear();
  last_.clear();
  last_uses_.clear();
  returns_ = false;
  most_in_phase_.clear();
}

std::vector<PhaseEdit> PhaseWriter::finish() {
  if (may_leave_)
    of_kernel_ +=
        "bool torchport_gone[1024] = {}; unsigned torchport_left = blockDim.x * blockDim.y * "
        "blockDim.z; ";
  // Nothing has the address of such a copy, so a compiler knows that no store changes it.
  std::string copies;
  for (const Words* names : {&pointers_, &scalars_})
    for (const std::string_view name : *names) {
      of_kernel_ += fmt::format("const auto torchport_of_{0} = {0}; ", name);
      copies += fmt::format("const auto {0} [[maybe_unused]] = torchport_of_{0}; ", name);
    }
  edits_.insert(edits_.begin(), {end_of(0), end_of(0), of_kernel_ + "{ " + copies});
  insert(begin_of(at_.size() - 1), " }");
  std::stable_sort(edits_.begin(), edits_.end(), [](const PhaseEdit& a, const PhaseEdit& b) {
    return a.begin != b.begin ? a.begin < b.begin : (a.end == a.begin) > (b.end == b.begin);
  });
  return std::move(edits_);
}

}  // namespace torchport::cuda
