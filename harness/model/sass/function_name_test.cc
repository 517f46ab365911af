#include "harness/model/sass/function_name.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(ShortName, HasNoReturnTypeNamespaceOrParameter) {
  EXPECT_EQ(short_name("void sparkbench::volta::(anonymous namespace)::round_dq_kernel<64>("
                       "sparkbench::volta::BackwardParams)"),
            "round_dq_kernel<64>");
  EXPECT_EQ(short_name("sparkbench::softmax_kernel(float*)"), "softmax_kernel");
  EXPECT_EQ(short_name("plain"), "plain");
}

TEST(Demangled, LeavesPlainNamesAlone) {
  EXPECT_EQ(demangled("plain_c_kernel"), "plain_c_kernel");
  EXPECT_EQ(demangled("_Z1fv"), "f()");
}

}  // namespace
}  // namespace sparkbench
