#include "base/bytes.h"

#include <doctest/doctest.h>

namespace torchport::base {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

TEST_CASE("sizes as people read them") {
  CHECK(format_bytes(0) == "0 bytes");
  CHECK(format_bytes(1) == "1 byte");
  CHECK(format_bytes(1023) == "1023 bytes");
  CHECK(format_bytes(kKiB) == "1.0 KiB");
  CHECK(format_bytes(kGiB) == "1.0 GiB");
  CHECK(format_bytes(81'152 * kMiB) == "79.2 GiB");
  CHECK(format_bytes(81'152 * kMiB, 2) == "79.25 GiB");
  CHECK(format_bytes(32 * kMiB, 0) == "32 MiB");
  CHECK(format_bytes(5000 * kGiB) == "4.9 TiB");
  CHECK(format_bytes(UINT64_MAX) == "16777216.0 TiB");
}

TEST_CASE("sizes as c10 writes them") {
  CHECK(format_bytes_as_c10(512) == "512 bytes");
  CHECK(format_bytes_as_c10(kKiB) == "1024 bytes");
  CHECK(format_bytes_as_c10(kMiB) == "1024.00 KiB");
  CHECK(format_bytes_as_c10(20 * kMiB) == "20.00 MiB");
  CHECK(format_bytes_as_c10(kGiB) == "1024.00 MiB");
  CHECK(format_bytes_as_c10(kGiB + kGiB / 2) == "1.50 GiB");
  CHECK(format_bytes_as_c10(5000 * kGiB) == "5000.00 GiB");
}

TEST_CASE("sizes as people write them") {
  CHECK(parse_size("1024").value() == kKiB);
  CHECK(parse_size("7B").value() == 7);
  CHECK(parse_size("1.5GiB").value() == kGiB + kGiB / 2);
  CHECK(parse_size("512 MiB").value() == 512 * kMiB);
  CHECK(parse_size(" 1TiB ").value() == 1024 * kGiB);
  CHECK(parse_size("8g").value() == 8 * kGiB);
  CHECK(parse_size("1.5KB").value() == 1500);
  CHECK(parse_size("500MB").value() == 500'000'000);
  CHECK(parse_size("2gb").value() == 2'000'000'000);
  CHECK(parse_size("3TB").value() == 3'000'000'000'000);
  for (const char* text : {"", "ten", "GiB", "1 2", "1PiB", "-1", "0", "0.5B", "1e99", "nan", "inf",
                           "1025TiB", "1 Gi B"}) {
    CAPTURE(text);
    const auto size = parse_size(text);
    REQUIRE_FALSE(size.has_value());
    CHECK(size.error().code == ErrorCode::kUsage);
    CHECK(size.error().message.find("is not a size") != std::string::npos);
  }
}

}  // namespace torchport::base
