# find_package(Octavo): Octavo::runtime runs compiled models, Octavo::onednn adds layers in fp32, Octavo::octavo compiles, too.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/OctavoTargets.cmake)
