// A graph of tensors and operations in cuDNN's form. cuDNN looks for one kernel for the whole
// graph.
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

/// Layout of a four-dimensional tensor: [batch, heads, rows, columns], strides in elements.
struct Layout {
  std::array<std::int64_t, 4> extents, strides;
};

/// Swaps rows and columns; the memory does not change.
Layout transposed(Layout layout);

struct Tensor {
  std::int64_t id;
  Layout layout;
  Descriptor descriptor;
};

/// A tensor's memory, on the device; a scalar's, on the host.
struct Binding {
  std::int64_t id;
  void* memory;
};

/// The part of a product that counts if batch entries differ in length: int32, [batch, 1, 1, 1], or
/// null for all. C = A B: `m` rows of A and C, `n` columns of B and C, `k` terms.
struct MatmulLengths {
  const Tensor* m = nullptr;
  const Tensor* n = nullptr;
  const Tensor* k = nullptr;
};

/// Returned references live as long as the graph. Compute types are fp32.
class Graph {
 public:
  /// The caller's ids for tensors in memory must be smaller.
  static constexpr std::int64_t kFirstOwnId = 1000;

  explicit Graph(const Api& api) : api_(api) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// A tensor in memory, aligned to 16 bytes and bound at every execution. If batch entries differ
  /// in length, `ragged_offset`, [batch + 1, 1, 1, 1], has the first element of each.
  const Tensor& tensor(std::int64_t id, DataType type, const Layout& layout,
                       const Tensor* ragged_offset = nullptr);
  /// Exists between operations only.
  const Tensor& intermediate(const Layout& layout, DataType type = DataType::kFloat,
                             const Tensor* ragged_offset = nullptr);
  const Tensor& scalar(float value);
  const Tensor& scalar(std::int32_t value);

  /// One operand, two, or three for kSelect. Extents equal those of the first operand, or are 1.
  void pointwise(PointwiseMode mode, std::initializer_list<const Tensor*> operands,
                 const Tensor& result, DataType compute_type = DataType::kFloat);
  /// The same into a new intermediate with the first operand's layout.
  const Tensor& pointwise(PointwiseMode mode, std::initializer_list<const Tensor*> operands,
                          DataType type = DataType::kFloat);
  /// The index of each element of `like` along `axis`, as int32.
  const Tensor& index(const Tensor& like, std::int64_t axis,
                      DataType compute_type = DataType::kFloat);
  void matmul(const Tensor& a, const Tensor& b, const Tensor& result,
              const MatmulLengths& lengths = {});
  /// Reduces along the axes on which `result` has extent 1.
  void reduce(ReductionOperator op, const Tensor& operand, const Tensor& result);
  /// Reads the elements of `operand` by the layout of `result`.
  void reshape(const Tensor& operand, const Tensor& result);
  /// 1 with probability `keep_probability`, else 0. `seed` and `offset` are int64 in memory.
  void random_mask(double keep_probability, const Tensor& seed, const Tensor& offset,
                   const Tensor& result);

  /// The finalized operation graph. From cuDNN 9.8 on `handle` may be null: the graph is then
  /// compiled for a described device, which need not be present.
  Descriptor finalize(cudnnContext* handle) const;
  /// Bindings of the scalars.
  std::span<const Binding> bindings() const { return bindings_; }
  /// Whether there is a tensor() with this id.
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
  std::deque<std::int64_t> scalars_;  // each scalar's bits, in the first bytes
  std::vector<Binding> bindings_;
  std::set<std::int64_t> ids_in_memory_;
};

}  // namespace sparkbench::cudnn
