#include "workload/epinions.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "damage.h"

namespace heddle::epinions {
namespace {

using test::Alone;

EpinionsOptions few(OptionMap more = {}) {
  more.insert({{"users", "60"}, {"items", "30"}, {"reviews", "20"}, {"trusted", "20"}});
  return EpinionsOptions::parse(more);
}

TEST(Epinions, IsPopulatedAsTheSeedSays) {
  Alone<Epinions> one(few(), 1);
  Alone<Epinions> same(few(), 1);
  Alone<Epinions> other(few(), 2);
  const auto rows = [](Alone<Epinions>& site) {
    std::map<std::uint64_t, std::uint64_t> ratings;
    site.workload().tables().review.for_each(
        [&](const Key1& key, const Review& row) { ratings[key.words[0]] = row.rating; });
    return ratings;
  };
  EXPECT_EQ(rows(one), rows(same));
  EXPECT_NE(rows(one), rows(other));
}

/// OLTP-Bench: the number of an item's reviews is 1 plus a Zipfian number, exponent 1.8; some 6.9
/// in the mean.
TEST(Epinions, ItemsHaveAFewReviewsAndSomeHaveMany) {
  Alone<Epinions> site(EpinionsOptions::parse({{"users", "20000"}, {"items", "10000"}}));
  const Graph& reviewers = site.workload().tables().reviewers;
  EXPECT_NEAR(static_cast<double>(reviewers.edges()) / 10'000, 6.9, 1);
  std::size_t most = 0;
  std::size_t single = 0;
  for (std::uint64_t item = 0; item < 10'000; ++item) {
    const auto users = reviewers.of(item);
    EXPECT_EQ(std::set(users.begin(), users.end()).size(), users.size()) << "none twice";
    most = std::max(most, users.size());
    single += users.size() == 1;
  }
  EXPECT_GT(most, 300U);
  EXPECT_NEAR(static_cast<double>(single), 10'000 / 1.88, 300);
}

TEST(EpinionsInputs, HaveTheMixOfTheBenchmark) {
  Alone<Epinions> site(few());
  std::map<Type, int> drawn;
  for (int i = 0; i < 20'000; ++i) ++drawn[site.next().type];
  EXPECT_EQ(drawn.size(), kTypes);
  for (const auto& [type, count] : drawn) {
    EXPECT_NEAR(count, type == Type::update_review_rating ? 4000 : 2000, 250)
        << kTypeNames[static_cast<std::size_t>(type)];
  }
}

TEST(EpinionsInputs, NameRowsThatAreThere) {
  Alone<Epinions> site(few());
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(site.execute(site.next()), Outcome::commit);
  }
}

TEST(Epinions, AReviewIsRatedForItsItemAndForItsUser) {
  Alone<Epinions> site(few());
  const auto& tables = site.workload().tables();
  const std::uint32_t user = tables.reviewers.of(7).front();
  for (const std::uint64_t rating : {4U, 1U}) {
    ASSERT_EQ(site.execute({.type = Type::update_review_rating,
                            .user = user,
                            .item = 7,
                            .other = 0,
                            .value = rating}),
              Outcome::commit);
    EXPECT_EQ(tables.review.find_quiescent(pair_key(7, user))->rating, rating);
    EXPECT_EQ(tables.review_by_user.find_quiescent(pair_key(user, 7))->rating, rating);
  }
}

TEST(Epinions, StaysConsistent) {
  for (const char* reads : {"latest", "snapshot"}) {
    Alone<Epinions> site(few({{"reads", reads}}));
    const auto counts = site.run(20'000);
    EXPECT_EQ(counts.aborts, 0);
    EXPECT_TRUE(counts.rollbacks.empty());
    EXPECT_EQ(counts.commits.size(), kTypes);
    EXPECT_EQ(site.workload().check(), std::vector<std::string>{});
  }
}

/// Every condition is made to fail: a check that cannot fail proves nothing.
class EpinionsConsistency : public test::Damage<Epinions> {
 protected:
  EpinionsConsistency() : Damage(site_) { (void)site_.run(1000); }

  Alone<Epinions> site_{few()};
  const Key1 some_ = make_key(5u);
  const std::uint32_t reviewer_ = tables().reviewers.of(5).front();
  const std::uint32_t trusted_ = tables().trusted.of(5).front();
};

TEST_F(EpinionsConsistency, HoldsAtFirst) { EXPECT_EQ(violated(), Names{}); }

TEST_F(EpinionsConsistency, LostRating) {
  damage(tables().review_by_user, pair_key(reviewer_, 5),
         [](ReviewByUser& row) { row.rating = (row.rating + 1) % kRatings; });
  EXPECT_EQ(violated(), Names{"reviews by user"});
}

TEST_F(EpinionsConsistency, MissingReview) {
  remove(tables().review_by_user, pair_key(reviewer_, 5));
  EXPECT_EQ(violated(), (Names{"reviews by user", "rows"}));
}

TEST_F(EpinionsConsistency, TornTexts) {
  damage(tables().user, some_, [](User& row) { ++row.name.words[2]; });
  damage(tables().item, some_, [](Item& row) { ++row.title.words[8]; });
  damage(tables().review, pair_key(5, reviewer_), [](Review& row) { ++row.comment.words[1]; });
  EXPECT_EQ(violated(), (Names{"items", "reviews", "users"}));
}

TEST_F(EpinionsConsistency, ImpossibleRating) {
  damage(tables().trust, pair_key(5, trusted_), [](Trust& row) { row.rating = kTrusts; });
  EXPECT_EQ(violated(), Names{"trust"});
}

TEST_F(EpinionsConsistency, MissingRows) {
  remove(tables().user, some_);
  remove(tables().item, some_);
  remove(tables().trust, pair_key(5, trusted_));
  EXPECT_EQ(violated(), Names{"rows"});
  EXPECT_EQ(site_.workload().check().size(), 3U);
}

}  // namespace
}  // namespace heddle::epinions
