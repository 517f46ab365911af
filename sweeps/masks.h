// `--mask`: every pattern of kernels/mask/pattern. A pattern that mask_spec.h has a name for
// becomes that mask and keeps its bits and ids. Any other is a pattern over the problem's lengths.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/case_problem.h"

namespace sparkbench {

/// The items of a comma-separated list in normal form, without duplicates: "window:1k" as
/// "window:1024". Does not read files. Throws UsageError, one line that names `flag`.
std::vector<std::string> parse_masks(std::string_view flag, std::string_view text);

/// Gives the problem a mask by name; does not build the pattern for its lengths yet. Throws
/// std::invalid_argument for an invalid name.
void set_mask(CaseProblem& problem, std::string_view name);

/// The inverse of set_mask(): "causal", "sink:4+window:1024".
std::string mask_name(const CaseProblem& problem);

/// The same as one part of an id, independent of a file's path: "window:1024~full",
/// "zones-0123456789abcdef".
std::string mask_in_id(const CaseProblem& problem);

/// Builds the patterns of the problems for their lengths, each pattern once. Throws UsageError for
/// lengths that a pattern does not fit, for an invalid file, and for varlen.
void lay_patterns(std::span<CaseProblem> problems);

}  // namespace sparkbench
