#include "reference/cudnn/api.h"

#include <dlfcn.h>

#include <array>
#include <stdexcept>

#include "kernels/base/unsupported_error.h"

namespace sparkbench::cudnn {
namespace {

/// CUDNN_STATUS_NOT_SUPPORTED and its subcodes.
bool is_not_supported(int status) { return status / 1000 == 3; }

template <class Function>
bool find_symbol(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::optional<Api> load_api() {
  // Never unloaded, because the library's threads and handlers outlive its use.
  void* const library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return std::nullopt;
  Api api{};
  const bool is_complete =
      find_symbol(library, "cudnnGetVersion", api.version) &&
      find_symbol(library, "cudnnGetErrorString", api.error_string) &&
      find_symbol(library, "cudnnGetLastErrorString", api.last_error) &&
      find_symbol(library, "cudnnCreate", api.create) &&
      find_symbol(library, "cudnnDestroy", api.destroy) &&
      find_symbol(library, "cudnnSetStream", api.set_stream) &&
      find_symbol(library, "cudnnBackendCreateDescriptor", api.create_descriptor) &&
      find_symbol(library, "cudnnBackendDestroyDescriptor", api.destroy_descriptor) &&
      find_symbol(library, "cudnnBackendFinalize", api.finalize) &&
      find_symbol(library, "cudnnBackendSetAttribute", api.set_attribute) &&
      find_symbol(library, "cudnnBackendGetAttribute", api.get_attribute) &&
      find_symbol(library, "cudnnBackendExecute", api.execute);
  return is_complete ? std::optional(api) : std::nullopt;
}

std::string spell_version(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void check(const Api& api, int status, const char* call) {
  if (status == 0) return;
  std::array<char, 1024> reason{};
  api.last_error(reason.data(), reason.size());
  const std::string message = std::string(call) + ": " + api.error_string(status) +
                              (reason[0] != '\0' ? ": " : "") + reason.data();
  if (is_not_supported(status)) throw UnsupportedError(message);
  throw std::runtime_error(message);
}

}  // namespace sparkbench::cudnn
