// As much of XLA's foreign function interface as a handler of custom calls needs, so that no build
// needs XLA's headers. Its C interface (xla/ffi/api/c_api.h, in every jaxlib) is stable within
// major version 0: structs state their size and grow only at their end. jax_test.py compares this
// with the header of the installed JAX. Names are that header's, without XLA_FFI_.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sparkbench::xla {

struct Error;             // null is none; a handler's becomes XLA's
struct ExecutionContext;  // of a call

struct ExtensionBase {
  std::size_t struct_size;
  int type;
  ExtensionBase* next;
};
inline constexpr int kMetadataExtension = 1;

struct ApiVersion {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  int major_version, minor_version;
};

/// A handler's metadata, which XLA asks for before the first call.
struct Metadata {
  std::size_t struct_size;
  ApiVersion api_version;
  std::uint32_t traits;
};
struct MetadataExtension {
  ExtensionBase extension_base;
  Metadata* metadata;
};

struct ErrorCreateArgs {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  const char* message;
  int errc;
};
enum ErrorCode : int {  // those of absl::Status
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13
};
struct ErrorGetMessageArgs {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  Error* error;
  const char* message;
};
struct ErrorDestroyArgs {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  Error* error;
};
struct StreamGetArgs {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  ExecutionContext* ctx;
  void* stream;
};
struct DeviceMemoryAllocateArgs {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  ExecutionContext* ctx;
  std::size_t size, alignment;
  void* data;
};
struct DeviceMemoryFreeArgs {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  ExecutionContext* ctx;
  std::size_t size;
  void* data;
};

struct Api {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  ApiVersion api_version;
  const void* internal_api;
  Error* (*error_create)(ErrorCreateArgs*);
  void (*error_get_message)(ErrorGetMessageArgs*);
  void (*error_destroy)(ErrorDestroyArgs*);
  void* handler_register;
  Error* (*stream_get)(StreamGetArgs*);
  void* type_register;
  void* execution_context_get;
  void* state_set;
  void* state_get;
  Error* (*device_memory_allocate)(DeviceMemoryAllocateArgs*);
  Error* (*device_memory_free)(DeviceMemoryFreeArgs*);
};

enum DataType : int { kS32 = 4, kU32 = 8, kF16 = 10, kF32 = 11 };
struct Buffer {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  int dtype;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};

struct ByteSpan {
  const char* ptr;
  std::size_t len;
};
struct Scalar {
  int dtype;
  void* value;
};
enum AttrType : int { kScalarAttr = 3, kStringAttr = 4 };

/// Arguments, and results alike: all of them buffers.
struct Buffers {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  std::int64_t size;
  int* types;
  void** buffers;
};
inline constexpr int kBufferType = 1;
struct Attrs {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  std::int64_t size;
  int* types;
  ByteSpan** names;
  void** attrs;
};

struct CallFrame {
  std::size_t struct_size;
  ExtensionBase* extension_start;
  const Api* api;
  ExecutionContext* ctx;
  int stage;
  Buffers args, rets;
  Attrs attrs;
};

}  // namespace sparkbench::xla
