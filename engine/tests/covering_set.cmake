# What the sanitized builds hold, as Workload:machine, or *:machine for every workload. Every
# combination is in the release build, and in the builds of `make test-full` (HEDDLE_COVER_ALL).
# driver/covering_set_test.cc checks what is said here.
option(HEDDLE_COVER_ALL "Build and test everything under the sanitizers" OFF)

if(HEDDLE_COVER_ALL)
  set(HEDDLE_COVERED *:threads)
  set(HEDDLE_UNDER_EVERY_PROTOCOL *:threads *:virtual)
else()
  # On real cores, each kind of storage: hash and ordered indexes, keys of one word and of three,
  # snapshots (Tpcc), and rows whose size is known at run time (Ycsb). These run under every protocol.
  # A recorded run does so with every workload: its code is compiled for each protocol, not for each
  # workload. Others run under two protocols.
  set(HEDDLE_COVERED Tpcc:threads Ycsb:threads Micro:threads)
  set(HEDDLE_UNDER_EVERY_PROTOCOL ${HEDDLE_COVERED} Tpcc:virtual Ycsb:virtual Micro:virtual
      Replay:virtual)
  # Tests that open what the set leaves out.
  set(HEDDLE_UNCOVERED_TESTS driver/session_smf_test.cc driver/session_shop_test.cc
                             driver/session_tpce_test.cc driver/session_arrivals_test.cc)
endif()
if(HEDDLE_SANITIZE STREQUAL "thread")
  # Trials of the tests are made of it. On virtual cores there is nothing: a virtual run has one thread,
  # and fibers are switched without the sanitizer's knowledge.
  list(APPEND HEDDLE_COVERED Generic:threads)
else()
  list(APPEND HEDDLE_COVERED *:virtual)
  if(NOT HEDDLE_COVER_ALL)
    # The release build runs these, some of them in `make test-slow`. Their workers are real threads, which the thread sanitizer sees;
    # or what they run of the engine is run here by other tests, and they do it for longer: faults
    # put in on purpose, small histories by the ten thousand, every schedule, copies of the process.
    list(APPEND HEDDLE_UNCOVERED_TESTS
         check/brute_force_test.cc check/copied_trial_test.cc check/every_schedule_virtual_test.cc
         check/external_test.cc
         check/seeded_faults_virtual_test.cc check/threads_test.cc driver/copied_run_test.cc
         driver/session_admission_test.cc driver/session_intervals_test.cc
         driver/session_keyed_test.cc driver/session_watchdog_test.cc)
  endif()
endif()
