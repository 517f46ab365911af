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
  sparkbench_build_in_units(${name})
endfunction()

# sparkbench_build_in_units(target): with SPARKBENCH_QUICK_BUILD, compiles the sources that the target
# has so far as one unit a folder, because headers are most of the work. Sources with flags of their
# own stay alone. clang-tidy reads such units (.ci/tidy), so names in a folder's anonymous namespaces
# differ.
function(sparkbench_build_in_units target)
  if(NOT SPARKBENCH_QUICK_BUILD)
    return()
  endif()
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

# sparkbench_build_quickly(target level): the same, with sources that were added since, and optimized at
# this level: -O1, or -Og, which compiles in four fifths of the time, where nothing runs for long. Not
# for what kernels and oracles run in.
function(sparkbench_build_quickly target level)
  sparkbench_build_in_units(${target})
  if(SPARKBENCH_QUICK_BUILD)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${level}>)
  endif()
endfunction()

# Tests are compiled into one program a room, which the room's CMakeLists.txt names:
#   set(SPARKBENCH_TEST_PROGRAM results)   # tests/results_tests, and _gpu_tests of LABEL gpu
#
# sparkbench_tests([FOLDER f] TESTS x ... [LINK lib ...] [LABEL cpu|gpu]): x_test of f/x_test.cc
#
# CTest's labels: `cpu` or `gpu` (C++ tests that say so, others by their name), and for `cpu` `fast` or
# `slow` (SlowTests.cmake). Tests that take too long for each build are only in the configuration
# `nightly`, with the label `nightly`.
include(SlowTests)
function(sparkbench_label name)
  set(labels cpu fast)
  if(name MATCHES _gpu_)
    set(labels gpu)
  elseif(name IN_LIST SPARKBENCH_SLOW_TESTS)
    set(labels cpu slow)
    set_property(GLOBAL APPEND PROPERTY SPARKBENCH_SLOW_TESTS_FOUND ${name})
  endif()
  set_property(TEST ${name} PROPERTY LABELS ${labels})
endfunction()

# Names in SlowTests.cmake that no test has.
function(sparkbench_check_slow_tests)
  get_property(found GLOBAL PROPERTY SPARKBENCH_SLOW_TESTS_FOUND)
  list(REMOVE_ITEM SPARKBENCH_SLOW_TESTS ${found})
  if(SPARKBENCH_SLOW_TESTS AND Python3_Interpreter_FOUND)
    message(WARNING "No test has these names of .cmake/SlowTests.cmake: ${SPARKBENCH_SLOW_TESTS}")
  endif()
endfunction()

# sparkbench_nightly(name COMMAND c ...): only in `ctest -C nightly -L nightly`
function(sparkbench_nightly name)
  add_test(NAME ${name} ${ARGN} CONFIGURATIONS nightly)
  set_tests_properties(${name} PROPERTIES LABELS nightly TIMEOUT 86400
                                          ENVIRONMENT SPARKBENCH_NIGHTLY=1)
endfunction()

# sparkbench_command_test(x_test COMMAND c ... [PROPERTIES p v ...]): a test that is a program
function(sparkbench_command_test name)
  cmake_parse_arguments(ARG "" "" "COMMAND;PROPERTIES" ${ARGN})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  sparkbench_label(${name})
  if(ARG_PROPERTIES)
    set_tests_properties(${name} PROPERTIES ${ARG_PROPERTIES})
  endif()
endfunction()

# sparkbench_python_test(x_test script.py [argument ...] [PROPERTIES p v ...] [NIGHTLY]): where there
# is a Python. A script that cannot run here ends with 77, and says why.
find_package(Python3 COMPONENTS Interpreter QUIET)
function(sparkbench_python_test name script)
  if(NOT Python3_Interpreter_FOUND OR NOT SPARKBENCH_PROGRAM)
    return()
  endif()
  cmake_parse_arguments(ARG NIGHTLY "" PROPERTIES ${ARGN})
  cmake_path(ABSOLUTE_PATH script BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  set(run Python3::Interpreter -B ${script} ${ARG_UNPARSED_ARGUMENTS})
  sparkbench_command_test(${name} COMMAND ${run}
                          PROPERTIES SKIP_RETURN_CODE 77 ${ARG_PROPERTIES})
  if(ARG_NIGHTLY)
    string(REGEX REPLACE "_test$" "_nightly" nightly ${name})
    sparkbench_nightly(${nightly} COMMAND ${run})
  endif()
endfunction()
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

# With SPARKBENCH_QUICK_BUILD, compiles up to eight test files of a folder as one unit, in half of the
# time. Names in the anonymous namespaces of a folder's tests differ, too, also from those of the
# headers that any of them includes, which they would hide.
function(sparkbench_group_tests program) # SOURCE...
  if(NOT SPARKBENCH_QUICK_BUILD)
    return()
  endif()
  set_target_properties(${program} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(REPLACE / _ group ${folder})
    set_property(TARGET ${program} APPEND PROPERTY SPARKBENCH_TESTS_${group} ${source})
    get_target_property(tests ${program} SPARKBENCH_TESTS_${group})
    list(LENGTH tests count)
    math(EXPR unit "(${count} - 1) / 8")
    set_source_files_properties(${source} TARGET_DIRECTORY ${program}
                                PROPERTIES UNITY_GROUP ${group}_${unit})
  endforeach()
endfunction()

# sparkbench_test(x_test SOURCES x_test.cc ... [LINK lib ...] [DEFINITIONS d ...] [LABEL cpu|gpu]
#                 [NIGHTLY] [ALONE]): the first source's tests are CTest's x_test. NIGHTLY: they ask
# kernels/testing/nightly.h, and x_nightly runs all of them. ALONE: no other test runs beside them,
# because they measure the GPU's time or free memory. Libraries are linked to the room's
# program. Tests are not built without the program, whose libraries they link to. They are compiled
# as SPARKBENCH_TESTS_OPTIMIZATION says, -O1 or -O0 for rooms whose tests leave the work to the
# libraries: -O1 compiles in two thirds of the time, -O0 in three quarters of that.
function(sparkbench_test name)
  if(NOT SPARKBENCH_PROGRAM)
    return()
  endif()
  cmake_parse_arguments(ARG "NIGHTLY;ALONE" "LABEL" "SOURCES;LINK;DEFINITIONS" ${ARGN})
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
  sparkbench_group_tests(${program} ${sources})
  if(ARG_DEFINITIONS)
    list(GET sources 0 test_file)
    set_property(SOURCE ${test_file} TARGET_DIRECTORY ${program}
                 PROPERTY COMPILE_DEFINITIONS ${ARG_DEFINITIONS})
  endif()
  target_link_libraries(${program} PRIVATE ${ARG_LINK})
  list(GET ARG_SOURCES 0 test_file)
  cmake_path(ABSOLUTE_PATH test_file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  cmake_path(RELATIVE_PATH test_file BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(run ${program} --file=${test_file})
  if(ARG_LABEL STREQUAL gpu)
    add_test(NAME ${name} COMMAND ${run})
    set_tests_properties(${name} PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION
                                            "\\[  SKIPPED \\].*no CUDA device")
  else()
    sparkbench_command_test(${name} COMMAND ${run})
  endif()
  if(ARG_ALONE)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  if(ARG_NIGHTLY)
    string(REGEX REPLACE "_test$" "_nightly" nightly ${name})
    sparkbench_nightly(${nightly} COMMAND ${run})
  endif()
endfunction()
