#include "reference/cudnn/api.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/base/unsupported_error.h"

#if __has_include(<cudnn_graph.h>) && __has_include(<cuda_runtime_api.h>)
#include <cudnn_graph.h>
#endif

namespace sparkbench::cudnn {
namespace {

Api recording_api() {
  Api api{};
  api.error_string = [](int) { return "CUDNN_STATUS_OF_A_TEST"; };
  api.last_error = [](char* message, std::size_t size) { std::strncpy(message, "why", size); };
  return api;
}

TEST(CudnnApi, SpellsAVersionAsNvidiaDoes) {
  EXPECT_EQ(spell_version(91901), "9.19.1");
  EXPECT_EQ(spell_version(90000), "9.0.0");
}

TEST(CudnnApi, LetsSuccessPass) { EXPECT_NO_THROW(check(recording_api(), 0, "cudnnCreate")); }

TEST(CudnnApi, TellsWhatIsDeclinedFromAFailure) {
  EXPECT_THROW(check(recording_api(), 3000, "cudnnBackendFinalize"), UnsupportedError);
  EXPECT_THROW(check(recording_api(), 3011, "cudnnBackendFinalize"), UnsupportedError);
  try {
    check(recording_api(), 2000, "cudnnBackendFinalize");
    FAIL() << "a bad parameter is an error";
  } catch (const UnsupportedError&) {
    FAIL() << "a bad parameter is a failure";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "cudnnBackendFinalize: CUDNN_STATUS_OF_A_TEST: why");
  }
}

#if __has_include(<cudnn_graph.h>) && __has_include(<cuda_runtime_api.h>)
template <class Ours, class Theirs>
void expect_same(Ours ours, Theirs theirs) {
  EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs));
}
TEST(CudnnApi, DeclaresTheDataTypesOfTheInstalledHeader) {
  expect_same(DataType::kFloat, CUDNN_DATA_FLOAT);
  expect_same(DataType::kHalf, CUDNN_DATA_HALF);
  expect_same(DataType::kInt32, CUDNN_DATA_INT32);
  expect_same(DataType::kInt64, CUDNN_DATA_INT64);
  expect_same(DataType::kBoolean, CUDNN_DATA_BOOLEAN);
}

TEST(CudnnApi, DeclaresTheModesOfTheInstalledHeader) {
  expect_same(PointwiseMode::kAdd, CUDNN_POINTWISE_ADD);
  expect_same(PointwiseMode::kMultiply, CUDNN_POINTWISE_MUL);
  expect_same(PointwiseMode::kDivide, CUDNN_POINTWISE_DIV);
  expect_same(PointwiseMode::kSubtract, CUDNN_POINTWISE_SUB);
  expect_same(PointwiseMode::kExp, CUDNN_POINTWISE_EXP);
  expect_same(PointwiseMode::kLog, CUDNN_POINTWISE_LOG);
  expect_same(PointwiseMode::kIdentity, CUDNN_POINTWISE_IDENTITY);
  expect_same(PointwiseMode::kGreater, CUDNN_POINTWISE_CMP_GT);
  expect_same(PointwiseMode::kGreaterOrEqual, CUDNN_POINTWISE_CMP_GE);
  expect_same(PointwiseMode::kLess, CUDNN_POINTWISE_CMP_LT);
  expect_same(PointwiseMode::kAnd, CUDNN_POINTWISE_LOGICAL_AND);
  expect_same(PointwiseMode::kIndex, CUDNN_POINTWISE_GEN_INDEX);
  expect_same(PointwiseMode::kSelect, CUDNN_POINTWISE_BINARY_SELECT);
  expect_same(ReductionOperator::kAdd, CUDNN_REDUCE_TENSOR_ADD);
  expect_same(ReductionOperator::kMax, CUDNN_REDUCE_TENSOR_MAX);
  expect_same(RandomDistribution::kBernoulli, CUDNN_RNG_DISTRIBUTION_BERNOULLI);
  expect_same(HeuristicMode::kA, CUDNN_HEUR_MODE_A);
}

TEST(CudnnApi, DeclaresTheDescriptorTypesOfTheInstalledHeader) {
  expect_same(DescriptorType::kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  expect_same(DescriptorType::kEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  expect_same(DescriptorType::kEngineHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  expect_same(DescriptorType::kExecutionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  expect_same(DescriptorType::kPointwiseOperation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  expect_same(DescriptorType::kOperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  expect_same(DescriptorType::kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  expect_same(DescriptorType::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  expect_same(DescriptorType::kMatmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  expect_same(DescriptorType::kMatmulOperation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  expect_same(DescriptorType::kReduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  expect_same(DescriptorType::kReductionOperation, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  expect_same(DescriptorType::kReshapeOperation, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  expect_same(DescriptorType::kRandom, CUDNN_BACKEND_RNG_DESCRIPTOR);
  expect_same(DescriptorType::kRandomOperation, CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
}

TEST(CudnnApi, DeclaresTheAttributesOfTheInstalledHeader) {
  expect_same(Attribute::kPointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
  expect_same(Attribute::kPointwiseMathPrecision, CUDNN_ATTR_POINTWISE_MATH_PREC);
  expect_same(Attribute::kPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS);
  expect_same(Attribute::kHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE);
  expect_same(Attribute::kHeuristicOperationGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  expect_same(Attribute::kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
  expect_same(Attribute::kPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  expect_same(Attribute::kPlanEngineConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  expect_same(Attribute::kPlanWorkspaceSize, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  expect_same(Attribute::kPointwiseOperationDescriptor,
              CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  expect_same(Attribute::kPointwiseOperationX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  expect_same(Attribute::kPointwiseOperationB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  expect_same(Attribute::kPointwiseOperationY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  expect_same(Attribute::kPointwiseOperationT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
  expect_same(Attribute::kGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
  expect_same(Attribute::kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  expect_same(Attribute::kTensorByteAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  expect_same(Attribute::kTensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE);
  expect_same(Attribute::kTensorDimensions, CUDNN_ATTR_TENSOR_DIMENSIONS);
  expect_same(Attribute::kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
  expect_same(Attribute::kTensorUniqueId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
  expect_same(Attribute::kTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  expect_same(Attribute::kTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  expect_same(Attribute::kTensorRaggedOffset, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC);
  expect_same(Attribute::kPackUniqueIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  expect_same(Attribute::kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  expect_same(Attribute::kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  expect_same(Attribute::kMatmulComputeType, CUDNN_ATTR_MATMUL_COMP_TYPE);
  expect_same(Attribute::kMatmulOperationA, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  expect_same(Attribute::kMatmulOperationB, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  expect_same(Attribute::kMatmulOperationC, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  expect_same(Attribute::kMatmulOperationDescriptor, CUDNN_ATTR_OPERATION_MATMUL_DESC);
  expect_same(Attribute::kMatmulOperationM, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC);
  expect_same(Attribute::kMatmulOperationN, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC);
  expect_same(Attribute::kMatmulOperationK, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC);
  expect_same(Attribute::kReductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR);
  expect_same(Attribute::kReductionComputeType, CUDNN_ATTR_REDUCTION_COMP_TYPE);
  expect_same(Attribute::kReductionOperationX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
  expect_same(Attribute::kReductionOperationY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  expect_same(Attribute::kReductionOperationDescriptor, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  expect_same(Attribute::kReshapeOperationX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
  expect_same(Attribute::kReshapeOperationY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  expect_same(Attribute::kRandomDistribution, CUDNN_ATTR_RNG_DISTRIBUTION);
  expect_same(Attribute::kRandomBernoulliProbability, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY);
  expect_same(Attribute::kRandomOperationY, CUDNN_ATTR_OPERATION_RNG_YDESC);
  expect_same(Attribute::kRandomOperationSeed, CUDNN_ATTR_OPERATION_RNG_SEED);
  expect_same(Attribute::kRandomOperationDescriptor, CUDNN_ATTR_OPERATION_RNG_DESC);
  expect_same(Attribute::kRandomOperationOffset, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC);
}

TEST(CudnnApi, DeclaresTheAttributeTypesOfTheInstalledHeader) {
  expect_same(AttributeType::kHandle, CUDNN_TYPE_HANDLE);
  expect_same(AttributeType::kDataType, CUDNN_TYPE_DATA_TYPE);
  expect_same(AttributeType::kBoolean, CUDNN_TYPE_BOOLEAN);
  expect_same(AttributeType::kInt64, CUDNN_TYPE_INT64);
  expect_same(AttributeType::kDouble, CUDNN_TYPE_DOUBLE);
  expect_same(AttributeType::kVoidPointer, CUDNN_TYPE_VOID_PTR);
  expect_same(AttributeType::kHeuristicMode, CUDNN_TYPE_HEUR_MODE);
  expect_same(AttributeType::kPointwiseMode, CUDNN_TYPE_POINTWISE_MODE);
  expect_same(AttributeType::kDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  expect_same(AttributeType::kReductionOperator, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
  expect_same(AttributeType::kChar, CUDNN_TYPE_CHAR);
  expect_same(AttributeType::kRandomDistribution, CUDNN_TYPE_RNG_DISTRIBUTION);
}
#else
TEST(CudnnApi, DeclaresTheValuesOfTheInstalledHeader) { GTEST_SKIP() << "no cudnn_graph.h"; }
#endif

}  // namespace
}  // namespace sparkbench::cudnn
