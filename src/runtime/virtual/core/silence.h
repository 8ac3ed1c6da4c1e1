// Registers kernels without warnings.
#pragma once

#include <c10/util/Exception.h>

namespace torchport::vdev {

// Drops this thread's warnings while it lives. PyTorch warns about each kernel that is registered
// over another one, and virtual devices are made by registering kernels over others.
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
