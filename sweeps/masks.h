// `--mask`: every pattern of kernels/mask/pattern. What mask_spec.h has a name for is that mask,
// whose bits and ids it keeps; anything else is a pattern over the problem's lengths.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/case_problem.h"

namespace sparkbench {

/// The items of a comma list in their normal forms, each once: "window:1k" as "window:1024". Files
/// are not read. Throws UsageError, one line that names `flag`.
std::vector<std::string> parse_masks(std::string_view flag, std::string_view text);

/// Gives the problem a mask by its name; a pattern is not laid over lengths yet. Throws
/// std::invalid_argument for what is none.
void set_mask(CaseProblem& problem, std::string_view name);

/// What set_mask() takes: "causal", "sink:4+window:1024".
std::string mask_name(const CaseProblem& problem);

/// The same in an id, of which it is one part, wherever a file lies: "window:1024~full",
/// "zones-0123456789abcdef".
std::string mask_in_id(const CaseProblem& problem);

/// Lays the patterns of problems over their lengths, each pattern once. Throws UsageError for
/// lengths that one does not fit, for a file that is not as it should be, and for packed sequences.
void lay_patterns(std::span<CaseProblem> problems);

}  // namespace sparkbench
