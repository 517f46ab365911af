#include "kernels/api/status.h"

#include <cstdio>
#include <exception>
#include <new>

#include "kernels/base/unsupported_error.h"
#include "kernels/machine/out_of_device_memory.h"

namespace sparkbench {
namespace {

constexpr std::size_t kTextBytes = 1024;

/// Fixed size, so that a call that fails for lack of memory can say so.
thread_local char last_text[kTextBytes] = "";

spark_attention_status report(spark_attention_status status, const char* text) noexcept {
  std::snprintf(last_text, kTextBytes, "%s", text);
  return status;
}

}  // namespace

spark_attention_status report_current_exception() noexcept {
  try {
    throw;
  } catch (const ApiError& error) {
    return report(error.status(), error.what());
  } catch (const UnsupportedError& error) {
    return report(SPARK_ATTENTION_UNSUPPORTED, error.what());
  } catch (const std::invalid_argument& error) {
    return report(SPARK_ATTENTION_INVALID_ARGUMENT, error.what());
  } catch (const OutOfDeviceMemory& error) {
    return report(SPARK_ATTENTION_OUT_OF_MEMORY, error.what());
  } catch (const std::bad_alloc&) {
    return report(SPARK_ATTENTION_OUT_OF_MEMORY, "the host has too little memory");
  } catch (const std::exception& error) {
    return report(SPARK_ATTENTION_INTERNAL_ERROR, error.what());
  } catch (...) {
    return report(SPARK_ATTENTION_INTERNAL_ERROR, "an exception of unknown type");
  }
}

const char* last_error() noexcept { return last_text; }

}  // namespace sparkbench
