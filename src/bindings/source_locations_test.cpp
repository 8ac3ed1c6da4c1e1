#include "bindings/source_locations.h"

#include <doctest/doctest.h>

namespace torchport::bindings {

TEST_CASE("a program without Python has no places") {
  const KeptPlaces outer({"/site"});
  {
    const KeptPlaces inner({});
    CHECK(location_here() == 0);
  }
  CHECK(location_here() == 0);
  CHECK(frames_of_location(0).empty());
  CHECK(frames_of_location(1).empty());
}

}  // namespace torchport::bindings
