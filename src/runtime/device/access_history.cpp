#include "runtime/device/access_history.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace torchport::device {

namespace {

// More accesses to a block, and more freed blocks, are not kept: the oldest ones go.
constexpr std::size_t kKept = 64;
constexpr std::size_t kFreedKept = 4096;
// Regions of more pieces are not compared.
constexpr std::uint64_t kMostPieces = 1U << 16U;

using Piece = std::pair<std::uint64_t, std::uint64_t>;  // begin and end

// The pieces of a region in order of their begin; nothing if there are too many.
std::optional<std::vector<Piece>> pieces_of(const Region& region) {
  if (region.dimensions.empty()) return std::vector<Piece>{{region.begin, region.end}};
  std::uint64_t run = region.element;
  std::vector<std::uint64_t> begins{region.begin};
  // From the smallest stride on: those that follow each other without a gap make one piece.
  for (const Region::Dimension& dimension : region.dimensions) {
    if (begins.size() == 1 && dimension.stride == run) {
      run *= dimension.size;
      continue;
    }
    if (dimension.size > kMostPieces / begins.size()) return std::nullopt;
    const std::size_t known = begins.size();
    for (std::uint64_t i = 1; i < dimension.size; ++i) {
      for (std::size_t k = 0; k < known; ++k) begins.push_back(begins[k] + i * dimension.stride);
    }
  }
  std::sort(begins.begin(), begins.end());
  std::vector<Piece> pieces;
  for (const std::uint64_t begin : begins) pieces.emplace_back(begin, begin + run);
  return pieces;
}

// Whether all of `inner` lies in `outer`; false if that is not simple to say.
bool contains(const Region& outer, const Region& inner) {
  if (outer == inner) return true;
  return outer.dimensions.empty() && outer.begin <= inner.begin && inner.end <= outer.end;
}

}  // namespace

Region Region::of(std::uint64_t begin, std::uint64_t element, std::vector<Dimension> dimensions) {
  std::erase_if(dimensions, [](const Dimension& d) { return d.size == 1 || d.stride == 0; });
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
  Region region{begin, begin + element, element, std::move(dimensions)};
  std::uint64_t run = element;
  bool dense = true;
  for (const Dimension& dimension : region.dimensions) {
    region.end += (dimension.size - 1) * dimension.stride;
    dense = dense && dimension.stride == run;
    run *= dimension.size;
  }
  if (dense) region.dimensions.clear();
  return region;
}

bool overlap(const Region& a, const Region& b) {
  if (a.end <= b.begin || b.end <= a.begin) return false;
  if (a.dimensions.empty() && b.dimensions.empty()) return true;
  const auto of_a = pieces_of(a);
  const auto of_b = pieces_of(b);
  if (!of_a || !of_b) return false;
  auto at = of_b->begin();
  for (const Piece& piece : *of_a) {
    while (at != of_b->end() && at->second <= piece.first) ++at;
    if (at == of_b->end()) return false;
    if (at->first < piece.second) return true;
  }
  return false;
}

void AccessHistory::allocate(std::uint64_t address, std::uint64_t bytes, StreamNumber owner) {
  if (address == 0) return;
  Block block{address + bytes, owner, {}, {}};
  // The freed blocks that begin before its end. Blocks do not overlap, so that the last one that
  // begins before `address` is the only such one that can reach into it.
  auto at = freed_.upper_bound(address);
  if (at != freed_.begin()) --at;
  while (at != freed_.end() && at->first < block.end) {
    if (at->second.end <= address) {
      ++at;
      continue;
    }
    for (Access& access : at->second.accesses) {
      if (clocks_.host_knows(access.stream, access.work)) continue;
      block.accesses.push_back(access);
      block.accesses.back().of_freed = true;
    }
    // What it does not cover is given to others.
    const bool covered = address <= at->first && at->second.end <= block.end;
    at = covered ? freed_.erase(at) : std::next(at);
  }
  blocks_.insert_or_assign(address, std::move(block));
}

void AccessHistory::record_stream(std::uint64_t address, StreamNumber stream) {
  const auto found = blocks_.find(address);
  if (found != blocks_.end()) found->second.recorded.insert(stream);
}

void AccessHistory::free(std::uint64_t address) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return;
  Block block = std::move(found->second);
  blocks_.erase(found);
  std::erase_if(block.accesses, [&](const Access& access) {
    return clocks_.is_before(access.stream, access.work, block.owner) ||
           block.recorded.contains(access.stream);
  });
  if (block.accesses.empty()) return;
  freed_.insert_or_assign(address, Freed{block.end, std::move(block.accesses)});
  if (freed_.size() > kFreedKept) freed_.erase(freed_.begin());
}

std::vector<Access> AccessHistory::add(std::uint64_t address, Access access) {
  std::vector<Access> races;
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return races;
  std::vector<Access>& known = found->second.accesses;
  std::erase_if(known, [&](const Access& old) {
    if (clocks_.host_knows(old.stream, old.work)) return true;
    if (!clocks_.is_before(old.stream, old.work, access.stream)) {
      if ((old.writes || access.writes) && overlap(old.region, access.region)) races.push_back(old);
      return false;
    }
    // Who comes after this access comes after the old one, so it suffices to compare with this.
    return (access.writes || !old.writes) && contains(access.region, old.region);
  });
  if (known.size() >= kKept) known.erase(known.begin());
  known.push_back(std::move(access));
  return races;
}

}  // namespace torchport::device
