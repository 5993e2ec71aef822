#include "driver/backoff.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "protocol/compiled_policy.h"

namespace heddle {
namespace {

constexpr int kTypes = 2;

/// Policy of two types without accesses: only their backoff matters.
CompiledPolicy policy_of(const BackoffRow& first, const BackoffRow& second = {}) {
  Policy policy;
  policy.signature = {.workload = "none", .types = {{"first", {}}, {"second", {}}}};
  policy.backoff = {first, second};
  return CompiledPolicy(std::move(policy));
}

TEST(Backoff, NoneIsNone) {
  Backoff backoff(BackoffKind::none, 7.0, kTypes);
  for (std::uint32_t prior = 0; prior < 5; ++prior) {
    EXPECT_EQ(backoff.on_abort(0, prior, nullptr), 0.0);
  }
}

TEST(Backoff, ConstantIsAlwaysTheSame) {
  Backoff backoff(BackoffKind::constant, 7.0, kTypes);
  for (std::uint32_t prior = 0; prior < 5; ++prior) {
    EXPECT_EQ(backoff.on_abort(1, prior, nullptr), 7.0);
    backoff.on_commit(1, prior, nullptr);
  }
}

TEST(Backoff, ExponentialDoublesUpToALimit) {
  Backoff backoff(BackoffKind::exponential, 0.0, kTypes);
  double expected = 0.5;
  for (std::uint32_t prior = 0; prior < 12; ++prior, expected *= 2) {
    EXPECT_EQ(backoff.on_abort(0, prior, nullptr), expected);
  }
  EXPECT_EQ(expected, 2 * Backoff::kLongestUs);
  for (int more = 0; more < 100; ++more) {
    EXPECT_EQ(backoff.on_abort(0, 12, nullptr), Backoff::kLongestUs);
  }
}

TEST(Backoff, ExponentialKeepsToTheRangeOfItsProtocol) {
  Backoff backoff(BackoffKind::exponential, 0.0, kTypes, nullptr,
                  {.first_us = 500, .longest_us = 1500});
  for (const double expected : {500, 1000, 1500, 1500}) {
    EXPECT_EQ(backoff.on_abort(0, 0, nullptr), expected);
  }
  for (int commits = 0; commits < 20; ++commits) backoff.on_commit(0, 0, nullptr);
  EXPECT_EQ(backoff.on_abort(0, 0, nullptr), 500.0);
}

TEST(Backoff, ExponentialHalvesOnCommitAndStartsOver) {
  Backoff backoff(BackoffKind::exponential, 0.0, kTypes);
  for (std::uint32_t prior = 0; prior < 4; ++prior) (void)backoff.on_abort(0, prior, nullptr);
  backoff.on_commit(0, 4, nullptr);  // 4 becomes 2
  EXPECT_EQ(backoff.on_abort(0, 0, nullptr), 4.0);
  for (int commits = 0; commits < 20; ++commits) backoff.on_commit(0, 0, nullptr);
  EXPECT_EQ(backoff.on_abort(0, 0, nullptr), 0.5);
}

TEST(Backoff, TypesBackOffApart) {
  Backoff backoff(BackoffKind::exponential, 0.0, kTypes);
  (void)backoff.on_abort(0, 0, nullptr);
  EXPECT_EQ(backoff.on_abort(0, 1, nullptr), 1.0);
  EXPECT_EQ(backoff.on_abort(1, 0, nullptr), 0.5);
  backoff.on_commit(1, 1, nullptr);
  EXPECT_EQ(backoff.on_abort(0, 2, nullptr), 2.0);
}

/// Polyjuice §4.5: times 1 + alpha on abort, divided by 1 + alpha on commit, alpha by the type and
/// by the aborts before: 0, 1, 2 and more.
TEST(Backoff, PolicyMultipliesByItsTable) {
  const CompiledPolicy policy =
      policy_of({.initial_us = 8.0, .abort = {0.0, 0.5, 1.0}, .commit = {1.0, 0.0, 2.0}},
                {.initial_us = 2.0});
  Backoff backoff(BackoffKind::policy, 0.0, kTypes);
  EXPECT_EQ(backoff.on_abort(0, 0, &policy), 8.0);
  EXPECT_EQ(backoff.on_abort(0, 1, &policy), 12.0);
  EXPECT_EQ(backoff.on_abort(0, 2, &policy), 24.0);
  EXPECT_EQ(backoff.on_abort(0, 9, &policy), 48.0) << "9 is 2 and more";
  backoff.on_commit(0, 9, &policy);  // 48 / 3
  backoff.on_commit(0, 1, &policy);  // / 1
  backoff.on_commit(0, 0, &policy);  // / 2
  EXPECT_EQ(backoff.on_abort(0, 0, &policy), 8.0);
  EXPECT_EQ(backoff.on_abort(1, 5, &policy), 2.0) << "the other type's row";
}

TEST(Backoff, PolicyStaysWithinItsBounds) {
  const CompiledPolicy policy =
      policy_of({.initial_us = 256.0, .abort = {4.0, 4.0, 4.0}, .commit = {4.0, 4.0, 4.0}});
  Backoff backoff(BackoffKind::policy, 0.0, kTypes);
  for (std::uint32_t prior = 0; prior < 50; ++prior) {
    EXPECT_LE(backoff.on_abort(0, prior, &policy), Backoff::kLongestUs);
  }
  for (int commits = 0; commits < 50; ++commits) backoff.on_commit(0, 0, &policy);
  EXPECT_EQ(backoff.on_abort(0, 0, &policy), 5 * Backoff::kShortestUs);
}

/// A type that has never aborted has no backoff to shrink.
TEST(Backoff, CommitsBeforeTheFirstAbortChangeNothing) {
  const CompiledPolicy policy = policy_of({.initial_us = 8.0, .commit = {4.0, 4.0, 4.0}});
  Backoff backoff(BackoffKind::policy, 0.0, kTypes);
  for (int commits = 0; commits < 5; ++commits) backoff.on_commit(0, 0, &policy);
  EXPECT_EQ(backoff.on_abort(0, 0, &policy), 8.0);
}

TEST(Backoff, AnotherPolicyStartsFromItsOwnInitialValue) {
  const CompiledPolicy first = policy_of({.initial_us = 8.0, .abort = {1.0, 1.0, 1.0}});
  const CompiledPolicy second = policy_of({.initial_us = 2.0});
  Backoff backoff(BackoffKind::policy, 0.0, kTypes);
  EXPECT_EQ(backoff.on_abort(0, 0, &first), 16.0);
  EXPECT_EQ(backoff.on_abort(0, 0, &second), 2.0) << "by an abort";
  EXPECT_EQ(backoff.on_abort(0, 0, &first), 16.0);
  backoff.on_commit(0, 0, &second);
  EXPECT_EQ(backoff.on_abort(0, 0, &second), 2.0) << "by a commit";
}

TEST(Backoff, TellsToWhatATableHasAdapted) {
  const CompiledPolicy policy = policy_of({.initial_us = 8.0, .abort = {1.0, 1.0, 1.0}},
                                          {.initial_us = 2.0, .commit = {1.0, 1.0, 1.0}});
  Backoff backoff(BackoffKind::policy, 0.0, kTypes, &policy);
  EXPECT_FALSE(backoff.adapted_us(0)) << "nothing has aborted yet";
  (void)backoff.on_abort(0, 0, nullptr);
  EXPECT_EQ(backoff.adapted_us(0), 16.0);
  EXPECT_FALSE(backoff.adapted_us(1)) << "the other type has not aborted";
  for (const BackoffKind kind :
       {BackoffKind::none, BackoffKind::constant, BackoffKind::exponential}) {
    Backoff other(kind, 4.0, kTypes, &policy);
    (void)other.on_abort(0, 0, nullptr);
    EXPECT_FALSE(other.adapted_us(0)) << "no table adapts it";
  }
}

TEST(Backoff, KindsAreNamed) {
  EXPECT_EQ(parse_backoff("none"), BackoffKind::none);
  EXPECT_EQ(parse_backoff("exponential"), BackoffKind::exponential);
  EXPECT_EQ(parse_backoff("static"), BackoffKind::constant);
  EXPECT_EQ(parse_backoff("policy"), BackoffKind::policy);
  for (const char* wrong : {"constant", "", "None"}) {
    try {
      (void)parse_backoff(wrong);
      ADD_FAILURE() << "'" << wrong << "' was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("none, exponential, static, policy"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace heddle
