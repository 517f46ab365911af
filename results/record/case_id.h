// A case's name, and the hash of everything that its result depends on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "results/record/run_record.h"

namespace sparkbench {

/// "volta-fp32acc/fwd/b4/h16/sq4096/sk4096/d128/causal/p0.1": the axes by sweeps/axes.h. A scale
/// that is not 1 / sqrt(head_dim) follows as "/scale0.25", then what is unusual: "/uniform/x16".
std::string make_case_id(std::string_view kernel, const CaseProblem& problem);

/// Equal for two cases of the same problem, whatever the kernel: the id without the kernel.
std::string make_problem_key(const CaseProblem& problem);

/// FNV-1a, 64 bits. `hash` is that of the bytes in front of these, when they are not the first.
std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325u);

/// 16 lower-case hexadecimal digits.
std::string to_hex(std::uint64_t value);

/// Two cases of equal hash measure the same thing the same way: the id, the seed, the method but
/// for when it gives up (timeout_s).
std::string make_config_hash(std::string_view case_id, std::uint64_t seed, const Method& method);

}  // namespace sparkbench
