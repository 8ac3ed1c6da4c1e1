// Knows which work of which stream is done before which other work, by vector clocks.
//
// A stream does its pieces of work in order, and its n-th piece has the number n. For each stream
// the clock says how far every other stream is known to be when new work of this stream begins. An
// event is a copy of that clock. Whoever waits for an event takes the larger number of each stream.
// The host has one clock for all its threads: once any thread has waited for work, this work is
// done in fact, and all that is started later begins after it.
//
// As in FastTrack (Flanagan and Freund, 2009), whose locks are events here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace torchport::device {

// A stream, by the order in which they are first seen.
using StreamNumber = std::size_t;
// By stream number, how many of its pieces of work are done; missing ones are 0.
using Clock = std::vector<std::uint64_t>;

struct StreamName {
  int device = 0;
  std::int64_t id = 0;  // 0 is the device's default stream
  auto operator<=>(const StreamName&) const = default;
};

// Not thread safe. A stream number that number_of() did not give is undefined behaviour.
class StreamClocks {
 public:
  [[nodiscard]] StreamNumber number_of(StreamName name);
  [[nodiscard]] StreamName name(StreamNumber stream) const { return streams_[stream].name; }
  [[nodiscard]] std::size_t count() const { return streams_.size(); }

  // Starts a piece of work on a stream, and returns its number: 1, 2, ...
  std::uint64_t start(StreamNumber stream);
  // What is done once all is done that was started on the stream so far.
  [[nodiscard]] const Clock& recorded(StreamNumber stream) const { return streams_[stream].clock; }
  // All later work of the stream begins after what `clock` says.
  void wait(StreamNumber stream, const Clock& clock);
  // The host has waited for what `clock` says.
  void host_waits(const Clock& clock);

  // Whether a piece of work is done when new work of the stream `later` begins.
  [[nodiscard]] bool is_before(StreamNumber stream, std::uint64_t work, StreamNumber later) const;
  // Whether the host has waited for a piece of work, or for all that `clock` says.
  [[nodiscard]] bool host_knows(StreamNumber stream, std::uint64_t work) const;
  [[nodiscard]] bool host_knows(const Clock& clock) const;

 private:
  struct Stream {
    StreamName name;
    Clock clock;
  };
  std::map<StreamName, StreamNumber> numbers_;
  std::vector<Stream> streams_;
  Clock host_;
};

}  // namespace torchport::device
