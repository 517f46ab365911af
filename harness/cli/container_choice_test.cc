#include "harness/cli/container_choice.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sparkbench {
namespace {

std::string text_of(const std::string& name) {
  std::ifstream file(std::filesystem::path(SPARKBENCH_CONTAINERS) / name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Container, OfAV100IsOfTheLastCudaThatKnowsIt) {
  EXPECT_EQ(container_for(70),
            ".container/volta.Dockerfile, of CUDA 12.9: later ones do not compile for this card");
  EXPECT_NE(text_of("volta.Dockerfile").find("ARG CUDA=12.9."), std::string::npos);
  EXPECT_NE(text_of("volta.Dockerfile").find("CMAKE_CUDA_ARCHITECTURES=70;"), std::string::npos);
}

TEST(Container, OfANewerCardIsOfANewerCuda) {
  for (const int capability : {75, 80, 90, 120}) {
    EXPECT_EQ(container_for(capability), ".container/newer.Dockerfile, of CUDA 13");
  }
  EXPECT_NE(text_of("newer.Dockerfile").find("ARG CUDA=13."), std::string::npos);
  EXPECT_NE(text_of("newer.Dockerfile").find("CMAKE_CUDA_ARCHITECTURES=75;"), std::string::npos);
}

TEST(Container, OfNoCardIsEither) {
  EXPECT_NE(container_for(std::nullopt).find("volta.Dockerfile for a V100, "), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
