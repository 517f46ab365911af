# The GPU path: SPARKBENCH_HAS_CUDA tells whether it is built, and CMAKE_CUDA_ARCHITECTURES for
# what: for the GPUs of this machine, or those that CMAKE_CUDA_ARCHITECTURES names (CudaChoice.cmake).
include(CudaChoice)
set(SPARKBENCH_HAS_CUDA OFF)
set(volta_architectures "")
set(SPARKBENCH_HAS_HOPPER OFF)
sparkbench_choose_cuda()
if(NOT cuda_architectures)
  sparkbench_spell_option(option "CMAKE_CUDA_ARCHITECTURES=70")
  message(NOTICE "Without CUDA, for the emulated devices alone: ${cuda_why}. For a V100: ${option}")
  return()
endif()

# Debian's nvcc takes ptxas from PATH, where another toolkit's may come first.
cmake_path(GET cuda_nvcc PARENT_PATH cuda_folder)
find_program(ptxas ptxas NO_CACHE)
if(NOT ptxas STREQUAL "${cuda_folder}/ptxas")
  set(ENV{PATH} "${cuda_folder}:$ENV{PATH}")
  list(PREPEND CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env "PATH=$ENV{PATH}")
endif()
set(CMAKE_CUDA_COMPILER "${cuda_nvcc}" CACHE FILEPATH "nvcc")
set(CMAKE_CUDA_ARCHITECTURES "${cuda_architectures}")
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(SPARKBENCH_HAS_CUDA ON)
message(NOTICE "CUDA ${CMAKE_CUDA_COMPILER_VERSION} for compute capabilities "
               "${CMAKE_CUDA_ARCHITECTURES} (${cuda_why})")

# wgmma is only in code for sm_90a.
if("${CMAKE_CUDA_ARCHITECTURES}" MATCHES "(^|;)90a?(-real)?(;|$)"
   AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
  set(SPARKBENCH_HAS_HOPPER ON)
endif()

# The tensor cores of GPUs after Turing lack the instruction of Volta's kernels, which are most of
# the time that a build takes: they are compiled for those that are asked for, to be tested there.
set(SPARKBENCH_VOLTA_ARCHITECTURES "" CACHE STRING
    "Architectures that Volta's kernels are compiled for; empty: 70 to 75; all: all that are built for")
if(SPARKBENCH_VOLTA_ARCHITECTURES STREQUAL "all")
  set(volta_architectures ${CMAKE_CUDA_ARCHITECTURES})
elseif(NOT SPARKBENCH_VOLTA_ARCHITECTURES)
  set(volta_architectures ${CMAKE_CUDA_ARCHITECTURES})
  list(FILTER volta_architectures INCLUDE REGEX "^7")
else()
  set(volta_architectures ${SPARKBENCH_VOLTA_ARCHITECTURES})
  foreach(architecture ${volta_architectures})
    if(NOT architecture IN_LIST CMAKE_CUDA_ARCHITECTURES)
      message(FATAL_ERROR "SPARKBENCH_VOLTA_ARCHITECTURES is ${volta_architectures}; allowed: all, or "
                          "some of CMAKE_CUDA_ARCHITECTURES, ${CMAKE_CUDA_ARCHITECTURES}")
    endif()
  endforeach()
endif()
list(TRANSFORM volta_architectures REPLACE "[^0-9]" "")
list(REMOVE_DUPLICATES volta_architectures)
foreach(architecture ${CMAKE_CUDA_ARCHITECTURES})
  string(REGEX MATCH "^[0-9]+" sm "${architecture}")
  if(NOT sm IN_LIST volta_architectures AND NOT (sm EQUAL 90 AND SPARKBENCH_HAS_HOPPER))
    sparkbench_spell_option(option "SPARKBENCH_VOLTA_ARCHITECTURES=all")
    message(NOTICE "No kernel of this project is made for sm_${sm}: spark_attention refuses such a "
                   "GPU, and sparkbench measures the kernels of others there. Volta's, which are "
                   "slow on it, are compiled all the same by ${option}")
  endif()
endforeach()

# One that only asks whether they compile may say how nvcc is to do so sooner: `-Ofc=mid` takes two
# fifths of the time. (`-Ofc=max` takes a quarter, but leaves products in functions of their own.)
set(SPARKBENCH_VOLTA_CUDA_FLAGS "" CACHE STRING "More flags of nvcc for Volta's kernels")

# sparkbench_machine_code(target architectures): translates its device code to PTX once, for the oldest
# of the architectures, and that to the machine code of each, in half of the time. No PTX is kept, since
# a driver takes minutes to translate it for newer GPUs. For code that asks no other for anything.
function(sparkbench_machine_code target architectures)
  list(SORT architectures COMPARE NATURAL)
  list(GET architectures 0 oldest)
  list(TRANSFORM architectures PREPEND sm_)
  list(JOIN architectures "," code)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF)
  target_compile_options(
    ${target}
    PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_${oldest},code=[${code}]>)
endfunction()
