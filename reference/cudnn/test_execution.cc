#include "reference/cudnn/test_execution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>

#include "kernels/base/half.h"
#include "kernels/problem/dropout.h"

namespace sparkbench::cudnn {
namespace {

using Index = std::array<std::int64_t, 4>;

/// A tensor while the graph runs.
struct Values {
  Index extents, strides;
  std::vector<double> elements;  // dense, in the order of the extents
  /// Rows of each batch entry, if entries differ: rows past the end are not stored.
  std::vector<std::int64_t> rows = {};

  bool has_row(const Index& index) const {
    return rows.empty() || index[2] < rows[static_cast<std::size_t>(index[0])];
  }

  double& at(const Index& index) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      offset = offset * extents[axis] + (extents[axis] == 1 ? 0 : index[axis]);
    }
    return elements[static_cast<std::size_t>(offset)];
  }
};

template <class Visit>
void for_each_index(const Index& extents, const Visit& visit) {
  Index i;
  for (i[0] = 0; i[0] < extents[0]; ++i[0])
    for (i[1] = 0; i[1] < extents[1]; ++i[1])
      for (i[2] = 0; i[2] < extents[2]; ++i[2])
        for (i[3] = 0; i[3] < extents[3]; ++i[3]) visit(i);
}

double load(const void* memory, DataType type, std::size_t offset) {
  switch (type) {
    case DataType::kHalf:
      return to_float(static_cast<const Half*>(memory)[offset]);
    case DataType::kFloat:
      return static_cast<const float*>(memory)[offset];
    case DataType::kInt32:
      return static_cast<const std::int32_t*>(memory)[offset];
    case DataType::kInt64:
      return static_cast<double>(static_cast<const std::int64_t*>(memory)[offset]);
    case DataType::kBoolean:
      break;
  }
  throw std::logic_error("no booleans in memory");
}

void store(void* memory, DataType type, std::size_t offset, double value) {
  if (type == DataType::kHalf) {
    static_cast<Half*>(memory)[offset] = to_half(static_cast<float>(value));
  } else if (type == DataType::kFloat) {
    static_cast<float*>(memory)[offset] = static_cast<float>(value);
  } else {
    throw std::logic_error("results in memory are fp16 or fp32");
  }
}

double apply(PointwiseMode mode, double x, double b, double t) {
  switch (mode) {
    case PointwiseMode::kAdd:
      return x + b;
    case PointwiseMode::kMultiply:
      return x * b;
    case PointwiseMode::kDivide:
      return x / b;
    case PointwiseMode::kSubtract:
      return x - b;
    case PointwiseMode::kExp:
      return std::exp(x);
    case PointwiseMode::kLog:
      return std::log(x);
    case PointwiseMode::kIdentity:
      return x;
    case PointwiseMode::kGreater:
      return x > b ? 1.0 : 0.0;
    case PointwiseMode::kGreaterOrEqual:
      return x >= b ? 1.0 : 0.0;
    case PointwiseMode::kLess:
      return x < b ? 1.0 : 0.0;
    case PointwiseMode::kAnd:
      return x != 0.0 && b != 0.0 ? 1.0 : 0.0;
    case PointwiseMode::kSelect:
      return t != 0.0 ? x : b;
    case PointwiseMode::kIndex:
      break;
  }
  throw std::logic_error("an index is no function of the operand's values");
}

/// Runs a graph's operations in their order.
class Execution {
 public:
  Execution(const State& pack, const std::vector<Raw>& operations) : operations_(operations) {
    const auto ids = pack.list<std::int64_t>(Attribute::kPackUniqueIds);
    const auto pointers = pack.list<void*>(Attribute::kPackPointers);
    for (std::size_t i = 0; i < ids.size(); ++i) memory_[ids[i]] = pointers[i];
    for (const Raw& operation : operations) find_shared_offsets(*operation);
  }

  void run() {
    for (const Raw& operation : operations_) run(*operation);
    for (const auto& [id, memory] : memory_) {
      if (!used_.contains(id)) throw std::logic_error("a pointer of no tensor of the graph");
    }
  }

 private:
  void run(const State& operation) {
    if (operation.states.contains(Attribute::kPointwiseOperationDescriptor)) pointwise(operation);
    if (operation.states.contains(Attribute::kMatmulOperationDescriptor)) matmul(operation);
    if (operation.states.contains(Attribute::kReductionOperationDescriptor)) reduce(operation);
    if (operation.states.contains(Attribute::kReshapeOperationX)) reshape(operation);
    if (operation.states.contains(Attribute::kRandomOperationDescriptor)) draw(operation);
  }

  static std::int64_t id_of(const State& tensor) {
    return tensor.value<std::int64_t>(Attribute::kTensorUniqueId);
  }

  /// A sum over heads reads more heads than it writes. If both tensors use the same offsets, a
  /// sequence's offset in the tensor with more heads is multiplied by that ratio.
  void find_shared_offsets(const State& operation) {
    if (!operation.states.contains(Attribute::kReductionOperationDescriptor)) return;
    const State& x = operation.state(Attribute::kReductionOperationX);
    const State& y = operation.state(Attribute::kReductionOperationY);
    if (!x.states.contains(Attribute::kTensorRaggedOffset)) return;
    const auto heads = [](const State& tensor) {
      return tensor.list<std::int64_t>(Attribute::kTensorDimensions)[1];
    };
    offsets_factor_[id_of(x)] = heads(x) / heads(y);
  }

  void* memory_of(const State& tensor) {
    used_.insert(id_of(tensor));
    return memory_.at(id_of(tensor));
  }

  /// The offset of an element; empty past the end of its sequence.
  std::optional<std::size_t> offset_of(const State& tensor, const Values& values,
                                       const Index& index) {
    std::int64_t offset = 0;
    for (std::size_t axis = 1; axis < 4; ++axis) offset += index[axis] * values.strides[axis];
    if (!tensor.states.contains(Attribute::kTensorRaggedOffset)) {
      return static_cast<std::size_t>(offset + index[0] * values.strides[0]);
    }
    const State& offsets = tensor.state(Attribute::kTensorRaggedOffset);
    const auto* const first = static_cast<const std::int64_t*>(memory_of(offsets));
    const auto factor =
        offsets_factor_.contains(id_of(tensor)) ? offsets_factor_.at(id_of(tensor)) : 1;
    const std::int64_t begin = factor * first[index[0]], end = factor * first[index[0] + 1];
    const std::size_t tokens = values.strides[3] > values.strides[2] ? 3 : 2;
    if (begin + index[tokens] * values.strides[tokens] >= end) return std::nullopt;
    return static_cast<std::size_t>(begin + offset);
  }

  static Values shaped(const State& tensor) {
    Values values;
    const auto extents = tensor.list<std::int64_t>(Attribute::kTensorDimensions);
    const auto strides = tensor.list<std::int64_t>(Attribute::kTensorStrides);
    std::copy_n(extents.begin(), 4, values.extents.begin());
    std::copy_n(strides.begin(), 4, values.strides.begin());
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    values.elements.resize(static_cast<std::size_t>(count));
    return values;
  }

  Values& operand(const State& tensor) {
    const std::int64_t id = id_of(tensor);
    if (const auto known = values_.find(id); known != values_.end()) return known->second;
    Values values = shaped(tensor);
    const auto type = tensor.value<DataType>(Attribute::kTensorDataType);
    const void* memory = memory_of(tensor);
    for_each_index(values.extents, [&](const Index& i) {
      const auto offset = offset_of(tensor, values, i);
      values.at(i) = offset ? load(memory, type, *offset) : 0.0;
    });
    return values_.emplace(id, std::move(values)).first->second;
  }

  void produce(const State& tensor, const std::vector<std::int64_t>& rows,
               const std::function<double(const Index&)>& element) {
    const auto type = tensor.value<DataType>(Attribute::kTensorDataType);
    Values values = shaped(tensor);
    values.rows = rows;
    for_each_index(values.extents, [&](const Index& i) { values.at(i) = element(i); });
    if (!tensor.has(Attribute::kTensorIsVirtual)) {
      void* const memory = memory_of(tensor);
      for_each_index(values.extents, [&](const Index& i) {
        const auto offset = offset_of(tensor, values, i);
        if (offset && values.has_row(i)) store(memory, type, *offset, values.at(i));
      });
    }
    values_.insert_or_assign(id_of(tensor), std::move(values));
  }

  /// Empty if all count.
  std::vector<std::int64_t> lengths(const State& operation, Attribute attribute) {
    if (!operation.states.contains(attribute)) return {};
    std::vector<std::int64_t> lengths;
    for (const double length : operand(operation.state(attribute)).elements) {
      lengths.push_back(static_cast<std::int64_t>(length));
    }
    return lengths;
  }

  void pointwise(const State& operation) {
    const State& descriptor = operation.state(Attribute::kPointwiseOperationDescriptor);
    const auto mode = descriptor.value<PointwiseMode>(Attribute::kPointwiseMode);
    const State& result = operation.state(Attribute::kPointwiseOperationY);
    if (mode == PointwiseMode::kIndex) {
      const auto axis =
          static_cast<std::size_t>(descriptor.value<std::int64_t>(Attribute::kPointwiseAxis));
      return produce(result, {}, [axis](const Index& i) { return static_cast<double>(i[axis]); });
    }
    Values& x = operand(operation.state(Attribute::kPointwiseOperationX));
    const auto optional = [&](Attribute attribute) {
      return operation.states.contains(attribute) ? &operand(operation.state(attribute)) : nullptr;
    };
    Values* const b = optional(Attribute::kPointwiseOperationB);
    Values* const t = optional(Attribute::kPointwiseOperationT);
    produce(result, x.rows, [&](const Index& i) {
      return apply(mode, x.at(i), b != nullptr ? b->at(i) : 0.0, t != nullptr ? t->at(i) : 0.0);
    });
  }

  void matmul(const State& operation) {
    Values& a = operand(operation.state(Attribute::kMatmulOperationA));
    Values& b = operand(operation.state(Attribute::kMatmulOperationB));
    const std::int64_t group_size = a.extents[1] / b.extents[1];  // heads of A share one of B
    const std::vector<std::int64_t> terms = lengths(operation, Attribute::kMatmulOperationK);
    const std::vector<std::int64_t> rows = lengths(operation, Attribute::kMatmulOperationM);
    produce(operation.state(Attribute::kMatmulOperationC), rows, [&](const Index& i) {
      double sum = 0.0;
      const auto entry = static_cast<std::size_t>(i[0]);
      for (std::int64_t k = 0; k < (terms.empty() ? a.extents[3] : terms[entry]); ++k) {
        sum += a.at({i[0], i[1], i[2], k}) * b.at({i[0], i[1] / group_size, k, i[3]});
      }
      return sum;
    });
  }

  void reduce(const State& operation) {
    const State& descriptor = operation.state(Attribute::kReductionOperationDescriptor);
    const auto op = descriptor.value<ReductionOperator>(Attribute::kReductionOperator);
    Values& x = operand(operation.state(Attribute::kReductionOperationX));
    const State& y = operation.state(Attribute::kReductionOperationY);
    const auto extents = y.list<std::int64_t>(Attribute::kTensorDimensions);
    Index of_element;  // the axes of Y that become one: heads or columns
    for (std::size_t axis = 0; axis < 4; ++axis) of_element[axis] = x.extents[axis] / extents[axis];
    produce(y, x.rows, [&](const Index& i) {
      std::optional<double> result;
      for_each_index(of_element, [&](const Index& j) {
        Index at;
        for (std::size_t axis = 0; axis < 4; ++axis)
          at[axis] = i[axis] * of_element[axis] + j[axis];
        const double element = x.at(at);
        result = !result                         ? element
                 : op == ReductionOperator::kMax ? std::max(*result, element)
                                                 : *result + element;
      });
      return *result;
    });
  }

  /// Every reshape here swaps rows and columns.
  void reshape(const State& operation) {
    Values& x = operand(operation.state(Attribute::kReshapeOperationX));
    produce(operation.state(Attribute::kReshapeOperationY), {}, [&](const Index& i) {
      return x.at({i[0], i[1], i[3], i[2]});
    });
  }

  void draw(const State& operation) {
    const State& descriptor = operation.state(Attribute::kRandomOperationDescriptor);
    const double keep = descriptor.value<double>(Attribute::kRandomBernoulliProbability);
    const double seed = operand(operation.state(Attribute::kRandomOperationSeed)).elements.front();
    if (operand(operation.state(Attribute::kRandomOperationOffset)).elements.front() != 0.0) {
      throw std::logic_error("masks here have no offset");
    }
    const Dropout dropout =
        make_dropout(static_cast<float>(1.0 - keep), static_cast<std::uint64_t>(seed));
    const State& result = operation.state(Attribute::kRandomOperationY);
    const auto heads = result.list<std::int64_t>(Attribute::kTensorDimensions)[1];
    produce(result, {}, [&](const Index& i) {
      const auto batch_head = static_cast<std::uint32_t>(i[0] * heads + i[1]);
      return dropout_keeps(dropout, batch_head, static_cast<std::uint32_t>(i[2]),
                           static_cast<std::uint32_t>(i[3]))
                 ? 1.0
                 : 0.0;
    });
  }

  const std::vector<Raw>& operations_;
  std::map<std::int64_t, void*> memory_;
  std::set<std::int64_t> used_;
  std::map<std::int64_t, std::int64_t> offsets_factor_;
  std::map<std::int64_t, Values> values_;
};

}  // namespace

void run_graph(const State& pack, const std::vector<Raw>& operations) {
  Execution(pack, operations).run();
}

}  // namespace sparkbench::cudnn
