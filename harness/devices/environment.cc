#include "harness/devices/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>
#include <sstream>

#include "harness/build_info.h"
#include "harness/candidates/gpu_libraries.h"
#include "harness/git_commit.h"

namespace sparkbench {
namespace {

/// The value of a file's first line `key...separator value`, or "".
std::string read_field(const char* path, const std::string& key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t\"", at + 1);
    const std::size_t end = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
  }
  return "";
}

std::string describe_os() {
  utsname names{};
  uname(&names);
  const std::string distribution = read_field("/etc/os-release", "PRETTY_NAME", '=');
  return fmt::format("{}, {} {}", distribution.empty() ? "unknown distribution" : distribution,
                     names.sysname, names.release);
}

}  // namespace

BuildInfo describe_build() {
  BuildInfo build;
  build.version = kVersion;
  if (*kGitSha != '\0') {
    build.git_sha = kGitSha;
    build.git_dirty = kGitDirty;
  }
  build.build_type = kBuildType;
  build.cxx_compiler = kCxxCompiler;
  if (*kCudaToolkit != '\0') {
    build.cuda_toolkit = kCudaToolkit;
    std::istringstream architectures(kCudaArchitectures);
    for (std::string one; std::getline(architectures, one, ';');) build.cuda_archs.push_back(one);
  }
  return build;
}

Environment describe_environment(const Device& device) {
  Environment environment;
  environment.os = describe_os();
  environment.cpu = read_field("/proc/cpuinfo", "model name", ':');
  const GpuLibraries libraries = gpu_libraries();
  environment.driver_version = libraries.driver_version;
  environment.cuda_driver = libraries.cuda_driver;
  environment.cuda_runtime = libraries.cuda_runtime;
  environment.cublas_version = libraries.cublas_version;
  environment.device = device.info();
  return environment;
}

std::string utc_timestamp() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace sparkbench
