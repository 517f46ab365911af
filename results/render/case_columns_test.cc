#include "results/render/case_columns.h"

#include <gtest/gtest.h>

#include <set>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

std::string cell_of(const std::string& name, const CaseRecord& record) {
  for (const CaseColumn& column : case_columns()) {
    if (column.name == name) return column.cell(record);
  }
  return "no column " + name;
}

TEST(CaseColumns, HaveNamesThatAFlagTakes) {
  std::set<std::string> names;
  for (const CaseColumn& column : case_columns()) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_EQ(column.name.find_first_of(" ,\n"), std::string::npos) << column.name;
    EXPECT_FALSE(column.title.empty());
  }
  EXPECT_EQ(case_column_names().size(), names.size() + 1);
  EXPECT_EQ(case_column_names().back(), "all");
}

TEST(CaseColumns, ReadWhatATimedCaseHas) {
  const CaseRecord record = sample_timed_case();
  EXPECT_EQ(cell_of("time_ms", record), "0.8240");
  EXPECT_EQ(cell_of("noise", record), "0.30");
  EXPECT_EQ(cell_of("tflops", record), "83.50");
  EXPECT_EQ(cell_of("peak", record), "66.8");
  EXPECT_EQ(cell_of("gbps", record), "120.2");
  EXPECT_EQ(cell_of("bandwidth", record), "13.4");
  EXPECT_EQ(cell_of("clock_mhz", record), "1455");
  EXPECT_EQ(cell_of("samples", record), "3");
  EXPECT_EQ(cell_of("speedup", record), "7.92");
  EXPECT_EQ(cell_of("memory", record), "1.00 MiB");
  EXPECT_EQ(cell_of("workspace", record), "0 B");
  EXPECT_EQ(cell_of("device", record), "cuda:3");
  EXPECT_EQ(cell_of("rel_l1", record), "0.0350");
  EXPECT_EQ(cell_of("status", record), "ok");
  EXPECT_EQ(cell_of("dropout", record), "0.1");
}

TEST(CaseColumns, AreEmptyWhereACaseHasNothing) {
  const CaseRecord record = sample_emulated_case();
  for (const std::string name :
       {"time_ms", "noise", "tflops", "peak", "speedup", "predicted_ms", "unfused_memory",
        "dq_rel_l1", "model", "clock_mhz", "attention", "density", "lengths", "device"}) {
    EXPECT_EQ(cell_of(name, record), "") << name;
  }
}

TEST(CaseColumns, MarkTimesThatAreInvalid) {
  CaseRecord record = sample_timed_case();
  record.valid = false;
  EXPECT_EQ(cell_of("time_ms", record), "0.8240 (invalid)");
}

TEST(CaseColumns, GiveBandsOfWhatIsPredicted) {
  const CaseRecord record = sample_predicted_case();
  EXPECT_EQ(cell_of("predicted_ms", record), "0.800");
  EXPECT_EQ(cell_of("predicted_band", record), "0.70-1.0");
  EXPECT_EQ(cell_of("predicted_speedup", record), "7.2");
  EXPECT_EQ(cell_of("speedup_band", record), "5.5-9.5");
  EXPECT_EQ(cell_of("over_predicted", record), "1.03");
}

}  // namespace
}  // namespace sparkbench
