#include "kernels/mask/pattern/row_bounds.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace sparkbench {
namespace {

TEST(RowBounds, AreOfOneDocumentARow) {
  const std::vector<int> lengths = {2, 1, 3};
  const SharedBounds square = document_bounds(lengths, 8, 8);
  EXPECT_EQ(square->begin, (std::vector<int>{0, 0, 2, 3, 3, 3, 6, 6}));
  EXPECT_EQ(square->end, (std::vector<int>{2, 2, 3, 6, 6, 6, 6, 6}));
  // The last row stands at the last key.
  const SharedBounds last_two = document_bounds(lengths, 2, 5);
  EXPECT_EQ(last_two->begin, (std::vector<int>{3, 3}));
  EXPECT_EQ(last_two->end, (std::vector<int>{5, 5}));
  const SharedBounds early = document_bounds(lengths, 3, 1);
  EXPECT_TRUE(early->keys(0).is_empty());
  EXPECT_TRUE(early->keys(1).is_empty());
  EXPECT_TRUE(early->keys(2).contains(0));
  EXPECT_THROW(document_bounds(std::vector<int>{2, 0}, 4, 4), std::invalid_argument);
}

TEST(RowBounds, DrawTheSameDocumentsAgain) {
  const std::vector<int> lengths = drawn_documents(2048, 1 << 20);
  EXPECT_EQ(lengths, drawn_documents(2048, 1 << 20));
  EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), 0), 1 << 20);
  const double mean = static_cast<double>(1 << 20) / static_cast<double>(lengths.size());
  EXPECT_NEAR(mean, 2048, 200);
  EXPECT_EQ(drawn_documents(1, 3), (std::vector<int>{1, 1, 1}));
}

TEST(RowBounds, TurnIntoRowsOfEachKey) {
  const RowBounds bounds = {{0, 0, 2, 5, 5}, {3, 3, 4, 4, 6}};
  const SharedBounds turned = transposed(bounds, 7);
  for (int row = 0; row < 5; ++row) {
    for (int key = 0; key < 7; ++key) {
      const bool is_visible = bounds.keys(row).contains(key);
      EXPECT_EQ(turned->keys(key).contains(row), is_visible) << row << ", " << key;
      EXPECT_EQ(is_visible + keys_before(bounds)->keys(row).contains(key) +
                    keys_behind(bounds, 7)->keys(row).contains(key),
                1);
    }
  }
}

}  // namespace
}  // namespace sparkbench
