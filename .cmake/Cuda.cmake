# The GPU path: SPARKBENCH_HAS_CUDA tells whether it is built, and CMAKE_CUDA_ARCHITECTURES for
# what. Without a choice of architectures, every one of ours that the toolkit knows is built.
set(SPARKBENCH_HAS_CUDA OFF)
if(NOT SPARKBENCH_CUDA)
  return()
endif()

include(CheckLanguage)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES OFF)  # enable_language must not ask for one the toolkit lacks
  set(SPARKBENCH_CHOOSE_ARCHITECTURES ON)
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "No CUDA compiler: only the emulated device is built")
  return()
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

if(SPARKBENCH_CHOOSE_ARCHITECTURES)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known_code)
  set(CMAKE_CUDA_ARCHITECTURES "")
  foreach(architecture 70 75 80 90)
    if(known_code MATCHES "sm_${architecture}")
      list(APPEND CMAKE_CUDA_ARCHITECTURES ${architecture})
    else()
      message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION} does not know sm_${architecture}: "
                     "left out")
    endif()
  endforeach()
endif()
message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
set(SPARKBENCH_HAS_CUDA ON)

# A build that only compares newer GPUs' kernels may leave Volta's, which are products of FMAs there
# and most of the time that it takes, to fewer: a GPU that is newer translates what is for older ones.
set(SPARKBENCH_VOLTA_ARCHITECTURES "" CACHE STRING
    "Architectures that Volta's kernels are compiled for, the oldest among them; empty: all")
set(volta_architectures "${SPARKBENCH_VOLTA_ARCHITECTURES}")
if(volta_architectures STREQUAL "")
  set(volta_architectures "${CMAKE_CUDA_ARCHITECTURES}")
else()
  set(all_architectures ${CMAKE_CUDA_ARCHITECTURES})
  list(SORT all_architectures COMPARE NATURAL)
  list(GET all_architectures 0 oldest)
  foreach(architecture ${volta_architectures})
    if(NOT architecture IN_LIST all_architectures OR NOT oldest IN_LIST volta_architectures)
      message(FATAL_ERROR "SPARKBENCH_VOLTA_ARCHITECTURES is ${volta_architectures}; allowed: some of "
                          "CMAKE_CUDA_ARCHITECTURES, ${all_architectures}, and ${oldest} among them")
    endif()
  endforeach()
  message(STATUS "Volta's kernels for ${volta_architectures} alone")
endif()

# One that only asks whether they compile may say how nvcc is to do so sooner: `-Ofc=mid` takes two
# fifths of the time. (`-Ofc=max` takes a quarter, but leaves products in functions of their own.)
set(SPARKBENCH_VOLTA_CUDA_FLAGS "" CACHE STRING "More flags of nvcc for Volta's kernels")

# sparkbench_one_ptx(target architectures): translates its device code to PTX once, for the oldest of
# the architectures, and that to the machine code of each, in half of the time. For code that asks no
# other for anything.
function(sparkbench_one_ptx target architectures)
  if(NOT architectures MATCHES "^[0-9]+(;[0-9]+)+$")
    # One alone, or one that is no plain number, "90a-real".
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}")
    return()
  endif()
  list(SORT architectures COMPARE NATURAL)
  list(GET architectures 0 oldest)
  list(TRANSFORM architectures PREPEND sm_)
  list(JOIN architectures "," code)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF)
  target_compile_options(
    ${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_${oldest},code=[compute_${oldest},${code}]>)
endfunction()
