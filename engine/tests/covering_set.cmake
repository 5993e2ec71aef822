# What the sanitized builds hold, as Workload:machine, or *:machine for every workload. Each is
# compiled under every protocol, and recording, admission and switches work for each. Every
# combination is in the release build, and in those of `make test-full` (HEDDLE_COVER_ALL).
# driver/covering_set_test.cc checks what is said here.
option(HEDDLE_COVER_ALL "Build every workload on every machine under the sanitizers" OFF)

if(HEDDLE_COVER_ALL)
  set(HEDDLE_COVERED *:threads)
else()
  # On real cores each kind of storage: hash and ordered indexes, keys of one word and of three,
  # snapshots (Tpcc), and rows whose size is known at run time (Ycsb); and the workloads that trials
  # and sessions of the tests are made of (Generic, Micro).
  set(HEDDLE_COVERED Tpcc:threads Ycsb:threads Micro:threads Generic:threads)
endif()
if(NOT HEDDLE_SANITIZE STREQUAL "thread")
  # Every workload on virtual cores. The thread sanitizer has none of them: a virtual run has one
  # thread, and fibers are switched without its knowledge.
  list(APPEND HEDDLE_COVERED *:virtual)
endif()
# Tests that open what the set leaves out.
if(NOT HEDDLE_COVER_ALL)
  set(HEDDLE_UNCOVERED_TESTS driver/session_smf_test.cc driver/session_shop_test.cc
                             driver/session_arrivals_test.cc)
endif()
