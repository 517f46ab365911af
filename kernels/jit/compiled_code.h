// Machine code of a source that is known only at run time, from disk if it was made before.
#pragma once

#include <string>

#include "kernels/jit/disk_cache.h"
#include "kernels/jit/nvrtc.h"

namespace sparkbench {

struct CompiledCode {
  std::string cubin;
  bool is_from_disk = false;
  double ms = 0.0;   // to read it, or to compile and write it
  std::string note;  // why it could not be kept; "" where it was
};

/// Throws what the compiler throws.
CompiledCode compiled_code(const Nvrtc& nvrtc, const JitSource& source, int sm,
                           const DiskCache& cache);

}  // namespace sparkbench
