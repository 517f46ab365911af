#include "kernels/jit/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

namespace sparkbench {
namespace {

/// nvrtcProgram.
using ProgramHandle = void*;

template <class Function>
bool find_function(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

/// Names on Linux. CUDA 11's versions kept the number 11.2.
std::vector<std::string> known_libraries() {
  std::vector<std::string> names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
#ifdef SPARKBENCH_CUDA_MAJOR
  const std::string own = "libnvrtc.so." + std::to_string(SPARKBENCH_CUDA_MAJOR);
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
    return name.compare(0, own.size(), own) == 0;
  });
#endif
  return names;
}

}  // namespace

struct Nvrtc::Api {
  const char* (*error_string)(int);
  int (*version)(int*, int*);
  int (*supported_arch_count)(int*);
  int (*supported_archs)(int*);
  int (*create)(ProgramHandle*, const char*, const char*, int, const char* const*,
                const char* const*);
  int (*destroy)(ProgramHandle*);
  int (*compile)(ProgramHandle, int, const char* const*);
  int (*log_size)(ProgramHandle, std::size_t*);
  int (*log)(ProgramHandle, char*);
  int (*cubin_size)(ProgramHandle, std::size_t*);
  int (*cubin)(ProgramHandle, char*);

  void check(int status, const char* call) const {
    if (status == 0) return;
    throw std::runtime_error(std::string(call) + ": " + error_string(status));
  }
};

namespace {

template <class Api>
class OwnedProgram {
 public:
  OwnedProgram(const Api& api, const JitSource& source) : api_(api) {
    std::vector<const char*> names, texts;
    for (const JitHeader& header : source.headers) {
      names.push_back(header.name.c_str());
      texts.push_back(header.text.c_str());
    }
    api_.check(api_.create(&handle_, source.text.c_str(), "sparkbench.cu",
                           static_cast<int>(names.size()), texts.data(), names.data()),
               "nvrtcCreateProgram");
  }
  ~OwnedProgram() { api_.destroy(&handle_); }
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  ProgramHandle get() const { return handle_; }

  std::string log() const {
    std::size_t size = 0;
    api_.check(api_.log_size(handle_, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    if (size > 0) api_.check(api_.log(handle_, text.data()), "nvrtcGetProgramLog");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

 private:
  const Api& api_;
  ProgramHandle handle_ = nullptr;
};

}  // namespace

Nvrtc::Nvrtc(const std::string& library) : library_(library) {
  // Never unloaded: it keeps state of its own.
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (loaded == nullptr) {
    const char* const error = dlerror();
    throw NvrtcMissing(error != nullptr ? error : library + " cannot be loaded");
  }
  auto api = std::make_shared<Api>();
  const bool is_complete =
      find_function(loaded, "nvrtcGetErrorString", api->error_string) &&
      find_function(loaded, "nvrtcVersion", api->version) &&
      find_function(loaded, "nvrtcGetNumSupportedArchs", api->supported_arch_count) &&
      find_function(loaded, "nvrtcGetSupportedArchs", api->supported_archs) &&
      find_function(loaded, "nvrtcCreateProgram", api->create) &&
      find_function(loaded, "nvrtcDestroyProgram", api->destroy) &&
      find_function(loaded, "nvrtcCompileProgram", api->compile) &&
      find_function(loaded, "nvrtcGetProgramLogSize", api->log_size) &&
      find_function(loaded, "nvrtcGetProgramLog", api->log) &&
      find_function(loaded, "nvrtcGetCUBINSize", api->cubin_size) &&
      find_function(loaded, "nvrtcGetCUBIN", api->cubin);
  if (!is_complete) {
    throw NvrtcMissing(library + " lacks functions of CUDA 11.2 and later");
  }
  api_ = std::move(api);
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  api_->check(api_->version(&major, &minor), "nvrtcVersion");
  return std::to_string(major) + "." + std::to_string(minor);
}

bool Nvrtc::compiles_for(int sm) const {
  int count = 0;
  api_->check(api_->supported_arch_count(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> archs(static_cast<std::size_t>(count));
  if (count > 0) api_->check(api_->supported_archs(archs.data()), "nvrtcGetSupportedArchs");
  return std::find(archs.begin(), archs.end(), sm) != archs.end();
}

std::vector<std::string> Nvrtc::options() { return {"--std=c++17"}; }

std::string Nvrtc::compile(const JitSource& source, int sm) const {
  const OwnedProgram<Api> program(*api_, source);
  std::vector<std::string> options = Nvrtc::options();
  options.push_back("--gpu-architecture=sm_" + std::to_string(sm));
  std::vector<const char*> words;
  words.reserve(options.size());
  for (const std::string& option : options) words.push_back(option.c_str());
  const int status = api_->compile(program.get(), static_cast<int>(words.size()), words.data());
  if (status != 0) {
    throw std::runtime_error(library_ + " " + version() + ", nvrtcCompileProgram: " +
                             api_->error_string(status) + "\n" + program.log());
  }
  std::size_t size = 0;
  api_->check(api_->cubin_size(program.get(), &size), "nvrtcGetCUBINSize");
  std::string code(size, '\0');
  api_->check(api_->cubin(program.get(), code.data()), "nvrtcGetCUBIN");
  return code;
}

namespace {

Nvrtc find_nvrtc(int sm) {
  const char* const named = std::getenv("SPARKBENCH_NVRTC");
  std::vector<std::string> names = known_libraries();
  if (named != nullptr && *named != '\0') names = {named};
  std::string tried;
  for (const std::string& name : names) {
    std::string why;
    try {
      Nvrtc library(name);
      if (library.compiles_for(sm)) return library;
      why = name + " (" + library.version() + ") does not compile for sm_" + std::to_string(sm);
    } catch (const NvrtcMissing& error) {
      why = error.what();
    }
    tried.append(tried.empty() ? "" : "; ").append(why);
  }
  throw NvrtcMissing("no NVRTC for sm_" + std::to_string(sm) + ": " + tried +
                     "; install CUDA's NVRTC" + (sm < 75 ? " of CUDA 12.9 or older" : "") +
                     ", or name its library by SPARKBENCH_NVRTC");
}

}  // namespace

const Nvrtc& nvrtc_for(int sm) {
  static std::mutex mutex;
  static std::map<int, Nvrtc> found;
  const std::lock_guard lock(mutex);
  const auto known = found.find(sm);
  if (known != found.end()) return known->second;
  return found.emplace(sm, find_nvrtc(sm)).first->second;
}

}  // namespace sparkbench
