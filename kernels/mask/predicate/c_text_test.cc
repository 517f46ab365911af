// The C text of expressions, as a compiler evaluates it, against the host's own evaluation.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/mask/predicate/device_source.h"
#include "kernels/mask/predicate/evaluate.h"
#include "kernels/mask/predicate/test_expressions.h"

namespace sparkbench {
namespace {

using Compiled = Whole(Whole q, Whole k, Whole h, Whole seqlen_q, Whole seqlen_k);

std::string source_of(const std::vector<Expression>& expressions) {
  std::string source =
      "#include \"kernels/mask/predicate/whole_numbers.h\"\nusing namespace "
      "sparkbench;\n";
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    source += "extern \"C\" Whole e" + std::to_string(i) +
              "(Whole q, Whole k, Whole h, Whole seqlen_q, Whole seqlen_k) { return " +
              c_text_of(expressions[i]) + "; }\n";
  }
  return source;
}

TEST(CText, MeansWhatTheExpressionDoes) {
  if (std::system("'" SPARKBENCH_CXX "' --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no compiler at " SPARKBENCH_CXX;
  }
  std::mt19937 random(3);
  std::vector<Expression> expressions;
  for (int i = 0; i < 500; ++i) expressions.push_back(drawn_expression(random));
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("c_text_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "e.cc") << source_of(expressions);
  const std::string command = "'" SPARKBENCH_CXX
                              "' -std=c++17 -O1 -w -fPIC -shared -I'" SPARKBENCH_SOURCE "' -o '" +
                              (folder / "e.so").string() + "' '" + (folder / "e.cc").string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  void* const library = dlopen((folder / "e.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    auto* const compiled = reinterpret_cast<Compiled*>(
        dlsym(library, std::string(1, 'e').append(std::to_string(i)).c_str()));
    ASSERT_NE(compiled, nullptr);
    for (int n = 0; n < 50; ++n) {
      const ExpressionPoint at = {drawn_between(random, -99, 999), drawn_between(random, 0, 999),
                                  drawn_between(random, 0, 15), 700, 1000};
      ASSERT_EQ(compiled(at.q, at.k, at.h, at.seqlen_q, at.seqlen_k), value_of(expressions[i], at))
          << text_of(expressions[i]);
    }
  }
  dlclose(library);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sparkbench
