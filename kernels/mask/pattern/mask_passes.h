// A pattern as launches: one pass over the sequence itself, and one for each stride. The residues
// of a stride are sequences of their own (passes.h): tokens residue, residue + stride, ... of the
// tensors are the rows of a dense mask or of a simpler pattern. Tensors are read in place, by their
// strides.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/mask/mask_spec.h"
#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

struct SparseMask;  // kernels/mask/pattern/sparse_mask.h

/// Residues of equal length that have one mask.
struct ResidueView {
  int first_residue, residues;
  int lines;  // tokens of each residue
  MaskSpec dense = MaskSpec::full();
  std::shared_ptr<const SparseMask> sparse;  // null: `dense`
};

/// All residues of a stride. Stride 1 has one residue, the sequence itself.
struct MaskPass {
  int stride;
  std::vector<ResidueView> views;  // one, or two if the last residues lack the last line

  /// Tokens of the first residue, and how many residues have that many.
  int lines() const { return views.front().lines; }
  int whole_residues() const { return views.front().residues; }
};

/// Most passes of one mask.
inline constexpr int kMostMaskPasses = 4;

/// Residues are heads, or batch entries, of a grid.
inline constexpr int kMostResidues = 65535;

/// Splits a pattern into passes; each visible pair is in one view of one pass. Empty if one launch
/// in sequence order is better or the only way: no term strides; residues are so short that their
/// mostly empty blocks of rows would take longer; there would be more than kMostResidues or
/// kMostMaskPasses; or heads differ. `spec` names the pattern, for the names of its parts. Throws
/// as disjoint() does.
std::vector<MaskPass> mask_passes(const Pattern& pattern, const std::string& spec);

}  // namespace sparkbench
