// NVIDIA's run-time compiler, loaded when it is asked for: one binary serves machines with and
// without it, and none is needed to build. Compiling needs no GPU.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sparkbench {

/// A text that others include, by the name under which they do.
struct JitHeader {
  std::string name, text;
};

struct JitSource {
  std::string text;
  std::vector<JitHeader> headers;
};

/// There is none for what was asked: which libraries were tried, and why each is none.
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

/// The first library that compiles for `sm`: that which SPARKBENCH_NVRTC names, or else of the CUDA
/// that this was built with, and then of others. Found once for each `sm`. Throws NvrtcMissing.
const Nvrtc& nvrtc_for(int sm);

}  // namespace sparkbench
