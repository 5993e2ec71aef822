#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "scale.h"
#include "tables.h"

/// Runs through a session, as the tests in this folder make them.
namespace heddle::session_runs {

using test::kSanitized;

/// The conditions of a run, with a description.
struct Way {
  std::string name;
  RunOptions options;
};

inline Way with_policy(const tables::Compiled& policy) {
  return {policy->policy().name, {.protocol = "policy_table", .policy = policy}};
}

inline std::vector<Way> protocols() {
  return {{"silo", {}},
          {"2pl, wait-die", {.protocol = "two_phase_locking"}},
          {"2pl, no-wait",
           {.protocol = "two_phase_locking", .protocol_options = {{"conflict", "no_wait"}}}},
          {"mvto", {.protocol = "mvto"}},
          {"mvschedo", {.protocol = "mvschedo"}},
          {"aria", {.protocol = "aria"}}};
}

inline std::vector<Way> seed_tables(const Signature& signature) {
  Way backing_off = with_policy(tables::two_phase_locking_star(signature));
  backing_off.name += ", its own backoff";
  backing_off.options.backoff = "policy";
  return {with_policy(tables::occ(signature)),
          with_policy(tables::two_phase_locking_star(signature)), backing_off,
          with_policy(tables::ic3(signature)), with_policy(tables::reckless(signature))};
}

inline std::vector<Way> random_tables(const Signature& signature, std::uint64_t count) {
  std::vector<Way> ways;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    ways.push_back(with_policy(tables::random(signature, seed)));
  }
  return ways;
}

inline std::vector<Way> all_ways(const Signature& signature) {
  std::vector<Way> ways = protocols();
  for (Way& way : seed_tables(signature)) ways.push_back(std::move(way));
  for (Way& way : random_tables(signature, test::scaled(4))) ways.push_back(std::move(way));
  return ways;
}

inline Result run(Session& session, const RunOptions& options) {
  return session.run(options, [] { return false; });
}

inline bool has_commits(const Result& result) { return result.commits > 0; }

inline bool all_types_commit(const Result& result) {
  return std::all_of(result.types.begin(), result.types.end(),
                     [](const TypeResult& type) { return type.commits > 0; });
}

/// Repeats a run that is expected to reach a condition: each is four times as long as the one
/// before, up to half a minute, until it does. On a busy machine a worker may get no processor for
/// any time.
template <class Expected>
Result run_until(const Expected& expected, Session& session, RunOptions options) {
  constexpr double kLongestSeconds = 30;
  Result result = run(session, options);
  while (!expected(result) && !result.interrupted && options.seconds < kLongestSeconds) {
    options.seconds *= 4;
    result = run(session, options);
  }
  return result;
}

/// One short run in each way, after which the database must be consistent: checked after all of
/// them, and in a long test after each. A check runs in one thread and takes longer than a run.
inline void expect_consistent(Session& session, const std::vector<Way>& ways, double seconds) {
  std::uint64_t seed = 1;
  for (const Way& way : ways) {
    SCOPED_TRACE(way.name);
    RunOptions options = way.options;
    options.seconds = test::scaled_seconds(seconds);
    options.seed = seed++;
    const Result result = run_until(has_commits, session, options);
    EXPECT_GT(result.commits, 0u);
    EXPECT_FALSE(result.interrupted);
    if (!(test::full_length() && !kSanitized) && &way != &ways.back()) continue;
    for (const std::string& violation : session.check()) ADD_FAILURE() << violation;
  }
}

}  // namespace heddle::session_runs
