#include "runtime/device/stream_clocks.h"

#include <algorithm>

namespace torchport::device {

namespace {

std::uint64_t of_stream(const Clock& clock, StreamNumber stream) {
  return stream < clock.size() ? clock[stream] : 0;
}

void take_larger(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

StreamNumber StreamClocks::number_of(StreamName name) {
  const auto [found, fresh] = numbers_.try_emplace(name, streams_.size());
  if (fresh) streams_.push_back({name, {}});
  return found->second;
}

std::uint64_t StreamClocks::start(StreamNumber stream) {
  Clock& clock = streams_[stream].clock;
  if (clock.size() <= stream) clock.resize(stream + 1);
  return ++clock[stream];
}

void StreamClocks::wait(StreamNumber stream, const Clock& clock) {
  // Its own work is done in order, so that its own number is never smaller.
  take_larger(streams_[stream].clock, clock);
}

void StreamClocks::host_waits(const Clock& clock) {
  take_larger(host_, clock);
}

bool StreamClocks::is_before(StreamNumber stream, std::uint64_t work, StreamNumber later) const {
  return stream == later || of_stream(streams_[later].clock, stream) >= work ||
         host_knows(stream, work);
}

bool StreamClocks::host_knows(StreamNumber stream, std::uint64_t work) const {
  return of_stream(host_, stream) >= work;
}

bool StreamClocks::host_knows(const Clock& clock) const {
  for (StreamNumber i = 0; i < clock.size(); ++i) {
    if (!host_knows(i, clock[i])) return false;
  }
  return true;
}

}  // namespace torchport::device
