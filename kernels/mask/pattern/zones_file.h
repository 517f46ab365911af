// Terms from a file, for `zones:FILE`. A line is a term, its words in any order; '#' begins a
// comment. Ranges are begin:end without the end, and either may be left out.
//   q=0:64 k=512:              rows 0 to 63 see the keys from 512 on
//   d=-127:1                   the last 128 keys, k - q from -127 to 0
//   axes=512x128 d1=0:1 causal lines of 128; on axis 1 columns are equal; and in causal order
//   axes=56x56 d0=-3:4 d1=-3:4 clamped
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// The file's text. Throws std::invalid_argument, naming the file, if it is not a regular file,
/// cannot be read, or is longer than 1 MiB.
std::string zones_file_text(const std::string& path);

/// Throws as zones_file_text() does, and std::invalid_argument, naming file, line and word, for a
/// line that is no term.
std::vector<Term> read_zones_file(const std::string& path, int seqlen_k);
std::vector<Term> parse_zones(std::string_view text, int seqlen_k);

/// Throws std::invalid_argument unless lines of the inner axes are no longer than a sequence may be
/// and, where borders clamp, the axes have seqlen_k positions and each has room for its window.
void require_fitting_axes(const Grid& grid, int seqlen_k);

}  // namespace sparkbench
