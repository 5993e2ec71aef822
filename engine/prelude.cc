// Carries a precompiled header (CMakeLists.txt); CMake wants a source for it.
