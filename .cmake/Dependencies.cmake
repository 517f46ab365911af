# Libraries that are not what the project exists for: the system's by find_package, else a pinned
# source by FetchContent.
include(FetchContent)
set(FETCHCONTENT_QUIET ON)

find_package(Threads REQUIRED)

find_package(fmt 8 QUIET)
if(NOT fmt_FOUND)
  FetchContent_Declare(fmt URL https://github.com/fmtlib/fmt/archive/refs/tags/9.1.0.tar.gz)
  FetchContent_MakeAvailable(fmt)
endif()

if(SPARKBENCH_PROGRAM)
  find_package(nlohmann_json 3.10 QUIET)
endif()
if(SPARKBENCH_PROGRAM AND NOT nlohmann_json_FOUND)
  FetchContent_Declare(
    nlohmann_json
    URL https://github.com/nlohmann/json/releases/download/v3.11.2/json.tar.xz)
  FetchContent_MakeAvailable(nlohmann_json)
endif()

if(SPARKBENCH_PROGRAM)
  find_package(CLI11 2.1 QUIET)
endif()
if(SPARKBENCH_PROGRAM AND NOT CLI11_FOUND)
  FetchContent_Declare(CLI11 URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.1.2.tar.gz)
  FetchContent_MakeAvailable(CLI11)
endif()

# Only the headers of toml++, so that the program needs no library of it at run time.
if(SPARKBENCH_PROGRAM)
  find_path(SPARKBENCH_TOML_HEADERS toml++/toml.h)
  if(NOT SPARKBENCH_TOML_HEADERS)
    FetchContent_Declare(
      tomlplusplus URL https://github.com/marzer/tomlplusplus/archive/refs/tags/v3.4.0.tar.gz)
    FetchContent_MakeAvailable(tomlplusplus)
    set(SPARKBENCH_TOML_HEADERS ${tomlplusplus_SOURCE_DIR}/include)
  endif()
  add_library(sparkbench_toml INTERFACE)
  target_include_directories(sparkbench_toml SYSTEM INTERFACE ${SPARKBENCH_TOML_HEADERS})
endif()

# Without them test targets are still declared, and not to be built.
if(SPARKBENCH_PROGRAM AND SPARKBENCH_TESTS)
  find_package(GTest 1.11 QUIET)
  if(NOT GTest_FOUND)
    set(INSTALL_GTEST OFF)
    FetchContent_Declare(
      googletest URL https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz)
    FetchContent_MakeAvailable(googletest)
  endif()
  set(SPARKBENCH_GTEST GTest::gtest)

  find_package(benchmark 1.6 QUIET)
  if(NOT benchmark_FOUND)
    set(BENCHMARK_ENABLE_TESTING OFF)
    FetchContent_Declare(
      benchmark URL https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz)
    FetchContent_MakeAvailable(benchmark)
  endif()
  set(SPARKBENCH_GOOGLE_BENCHMARK benchmark::benchmark)
endif()

set(Boost_USE_STATIC_LIBS ON)  # libspark_attention.so goes to machines without Boost
find_package(Boost 1.74 CONFIG QUIET COMPONENTS context)
if(NOT Boost_FOUND)
  set(BOOST_INCLUDE_LIBRARIES context)
  FetchContent_Declare(
    Boost
    URL https://github.com/boostorg/boost/releases/download/boost-1.81.0/boost-1.81.0.tar.xz)
  FetchContent_MakeAvailable(Boost)
endif()
