# Writes HEADER with the commit of SOURCE_DIR and whether files differ from it, if that changed.
find_package(Git QUIET)
set(GIT_SHA "")
set(GIT_DIRTY false)
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} rev-parse --verify --quiet HEAD
                  OUTPUT_VARIABLE GIT_SHA OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} diff --quiet HEAD
                  RESULT_VARIABLE git_difference ERROR_QUIET)
  if(NOT git_difference EQUAL 0)
    set(GIT_DIRTY true)
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/git_commit.h.in ${HEADER} @ONLY)
