// How an exception becomes a status and this thread's last error. No exception leaves the library.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/api/spark_attention.h"

namespace sparkbench {

/// What ends a call with a status of its own.
class ApiError : public std::runtime_error {
 public:
  ApiError(spark_attention_status status, const std::string& what)
      : std::runtime_error(what), status_(status) {}
  spark_attention_status status() const { return status_; }

 private:
  spark_attention_status status_;
};

/// The status of the exception that is being handled, whose text becomes this thread's last error.
/// Others than ApiError: std::invalid_argument is INVALID_ARGUMENT, UnsupportedError UNSUPPORTED,
/// OutOfDeviceMemory and std::bad_alloc OUT_OF_MEMORY, and the rest INTERNAL_ERROR.
spark_attention_status report_current_exception() noexcept;

const char* last_error() noexcept;

template <class Call>
spark_attention_status status_of(Call&& call) noexcept {
  try {
    call();
    return SPARK_ATTENTION_OK;
  } catch (...) {
    return report_current_exception();
  }
}

}  // namespace sparkbench
