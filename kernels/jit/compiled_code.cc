#include "kernels/jit/compiled_code.h"

#include <chrono>
#include <optional>

namespace sparkbench {
namespace {

/// All that the code depends on.
std::string key_of(const Nvrtc& nvrtc, const JitSource& source, int sm) {
  std::string key = "nvrtc " + nvrtc.version() + "\nsm_" + std::to_string(sm);
  for (const std::string& option : Nvrtc::options()) key.append("\n").append(option);
  for (const JitHeader& header : source.headers) {
    key.append("\n#### ").append(header.name).append("\n").append(header.text);
  }
  return key.append("\n####\n").append(source.text);
}

}  // namespace

CompiledCode compiled_code(const Nvrtc& nvrtc, const JitSource& source, int sm,
                           const DiskCache& cache) {
  const auto start = std::chrono::steady_clock::now();
  const std::string key = key_of(nvrtc, source, sm);
  CompiledCode code;
  if (std::optional<std::string> kept = cache.read(key)) {
    code.cubin = std::move(*kept);
    code.is_from_disk = true;
  } else {
    code.cubin = nvrtc.compile(source, sm);
    code.note = cache.write(key, code.cubin);
  }
  code.ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return code;
}

}  // namespace sparkbench
