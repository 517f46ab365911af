// The part of cuDNN 9's C interface that attention needs, declared here and loaded at run time. So
// one binary serves machines with and without cuDNN, and the build needs no cuDNN. The values are
// those of cudnn_graph.h, which are fixed for a major version; api_test.cc compares them with that
// header if it is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

struct cudnnContext;
struct CUstream_st;

namespace sparkbench::cudnn {

enum class DataType : int { kFloat = 0, kHalf = 2, kInt32 = 4, kInt64 = 10, kBoolean = 11 };

enum class PointwiseMode : int {
  kAdd = 0,
  kMultiply = 1,
  kDivide = 6,
  kSubtract = 9,
  kExp = 13,
  kLog = 15,
  kIdentity = 21,
  kGreater = 302,
  kGreaterOrEqual = 303,
  kLess = 304,
  kAnd = 400,
  kIndex = 501,  // along an axis
  kSelect = 601  // operands: value if true, value if false, condition
};

enum class ReductionOperator : int { kAdd = 0, kMax = 3 };
enum class RandomDistribution : int { kBernoulli = 0 };
enum class HeuristicMode : int { kA = 3 };

enum class DescriptorType : int {
  kPointwise = 0,
  kEngineConfig = 3,
  kEngineHeuristic = 4,
  kExecutionPlan = 5,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
  kReshapeOperation = 31,
  kRandom = 32,
  kRandomOperation = 33,
  kDeviceProperties = 38
};

enum class Attribute : int {
  kPointwiseMode = 0,
  kPointwiseMathPrecision = 1,
  kPointwiseAxis = 9,
  kHeuristicMode = 200,
  kHeuristicOperationGraph = 201,
  kHeuristicResults = 202,
  kHeuristicDeviceProperties = 204,
  kPlanHandle = 400,
  kPlanEngineConfig = 401,
  kPlanWorkspaceSize = 402,
  kPointwiseOperationDescriptor = 750,
  kPointwiseOperationX = 751,
  kPointwiseOperationB = 752,
  kPointwiseOperationY = 753,
  kPointwiseOperationT = 758,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorByteAlignment = 900,
  kTensorDataType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kTensorUniqueId = 906,
  kTensorIsVirtual = 907,
  kTensorIsByValue = 908,
  kTensorRaggedOffset = 913,
  kPackUniqueIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kMatmulComputeType = 1500,
  kMatmulOperationA = 1520,
  kMatmulOperationB = 1521,
  kMatmulOperationC = 1522,
  kMatmulOperationDescriptor = 1523,
  kMatmulOperationM = 1525,  // how many of A's rows count; a tensor in memory
  kMatmulOperationN = 1526,
  kMatmulOperationK = 1527,
  kReductionOperator = 1600,
  kReductionComputeType = 1601,
  kReductionOperationX = 1610,
  kReductionOperationY = 1611,
  kReductionOperationDescriptor = 1612,
  kReshapeOperationX = 2200,
  kReshapeOperationY = 2201,
  kRandomDistribution = 2300,
  kRandomBernoulliProbability = 2305,
  kRandomOperationY = 2310,
  kRandomOperationSeed = 2311,
  kRandomOperationDescriptor = 2312,
  kRandomOperationOffset = 2313,
  kDevicePropertiesJson = 2702
};

enum class AttributeType : int {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kDouble = 5,
  kVoidPointer = 6,
  kHeuristicMode = 8,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReductionOperator = 18,
  kChar = 24,
  kRandomDistribution = 29
};

/// cuDNN's functions. Each returns a cudnnStatus_t, 0 for success, unless it says otherwise.
struct Api {
  std::size_t (*version)();  // 10000 * major + 100 * minor + patch level
  const char* (*error_string)(int status);
  void (*last_error)(char* message, std::size_t size);
  int (*create)(cudnnContext** handle);
  int (*destroy)(cudnnContext* handle);
  int (*set_stream)(cudnnContext* handle, CUstream_st* stream);
  int (*create_descriptor)(int type, void** descriptor);
  int (*destroy_descriptor)(void* descriptor);
  int (*finalize)(void* descriptor);
  int (*set_attribute)(void* descriptor, int attribute, int type, std::int64_t count,
                       const void* elements);
  int (*get_attribute)(void* descriptor, int attribute, int type, std::int64_t wanted,
                       std::int64_t* count, void* elements);
  int (*execute)(cudnnContext* handle, void* plan, void* variant_pack);
};

/// Empty if the dynamic loader finds no libcudnn.so.9. The library stays loaded.
std::optional<Api> load_api();

/// "9.19.1"
std::string spell_version(std::size_t version);

/// Throws UnsupportedError for a status by which cuDNN declines a graph and std::runtime_error for
/// any other failure. The message has cuDNN's own reason.
void check(const Api& api, int status, const char* call);

}  // namespace sparkbench::cudnn
