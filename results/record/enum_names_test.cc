#include "results/record/enum_names.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sparkbench {
namespace {

template <class Enum>
void expect_name(Enum value, std::string_view name) {
  EXPECT_EQ(name_of(value), name);
  Enum parsed{};
  parse_name(name, parsed);
  EXPECT_EQ(parsed, value) << name;
}

TEST(EnumNames, AreReadBack) {
  expect_name(Accumulator::kFp16, "fp16");
  expect_name(Accumulator::kFp32, "fp32");
  expect_name(Role::kFused, "fused");
  expect_name(Role::kReference, "reference");
  expect_name(Status::kOk, "ok");
  expect_name(Status::kIncorrect, "incorrect");
  expect_name(Status::kSkipped, "skipped");
  expect_name(Status::kFailed, "failed");
  expect_name(Status::kUnverified, "unverified");
  expect_name(Status::kPredicted, "predicted");
  expect_name(DeviceKind::kGpu, "gpu");
  expect_name(DeviceKind::kEmulated, "emulated");
}

TEST(EnumNames, RefuseAnotherName) {
  Status status = Status::kOk;
  EXPECT_THROW(parse_name("OK", status), std::invalid_argument);
  EXPECT_THROW(parse_name("", status), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
