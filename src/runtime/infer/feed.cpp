#include "runtime/infer/feed.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "runtime/infer/npy.h"

namespace torchport::infer {

namespace {

std::string names_of(const NamedTensors& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The data's tensors in the contract's order, matched by name. A tensor without a name is the only
// input.
std::vector<at::Tensor> in_order(const Contract& contract, const NamedTensors& data,
                                 const std::string& file) {
  std::vector<at::Tensor> ordered;
  std::string missing;
  for (const TensorSpec& spec : contract.inputs) {
    const auto found = std::find_if(data.begin(), data.end(),
                                    [&](const auto& entry) { return entry.name == spec.name; });
    if (found != data.end())
      ordered.push_back(found->tensor);
    else
      missing += (missing.empty() ? "" : ", ") + spec.name;
  }
  if (missing.empty()) return ordered;
  // A .npy array, or a tensor that was saved alone.
  const bool nameless = data.size() == 1 && data.front().name.empty();
  if (!nameless || contract.inputs.size() != 1) {
    throw std::runtime_error(
        file + " does not have a tensor for the input " + missing + "; it has " +
        (names_of(data).empty() ? "one tensor without a name" : names_of(data)));
  }
  return {data.front().tensor};
}

// Reads `bytes` bytes of standard input, or fewer at its end.
std::string read_input(std::size_t bytes) {
  // Memory grows in steps: a damaged header may ask for any size.
  constexpr std::size_t kStep = 1 << 20;
  std::string read;
  while (read.size() < bytes) {
    const std::size_t before = read.size();
    read.resize(before + std::min(kStep, bytes - before));
    const ssize_t got = ::read(STDIN_FILENO, read.data() + before, read.size() - before);
    if (got < 0 && errno != EINTR)
      throw std::runtime_error(std::string("cannot read standard input: ") + std::strerror(errno));
    read.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
  }
  return read;
}

}  // namespace

std::optional<at::Tensor> read_array_from_input() {
  std::string head = read_input(kNpyPrefix);
  if (head.empty()) return std::nullopt;
  const std::size_t size = npy_header_size(head);
  head += read_input(size - head.size());
  const NpyHeader header = read_npy_header(head);
  auto elements = std::make_shared<const std::string>(read_input(header.bytes));
  if (elements->size() < header.bytes) throw std::runtime_error("the array is cut off");
  const char* const data = elements->data();
  return npy_tensor(header, data, std::move(elements));
}

namespace {

// Whether a dimension is the axis, or a formula of it ("batch + 1").
bool depends_on(const Dimension& dimension, std::string_view axis) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const std::string_view formula = dimension.axis;
  for (std::size_t at = formula.find(axis); at < formula.size(); at = formula.find(axis, at + 1)) {
    const std::size_t end = at + axis.size();
    const bool begins = at == 0 || !in_name(formula[at - 1]);
    if (begins && (end == formula.size() || !in_name(formula[end]))) return true;
  }
  return false;
}

}  // namespace

Cut cut_of(const Contract& contract) {
  Cut cut;
  const auto first = std::find_if(contract.inputs.begin(), contract.inputs.end(),
                                  [](const TensorSpec& spec) { return !spec.shape.empty(); });
  if (first != contract.inputs.end()) {
    cut.axis = first->shape.front().axis;
    cut.fixed = cut.axis.empty() ? first->shape.front().size : 0;
  }
  // Parts of [batch, batch] cannot be joined to the whole.
  const auto depends_twice = [&](const TensorSpec& spec) {
    const auto again = [&](const Dimension& other) { return depends_on(other, cut.axis); };
    return !cut.axis.empty() && spec.shape.size() > 1 &&
           std::any_of(spec.shape.begin() + 1, spec.shape.end(), again);
  };
  const auto is_cut = [&](const TensorSpec& spec) {
    if (spec.shape.empty()) return false;
    const Dimension& rows = spec.shape.front();
    if (depends_twice(spec)) return false;
    return cut.axis.empty() ? cut.fixed > 0 && rows.size == cut.fixed : rows.axis == cut.axis;
  };
  for (const TensorSpec& spec : contract.inputs) cut.inputs.push_back(is_cut(spec));
  for (const TensorSpec& spec : contract.outputs) cut.outputs.push_back(is_cut(spec));
  cut.whole = !contract.rows_independent ||
              std::any_of(contract.inputs.begin(), contract.inputs.end(), depends_twice);
  return cut;
}

Feed::Feed(const Contract& contract, FeedOptions options)
    : contract_(contract), options_(std::move(options)), cut_(cut_of(contract)) {
  if (cut_.fixed > 0 && options_.batch_size > 0 && options_.batch_size != cut_.fixed) {
    throw std::runtime_error("--batch-size " + std::to_string(options_.batch_size) +
                             ": the artefact takes " + std::to_string(cut_.fixed) +
                             " rows and no other number; export it again with --dynamic batch");
  }
  std::int64_t total = 0;
  for (const std::string& file : options_.files) {
    if (file == "-") return;
    const auto data = in_order(contract_, read_tensors(file), file);
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (!cut_.inputs[i] || data[i].dim() == 0) continue;
      total += data[i].size(0);
      break;
    }
  }
  total_rows_ = total;
}

// Loads the next file, or the next arrays of standard input.
bool Feed::load() {
  while (file_ < options_.files.size()) {
    name_ = options_.files[file_];
    if (name_ == "-") {
      if (load_stream()) break;
      ++file_;
      continue;
    }
    chunk_ = in_order(contract_, read_tensors(name_), name_);
    ++file_;
    break;
  }
  if (chunk_.empty()) return false;
  row_ = 0;
  rows_ = 1;
  bool known = false;
  for (std::size_t i = 0; i < chunk_.size(); ++i) {
    if (!cut_.inputs[i]) continue;
    const std::string what = name_ + ": input " + contract_.inputs[i].name;
    if (chunk_[i].dim() == 0) throw std::runtime_error(what + " is a single number");
    if (chunk_[i].size(0) == 0) throw std::runtime_error(what + " has no rows");
    if (known && chunk_[i].size(0) != rows_) {
      throw std::runtime_error(what + " has " + std::to_string(chunk_[i].size(0)) +
                               " rows, but other inputs have " + std::to_string(rows_));
    }
    rows_ = chunk_[i].size(0);
    known = true;
  }
  if (cut_.fixed > 0 && known && rows_ % cut_.fixed != 0) {
    throw std::runtime_error(name_ + ": the artefact takes " + std::to_string(cut_.fixed) +
                             " rows at a time; of " + std::to_string(rows_) + " there remain " +
                             std::to_string(rows_ % cut_.fixed) +
                             "; export it again with --dynamic batch");
  }
  return true;
}

bool Feed::load_stream() {
  std::vector<at::Tensor> arrays;
  for (const TensorSpec& spec : contract_.inputs) {
    try {
      auto array = read_array_from_input();
      if (!array && arrays.empty()) return false;
      if (!array) throw std::runtime_error("it ends before the array of this input");
      arrays.push_back(std::move(*array));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("standard input, input " + spec.name + ": " + error.what());
    }
  }
  chunk_ = std::move(arrays);
  return true;
}

std::int64_t Feed::step(std::int64_t rows) const {
  if (cut_.fixed > 0) return cut_.fixed;
  if (options_.batch_size > 0) return options_.batch_size;
  const auto bounds = contract_.axes.find(cut_.axis);
  if (bounds == contract_.axes.end() || !bounds->second.maximum) return rows;
  return *bounds->second.maximum;
}

std::optional<Batch> Feed::next() {
  if (row_ >= rows_) {
    chunk_.clear();
    if (!load()) return std::nullopt;
  }
  Batch batch;
  batch.index = index_++;
  batch.rows = std::min(step(rows_), rows_ - row_);
  if (cut_.whole && batch.rows < rows_) {
    throw std::runtime_error(name_ + ": the rows of a batch depend on each other, so its " +
                             std::to_string(rows_) + " rows cannot be cut into batches of " +
                             std::to_string(batch.rows) +
                             (options_.batch_size > 0 ? ": leave --batch-size out"
                                                      : ": give each batch a file of its own"));
  }
  if (batch.rows < rows_ && cut_.fixed == 0 && options_.batch_size == 0)
    cut_by_contract_ = step(rows_);
  for (std::size_t i = 0; i < chunk_.size(); ++i)
    batch.inputs.push_back(cut_.inputs[i] ? chunk_[i].narrow(0, row_, batch.rows) : chunk_[i]);
  row_ += cut_.inputs.end() == std::find(cut_.inputs.begin(), cut_.inputs.end(), true) ? rows_
                                                                                       : batch.rows;
  return batch;
}

}  // namespace torchport::infer
