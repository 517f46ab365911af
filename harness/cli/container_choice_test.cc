#include "harness/cli/container_choice.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(Container, OfAV100IsOfTheLastCudaThatKnowsIt) {
  EXPECT_EQ(container_for(70),
            ".container/volta.Dockerfile, of CUDA 12.9: later ones do not compile for this card");
}

TEST(Container, OfANewerCardIsOfANewerCuda) {
  for (const int capability : {75, 80, 90, 120}) {
    EXPECT_EQ(container_for(capability), ".container/newer.Dockerfile, of CUDA 13");
  }
}

TEST(Container, OfNoCardIsEither) {
  EXPECT_NE(container_for(std::nullopt).find("volta.Dockerfile for a V100, "), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
