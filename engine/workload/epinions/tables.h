#pragma once

#include <algorithm>
#include <cstdint>

#include "model/random.h"
#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/epinions/graph.h"
#include "workload/epinions/options.h"
#include "workload/epinions/schema.h"
#include "workload/pair_key.h"
#include "workload/zipf.h"

namespace heddle::epinions {

/// The four tables of Epinions, and a copy of the reviews by user.
template <class M>
struct Tables {
  Tables(Storage<M>& storage, const EpinionsOptions& options)
      : user(storage, "USERACCT", options.users),
        item(storage, "ITEM", options.items),
        trust(storage, "TRUST", options.users),
        review(storage, "REVIEW", options.items),
        review_by_user(storage, "REVIEW_BY_USER", options.items) {
    if (options.reads.on_snapshots) return;
    user.skip_snapshots();
    item.skip_snapshots();
    trust.skip_snapshots();
    review.skip_snapshots();
    review_by_user.skip_snapshots();
  }

  /// As in OLTP-Bench, the number of an item's reviews, the number of users that a user trusts, and
  /// the choice of reviewers are Zipfian. Here the trusted users are uniform, and every user trusts
  /// at least one.
  void load(const EpinionsOptions& options, std::uint64_t seed) {
    constexpr double kReviewsTheta = 1.8;
    constexpr double kReviewerTheta = 0.99;
    constexpr double kTrustTheta = 1.95;
    Random random = Random::stream(seed, 0);
    const Zipf review_count(std::min(options.reviews, options.users), kReviewsTheta);
    const Zipf reviewer(options.users, kReviewerTheta);
    const Scatter scattered(options.users);
    reviewers = Graph::draw(options.items, random, review_count,
                            [&](Random& r) { return scattered(reviewer(r)); });
    const Zipf trust_count(std::min(options.trusted, options.users), kTrustTheta);
    trusted = Graph::draw(options.users, random, trust_count,
                          [&](Random& r) { return r.below(options.users); });
    load_users(options.users, random);
    load_items(options.items, random);
  }

  Table<M, Key1, User, HashIndex> user;
  Table<M, Key1, Item, HashIndex> item;
  Table<M, Key1, Trust, OrderedIndex> trust;
  Table<M, Key1, Review, OrderedIndex> review;
  Table<M, Key1, ReviewByUser, OrderedIndex> review_by_user;
  Graph reviewers;  ///< of items
  Graph trusted;    ///< by users

 private:
  void load_users(std::uint64_t users, Random& random) {
    for (std::uint64_t one = 0; one < users; ++one) {
      user.load(make_key(one), {.name = Text<3>::of(random.next()),
                                .email = Text<3>::of(random.next()),
                                .created_us = 0});
      for (const std::uint32_t other : trusted.of(one)) {
        trust.load(pair_key(one, other), {.rating = random.below(kTrusts), .created_us = 0});
      }
    }
  }

  void load_items(std::uint64_t items, Random& random) {
    for (std::uint64_t one = 0; one < items; ++one) {
      item.load(make_key(one), {.title = Text<16>::of(random.next()), .created_us = 0});
      for (const std::uint32_t by : reviewers.of(one)) {
        const std::uint64_t rating = random.below(kRatings);
        review.load(pair_key(one, by),
                    {.rating = rating, .created_us = 0, .comment = Text<4>::of(random.next())});
        review_by_user.load(pair_key(by, one), {rating});
      }
    }
  }
};

}  // namespace heddle::epinions
