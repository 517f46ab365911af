#include "harness/inspect/kernel_instance.h"

#include <gtest/gtest.h>

#include "harness/inspect/test_listing.h"

namespace sparkbench {
namespace {

const std::string kNamespaces = "void sparkbench::volta::(anonymous namespace)::";

std::string name_of_function(const std::string& function) {
  const auto instance = parse_kernel_instance(kNamespaces + function);
  return instance ? instance->name() : "";
}

TEST(KernelInstance, OfARecordedSymbolIsNamedAsTheRegistryNamesIt) {
  const std::string symbol = parse_sass_listing(recorded_listing("sass"))[0].symbol;
  const auto instance = parse_kernel_instance(demangled(symbol));
  ASSERT_TRUE(instance);
  EXPECT_EQ(instance->name(), "volta-fp32acc/fwd/d64");
  EXPECT_EQ(instance->kernel, "volta-fp32acc");
  EXPECT_EQ(instance->accumulator, Accumulator::kFp32);
  EXPECT_EQ(instance->head_dim, 64);
  EXPECT_FALSE(instance->has_dropout);
  EXPECT_EQ(instance->products, 2);
}

TEST(KernelInstance, SaysAccumulatorPassHeadDimAndDropout) {
  EXPECT_EQ(name_of_function("attention_forward_kernel<sparkbench::volta::ForwardConfig<("
                             "sparkbench::Accumulator)0, 128, true> >(ForwardParams)"),
            "volta-fp16acc/fwd/d128/dropout");
  EXPECT_EQ(name_of_function("attention_backward_kernel<BackwardConfig<(Accumulator)1, 64, false, "
                             "true> >(BackwardParams)"),
            "volta-fp32acc/bwd/d64");
  EXPECT_EQ(name_of_function("attention_backward_kernel<BackwardConfig<(Accumulator)1, 64, true, "
                             "false> >(BackwardParams)"),
            "volta-fp32acc/bwd/d64/dropout/deterministic");
  EXPECT_EQ(name_of_function("attention_backward_dq_kernel<BackwardDqConfig<(Accumulator)0, 64, "
                             "false> >(BackwardParams)"),
            "volta-fp16acc/bwd-dq/d64");
}

TEST(KernelInstance, NamesAForwardKernelByItsAccumulatorsAndByUnusualWarps) {
  const auto name = [](const std::string& arguments) {
    return name_of_function("attention_forward_kernel<C<" + arguments + "> >()");
  };
  const std::string fp16 = ", (Accumulator)0", fp32 = ", (Accumulator)1";
  EXPECT_EQ(name("(Accumulator)0, 64, false, 4" + fp16 + fp32), "volta-fp16acc/fwd/d64");
  EXPECT_EQ(name("(Accumulator)0, 64, false, 4" + fp32 + fp32), "volta-mixedacc/fwd/d64");
  EXPECT_EQ(name("(Accumulator)0, 64, false, 4" + fp16 + fp16), "volta-fp16acc-o16/fwd/d64");
  EXPECT_EQ(name("(Accumulator)1, 128, true, 8" + fp32 + fp32), "volta-fp32acc/fwd/d128/dropout");
  EXPECT_EQ(name("(Accumulator)1, 128, true, 4" + fp32 + fp32), "volta-fp32acc/fwd/d128/dropout/4");
}

TEST(KernelInstance, CountsTheProductsThatAKernelDoes) {
  const auto products = [](const std::string& function) {
    return parse_kernel_instance(function)->products;
  };
  EXPECT_EQ(products("attention_backward_kernel<C<(Accumulator)1, 64, false, true> >()"), 5);
  EXPECT_EQ(products("attention_backward_kernel<C<(Accumulator)1, 64, false, false> >()"), 4);
  EXPECT_EQ(products("attention_backward_dq_kernel<C<(Accumulator)1, 64, false> >()"), 3);
}

TEST(KernelInstance, KeepsArgumentsThatItDoesNotKnow) {
  EXPECT_EQ(name_of_function("attention_forward_kernel<C<(Accumulator)1, 64, false, 16> >()"),
            "volta-fp32acc/fwd/d64/16");
}

TEST(KernelInstance, IsNoneOfOtherFunctions) {
  EXPECT_FALSE(parse_kernel_instance(kNamespaces + "attention_backward_delta_kernel<128>()"));
  EXPECT_FALSE(parse_kernel_instance(kNamespaces + "round_dq_kernel<64>(BackwardParams)"));
  EXPECT_FALSE(parse_kernel_instance("attention_forward_kernel"));
  EXPECT_FALSE(parse_kernel_instance("attention_forward_kernel<float>(int)"));
  EXPECT_FALSE(parse_kernel_instance(""));
}

TEST(ShortName, HasNoReturnTypeNamespaceOrParameter) {
  EXPECT_EQ(short_name(kNamespaces + "round_dq_kernel<64>(sparkbench::volta::BackwardParams)"),
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
