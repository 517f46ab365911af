#include "harness/devices/special_function_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "harness/devices/arithmetic_check.h"
#include "harness/devices/device.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct RecordingFile {
  std::string path;
  FunctionRecording recording;
};

/// Loads all files before anything is printed.
std::vector<RecordingFile> load_files(const std::vector<std::string>& paths) {
  std::vector<RecordingFile> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) files.push_back({path, load_function_recording(path)});
  return files;
}

/// Prints the first misses and how many more there are. `source` provides the expected values.
void print_misses(const FunctionReplay& result, const char* source, std::ostream& out) {
  for (const FunctionMiss& miss : result.first_misses) {
    out << fmt::format("  x {:08x}: {} {:08x}, computed {:08x}\n", miss.x, source, miss.expected,
                       miss.computed);
  }
  const std::size_t misses = result.rows - result.reproduced;
  if (misses > result.first_misses.size()) {
    out << fmt::format("  and {} more\n", misses - result.first_misses.size());
  }
}

/// True if there are no misses.
bool report_recorded(const RecordingFile& file, std::ostream& out) {
  bool all_reproduced = true;
  for (const FunctionReplay& result : replay(file.recording)) {
    out << fmt::format("{}: {} of {} rows reproduced ({})\n", file.path, result.reproduced,
                       result.rows, result.function.name);
    print_misses(result, "expected", out);
    all_reproduced = all_reproduced && result.reproduced == result.rows;
  }
  return all_reproduced;
}

/// Compares `gpu` with the contents of `file`. True if there are no misses.
bool report_asked(const RecordingFile& file, const Device& gpu, std::ostream& out) {
  bool all_equal = true;
  for (const FunctionReplay& result : replay(ask_gpu(file.recording))) {
    out << fmt::format("{}: GPU equals the model in {} of {} rows ({}): {}\n", file.path,
                       result.reproduced, result.rows, result.function.name, gpu.info().name);
    print_misses(result, "GPU", out);
    all_equal = all_equal && result.reproduced == result.rows;
  }
  return all_equal;
}

/// A sample of one function over the whole range of floats, without results yet.
RecordingFile sample_of(const NamedSpecialFunction& function) {
  RecordingFile sample = {fmt::format("one float in {}", kSampleStride), {{}, {{function, {}}}}};
  for (std::uint64_t bits = 0; bits >> 32 == 0; bits += kSampleStride) {
    sample.recording.inputs.push_back(static_cast<std::uint32_t>(bits));
  }
  return sample;
}

}  // namespace

ExitCode check_special_functions(const std::vector<std::string>& vector_files,
                                 const std::string& device, std::ostream& out) {
  if (!device.empty()) require_gpu_name(device);
  const std::vector<RecordingFile> files = load_files(vector_files);
  bool is_equal = true;
  if (device.empty()) {
    if (files.empty()) {
      throw UsageError("--vectors: required; only with --device does a GPU stand in for files");
    }
    for (const RecordingFile& file : files) is_equal = report_recorded(file, out) && is_equal;
    return is_equal ? ExitCode::kOk : ExitCode::kFinding;
  }
  const std::unique_ptr<Device> gpu = open_device(device);
  for (const RecordingFile& file : files) is_equal = report_asked(file, *gpu, out) && is_equal;
  if (files.empty()) {
    for (const NamedSpecialFunction& function : kSpecialFunctions) {
      is_equal = report_asked(sample_of(function), *gpu, out) && is_equal;
    }
  }
  return is_equal ? ExitCode::kOk : ExitCode::kFinding;
}

}  // namespace sparkbench
