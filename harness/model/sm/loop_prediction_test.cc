#include "harness/model/sm/loop_prediction.h"

#include <gtest/gtest.h>

#include "harness/model/sm/test_code.h"

namespace sparkbench {
namespace {

std::set<std::string> notes_of(const std::vector<CodeLine>& lines) {
  PredictionRequest request;
  request.threads = 32;
  request.is_whole = true;
  return predict_loop(code_of(lines), request).walk.notes;
}

TEST(LoopPrediction, WarnsOfMemoryThatTheModelDoesNotSee) {
  const auto notes = notes_of({{"S04", "STL [R1], R2"},
                               {"S04", "LDL R2, [R1]"},
                               {"S04", "LDG.E.SYS R4, [R2]"},
                               {"S04", "EXIT"}});
  EXPECT_EQ(notes.size(), 2u);
}

TEST(LoopPrediction, HasNoNoteWithoutMemory) {
  EXPECT_TRUE(notes_of({{"S04", "FADD R1, R2, R3"}, {"S04", "EXIT"}}).empty());
}

}  // namespace
}  // namespace sparkbench
