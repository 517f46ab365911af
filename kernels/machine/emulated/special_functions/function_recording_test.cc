#include "kernels/machine/emulated/special_functions/function_recording.h"

#include <gtest/gtest.h>

#include <sstream>

#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

FunctionRecording read(const std::string& text) {
  std::istringstream in(text);
  return read_function_recording(in, "x.csv");
}

/// The message of the error that reading `text` gives.
std::string error_of_reading(const std::string& text) {
  return message_of<std::runtime_error>([&] { read(text); });
}

TEST(FunctionRecording, HasColumnsOfFunctionsInAnyOrder) {
  const FunctionRecording recording =
      read("x,rcp_rn,ex2_approx_ftz\r\n3f800000,3f800000,40000000\r\n0,7f800000,3f800000\r\n");
  EXPECT_EQ(recording.inputs, (std::vector<std::uint32_t>{0x3f800000u, 0u}));
  ASSERT_EQ(recording.functions.size(), 2u);
  EXPECT_EQ(recording.functions[0].function.function, SpecialFunction::kReciprocalRn);
  EXPECT_STREQ(recording.functions[1].function.name, "ex2_approx_ftz");
  EXPECT_EQ(recording.functions[1].results, (std::vector<std::uint32_t>{0x40000000u, 0x3f800000u}));
}

TEST(FunctionRecording, IsRefusedWithFileLineAndColumn) {
  EXPECT_EQ(error_of_reading(""), "x.csv: empty file");
  EXPECT_EQ(error_of_reading("x,rcp_rn\n"), "x.csv: no rows after the header");
  EXPECT_EQ(error_of_reading("rcp_rn\n"), "x.csv: line 1, column x: header has 'rcp_rn' there");
  EXPECT_EQ(error_of_reading("x\n0\n"), "x.csv: line 1, column x: no function after it");
  EXPECT_EQ(error_of_reading("x,sin\n"),
            "x.csv: line 1, column sin: no special function has that name");
  EXPECT_EQ(error_of_reading("x,rcp_rn,rcp_rn\n"),
            "x.csv: line 1, column rcp_rn: twice in the header");
  EXPECT_EQ(error_of_reading("x,rcp_rn\n0\n"), "x.csv: line 2, column rcp_rn: missing");
  EXPECT_EQ(error_of_reading("x,rcp_rn\n0,0,0\n"),
            "x.csv: line 2, column rcp_rn: 1 more fields after it than the header has");
  EXPECT_EQ(error_of_reading("x,rcp_rn\n0,0g\n"),
            "x.csv: line 2, column rcp_rn: '0g' is not a hexadecimal number");
  EXPECT_EQ(error_of_reading("x,rcp_rn\n000000000,0\n"),
            "x.csv: line 2, column x: '000000000' has more than 8 digits");
}

TEST(FunctionReplay, CountsWhatIsReproducedAndListsTheRest) {
  const std::vector<FunctionReplay> results =
      replay(read("x,rcp_rn,cvt_rn_f16\n40000000,3f000000,4000\n3f800000,3f800001,3c00\n"));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].rows, 2u);
  EXPECT_EQ(results[0].reproduced, 1u);
  ASSERT_EQ(results[0].first_misses.size(), 1u);
  EXPECT_EQ(results[0].first_misses[0].row, 1u);
  EXPECT_EQ(results[0].first_misses[0].x, 0x3f800000u);
  EXPECT_EQ(results[0].first_misses[0].expected, 0x3f800001u);
  EXPECT_EQ(results[0].first_misses[0].computed, 0x3f800000u);
  EXPECT_EQ(results[1].reproduced, 2u);
}

TEST(FunctionReplay, ListsTenMissesAtMost) {
  std::string text = "x,rcp_rn\n";
  for (int i = 0; i < 12; ++i) text += "3f800000,0\n";
  const std::vector<FunctionReplay> results = replay(read(text));
  EXPECT_EQ(results[0].rows - results[0].reproduced, 12u);
  EXPECT_EQ(results[0].first_misses.size(), kListedFunctionMisses);
}

}  // namespace
}  // namespace sparkbench
