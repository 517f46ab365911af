#include "kernels/machine/emulated/tensor_core/vector_file.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

const std::string kHeader = "a0,a1,a2,a3,b0,b1,b2,b3,c_f32,d_f32,c_f16,d_f16\n";
// 1 * 1 + 2 * 1 = 3 on top of 1: 4.
const std::string kRow = "3c00,4000,0,0,3c00,3c00,0000,0000,3f800000,40800000,3c00,4400\n";

std::vector<VectorRow> read(const std::string& text) {
  std::istringstream in(text);
  return read_vector_file(in, "x.csv");
}

/// The message of the error that reading `text` gives.
std::string error_of_reading(const std::string& text) {
  return message_of<std::runtime_error>([&] { read(text); });
}

TEST(VectorFile, ReadsRowsWithTheirBits) {
  const auto rows = read(kHeader + kRow);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].line, 2u);
  EXPECT_EQ(rows[0].kind, "");
  ASSERT_EQ(rows[0].a.size(), 4u);
  ASSERT_EQ(rows[0].b.size(), 4u);
  EXPECT_EQ(rows[0].a[1].bits, 0x4000);
  EXPECT_EQ(rows[0].b[0].bits, 0x3c00);
  EXPECT_EQ(rows[0].c_f32, 0x3f800000u);
  EXPECT_EQ(rows[0].d_f32, 0x40800000u);
  EXPECT_EQ(rows[0].c_f16.bits, 0x3c00);
  EXPECT_EQ(rows[0].d_f16.bits, 0x4400);
}

TEST(VectorFile, ReadsAKindAndWindowsLineEnds) {
  const auto rows = read("kind," + kHeader.substr(0, kHeader.size() - 1) + "\r\nedge," +
                         kRow.substr(0, kRow.size() - 1) + "\r\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].kind, "edge");
  EXPECT_EQ(rows[0].d_f16.bits, 0x4400);
}

TEST(VectorFile, RefusesAnEmptyFileAndAHeaderAlone) {
  EXPECT_EQ(error_of_reading(""), "x.csv: empty file");
  EXPECT_EQ(error_of_reading(kHeader), "x.csv: no rows after the header");
}

TEST(VectorFile, NamesAColumnThatTheHeaderLacks) {
  EXPECT_EQ(error_of_reading("a0,a1,a2,a3,b0,b1,b2,b3,c_f32,c_f16,d_f16\n"),
            "x.csv: line 1, column d_f32: header has 'c_f16' there");
  EXPECT_EQ(error_of_reading("a0,a1,a2,a3,b0,b1,b2,b3,c_f32,d_f32,c_f16\n"),
            "x.csv: line 1, column d_f16: header has '' there");
  EXPECT_EQ(error_of_reading("kind,c_f32,d_f32,c_f16,d_f16\n"),
            "x.csv: line 1, column a0: 0 terms, expected a multiple of 4");
}

TEST(VectorFile, RefusesUnequalNumbersOfAAndB) {
  EXPECT_EQ(error_of_reading("a0,a1,a2,a3,b0,b1,b2,c_f32,d_f32,c_f16,d_f16\n"),
            "x.csv: line 1, column b3: header has 'c_f32' there");
  EXPECT_EQ(error_of_reading("a0,a1,a2,b0,b1,b2,c_f32,d_f32,c_f16,d_f16\n"),
            "x.csv: line 1, column a0: 3 terms, expected a multiple of 4");
}

TEST(VectorFile, RefusesAColumnTooMany) {
  EXPECT_EQ(error_of_reading(kHeader.substr(0, kHeader.size() - 1) + ",extra\n"),
            "x.csv: line 1, column extra: unknown column");
}

TEST(VectorFile, NamesAWrongFieldsLineAndColumn) {
  const std::string good = kHeader + kRow;
  EXPECT_EQ(error_of_reading(good + "3c00,4000,xyz,0,3c00,3c00,0,0,3f800000,40800000,3c00,4400\n"),
            "x.csv: line 3, column a2: 'xyz' is not a hexadecimal number");
  EXPECT_EQ(error_of_reading(good + "3c00,4000,,0,3c00,3c00,0,0,3f800000,40800000,3c00,4400\n"),
            "x.csv: line 3, column a2: '' is not a hexadecimal number");
  EXPECT_EQ(error_of_reading(good + "3c00,4000,-1,0,3c00,3c00,0,0,3f800000,40800000,3c00,4400\n"),
            "x.csv: line 3, column a2: '-1' is not a hexadecimal number");
  EXPECT_EQ(error_of_reading(good + "3c00,4000,0,0,13c00,3c00,0,0,3f800000,40800000,3c00,4400\n"),
            "x.csv: line 3, column b0: '13c00' has more than 4 digits");
  EXPECT_EQ(error_of_reading(good + "3c00,4000,0,0,3c00,3c00,0,0,3f8000000,40800000,3c00,4400\n"),
            "x.csv: line 3, column c_f32: '3f8000000' has more than 8 digits");
}

TEST(VectorFile, NamesTheLineOfARowMisfit) {
  EXPECT_EQ(error_of_reading(kHeader + "3c00,4000,0,0,3c00,3c00,0,0,3f800000,40800000,3c00\n"),
            "x.csv: line 2, column d_f16: missing");
  EXPECT_EQ(error_of_reading(kHeader + kRow.substr(0, kRow.size() - 1) + ",0,0\n"),
            "x.csv: line 2, column d_f16: 2 more fields after it than the header has");
  EXPECT_EQ(error_of_reading(kHeader + "\n" + kRow), "x.csv: line 2, column a1: missing");
}

TEST(Replay, CountsWhatIsReproducedInEachAccumulator) {
  const std::string wrong_f32 = "3c00,4000,0,0,3c00,3c00,0,0,3f800000,40800001,3c00,4400\n";
  const std::string wrong_f16 = "3c00,4000,0,0,3c00,3c00,0,0,3f800000,40800000,3c00,4401\n";
  const auto rows = read(kHeader + kRow + wrong_f32 + wrong_f16);
  const ReplayResult result = replay(arithmetic_profile("volta"), rows);
  EXPECT_EQ(result.rows, 3u);
  EXPECT_EQ(result.reproduced_f32, 2u);
  EXPECT_EQ(result.reproduced_f16, 2u);
  EXPECT_FALSE(result.all_reproduced());
  ASSERT_EQ(result.first_misses.size(), 2u);
  EXPECT_EQ(result.first_misses[0].line, 3u);
  EXPECT_EQ(result.first_misses[0].accumulator, Accumulator::kFp32);
  EXPECT_EQ(result.first_misses[0].expected, 0x40800001u);
  EXPECT_EQ(result.first_misses[0].computed, 0x40800000u);
  EXPECT_EQ(result.first_misses[1].line, 4u);
  EXPECT_EQ(result.first_misses[1].accumulator, Accumulator::kFp16);
  EXPECT_EQ(result.first_misses[1].expected, 0x4401u);
  EXPECT_EQ(result.first_misses[1].computed, 0x4400u);
}

TEST(Replay, ReproducesACorrectFileWhole) {
  EXPECT_TRUE(replay(arithmetic_profile("volta"), read(kHeader + kRow)).all_reproduced());
}

TEST(Replay, ListsOnlyTheFirstMisses) {
  std::string text = kHeader;
  for (std::size_t i = 0; i < kListedMisses + 5; ++i) {
    text += "3c00,4000,0,0,3c00,3c00,0,0,3f800000,0,3c00,4400\n";
  }
  const ReplayResult result = replay(arithmetic_profile("volta"), read(text));
  EXPECT_EQ(result.reproduced_f32, 0u);
  EXPECT_EQ(result.first_misses.size(), kListedMisses);
}

}  // namespace
}  // namespace sparkbench
