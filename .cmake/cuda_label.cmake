# cmake [-DCMAKE_CUDA_ARCHITECTURES=70] -P cuda_label.cmake: writes what a build with these options
# would be for, as a version's local label: "cu129.sm70", or "cpu" without CUDA.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/CudaChoice.cmake)
sparkbench_choose_cuda()
set(label cpu)
if(cuda_architectures)
  string(REPLACE "." "" label "cu${cuda_release}")
  list(TRANSFORM cuda_architectures REPLACE "-real$" "")
  list(TRANSFORM cuda_architectures PREPEND ".sm")
  list(JOIN cuda_architectures "" architectures)
  string(APPEND label "${architectures}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${label})
