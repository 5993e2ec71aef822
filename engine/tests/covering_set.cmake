# What the sanitized builds hold, as Workload:machine. Every combination is in the release build, and
# in the builds of `make test-full` (HEDDLE_COVER_ALL). driver/covering_set_test.cc checks what is said
# here.
option(HEDDLE_COVER_ALL "Build and test everything under the sanitizers" OFF)

set(all_workloads Tpcc Ycsb Micro Generic Replay Shop SmallBank Epinions TaoBench)
if(HEDDLE_COVER_ALL)
  list(TRANSFORM all_workloads APPEND ":threads" OUTPUT_VARIABLE HEDDLE_COVERED)
elseif(HEDDLE_SANITIZE STREQUAL "thread")
  # Every protocol on several workloads: what trials and sessions of the tests are made of.
  set(HEDDLE_COVERED Tpcc:threads Ycsb:threads Micro:threads Generic:threads)
else()
  # On real cores each kind of storage: hash and ordered indexes, keys of one word and of three,
  # snapshots (Tpcc), and rows whose size is known at run time (Ycsb).
  set(HEDDLE_COVERED Tpcc:threads Ycsb:threads Micro:threads)
endif()
if(NOT HEDDLE_SANITIZE STREQUAL "thread")
  # Every workload on virtual cores. The thread sanitizer has none of them: a virtual run has one
  # thread, and fibers are switched without its knowledge.
  list(TRANSFORM all_workloads APPEND ":virtual" OUTPUT_VARIABLE virtual)
  list(APPEND HEDDLE_COVERED ${virtual})
endif()
if(NOT HEDDLE_COVER_ALL)
  # Unless they are recorded, these run under two of the protocols. Recorded runs, which are most, go
  # through code that is compiled for each protocol, not for each workload.
  set(HEDDLE_COVERED_BY_FEW Generic:virtual Replay:virtual Shop:virtual SmallBank:virtual
                            Epinions:virtual TaoBench:virtual)
  # Tests that open what the set leaves out, and those of real threads that the thread sanitizer and
  # the release build run.
  set(HEDDLE_UNCOVERED_TESTS driver/session_smf_test.cc driver/session_shop_test.cc
                             driver/session_arrivals_test.cc)
  if(NOT HEDDLE_SANITIZE STREQUAL "thread")
    list(APPEND HEDDLE_UNCOVERED_TESTS check/threads_test.cc driver/session_admission_test.cc
                                       driver/session_intervals_test.cc
                                       driver/session_keyed_test.cc
                                       driver/session_watchdog_test.cc)
  endif()
endif()
