// Finds distributions whose C library torch has no wheels for.
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"

namespace torchport::host::torch {

namespace {

std::optional<Diagnosis> musl(const Facts& facts) {
  if (facts.torch() != nullptr || !has_musl(facts)) return std::nullopt;
  return Diagnosis{
      "no-wheels-for-musl",
      fmt::format("{} has the C library musl, and torch has wheels for glibc only: pip finds none",
                  facts.release),
      in_container(facts) ? "take an image with glibc: FROM python:3.12-slim"
                          : "run torch in a container whose image has glibc: python:3.12-slim",
      kBuild};
}

const CauseRegistration kMusl(&musl);

}  // namespace

}  // namespace torchport::host::torch
