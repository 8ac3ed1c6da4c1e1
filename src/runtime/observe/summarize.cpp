// Computes the sums and stories from the log.
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "runtime/observe/log.h"

namespace torchport::observe {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// For each tensor that a call took, finds the call that returned it, or kNone.
class Producers {
 public:
  explicit Producers(const Log& log) : of_(log.tensors.size(), kNone) {
    std::unordered_map<const void*, std::uint32_t> tensors;
    std::unordered_map<const void*, std::uint32_t> storages;
    for (std::uint32_t i = 0; i < log.calls.size(); ++i) {
      const RecordedCall& call = log.calls[i];
      for (std::uint32_t at = call.first; at < call.first + call.inputs; ++at)
        of_[at] = find(log, log.tensors[at], tensors, storages);
      for (const Seen& seen : log.outputs_of(call)) {
        tensors[seen.tensor] = i;
        if (seen.storage != nullptr) storages[seen.storage] = i;
      }
    }
  }

  // `at` is an index into Log::tensors.
  [[nodiscard]] std::uint32_t of(std::uint32_t at) const { return of_[at]; }

 private:
  using Last = std::unordered_map<const void*, std::uint32_t>;

  // Addresses are reused, and not every tensor comes from a call (x.data, saved variables). So a
  // call counts as the producer if it returned this tensor with this storage or, failing that, this
  // storage with the same device and dtype.
  static std::uint32_t find(const Log& log, const Seen& seen, const Last& tensors,
                            const Last& storages) {
    const auto same = tensors.find(seen.tensor);
    if (same != tensors.end() && gave(log, same->second, seen, true)) return same->second;
    const auto shared = storages.find(seen.storage);
    if (seen.storage == nullptr || shared == storages.end()) return kNone;
    return gave(log, shared->second, seen, false) ? shared->second : kNone;
  }

  static bool gave(const Log& log, std::uint32_t call, const Seen& wanted, bool itself) {
    const auto outputs = log.outputs_of(log.calls[call]);
    return std::any_of(outputs.begin(), outputs.end(), [&](const Seen& seen) {
      return seen.storage == wanted.storage && seen.device == wanted.device &&
             (itself ? seen.tensor == wanted.tensor : seen.dtype == wanted.dtype);
    });
  }

  std::vector<std::uint32_t> of_;
};

TensorFacts facts_of(const Log& log, const Seen& seen) {
  TensorFacts facts{reinterpret_cast<std::uintptr_t>(seen.tensor),
                    reinterpret_cast<std::uintptr_t>(seen.storage),
                    seen.device,
                    seen.dtype,
                    seen.bytes,
                    {}};
  const auto* first = log.sizes.data() + seen.first_size;
  if (seen.dimensions > 0) facts.sizes.assign(first, first + seen.dimensions);
  return facts;
}

CallFacts facts_of(const Log& log, std::uint64_t number) {
  const RecordedCall& call = log.calls[number];
  const auto outputs = log.outputs_of(call);
  return {number,
          call.semantics->name,
          call.kind,
          call.scope,
          call.place,
          call.from,
          outputs.empty() ? call.from : outputs.front().device};
}

class Summarizer {
 public:
  explicit Summarizer(const Log& log) : log_(log), producers_(log) {}

  Observed summarize() {
    Observed summary;
    summary.operators = log_.operators;
    summary.unrecorded = log_.unrecorded;
    summary.scopes = log_.scopes;
    summary.mixed_count = log_.mixed_count;
    for (std::uint64_t i = 0; i < log_.calls.size(); ++i) sum(i, summary);
    for (const auto& [key, value] : modules_) summary.modules.push_back(value);
    for (const auto& [key, value] : results_) summary.results.push_back(value);
    for (const auto& [key, value] : flows_) summary.flows.push_back(value);
    for (const auto& [key, value] : transfers_) summary.transfers.push_back(value);
    if (log_.mixed) summary.mixed = summarize_mixed(*log_.mixed);
    if (log_.nan) summary.nan = summarize_not_finite(*log_.nan, true);
    if (log_.infinity) summary.infinity = summarize_not_finite(*log_.infinity, false);
    return summary;
  }

 private:
  [[nodiscard]] std::uint32_t module_of(const RecordedCall& call) const {
    return log_.scopes[call.scope].module;
  }

  void sum(std::uint64_t number, Observed& summary) {
    const RecordedCall& call = log_.calls[number];
    const std::uint32_t module = module_of(call);
    ModuleSum& sums = modules_[module];
    sums.module = module;
    ++sums.operators;
    sums.with_grad += call.grad ? 1 : 0;
    sums.with_autocast += call.autocast ? 1 : 0;
    std::uint64_t bytes = 0;
    for (const Seen& seen : log_.outputs_of(call)) {
      bytes += seen.bytes;
      ResultSum& result = results_[{module, seen.device, seen.dtype}];
      result = {module, seen.device, seen.dtype, result.count + 1, result.bytes + seen.bytes};
      if (summary.intermediates.size() < log_.max_intermediates)
        summary.intermediates.push_back({facts_of(log_, number), module, facts_of(log_, seen)});
    }
    sum_flows(call, module);
    if (call.kind == CallKind::kRead || (call.kind == CallKind::kMoved && !is_empty(call)))
      sum_transfer(call, module, bytes);
  }

  void sum_flows(const RecordedCall& call, std::uint32_t module) {
    for (std::uint32_t at = call.first; at < call.first + call.inputs; ++at) {
      const std::uint32_t producer = producers_.of(at);
      if (producer == kNone) continue;
      const std::uint32_t from = module_of(log_.calls[producer]);
      if (from == module) continue;
      const Seen& seen = log_.tensors[at];
      FlowSum& flow = flows_[{from, module, seen.device}];
      flow = {from, module, seen.device, flow.count + 1, flow.bytes + seen.bytes};
    }
  }

  // A tensor without elements moves without a transfer: torch.tensor([], device=...).
  [[nodiscard]] bool is_empty(const RecordedCall& call) const {
    const Seen& first = log_.outputs_of(call).front();
    const auto* sizes = log_.sizes.data() + first.first_size;
    return std::find(sizes, sizes + first.dimensions, 0) != sizes + first.dimensions;
  }

  void sum_transfer(const RecordedCall& call, std::uint32_t module, std::uint64_t bytes) {
    const auto outputs = log_.outputs_of(call);
    const c10::Device to = outputs.empty() || call.kind == CallKind::kRead
                               ? c10::Device(c10::DeviceType::CPU)
                               : outputs.front().device;
    TransferSum& sum = transfers_[{call.kind, call.semantics, module, call.place, call.from, to,
                                   call.waits, call.backward}];
    sum = {call.kind, call.semantics->name, module,        call.place,    call.from,
           to,        call.waits,           call.backward, sum.count + 1, sum.bytes};
    sum.bytes += call.kind == CallKind::kMoved ? bytes : 0;
  }

  // Follows the calls that made the tensor at index `at` of the log back to where its story begins.
  void trace_story(std::uint32_t at, Participant& participant) const {
    constexpr std::size_t kLongest = 256;
    while (participant.story.size() < kLongest) {
      const std::uint32_t number = producers_.of(at);
      if (number == kNone) {
        participant.root = facts_of(log_, log_.tensors[at]);
        return;
      }
      participant.story.push_back(facts_of(log_, number));
      const RecordedCall& call = log_.calls[number];
      if (call.kind == CallKind::kMade || call.inputs == 0) return;
      at = call.first + next_input(call);
    }
  }

  // The input from which a call's result has its device.
  [[nodiscard]] std::uint32_t next_input(const RecordedCall& call) const {
    const auto inputs = log_.inputs_of(call);
    const auto outputs = log_.outputs_of(call);
    const c10::Device device =
        call.kind == CallKind::kMoved || outputs.empty() ? call.from : outputs.front().device;
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].device == device) return i;
    }
    return 0;
  }

  [[nodiscard]] std::vector<Participant> participants_of(const KeptCall& kept) const {
    std::vector<Participant> all;
    const RecordedCall& call = log_.calls[kept.call];
    for (std::uint32_t i = 0; i < call.inputs && i < kept.arguments.size(); ++i) {
      Participant participant{kept.arguments[i].name,
                              kept.arguments[i].tensor,
                              facts_of(log_, log_.inputs_of(call)[i]),
                              {},
                              {}};
      trace_story(call.first + i, participant);
      all.push_back(std::move(participant));
    }
    return all;
  }

  [[nodiscard]] MixedCall summarize_mixed(const KeptCall& kept) const {
    const RecordedCall& call = log_.calls[kept.call];
    MixedCall mixed{
        facts_of(log_, kept.call), call.backward, {}, participants_of(kept), kept.message};
    if (call.backward) mixed.forward = forward_of(call);
    return mixed;
  }

  [[nodiscard]] NotFiniteCall summarize_not_finite(const KeptCall& kept, bool nan) const {
    const RecordedCall& call = log_.calls[kept.call];
    return {facts_of(log_, kept.call), nan, facts_of(log_, log_.outputs_of(call).front()),
            participants_of(kept)};
  }

  // Autograd numbers its nodes per thread as it creates them, so a node belongs to the last call
  // that began at or before the node's number.
  [[nodiscard]] std::optional<CallFacts> forward_of(const RecordedCall& backward) const {
    std::optional<CallFacts> found;
    std::uint64_t best = 0;
    for (std::uint64_t i = 0; i < log_.calls.size(); ++i) {
      const RecordedCall& call = log_.calls[i];
      if (call.backward || !call.grad || call.sequence > backward.sequence || &call == &backward)
        continue;
      if (found && call.sequence < best) continue;
      best = call.sequence;
      found = facts_of(log_, i);
    }
    return found;
  }

  const Log& log_;
  const Producers producers_;
  std::map<std::uint32_t, ModuleSum> modules_;
  struct Less {  // c10::Device has no order
    static auto key(c10::Device device) { return std::pair(device.type(), device.index()); }
    template <typename... Parts>
    bool operator()(const std::tuple<Parts...>& a, const std::tuple<Parts...>& b) const {
      const auto ordered = [](const auto&... parts) { return std::tuple(ordered_part(parts)...); };
      return std::apply(ordered, a) < std::apply(ordered, b);
    }
    template <typename Part>
    static auto ordered_part(const Part& part) {
      if constexpr (std::is_same_v<Part, c10::Device>) {
        return key(part);
      } else {
        return part;
      }
    }
  };
  std::map<std::tuple<std::uint32_t, c10::Device, c10::ScalarType>, ResultSum, Less> results_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, c10::Device>, FlowSum, Less> flows_;
  std::map<std::tuple<CallKind, const observer::OperatorSemantics*, std::uint32_t, std::uint32_t,
                      c10::Device, c10::Device, bool, bool>,
           TransferSum, Less>
      transfers_;
};

}  // namespace

Observed summarize(const Log& log) {
  return Summarizer(log).summarize();
}

}  // namespace torchport::observe
