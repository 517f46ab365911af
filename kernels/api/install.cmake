# `cmake --install`: a tree that may be moved, with the library, its header, and what
# find_package(sparkbench) needs.
include(CMakePackageConfigHelpers)

install(TARGETS spark_attention EXPORT sparkbench
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library)
install(FILES spark_attention.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sparkbench)
# The library links to nothing that a user would have to find: the targets are the whole package.
install(EXPORT sparkbench NAMESPACE sparkbench:: FILE sparkbenchConfig.cmake
        DESTINATION ${package} COMPONENT library)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/sparkbenchConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sparkbenchConfigVersion.cmake DESTINATION ${package}
        COMPONENT library)

# For the wheel, where there are no links: one file.
install(PROGRAMS $<TARGET_FILE:spark_attention> DESTINATION spark_attention
        RENAME libspark_attention.so COMPONENT wheel EXCLUDE_FROM_ALL)
