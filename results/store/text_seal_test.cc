#include "results/store/text_seal.h"

#include <gtest/gtest.h>

#include "results/record/case_id.h"

namespace sparkbench {
namespace {

TEST(TextSeal, IsTheHashOfTheTextWithoutIt) {
  const std::string row = "{\"a\":1}";
  EXPECT_EQ(sealed(row, kRowSeal), "{\"a\":1,\"row_hash\":\"" + to_hex(fnv1a(row)) + "\"}");
  const std::string run = "{\n  \"a\": 1\n}\n";
  EXPECT_EQ(sealed(run, kRunSeal),
            "{\n  \"a\": 1,\n  \"run_hash\": \"" + to_hex(fnv1a(run)) + "\"\n}\n");
}

TEST(TextSeal, BreaksWithAnyChangedByte) {
  for (const auto& [json, seal] :
       {std::pair{"{\"a\":1}", kRowSeal}, {"{\n  \"a\": 1\n}\n", kRunSeal}}) {
    EXPECT_EQ(seal_state(json, seal), SealState::kNone);
    const std::string text = sealed(json, seal);
    EXPECT_EQ(seal_state(text, seal), SealState::kFits);
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      EXPECT_NE(seal_state(changed, seal), SealState::kFits) << i;
    }
  }
}

TEST(TextSeal, IsNoneOfWhatIsShorterThanIt) {
  const std::string text = sealed("{\"a\":1}", kRowSeal);
  EXPECT_EQ(seal_state("", kRowSeal), SealState::kNone);
  EXPECT_EQ(seal_state(text.substr(7), kRowSeal), SealState::kNone);
  EXPECT_EQ(seal_state(text.substr(0, text.size() - 1), kRowSeal), SealState::kNone);
}

}  // namespace
}  // namespace sparkbench
