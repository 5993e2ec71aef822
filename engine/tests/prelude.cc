// Carries the precompiled header of the tests (CMakeLists.txt); CMake wants a source for it.
