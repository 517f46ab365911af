#include "harness/arithmetic_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "harness/environment_error.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"
#ifdef SPARKBENCH_HAS_CUDA
#include "kernels/machine/mma_probe.h"
#endif

namespace sparkbench {

const ArithmeticProfile& find_profile(std::string_view name) {
  std::vector<std::string> known;
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    if (profile.name == name) return profile;
    known.emplace_back(profile.name);
  }
  throw UsageError(unknown_name_message("--profile", name, known));
}

const ArithmeticProfile& native_profile(int sm, std::size_t terms) {
  const bool has_instruction =
      (terms == 4 && sm >= 70) || (terms == 8 && sm >= 75) || (terms == 16 && sm >= 80);
  if (!has_instruction) {
    throw EnvironmentError(
        fmt::format("--device: sm_{} has no MMA of {} terms; there are 4 from sm_70, 8 from sm_75 "
                    "and 16 from sm_80 on",
                    sm, terms));
  }
  if (sm < 75) return arithmetic_profile("volta");
  if (sm < 80) return arithmetic_profile("turing");
  if (terms == 4) return arithmetic_profile("fma884");
  return arithmetic_profile(sm < 90 ? "ampere" : "hopper");
}

std::vector<VectorRow> load_vector_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw UsageError(fmt::format("--vectors: {} is a directory; allowed: CSV files", path));
  }
  std::ifstream in(path);
  if (!in) {
    throw UsageError(fmt::format("--vectors: {} cannot be read: {}", path, std::strerror(errno)));
  }
  try {
    return read_vector_file(in, path);
  } catch (const std::runtime_error& error) {
    throw UsageError(fmt::format("--vectors: {}", error.what()));
  }
}

#ifdef SPARKBENCH_HAS_CUDA

std::vector<VectorRow> ask_gpu(std::vector<VectorRow> rows) {
  if (rows.empty()) return rows;
  std::vector<MmaProbe> probes(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(rows[i].a.begin(), std::min(rows[i].a.size(), std::size(probes[i].a)), probes[i].a);
    std::copy_n(rows[i].b.begin(), std::min(rows[i].b.size(), std::size(probes[i].b)), probes[i].b);
    probes[i].c_f32 = float_from_bits(rows[i].c_f32);
    probes[i].c_f16 = rows[i].c_f16;
  }
  std::vector<MmaProbeResult> results(rows.size());
  probe_mma(static_cast<int>(rows.front().a.size()), probes.data(), results.data(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].d_f32 = float_bits(results[i].d_f32);
    rows[i].d_f16 = results[i].d_f16;
  }
  return rows;
}

#else

// By value, because with a GPU the rows are changed and given back.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
std::vector<VectorRow> ask_gpu(std::vector<VectorRow> /*rows*/) {
  throw EnvironmentError("this build has no GPU path: CMake found no CUDA toolkit");
}

#endif

}  // namespace sparkbench
