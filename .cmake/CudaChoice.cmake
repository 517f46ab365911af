# For which GPUs a build is, and with which nvcc: decided here for the program and for the Python
# package. A GPU that is present, or named, is never left out silently. SPARKBENCH_SYSTEM_ROOT is for
# cuda_choice_test.py.

# As whoever builds writes an option: to pip, or to CMake.
function(sparkbench_spell_option out option)
  if(SKBUILD)
    set(${out} "-C cmake.define.${option}" PARENT_SCOPE)
  else()
    set(${out} "-D${option}" PARENT_SCOPE)
  endif()
endfunction()

# Ends the build with what is wrong, a cure a line, and the cures that always help.
function(sparkbench_refuse_cuda what)
  sparkbench_spell_option(other "CMAKE_CUDA_ARCHITECTURES=75")
  sparkbench_spell_option(none "SPARKBENCH_CUDA=OFF")
  list(JOIN ARGN "\n  " cures)
  message(FATAL_ERROR "${what}.\n  ${cures}\n"
                      "  Or name the GPUs to build for: ${other} (several: \"75;90\")\n"
                      "  Or leave CUDA out, for the emulated devices alone: ${none}\n")
endfunction()

# Which CUDA compiles for a compute capability. For what is built already, the program tells it from
# harness/devices/gpu_code.cc.
function(sparkbench_cuda_for out sm)
  if(sm LESS 75)
    set(cuda "CUDA 12.9 or older")
  elseif(sm LESS_EQUAL 90)
    set(cuda "CUDA 11.8 or newer")
  elseif(sm EQUAL 100 OR sm EQUAL 120)
    set(cuda "CUDA 12.8 or newer")
  elseif(sm EQUAL 103 OR sm EQUAL 121)
    set(cuda "CUDA 12.9 or newer")
  else()
    set(cuda "a CUDA whose `nvcc --list-gpu-code` names sm_${sm}")
  endif()
  set(${out} "${cuda}" PARENT_SCOPE)
endfunction()

# The GPUs with tensor cores that nvidia-smi lists: their compute capabilities, "70;90", and
# the names, as "Tesla V100-SXM2-16GB". `out_trouble`: why one that is there could not be told; or "".
function(sparkbench_find_gpus out_architectures out_names out_trouble)
  find_program(nvidia_smi nvidia-smi PATHS ${SPARKBENCH_SYSTEM_ROOT}/usr/lib/wsl/lib
               NO_CMAKE_SYSTEM_PATH NO_CACHE)
  set(lines "")
  if(nvidia_smi)
    execute_process(COMMAND ${nvidia_smi} --query-gpu=compute_cap,name --format=csv,noheader
                    TIMEOUT 60 OUTPUT_VARIABLE lines ERROR_VARIABLE lines RESULT_VARIABLE status)
  endif()
  string(REGEX MATCHALL "[0-9]+\\.[0-9], [^\n;]+" gpus "${lines}")
  file(GLOB nodes "${SPARKBENCH_SYSTEM_ROOT}/dev/nvidia[0-9]*")
  set(trouble "")
  if(nodes AND NOT gpus)
    string(REGEX REPLACE "[\n;]+" " " lines "${lines}")
    string(STRIP "${lines}" lines)
    set(trouble "This machine has a GPU (${nodes}), and nvidia-smi does not tell which: '${lines}'")
  endif()
  set(architectures "")
  set(names "")
  foreach(gpu ${gpus})
    string(REGEX MATCH "^([0-9]+)\\.([0-9]), (.+)$" all "${gpu}")
    set(sm ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
    if(sm GREATER_EQUAL 70)  # the first with tensor cores
      list(APPEND architectures ${sm})
      list(APPEND names "${CMAKE_MATCH_3}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES architectures)
  list(REMOVE_DUPLICATES names)
  list(SORT architectures COMPARE NATURAL)
  set(${out_architectures} "${architectures}" PARENT_SCOPE)
  set(${out_names} "${names}" PARENT_SCOPE)
  set(${out_trouble} "${trouble}" PARENT_SCOPE)
endfunction()

# Those that were named; "" if none. CUDAARCHS is CMake's own name for them in the environment.
function(sparkbench_named_architectures out)
  set(named "")
  if(DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(named "${CMAKE_CUDA_ARCHITECTURES}")
  elseif(DEFINED ENV{CUDAARCHS})
    set(named "$ENV{CUDAARCHS}")
  endif()
  if(named STREQUAL "native")
    set(named "")
  endif()
  foreach(architecture ${named})
    string(REGEX MATCH "^[0-9]+" sm "${architecture}")
    if(NOT architecture MATCHES "^[0-9]+a?(-real)?$" OR sm LESS 70)
      message(FATAL_ERROR
              "CMAKE_CUDA_ARCHITECTURES is '${named}'; allowed: native, or compute capabilities "
              "with tensor cores, as 70 for a V100, or \"75;90\"")
    endif()
  endforeach()
  set(${out} "${named}" PARENT_SCOPE)
endfunction()

# Says which GPUs of this machine get no code, being older than all that are named.
function(sparkbench_tell_left_out architectures present)
  list(TRANSFORM architectures REPLACE "[^0-9]" "")
  list(SORT architectures COMPARE NATURAL)
  list(GET architectures 0 oldest)
  foreach(sm ${present})
    if(sm LESS oldest)
      message(NOTICE "This machine has a GPU of sm_${sm}, which this build will refuse: "
                     "CMAKE_CUDA_ARCHITECTURES names newer ones alone")
    endif()
  endforeach()
endfunction()

# What an nvcc compiles for, "sm_75;sm_90"; "" where it is none.
function(sparkbench_known_code out nvcc)
  execute_process(COMMAND ${nvcc} --list-gpu-code OUTPUT_VARIABLE code ERROR_QUIET
                  RESULT_VARIABLE status)
  string(REGEX MATCHALL "sm_[0-9]+" code "${code}")
  set(${out} "${code}" PARENT_SCOPE)
endfunction()

# The nvcc that is named, or on PATH, or where NVIDIA installs it; "" for none.
function(sparkbench_find_nvcc out)
  if(CMAKE_CUDA_COMPILER)
    find_program(nvcc "${CMAKE_CUDA_COMPILER}" NO_CACHE)
  elseif(NOT "$ENV{CUDACXX}" STREQUAL "")
    find_program(nvcc "$ENV{CUDACXX}" NO_CACHE)
  else()
    find_program(nvcc nvcc PATHS ${SPARKBENCH_SYSTEM_ROOT}/usr/local/cuda/bin
                 NO_CMAKE_SYSTEM_PATH NO_CACHE)
  endif()
  if(NOT nvcc)
    set(nvcc "")
  endif()
  set(${out} "${nvcc}" PARENT_SCOPE)
endfunction()

# Ends the build unless the nvcc compiles for all of them, which are `whose`.
function(sparkbench_require_code nvcc release architectures whose)
  sparkbench_known_code(known "${nvcc}")
  set(wanted "")
  foreach(architecture ${architectures})
    string(REGEX MATCH "^[0-9]+" sm "${architecture}")
    list(APPEND wanted sm_${sm})
  endforeach()
  foreach(code ${wanted})
    if(code IN_LIST known)
      continue()
    endif()
    string(REPLACE "sm_" "" sm ${code})
    sparkbench_cuda_for(cuda ${sm})
    set(cures "Take ${cuda}: CUDACXX=/path/to/its/bin/nvcc before the command")
    file(GLOB others ${SPARKBENCH_SYSTEM_ROOT}/usr/local/cuda*/bin/nvcc
         ${SPARKBENCH_SYSTEM_ROOT}/usr/bin/nvcc)
    foreach(other ${others})
      sparkbench_known_code(known "${other}")
      if(code IN_LIST known)
        set(cures "Take ${cuda}: CUDACXX=${other}, which is here, before the command")
      endif()
    endforeach()
    sparkbench_refuse_cuda("CUDA ${release} (${nvcc}) cannot compile for ${code} (${whose})"
                           "${cures}")
  endforeach()
endfunction()

# Sets, for the caller: cuda_architectures, "" for a build without CUDA; cuda_nvcc and its
# cuda_release, "12.9"; and cuda_why, whose GPUs these are, or why there are none.
function(sparkbench_choose_cuda)
  foreach(result architectures nvcc release)
    set(cuda_${result} "" PARENT_SCOPE)
  endforeach()
  if(DEFINED SPARKBENCH_CUDA AND NOT SPARKBENCH_CUDA)
    set(cuda_why "SPARKBENCH_CUDA=OFF left CUDA out" PARENT_SCOPE)
    return()
  endif()
  sparkbench_find_nvcc(nvcc)
  sparkbench_named_architectures(architectures)
  sparkbench_find_gpus(present names trouble)
  if(architectures)
    set(why "named by CMAKE_CUDA_ARCHITECTURES")
    sparkbench_tell_left_out("${architectures}" "${present}")
  else()
    set(architectures "${present}")
    list(JOIN names ", " why)
    string(PREPEND why "the build machine's ")
    if(trouble)
      sparkbench_refuse_cuda("${trouble}" "A V100 is 70, a T4 75, an H100 90.")
    endif()
  endif()
  if(NOT architectures)
    set(cuda_why "the build machine has no GPU with tensor cores, and none was named"
        PARENT_SCOPE)
    return()
  endif()
  if(NOT nvcc)
    list(GET architectures 0 first)
    string(REGEX MATCH "^[0-9]+" sm "${first}")
    sparkbench_cuda_for(cuda ${sm})
    sparkbench_refuse_cuda("There is no nvcc to compile for sm_${sm} (${why}): CUDACXX names none, \
and none is on PATH or in /usr/local/cuda/bin"
                           "Install the toolkit of ${cuda}, or name it: CUDACXX=/path/to/its/bin/nvcc")
  endif()
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" all "${version}")
  set(release "${CMAKE_MATCH_1}")
  sparkbench_require_code("${nvcc}" "${release}" "${architectures}" "${why}")
  set(cuda_architectures "${architectures}" PARENT_SCOPE)
  set(cuda_nvcc "${nvcc}" PARENT_SCOPE)
  set(cuda_release "${release}" PARENT_SCOPE)
  set(cuda_why "${why}" PARENT_SCOPE)
endfunction()
