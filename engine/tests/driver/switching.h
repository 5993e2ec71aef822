#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"
#include "tables.h"

namespace heddle::session_runs {

/// A run whose table another thread replaces every few milliseconds. Every type must commit, and
/// the database must stay consistent.
inline void expect_consistent_while_switching(Session& session) {
  std::vector<tables::Compiled> all{
      tables::occ(session.signature()), tables::ic3(session.signature()),
      tables::two_phase_locking_star(session.signature()), tables::reckless(session.signature())};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    all.push_back(tables::random(session.signature(), seed));
  }
  std::atomic<bool> over{false};
  std::atomic<int> switched{0};
  std::thread switcher([&] {
    for (std::size_t next = 0; !over.load(); ++next) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      try {
        session.switch_policy(all[next % all.size()]);
        switched.fetch_add(1);
      } catch (const std::invalid_argument& error) {
        // Before the run and after it, no table is running.
        EXPECT_EQ(std::string(error.what()).find("no policy"), 0U) << error.what();
      }
    }
  });
  const Result result = run_until(
      all_types_commit, session,
      {.protocol = "policy_table", .policy = all.front(), .backoff = "policy", .seconds = 0.6});
  over.store(true);
  switcher.join();
  EXPECT_GT(switched.load(), 10);
  for (const TypeResult& type : result.types) EXPECT_GT(type.commits, 0U) << type.name;
  for (const std::string& violation : session.check()) ADD_FAILURE() << violation;
}

}  // namespace heddle::session_runs
