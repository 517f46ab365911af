// `--lengths`: the length of each sequence of a batch, instead of one `--seqlen` for all.
//   uniform:A:B  integers from A to B, uniformly distributed, one per sequence; each sequence has
//                as many rows as keys
//   file:PATH    one sequence per line: its length, or the numbers of rows and of keys with blanks
//                between. Empty lines and lines that begin with # are ignored
// Lengths are from 0 to 16m (suffix k = 1024, m = 1024k). At most 2^22 sequences, with fewer than
// 2^30 tokens in total.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/case_problem.h"

namespace sparkbench {

inline constexpr std::string_view kLengthsForms =
    "uniform:A:B, file:PATH (a length a line, or two: of q and k), or none";

/// The items of a comma-separated list, without duplicates: "uniform:1:2k" as "uniform:1:2048".
/// Files are read; an error names file and line. "none", which must be the only item, gives an
/// empty list. Throws UsageError, one line that names `flag`.
std::vector<std::string> parse_lengths(std::string_view flag, std::string_view text);

/// Whether `lengths`, an item of parse_lengths(), is a file; the file then determines the batch.
bool is_of_file(std::string_view lengths);

/// The mean of uniform:A:B, rounded down and at least 1.
int mean_length(std::string_view lengths);

/// Gives the problem the sequences of its lengths_spec: those of the file, or `batch` sequences
/// drawn with the problem's seed. A smaller batch is a prefix of a larger one. Throws UsageError
/// for an invalid file, for a nonzero batch that differs from the file's, and for too many tokens.
void set_lengths(CaseProblem& problem);

/// FNV-1a (64 bits), 16 hexadecimal digits, of "Q K\n" for each sequence, in decimal digits.
std::string hash_of(const SequenceLengths& lengths);

}  // namespace sparkbench
