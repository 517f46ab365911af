
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/model/sass/inspection_report.h"
#include "harness/model/sass/test_listing.h"

namespace sparkbench {
namespace {

std::vector<KernelInspection> kernels_for_json() {
  return inspect_listings(recorded_listing("sass"), recorded_listing("usage"));
}

TEST(InspectionJson, HasResourcesLoopAndGatesOfAKernel) {
  const std::vector<std::string> broken = {"a line"};
  const auto document =
      nlohmann::json::parse(format_inspection_json("/some/binary", kernels_for_json(), broken));
  EXPECT_EQ(document["schema"], "sparkbench.inspection 1.1.0");
  EXPECT_EQ(document["binary"], "/some/binary");
  EXPECT_EQ(document["broken_gates"], nlohmann::json({"a line"}));
  ASSERT_EQ(document["kernels"].size(), 1u);
  const auto& kernel = document["kernels"][0];
  EXPECT_EQ(kernel["name"], "volta-fp32acc/fwd/d64");
  EXPECT_EQ(kernel["symbol"], "volta_fp32acc_fwd_d64");
  EXPECT_EQ(kernel["instance"]["id"], "volta-fp32acc/fwd/d64");
  EXPECT_EQ(kernel["instance"]["symbol"], "volta_fp32acc_fwd_d64");
  EXPECT_EQ(kernel["instance"]["pass"], "fwd");
  EXPECT_EQ(kernel["resources"]["registers"], 30);
  EXPECT_EQ(kernel["launch"]["threads"], 128);
  EXPECT_GT(kernel["occupancy"]["blocks_per_sm"], 0);
  EXPECT_EQ(kernel["main_loop"]["begin"], 0xf0);
  EXPECT_EQ(kernel["main_loop"]["end"], 0x410);
  EXPECT_EQ(kernel["main_loop"]["mix"]["tensor"], 8);
  EXPECT_EQ(kernel["main_loop"]["per_mma"]["tensor"], 4.0);
  EXPECT_EQ(kernel["main_loop"]["per_mma"]["instructions"], 19.5);
  EXPECT_DOUBLE_EQ(kernel["main_loop"]["caps"]["issue"], 16.0 / 39.0);
  ASSERT_EQ(kernel["gates"].size(), gate_names().size());
  EXPECT_EQ(kernel["gates"][0]["holds"], true);
  EXPECT_EQ(kernel["gates"][0]["at_most"], 0.0);
  EXPECT_EQ(kernel["gates"][5]["at_least"], 1.2);
  EXPECT_EQ(kernel["gates"][5]["holds"], false);
}

TEST(InspectionJson, HasNullForWhatCannotBeKnown) {
  const auto kernels =
      inspect_listings("code for sm_80\n Function : f\n /*0000*/ EXIT ;\n",
                       "arch = sm_80\n Function f:\n  REG:12 STACK:0 SHARED:4 LOCAL:0\n");
  const auto document = nlohmann::json::parse(format_inspection_json("b", kernels, {}));
  const auto& kernel = document["kernels"][0];
  for (const char* field : {"instance", "launch", "occupancy", "main_loop"}) {
    EXPECT_TRUE(kernel[field].is_null()) << field;
  }
  EXPECT_EQ(kernel["gates"], nlohmann::json::array());
  EXPECT_EQ(document["broken_gates"], nlohmann::json::array());
}

TEST(InspectionTable, HasEveryKernelInEveryTable) {
  const std::string text = format_inspection(kernels_for_json());
  int lines = 0;
  for (std::size_t at = text.find("\nvolta-fp32acc/fwd/d64 "); at != std::string::npos;
       at = text.find("\nvolta-fp32acc/fwd/d64 ", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 5) << text;
  for (const char* part : {"0xf0-0x400", "holds 0", "BREAKS 0.41", "19.50", "registers"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
}

TEST(InspectionTable, OfAnotherArchitectureHasTheResourcesOnly) {
  const std::string text = format_inspection(
      inspect_listings("code for sm_80\n Function : f\n /*0000*/ EXIT ;\n",
                       "arch = sm_80\n Function f:\n  REG:12 STACK:0 SHARED:4 LOCAL:0\n"));
  EXPECT_EQ(text.rfind("Resources", 0), 0u);
  EXPECT_EQ(text.find("Gates"), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
