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
