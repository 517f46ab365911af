#include "results/store/lean_columns.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace sparkbench {
namespace {

bool stays(const char* name, std::initializer_list<std::string_view> cells) {
  LeanColumn column(name);
  for (const std::string_view cell : cells) column.add(cell);
  return column.stays();
}

TEST(LeanColumns, LoseWhatIsEmptyOrConstant) {
  EXPECT_FALSE(stays("clock_mhz_min", {"", ""}));
  EXPECT_FALSE(stays("seed", {"0", "0"}));
  EXPECT_TRUE(stays("seed", {"0", "1"}));
  EXPECT_TRUE(stays("worst_row", {"", "0;7;1"}));
  EXPECT_TRUE(stays("worst_row", {"0;7;1", ""}));
}

TEST(LeanColumns, OfOneRowLoseWhatIsEmpty) {
  EXPECT_TRUE(stays("seed", {"0"}));
  EXPECT_FALSE(stays("clock_mhz_min", {""}));
}

TEST(LeanColumns, KeepWhatNamesACase) {
  for (const char* const name : {"id", "kernel", "status", "pass", "batch", "heads", "seqlen_q",
                                 "seqlen_k", "head_dim", "mask", "dropout_p"}) {
    EXPECT_TRUE(stays(name, {"x", "x"})) << name;
    EXPECT_TRUE(stays(name, {"", ""})) << name;
    EXPECT_TRUE(stays(name, {})) << name;
  }
}

TEST(LeanColumns, KeepConstantsThatAReaderCannotAssume) {
  for (const char* const name :
       {"dropout_scale", "lengths", "input_scale", "model", "device", "device_name", "run_id",
        "reason_code", "warnings", "nonfinite", "dq_nonfinite", "o_rel_l1", "time_ms_median",
        "memory_bytes_peak", "predicted_time_ms_likely", "predicted_speedup_over", "layer_rest",
        "tag_night"}) {
    EXPECT_TRUE(stays(name, {"x", "x"})) << name;
    EXPECT_FALSE(stays(name, {"", ""})) << name;
  }
}

}  // namespace
}  // namespace sparkbench
