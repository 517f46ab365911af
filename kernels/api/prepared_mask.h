// A mask that calls share: parsed for its lengths once, with its block-sparse metadata, made once
// for each kind of launch and copied once to each device.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/launch/attention_kernel.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {

/// What a text says. Throws std::invalid_argument that says where it is wrong, and what is allowed.
PatternSpec spec_of_mask(std::string_view text);

/// Copies to memory of a device, there when it returns, and freed with the pointer.
using CopyToDevice = std::function<std::shared_ptr<const void>(std::span<const std::byte>)>;

/// The lists of a pattern that the launches of a pass read, and their copy on the device.
struct PassLists {
  PatternLists lists;
  std::shared_ptr<const void> memory;
};

/// Any thread may call it.
class PreparedMask {
 public:
  /// Throws std::invalid_argument for a text as spec_of_mask() does, and for lengths that it does
  /// not fit.
  PreparedMask(std::string_view text, int seqlen_q, int seqlen_k);

  /// Gives the problem this mask: a pattern only where no kernel knows it by a name. Throws
  /// std::invalid_argument where its lengths are others.
  void give_to(Problem& problem) const;

  /// The pattern of a problem that has this mask, with the block mask of device `device`, which
  /// must be the current one. Compiles an expression for the device the first time.
  std::shared_ptr<const SparseMask> seen_by(int device,
                                            const std::shared_ptr<const SparseMask>& sparse) const;

  /// The lists for a pass of a problem that has this mask, on device `device`.
  std::shared_ptr<const PassLists> lists(const AttentionKernel& kernel, const Problem& problem,
                                         Pass pass, bool is_deterministic, int device,
                                         const CopyToDevice& copy);

 private:
  /// What lists depend on: device, kernel, pass, is_deterministic, head_dim, whether dropout drops
  /// anything, whether the pattern runs as strided passes, and the pattern, which may be for a
  /// number of heads.
  using Launch =
      std::tuple<int, const AttentionKernel*, Pass, bool, int, bool, bool, const SparseMask*>;

  std::shared_ptr<const SparseMask> sparse_of(int heads) const;

  std::string text_;
  int seqlen_q_, seqlen_k_;
  std::optional<MaskSpec> mask_;
  bool has_heads_ = false;  // an expression names them
  /// Where there is no mask_: by how many heads there are, 0 where none are named.
  mutable std::map<int, std::shared_ptr<const SparseMask>> sparse_;
  mutable std::map<std::pair<int, const SparseMask*>, std::shared_ptr<const SparseMask>> seen_;
  mutable std::mutex mutex_;
  std::map<Launch, std::shared_ptr<const PassLists>> lists_;
};

/// The mask of a text over these lengths. The 64 that were asked for last are kept, and what a
/// zones file holds is read each time. Throws as PreparedMask() does.
std::shared_ptr<PreparedMask> mask_of_text(std::string_view text, int seqlen_q, int seqlen_k);

}  // namespace sparkbench

// NOLINTNEXTLINE(readability-identifier-naming): as C has it
struct spark_attention_mask {
  std::shared_ptr<sparkbench::PreparedMask> mask;
};
