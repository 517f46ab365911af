# One way to make a library and one way to make a test, so that all share their flags.

function(sparkbench_flags target)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  # Contraction off: where a fused multiply-add is meant, the code says fma, so the emulated
  # kernel and the compiled one round alike.
  target_compile_options(
    ${target}
    PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wpedantic -Wno-unknown-pragmas
            -Wno-missing-field-initializers -ffp-contract=off
            -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>
            $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${SPARKBENCH_WERROR}>>:-Werror>
            $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false --expt-relaxed-constexpr -Xcompiler=-Wall>
            $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${SPARKBENCH_WERROR}>>:-Werror=all-warnings>)
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
endfunction()

# sparkbench_library(name SOURCES a.cc ... [LINK lib ...])
function(sparkbench_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  sparkbench_flags(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# sparkbench_build_quickly(target): with SPARKBENCH_QUICK_BUILD, compiles the target's sources of
# each folder as one unit, at -O1. Headers such as CLI11's are half of the work, and somebody waits
# for a sweep's build. Not for what kernels and oracles run in. clang-tidy reads such units
# (.ci/tidy), so names in a folder's anonymous namespaces differ.
function(sparkbench_build_quickly target)
  if(NOT SPARKBENCH_QUICK_BUILD)
    return()
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP ${folder})
  endforeach()
endfunction()

# Tests are compiled into one program a room, which the room's CMakeLists.txt names:
#   set(SPARKBENCH_TEST_PROGRAM results)   # tests/results_tests, and _gpu_tests of LABEL gpu
#
# sparkbench_tests([FOLDER f] TESTS x ... [LINK lib ...] [LABEL cpu|gpu]): x_test of f/x_test.cc
function(sparkbench_tests)
  cmake_parse_arguments(ARG "" "FOLDER;LABEL" "TESTS;LINK" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER .)
  endif()
  foreach(test ${ARG_TESTS})
    sparkbench_test(${test}_test SOURCES ${ARG_FOLDER}/${test}_test.cc LINK ${ARG_LINK}
                    LABEL ${ARG_LABEL})
  endforeach()
endfunction()

function(sparkbench_test_flags target)
  sparkbench_flags(${target})
  if(SPARKBENCH_TESTS_OPTIMIZATION)
    target_compile_options(${target} PRIVATE
                           $<$<COMPILE_LANGUAGE:CXX>:${SPARKBENCH_TESTS_OPTIMIZATION}>)
  endif()
endfunction()

# GoogleTest's header takes half of most tests' time to compile: it is read once for all that are
# compiled alike.
function(sparkbench_precompile_gtest name)
  set(owner sparkbench_gtest_header${SPARKBENCH_TESTS_OPTIMIZATION})
  if(NOT TARGET ${owner})
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${owner}.cc CONTENT "int main() {}\n")
    add_executable(${owner} ${PROJECT_BINARY_DIR}/${owner}.cc)  # as tests are: position-independent
    sparkbench_test_flags(${owner})
    target_link_libraries(${owner} PRIVATE ${SPARKBENCH_GTEST})
    target_precompile_headers(${owner} PRIVATE <gtest/gtest.h>)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${owner})
endfunction()

function(sparkbench_test_program name)
  add_executable(${name} ${PROJECT_SOURCE_DIR}/kernels/testing/test_main.cc)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  sparkbench_test_flags(${name})
  target_link_libraries(${name} PRIVATE ${SPARKBENCH_GTEST})
  sparkbench_precompile_gtest(${name})
endfunction()

# sparkbench_test(x_test SOURCES x_test.cc ... [LINK lib ...] [DEFINITIONS d ...] [LABEL cpu|gpu]):
# the first source's tests are CTest's x_test. Libraries are linked to the room's program. Tests are
# not built without the program, whose libraries they link to. They are compiled as
# SPARKBENCH_TESTS_OPTIMIZATION says, -O1 or -O0 for rooms whose tests leave the work to the
# libraries: -O1 compiles in two thirds of the time, -O0 in three quarters of that.
function(sparkbench_test name)
  if(NOT SPARKBENCH_PROGRAM)
    return()
  endif()
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LINK;DEFINITIONS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL cpu)
  endif()
  set(program ${SPARKBENCH_TEST_PROGRAM}_tests)
  if(ARG_LABEL STREQUAL gpu)
    set(program ${SPARKBENCH_TEST_PROGRAM}_gpu_tests)
  endif()
  if(NOT TARGET ${program})
    sparkbench_test_program(${program})
  endif()
  foreach(source ${ARG_SOURCES})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND sources ${source})
  endforeach()
  get_target_property(known ${program} SOURCES)
  list(REMOVE_ITEM sources ${known})
  target_sources(${program} PRIVATE ${sources})
  if(ARG_DEFINITIONS)
    list(GET sources 0 test_file)
    set_property(SOURCE ${test_file} TARGET_DIRECTORY ${program}
                 PROPERTY COMPILE_DEFINITIONS ${ARG_DEFINITIONS})
  endif()
  target_link_libraries(${program} PRIVATE ${ARG_LINK})
  list(GET ARG_SOURCES 0 test_file)
  cmake_path(ABSOLUTE_PATH test_file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  cmake_path(RELATIVE_PATH test_file BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  add_test(NAME ${name} COMMAND ${program} --file=${test_file})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} SKIP_REGULAR_EXPRESSION
                                          "\\[  SKIPPED \\].*no CUDA device")
endfunction()
