#include "kernels/jit/driver_module.h"

#include <dlfcn.h>

#include <stdexcept>

#include "kernels/machine/cuda_resources.h"

namespace sparkbench {

struct DriverModule::Api {
  int (*error_name)(int, const char**);
  int (*load)(void**, const void*);
  int (*get_function)(CUfunc_st**, void*, const char*);
  int (*launch)(CUfunc_st*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                CUstream_st*, void**, void**);

  void check(int status, const std::string& call) const {
    if (status == 0) return;
    const char* name = nullptr;
    error_name(status, &name);
    throw std::runtime_error(call + ": " + (name != nullptr ? name : std::to_string(status)));
  }
};

namespace {

template <class Function>
void find_in_driver(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string("libcuda.so.1 has no ") + name);
}

}  // namespace

DriverModule::DriverModule(const std::string& cubin) {
  // The runtime has loaded it before, and it is not unloaded.
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw std::runtime_error("libcuda.so.1 cannot be loaded");
  auto api = std::make_shared<Api>();
  find_in_driver(library, "cuGetErrorName", api->error_name);
  find_in_driver(library, "cuModuleLoadData", api->load);
  find_in_driver(library, "cuModuleGetFunction", api->get_function);
  find_in_driver(library, "cuLaunchKernel", api->launch);
  make_context_current();
  api->check(api->load(&module_, cubin.data()), "cuModuleLoadData");
  api_ = std::move(api);
}

CUfunc_st* DriverModule::function(const char* name) const {
  CUfunc_st* found = nullptr;
  api_->check(api_->get_function(&found, module_, name),
              std::string("cuModuleGetFunction ") + name);
  return found;
}

void DriverModule::launch(CUfunc_st* function, unsigned blocks, unsigned threads,
                          CUstream_st* stream, void** arguments) const {
  make_context_current();
  api_->check(api_->launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr),
              "cuLaunchKernel");
}

}  // namespace sparkbench
