// A graph of tensors and operations, as cuDNN takes it: it finds one kernel for the whole of it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "reference/cudnn/descriptor.h"

namespace sparkbench::cudnn {

/// Of a four-dimensional tensor: [batch, heads, rows, columns], strides in elements.
struct Layout {
  std::array<std::int64_t, 4> extents, strides;
};

/// Rows and columns exchanged, the memory as it is.
Layout transposed(Layout layout);

struct Tensor {
  std::int64_t id;
  Layout layout;
  Descriptor descriptor;
};

/// The memory of a tensor, on the device; of a scalar, on the host.
struct Binding {
  std::int64_t id;
  void* memory;
};

/// How much of a product counts, where entries of the batch differ: int32, [batch, 1, 1, 1], or
/// null for all. C = A B: `m` of the rows of A and C, `n` of the columns of B and C, `k` terms.
struct MatmulLengths {
  const Tensor* m = nullptr;
  const Tensor* n = nullptr;
  const Tensor* k = nullptr;
};

/// References that it returns live as long as it does. Compute types are fp32.
class Graph {
 public:
  /// Ids that the caller gives to tensors in memory are below it.
  static constexpr std::int64_t kFirstOwnId = 1000;

  explicit Graph(const Api& api) : api_(api) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// In memory that is aligned to 16 bytes and bound at every execution. Where entries of the batch
  /// differ in length, `ragged_offset`, [batch + 1, 1, 1, 1], says at which element each begins.
  const Tensor& tensor(std::int64_t id, DataType type, const Layout& layout,
                       const Tensor* ragged_offset = nullptr);
  /// Exists between operations only.
  const Tensor& intermediate(const Layout& layout, DataType type = DataType::kFloat,
                             const Tensor* ragged_offset = nullptr);
  const Tensor& scalar(float value);
  const Tensor& scalar(std::int32_t value);

  /// One operand, two, or three for kSelect; of one extent, or 1 where the first has more.
  void pointwise(PointwiseMode mode, std::initializer_list<const Tensor*> operands,
                 const Tensor& result, DataType compute_type = DataType::kFloat);
  /// Into a new intermediate of the first operand's layout.
  const Tensor& pointwise(PointwiseMode mode, std::initializer_list<const Tensor*> operands,
                          DataType type = DataType::kFloat);
  /// The index of each element of `like` along `axis`, as int32.
  const Tensor& index(const Tensor& like, std::int64_t axis,
                      DataType compute_type = DataType::kFloat);
  void matmul(const Tensor& a, const Tensor& b, const Tensor& result,
              const MatmulLengths& lengths = {});
  /// Along the axes on which `result` has extent 1.
  void reduce(ReductionOperator op, const Tensor& operand, const Tensor& result);
  /// Reads the elements of `operand` by the layout of `result`.
  void reshape(const Tensor& operand, const Tensor& result);
  /// 1 with probability `keep_probability`, else 0. `seed` and `offset` are int64 in memory.
  void random_mask(double keep_probability, const Tensor& seed, const Tensor& offset,
                   const Tensor& result);

  /// The finalized operation graph. `handle` may be null from cuDNN 9.8 on, where a graph is
  /// compiled for a device that is described, not present.
  Descriptor finalize(cudnnContext* handle) const;
  /// Of the scalars.
  std::span<const Binding> bindings() const { return bindings_; }
  /// Whether it has a tensor() of this id.
  bool reads_or_writes(std::int64_t id) const { return ids_in_memory_.contains(id); }

 private:
  const Tensor& add_tensor(std::int64_t id, DataType type, const Layout& layout,
                           std::optional<Attribute> kind, const Tensor* ragged_offset = nullptr);
  template <class T>
  const Tensor& add_scalar(T value, DataType type);
  void add_operation(Descriptor operation);

  const Api& api_;
  std::int64_t next_id_ = kFirstOwnId;
  std::deque<Tensor> tensors_;
  std::vector<Descriptor> operations_;
  std::deque<std::int64_t> scalars_;  // the bits, in the first bytes
  std::vector<Binding> bindings_;
  std::set<std::int64_t> ids_in_memory_;
};

}  // namespace sparkbench::cudnn
