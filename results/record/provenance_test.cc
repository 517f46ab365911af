#include "results/record/provenance.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

TEST(Provenance, IsTheRunsBuildAndDevice) {
  RunRecord run = sample_run();
  run.build.git_sha = "abc";
  run.build.git_dirty = false;
  run.environment.device.uuid = "GPU-1";
  run.environment.driver_version = "580.95.05";
  const Provenance provenance = provenance_of(run);
  EXPECT_EQ(provenance.run_id, run.run.id);
  EXPECT_EQ(provenance.version, "0.1.0");
  EXPECT_EQ(provenance.git_sha, "abc");
  EXPECT_EQ(provenance.git_dirty, false);
  EXPECT_EQ(provenance.device_name, "V100");
  EXPECT_EQ(provenance.device_kind, "emulated");
  EXPECT_EQ(provenance.device_uuid, "GPU-1");
  EXPECT_EQ(provenance.driver_version, "580.95.05");
}

TEST(Provenance, OfACaseFromAnotherRunIsKept) {
  RunRecord run = sample_run();
  run.cases[1].provenance = Provenance{.run_id = "another", .device_name = "H200"};
  stamp_provenance(run);
  EXPECT_EQ(run.cases[0].provenance.value().run_id, run.run.id);
  EXPECT_EQ(run.cases[1].provenance.value().run_id, "another");
  EXPECT_EQ(run.cases[1].provenance.value().device_name, "H200");
}

}  // namespace
}  // namespace sparkbench
