#include "reference/cudnn/graph.h"

#include <array>
#include <cstring>
#include <utility>

namespace sparkbench::cudnn {
namespace {

constexpr std::int64_t kAlignmentBytes = 16;
constexpr Layout kScalarLayout = {{1, 1, 1, 1}, {1, 1, 1, 1}};

Descriptor pointwise_descriptor(const Api& api, PointwiseMode mode, DataType compute_type) {
  Descriptor descriptor(api, DescriptorType::kPointwise);
  descriptor.set(Attribute::kPointwiseMode, mode);
  descriptor.set(Attribute::kPointwiseMathPrecision, compute_type);
  return descriptor;
}

}  // namespace

Layout transposed(Layout layout) {
  std::swap(layout.extents[2], layout.extents[3]);
  std::swap(layout.strides[2], layout.strides[3]);
  return layout;
}

const Tensor& Graph::add_tensor(std::int64_t id, DataType type, const Layout& layout,
                                std::optional<Attribute> kind, const Tensor* ragged_offset) {
  Descriptor descriptor(api_, DescriptorType::kTensor);
  descriptor.set(Attribute::kTensorUniqueId, id);
  descriptor.set(Attribute::kTensorDataType, type);
  descriptor.set(Attribute::kTensorDimensions, std::span<const std::int64_t>(layout.extents));
  descriptor.set(Attribute::kTensorStrides, std::span<const std::int64_t>(layout.strides));
  descriptor.set(Attribute::kTensorByteAlignment, kAlignmentBytes);
  if (kind) descriptor.set(*kind, true);
  if (ragged_offset != nullptr) {
    descriptor.set(Attribute::kTensorRaggedOffset, ragged_offset->descriptor);
  }
  descriptor.finalize();
  return tensors_.emplace_back(Tensor{id, layout, std::move(descriptor)});
}

const Tensor& Graph::tensor(std::int64_t id, DataType type, const Layout& layout,
                            const Tensor* ragged_offset) {
  ids_in_memory_.insert(id);
  return add_tensor(id, type, layout, std::nullopt, ragged_offset);
}

const Tensor& Graph::intermediate(const Layout& layout, DataType type,
                                  const Tensor* ragged_offset) {
  return add_tensor(next_id_++, type, layout, Attribute::kTensorIsVirtual, ragged_offset);
}

template <class T>
const Tensor& Graph::add_scalar(T value, DataType type) {
  std::memcpy(&scalars_.emplace_back(), &value, sizeof value);
  bindings_.push_back({next_id_, &scalars_.back()});
  return add_tensor(next_id_++, type, kScalarLayout, Attribute::kTensorIsByValue);
}

const Tensor& Graph::scalar(float value) { return add_scalar(value, DataType::kFloat); }
const Tensor& Graph::scalar(std::int32_t value) { return add_scalar(value, DataType::kInt32); }

void Graph::add_operation(Descriptor operation) {
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void Graph::pointwise(PointwiseMode mode, std::initializer_list<const Tensor*> operands,
                      const Tensor& result, DataType compute_type) {
  constexpr std::array kOperands = {Attribute::kPointwiseOperationX,
                                    Attribute::kPointwiseOperationB,
                                    Attribute::kPointwiseOperationT};
  Descriptor descriptor = pointwise_descriptor(api_, mode, compute_type);
  descriptor.finalize();
  Descriptor operation(api_, DescriptorType::kPointwiseOperation);
  operation.set(Attribute::kPointwiseOperationDescriptor, descriptor);
  std::size_t position = 0;
  for (const Tensor* operand : operands) {
    operation.set(kOperands.at(position++), operand->descriptor);
  }
  operation.set(Attribute::kPointwiseOperationY, result.descriptor);
  add_operation(std::move(operation));
}

const Tensor& Graph::pointwise(PointwiseMode mode, std::initializer_list<const Tensor*> operands,
                               DataType type) {
  const Tensor& result = intermediate((*operands.begin())->layout, type);
  pointwise(mode, operands, result, type);
  return result;
}

const Tensor& Graph::index(const Tensor& like, std::int64_t axis, DataType compute_type) {
  const Tensor& result = intermediate(like.layout, DataType::kInt32);
  Descriptor descriptor = pointwise_descriptor(api_, PointwiseMode::kIndex, compute_type);
  descriptor.set(Attribute::kPointwiseAxis, axis);
  descriptor.finalize();
  Descriptor operation(api_, DescriptorType::kPointwiseOperation);
  operation.set(Attribute::kPointwiseOperationDescriptor, descriptor);
  operation.set(Attribute::kPointwiseOperationX, like.descriptor);
  operation.set(Attribute::kPointwiseOperationY, result.descriptor);
  add_operation(std::move(operation));
  return result;
}

void Graph::matmul(const Tensor& a, const Tensor& b, const Tensor& result,
                   const MatmulLengths& lengths) {
  Descriptor descriptor(api_, DescriptorType::kMatmul);
  descriptor.set(Attribute::kMatmulComputeType, DataType::kFloat);
  descriptor.finalize();
  Descriptor operation(api_, DescriptorType::kMatmulOperation);
  operation.set(Attribute::kMatmulOperationA, a.descriptor);
  operation.set(Attribute::kMatmulOperationB, b.descriptor);
  operation.set(Attribute::kMatmulOperationC, result.descriptor);
  operation.set(Attribute::kMatmulOperationDescriptor, descriptor);
  for (const auto& [attribute, length] : {std::pair{Attribute::kMatmulOperationM, lengths.m},
                                          {Attribute::kMatmulOperationN, lengths.n},
                                          {Attribute::kMatmulOperationK, lengths.k}}) {
    if (length != nullptr) operation.set(attribute, length->descriptor);
  }
  add_operation(std::move(operation));
}

void Graph::reduce(ReductionOperator op, const Tensor& operand, const Tensor& result) {
  Descriptor descriptor(api_, DescriptorType::kReduction);
  descriptor.set(Attribute::kReductionOperator, op);
  descriptor.set(Attribute::kReductionComputeType, DataType::kFloat);
  descriptor.finalize();
  Descriptor operation(api_, DescriptorType::kReductionOperation);
  operation.set(Attribute::kReductionOperationDescriptor, descriptor);
  operation.set(Attribute::kReductionOperationX, operand.descriptor);
  operation.set(Attribute::kReductionOperationY, result.descriptor);
  add_operation(std::move(operation));
}

void Graph::reshape(const Tensor& operand, const Tensor& result) {
  Descriptor operation(api_, DescriptorType::kReshapeOperation);
  operation.set(Attribute::kReshapeOperationX, operand.descriptor);
  operation.set(Attribute::kReshapeOperationY, result.descriptor);
  add_operation(std::move(operation));
}

void Graph::random_mask(double keep_probability, const Tensor& seed, const Tensor& offset,
                        const Tensor& result) {
  Descriptor descriptor(api_, DescriptorType::kRandom);
  descriptor.set(Attribute::kRandomDistribution, RandomDistribution::kBernoulli);
  descriptor.set(Attribute::kRandomBernoulliProbability, keep_probability);
  descriptor.finalize();
  Descriptor operation(api_, DescriptorType::kRandomOperation);
  operation.set(Attribute::kRandomOperationY, result.descriptor);
  operation.set(Attribute::kRandomOperationSeed, seed.descriptor);
  operation.set(Attribute::kRandomOperationOffset, offset.descriptor);
  operation.set(Attribute::kRandomOperationDescriptor, descriptor);
  add_operation(std::move(operation));
}

Descriptor Graph::finalize(cudnnContext* handle) const {
  Descriptor graph(api_, DescriptorType::kOperationGraph);
  graph.set(Attribute::kGraphOperations, std::span<const Descriptor>(operations_));
  if (handle != nullptr) graph.set(Attribute::kGraphHandle, handle);
  graph.finalize();
  return graph;
}

}  // namespace sparkbench::cudnn
