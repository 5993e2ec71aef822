#include "protocol/compiled_policy.h"

#include <cstddef>
#include <set>

#include <gtest/gtest.h>

#include "model/signature.h"
#include "protocol/policy.h"
#include "tables.h"

/// Work that the executor avoids: derived from a type's publication points.
namespace heddle {
namespace {

constexpr AccessId kFirst = 0;
constexpr AccessId kLoop = 1;
constexpr AccessId kLater = 2;
constexpr AccessId kLast = 3;

Signature one_type() {
  return {.workload = "made up",
          .types = {{"only",
                     {{"first", "A", AccessKind::update, false},
                      {"loop", "B", AccessKind::update, true},
                      {"later", "C", AccessKind::update, false},
                      {"last", "D", AccessKind::update, false}}}}};
}

/// The only type of a table with early validation at `points` and PUBLIC writes at `published`.
CompiledType type_with(const std::set<std::size_t>& points,
                       const std::set<std::size_t>& published = {}) {
  const auto policy = tables::make("made up", one_type(), [&](auto, std::size_t at, const auto&) {
    return PolicyRow{.wait = {},
                     .dirty_read = false,
                     .public_write = published.contains(at),
                     .early_validation = points.contains(at)};
  });
  return policy->type(0);
}

TEST(CompiledPolicy, ATypeWithoutPointsIsNative) {
  EXPECT_TRUE(type_with({}).native);
  EXPECT_FALSE(type_with({kLater}).native);
  EXPECT_FALSE(type_with({}, {kLater}).native);
}

TEST(CompiledPolicy, OnePointNeedsNoLog) {
  EXPECT_EQ(type_with({kFirst}).recorded_until, 0);
  EXPECT_EQ(type_with({kLast}).recorded_until, 0);
  EXPECT_EQ(type_with({}, {kLater}).recorded_until, 0);
}

TEST(CompiledPolicy, OfSeveralPointsTheLogReachesTheLastButOne) {
  EXPECT_EQ(type_with({kFirst, kLast}).recorded_until, kFirst + 1);
  EXPECT_EQ(type_with({kFirst, kLater, kLast}).recorded_until, kLater + 1);
  EXPECT_EQ(type_with({kLoop, kLast}).recorded_until, kLoop + 1);
  EXPECT_EQ(type_with({kLater}, {kFirst}).recorded_until, kFirst + 1) << "publishing is a point";
}

TEST(CompiledPolicy, APointInALoopIsMany) {
  EXPECT_EQ(type_with({kLoop}).recorded_until, kLoop + 1);
  EXPECT_EQ(type_with({kFirst, kLoop}).recorded_until, kLoop + 1);
}

TEST(CompiledPolicy, AnEarlyValidationAtTheEndIsLeftToTheCommit) {
  EXPECT_EQ(type_with({kLast}).commit_point, kLast);
  EXPECT_FALSE(type_with({kLast}).native);
  EXPECT_EQ(type_with({kLater}).commit_point, kNoState);
  EXPECT_EQ(type_with({}, {kLast}).commit_point, kNoState) << "publishing can't wait";
  EXPECT_EQ(type_with({kLast}, {kFirst}).commit_point, kNoState) << "its reads may be linked";
}

TEST(CompiledPolicy, APointInALoopIsNeverLeftToTheCommit) {
  Signature looping = one_type();
  looping.types[0].accesses[kLast].loop = true;
  const auto policy = tables::validating(looping, false);
  EXPECT_EQ(policy->type(0).commit_point, kNoState);
  EXPECT_EQ(policy->traits()[kLast], state_trait::kValidates);
}

TEST(CompiledPolicy, WritesAreKeptForPublishingUpToTheLastPublicOne) {
  EXPECT_EQ(type_with({kLast}).published_until, 0);
  EXPECT_EQ(type_with({kLast}, {kFirst, kLater}).published_until, kLater + 1);
}

TEST(CompiledPolicy, OnlyStatesThatDoSomethingHaveTraits) {
  const auto policy = tables::make("made up", one_type(), [](auto, std::size_t at, const auto&) {
    PolicyRow row;
    row.early_validation = at == kLater;
    return row;
  });
  for (AccessId state = kFirst; state <= kLast; ++state) {
    EXPECT_EQ(policy->traits()[state], state == kLater ? state_trait::kValidates : 0) << state;
  }
}

}  // namespace
}  // namespace heddle
