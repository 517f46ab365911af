#include "harness/model/sass/kernel_resources.h"

#include <gtest/gtest.h>

#include "harness/model/sass/test_listing.h"

namespace sparkbench {
namespace {

TEST(KernelResources, AreReadFromARecordedListing) {
  const auto usages = parse_resource_usage(recorded_listing("usage"));
  ASSERT_EQ(usages.size(), 1u);
  EXPECT_FALSE(usages[0].sm);
  const KernelResources& resources = resources_of(usages, usages[0].symbol, 70);
  EXPECT_EQ(resources.registers, 30);
  EXPECT_EQ(resources.stack_bytes, 0);
  EXPECT_EQ(resources.local_bytes, 0);
  EXPECT_EQ(resources.shared_bytes, 2048);
}

TEST(KernelResources, AreToldApartByArchitecture) {
  const auto usages = parse_resource_usage(
      "arch = sm_70\n Function f:\n  REG:255 STACK:184 SHARED:16 LOCAL:8 CONSTANT[0]:488\n"
      "arch = sm_75\n Function f:\n  REG:168 STACK:0 SHARED:0 LOCAL:0\n");
  EXPECT_EQ(resources_of(usages, "f", 70).registers, 255);
  EXPECT_EQ(resources_of(usages, "f", 70).stack_bytes, 184);
  EXPECT_EQ(resources_of(usages, "f", 70).local_bytes, 8);
  EXPECT_EQ(resources_of(usages, "f", 75).registers, 168);
  EXPECT_THROW(resources_of(usages, "f", 80), std::runtime_error);
  EXPECT_THROW(resources_of(usages, "g", 70), std::runtime_error);
}

TEST(KernelResources, ThatAreMissingAreNoticed) {
  EXPECT_THROW(parse_resource_usage(" Function f:\n  REG:12 SHARED:0\n"), std::runtime_error);
  EXPECT_THROW(parse_resource_usage(" Function f:\n"), std::runtime_error);
}

}  // namespace
}  // namespace sparkbench
