// Shifts and casts in the code of devices, as PTX defines them (toolkit/include/torchport/shifts.h
// and casts.h), where C++ leaves them undefined.
//
//   a << b             ->  a << ::torchport::kShift << b
//   a >>= b            ->  a >>= ::torchport::kShift = b
//   (int)x             ->  (int)(::torchport::Cast<int>)x
//   int(x)             ->  int(static_cast<::torchport::Cast<int>>(x))
//   static_cast<T>(x)  ->  static_cast<T>(static_cast<::torchport::Cast<T>>(x))
//   int i = x;         ->  int i = ::torchport::Initial<int>() = x;
//
// Operators keep their precedence, and both sides their types; what is of a class is passed on.
#pragma once

#include <string>
#include <string_view>

#include "cuda/source/rewrite.h"

namespace torchport::cuda {

// Stands before each function of a device, between the two passes of the rewriter.
inline constexpr std::string_view kDeviceMark = "torchport_device_code";

// A text that the rewriter's first pass has made; its marks are gone afterwards.
[[nodiscard]] std::string with_defined_arithmetic(std::string text, const RewriteOptions& options);

}  // namespace torchport::cuda
