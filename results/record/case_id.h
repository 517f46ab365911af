// A case's name, and a hash of everything that determines its result.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "results/record/run_record.h"

namespace sparkbench {

/// "volta-fp32acc/fwd/b4/h16/sq4096/sk4096/d128/causal/p0.1": the axes from sweeps/axes.h. A scale
/// other than 1 / sqrt(head_dim) follows as "/scale0.25", then unusual values: "/uniform/x16".
std::string make_case_id(std::string_view kernel, const CaseProblem& problem);

/// The id without the kernel: equal for two cases of the same problem.
std::string make_problem_key(const CaseProblem& problem);

/// FNV-1a, 64 bits. `hash` is the hash of preceding bytes, if any.
std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325u);

/// Hashes all bytes from the stream's position on.
std::uint64_t fnv1a(std::istream& bytes);

/// 16 lower-case hexadecimal digits.
std::string to_hex(std::uint64_t value);

/// Two cases with equal hashes measure the same thing in the same way: id, seed, and method except
/// its time limit (timeout_s).
std::string make_config_hash(std::string_view case_id, std::uint64_t seed, const Method& method);

}  // namespace sparkbench
