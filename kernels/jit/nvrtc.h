// NVIDIA's run-time compiler, loaded on first use: one binary serves machines with and without it,
// and none is needed to build. Compiling needs no GPU.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sparkbench {

/// A header that sources include, under this name.
struct JitHeader {
  std::string name, text;
};

struct JitSource {
  std::string text;
  std::vector<JitHeader> headers;
};

/// No library serves: which were tried, and why each does not.
class NvrtcMissing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Nvrtc {
 public:
  /// The library of this name or path. Throws NvrtcMissing.
  explicit Nvrtc(const std::string& library);

  const std::string& library() const { return library_; }
  /// "11.8".
  std::string version() const;
  bool compiles_for(int sm) const;
  /// Options without that of the architecture.
  static std::vector<std::string> options();
  /// Machine code for compute capability `sm`. Throws std::runtime_error with the compiler's words.
  std::string compile(const JitSource& source, int sm) const;

 private:
  struct Api;
  std::string library_;
  std::shared_ptr<const Api> api_;  // never unloaded
};

/// The first library that compiles for `sm`: the one that SPARKBENCH_NVRTC names; otherwise that of
/// the CUDA that this was built with, then others. Found once for each `sm`. Throws NvrtcMissing.
const Nvrtc& nvrtc_for(int sm);

}  // namespace sparkbench
