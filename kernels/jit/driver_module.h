// Machine code as a module of the current GPU, by the driver's interface, which is loaded at run
// time: the runtime of CUDA 11 loads no machine code.
#pragma once

#include <memory>
#include <string>

struct CUfunc_st;
struct CUstream_st;

namespace sparkbench {

class DriverModule {
 public:
  /// Loads it into the current GPU's primary context. Throws std::runtime_error.
  explicit DriverModule(const std::string& cubin);

  /// Throws std::runtime_error where there is none of this name.
  CUfunc_st* function(const char* name) const;

  /// `arguments` point to the function's, in their order. Throws std::runtime_error.
  void launch(CUfunc_st* function, unsigned blocks, unsigned threads, CUstream_st* stream,
              void** arguments) const;

 private:
  struct Api;
  std::shared_ptr<const Api> api_;
  void* module_ = nullptr;  // CUmodule; never unloaded: at a process's end there may be no driver
};

}  // namespace sparkbench
