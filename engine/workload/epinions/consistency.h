#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/key.h"
#include "workload/epinions/schema.h"
#include "workload/epinions/tables.h"
#include "workload/pair_key.h"
#include "workload/violations.h"

namespace heddle::epinions {

/// Checks that a review is the same by its item and by its user, that no text is torn, that ratings
/// are in range, and that no row is missing. Quiescent only.
template <class M>
class ConsistencyCheck {
 public:
  ConsistencyCheck(const Tables<M>& tables, const EpinionsOptions& options)
      : tables_(tables), options_(options) {}

  [[nodiscard]] std::vector<std::string> run() {
    check_users_and_items();
    check_trust();
    check_reviews();
    return violations_.take();
  }

 private:
  void expect_rows(const std::string& table, std::uint64_t rows, std::uint64_t due) {
    if (rows != due) violations_.add("rows", table, " has ", rows, " rows, not ", due);
  }

  void check_users_and_items() {
    std::uint64_t users = 0;
    tables_.user.for_each([&](const Key1& key, const User& row) {
      ++users;
      if (row.name.torn() || row.email.torn()) {
        violations_.add("users", "the name of user ", key.words[0], " is of two updates");
      }
    });
    expect_rows("USERACCT", users, options_.users);
    std::uint64_t items = 0;
    tables_.item.for_each([&](const Key1& key, const Item& row) {
      ++items;
      if (row.title.torn()) {
        violations_.add("items", "the name of item ", key.words[0], " is of two updates");
      }
    });
    expect_rows("ITEM", items, options_.items);
  }

  void check_trust() {
    std::uint64_t rows = 0;
    tables_.trust.for_each([&](const Key1& key, const Trust& row) {
      ++rows;
      if (row.rating >= kTrusts) {
        violations_.add("trust", "user ", first_of(key), " rates ", second_of(key), " at ",
                        row.rating);
      }
    });
    expect_rows("TRUST", rows, tables_.trusted.edges());
  }

  void check_reviews() {
    std::uint64_t rows = 0;
    tables_.review.for_each([&](const Key1& key, const Review& row) {
      ++rows;
      const std::uint64_t item = first_of(key);
      const std::uint64_t user = second_of(key);
      if (row.rating >= kRatings || row.comment.torn()) {
        violations_.add("reviews", "of item ", item, " by user ", user, ": it is rated ",
                        row.rating);
      }
      const ReviewByUser* by_user = tables_.review_by_user.find_quiescent(pair_key(user, item));
      if (by_user == nullptr || by_user->rating != row.rating) {
        violations_.add("reviews by user", "of item ", item, " by user ", user, ": rated ",
                        row.rating, " by item, ",
                        by_user == nullptr ? "missing" : std::to_string(by_user->rating),
                        " by user");
      }
    });
    expect_rows("REVIEW", rows, tables_.reviewers.edges());
    expect_rows("REVIEW_BY_USER", tables_.review_by_user.count_quiescent(),
                tables_.reviewers.edges());
  }

  const Tables<M>& tables_;
  const EpinionsOptions& options_;
  Violations violations_;
};

}  // namespace heddle::epinions
