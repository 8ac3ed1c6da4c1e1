// Registering without warnings.
#pragma once

#include <c10/util/Exception.h>

namespace torchport::vdev {

// While it lives, warnings of this thread are dropped: PyTorch warns of each kernel that is put
// over another, and that is what virtual devices are made by.
class Silence {
 public:
  Silence() : guard_(&handler_) {}

 private:
  class Handler final : public c10::WarningHandler {
   public:
    void process(const c10::Warning&) override {}
  };

  Handler handler_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace torchport::vdev
