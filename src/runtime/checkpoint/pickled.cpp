#include "runtime/checkpoint/pickled.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include <fmt/format.h>

#include "runtime/checkpoint/costs.h"
#include "runtime/checkpoint/pickled_tensors.h"

namespace torchport::checkpoint {

namespace {

constexpr std::size_t kLongest = 60;  // the most characters of a value that are shown
// No file of weights comes near these; a hostile one could fill the memory with names.
constexpr std::size_t kDeepest = 200;                       // containers within containers
constexpr std::size_t kLongestPath = 4096;                  // bytes
constexpr std::size_t kMostPaths = std::size_t{64} << 20U;  // bytes of all names
constexpr std::size_t kMostTensors = 200'000;
constexpr std::size_t kMostValues = 200'000;

std::string joined(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

class Walk {
 public:
  Walk(const Pickle& pickle, Contents& contents)
      : pickle_(pickle), contents_(contents), tensors_(pickle, contents) {}

  void run() {
    todo_.push_back({pickle_.root_ref(), "", 0});
    while (!todo_.empty() && !stopped_) {
      auto [ref, path, depth] = std::move(todo_.back());
      todo_.pop_back();
      depth_ = depth;
      if (depth > kDeepest)
        stop(fmt::format("nests containers more than {} deep", kDeepest));
      else if (path.size() > kLongestPath)
        stop(fmt::format("has a name of more than {} bytes", kLongestPath));
      else
        visit(ref, path);
    }
    if (hidden_ > 0) contents_.values.push_back({"", fmt::format("... and {} more", hidden_)});
  }

 private:
  struct Visit {
    Ref ref;
    std::string path;
    std::size_t depth;
  };

  // Ends the walk over a file that no program of weights has made.
  void stop(std::string why) {
    stopped_ = true;
    contents_.broken.push_back(std::move(why));
  }

  void later(std::vector<Visit>& inside, Ref ref, std::string path) const {
    inside.push_back({ref, std::move(path), depth_ + 1});
  }

  // Visits what a container holds after what was asked for before, in its order.
  void visit_later(std::vector<Visit>& inside) {
    for (const Visit& visit : inside) paths_ += visit.path.size();
    if (paths_ > kMostPaths) return stop("has names that are too long for a file of weights");
    todo_.insert(todo_.end(), std::make_move_iterator(inside.rbegin()),
                 std::make_move_iterator(inside.rend()));
  }

  void visit(Ref ref, const std::string& path) {
    const Object& object = pickle_.at(ref);
    switch (object.type) {
      case Type::kCall:
        if (!add_tensor(object, path)) enter_call(ref, path);
        break;
      case Type::kDict:
      case Type::kList:
      case Type::kTuple:
      case Type::kSet:
        enter(ref, path);
        break;
      case Type::kPersistent:
        if (const auto storage = tensors_.storage_of(object))
          add_value(path, fmt::format("storage {}", contents_.storages[*storage].key));
        break;
      default:
        add_value(path, text_of(object));
    }
  }

  bool add_tensor(const Object& call, const std::string& path) {
    auto tensor = tensors_.tensor_of(call);
    if (!tensor) return false;
    tensor->path = path;
    if (contents_.tensors.size() >= kMostTensors)
      stop(fmt::format("has more than {} tensors", kMostTensors));
    else
      contents_.tensors.push_back(std::move(*tensor));
    return true;
  }

  // Adds the contents of a container. A container that was added already is only named.
  void enter(Ref ref, const std::string& path) {
    const auto [known, fresh] = seen_.emplace(ref, path);
    if (!fresh) {
      if (!pickle_.at(ref).entries.empty() || !pickle_.at(ref).items.empty())
        add_value(path, fmt::format("the same as {}",
                                    known->second.empty() ? "the whole" : known->second));
      return;
    }
    const Object& object = pickle_.at(ref);
    if (only_plain(object)) {
      if (!object.items.empty()) add_value(path, sequence(object));
      return;
    }
    std::vector<Visit> inside;
    for (std::size_t i = 0; i < object.items.size(); ++i)
      later(inside, object.items[i], fmt::format("{}[{}]", path, i));
    for (const auto& [key, value] : object.entries) later(inside, value, key_path(path, key));
    visit_later(inside);
  }

  std::string key_path(const std::string& path, Ref key) const {
    const Object& name = pickle_.at(key);
    if (name.type == Type::kString) return joined(path, name.text);
    return fmt::format("{}[{}]", path, text_of(name));
  }

  // Adds an object of a class: its own entries and its state. The names of a module's tables of
  // parameters, buffers and modules are left out of paths, as in its state dict.
  void enter_call(Ref ref, const std::string& path) {
    const Object& object = pickle_.at(ref);
    const std::string name = pickle_.name_of(object.items.front());
    const bool plain = name == "collections.OrderedDict" || name == "collections.defaultdict" ||
                       name == "collections.Counter";
    const auto [known, fresh] = seen_.emplace(ref, path);
    if (!fresh) {
      add_value(path, fmt::format("the same as {}", known->second));
      return;
    }
    if (!plain) add_value(path, call_text(object, name));
    std::vector<Visit> inside;
    const bool told = !plain && call_text(object, name).ends_with(')');
    for (std::size_t i = 0; i + 1 < object.items.size() && !plain; ++i) {
      const Object& arguments = pickle_.at(object.items[i + 1]);
      if (!told && !only_plain(arguments)) later(inside, object.items[i + 1], path);
    }
    for (const auto& [key, value] : object.entries) later(inside, value, key_path(path, key));
    if (object.state != kNoRef && !plain) add_state(object.state, path, inside);
    visit_later(inside);
  }

  // The text of a call: "torch.device('cuda', 1)", or "a pkg.Config" if some argument is not plain.
  std::string call_text(const Object& call, const std::string& name) const {
    if (name.empty()) return "the result of a call";
    if (call.items.size() != 2 || call.state != kNoRef) return fmt::format("a {}", name);
    const Object& arguments = pickle_.at(call.items[1]);
    const bool told =
        arguments.type == Type::kTuple && !arguments.items.empty() && arguments.items.size() <= 3 &&
        std::all_of(arguments.items.begin(), arguments.items.end(),
                    [&](Ref ref) { return is_plain(ref) || only_plain(pickle_.at(ref)); });
    if (!told) return fmt::format("a {}", name);
    std::string inside = sequence(arguments);
    return fmt::format("{}{}", name, inside);
  }

  void add_state(Ref state, const std::string& path, std::vector<Visit>& inside) const {
    const Object& object = pickle_.at(state);
    if (object.type != Type::kDict) {
      later(inside, state, path);
      return;
    }
    const bool module =
        pickle_.find(object, "_modules") != kNoRef && pickle_.find(object, "_parameters") != kNoRef;
    for (const auto& [key, value] : object.entries) {
      const Object& name = pickle_.at(key);
      const bool table = module && (name.text == "_parameters" || name.text == "_buffers" ||
                                    name.text == "_modules");
      // The rest of what a module holds are its settings and hooks.
      const bool setting = module && name.text.starts_with('_') && !table;
      if (!setting) later(inside, value, table ? path : key_path(path, key));
    }
  }

  void add_value(const std::string& path, std::string text) {
    if (contents_.values.size() >= kMostValues)
      ++hidden_;
    else
      contents_.values.push_back({path, std::move(text)});
  }

  bool is_plain(Ref ref) const {
    const Type type = pickle_.at(ref).type;
    return type < Type::kTuple || type == Type::kGlobal;
  }

  // Whether a sequence holds only numbers and strings, so that it is shown as one value.
  bool only_plain(const Object& object) const {
    return object.entries.empty() && std::all_of(object.items.begin(), object.items.end(),
                                                 [&](Ref ref) { return is_plain(ref); });
  }

  std::string sequence(const Object& object) const {
    std::string text;
    for (const Ref item : object.items) {
      if (!text.empty()) text += ", ";
      text += text_of(pickle_.at(item));
      if (text.size() > kLongest) {
        text += fmt::format(", ... ({} in all)", object.items.size());
        break;
      }
    }
    return object.type == Type::kTuple ? fmt::format("({})", text) : fmt::format("[{}]", text);
  }

  std::string text_of(const Object& object) const {
    switch (object.type) {
      case Type::kNone:
        return "None";
      case Type::kBool:
        return object.integer != 0 ? "True" : "False";
      case Type::kInt:
        return object.text.empty() ? std::to_string(object.integer)
                                   : fmt::format("an integer of {} bytes", object.integer);
      case Type::kFloat:
        return fmt::format("{}", object.real);
      case Type::kString:
        return object.text.size() <= kLongest ? fmt::format("'{}'", object.text)
                                              : fmt::format("a string of {} bytes", object.integer);
      case Type::kBytes:
        return fmt::format("{} bytes", object.integer);
      case Type::kGlobal: {
        std::string name = object.text;
        std::replace(name.begin(), name.end(), ' ', '.');
        return name;
      }
      case Type::kTuple:
      case Type::kList:
        return only_plain(object) ? sequence(object) : "...";
      default:
        return "...";
    }
  }

  const Pickle& pickle_;
  Contents& contents_;
  PickledTensors tensors_;
  std::vector<Visit> todo_;
  std::size_t depth_ = 0;   // of the object that is visited
  std::size_t paths_ = 0;   // bytes of all names so far
  std::size_t hidden_ = 0;  // values that are not listed
  bool stopped_ = false;
  std::unordered_map<Ref, std::string> seen_;
};

}  // namespace

void add_pickled(const Pickle& pickle, Contents& contents) {
  for (std::string& cost : costs_of(pickle)) contents.broken.push_back(std::move(cost));
  Walk(pickle, contents).run();
  for (std::string& name : pickle.globals()) contents.globals.push_back(std::move(name));
}

void judge_globals(Contents& contents) {
  for (const std::string& name : contents.globals)
    if (!is_accepted(name)) contents.refused.push_back(name);
}

}  // namespace torchport::checkpoint
