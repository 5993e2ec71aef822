#pragma once

#include <cstdint>

#include "protocol/outcome.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "workload/epinions/inputs.h"
#include "workload/epinions/schema.h"
#include "workload/epinions/states.h"
#include "workload/epinions/tables.h"
#include "workload/pair_key.h"
#include "workload/reads.h"

namespace heddle::epinions {

/// The five types that only read. Of those that OLTP-Bench sorts by rating and cuts after ten rows,
/// the first ten by key are read. All read trust before reviews, so that the locks of two-phase
/// locking have an order.
template <class Txn, class M>
class Queries {
 public:
  Queries(Txn& txn, Tables<M>& tables, const Input& input, Reads reads)
      : txn_(txn), tables_(tables), in_(input), reads_(reads) {}

  Outcome run() {
    bool done = false;
    switch (in_.type) {
      case Type::get_review_item_by_id:
        done = read(kReviewItemReadItem, tables_.item, in_.item) &&
               scan(kReviewItemScanReviews, tables_.review, in_.item, kShown);
        break;
      case Type::get_reviews_by_user:
        done = read(kReviewsByUserReadUser, tables_.user, in_.user) &&
               scan(kReviewsByUserScanReviews, tables_.review_by_user, in_.user, kShown);
        break;
      case Type::get_average_rating_by_trusted_user:
        done = scan(kTrustedAverageScanTrust, tables_.trust, in_.user, kAll) &&
               scan(kTrustedAverageScanReviews, tables_.review, in_.item, kAll);
        break;
      case Type::get_item_average_rating:
        done = scan(kAverageScanReviews, tables_.review, in_.item, kAll);
        break;
      case Type::get_item_reviews_by_trusted_user:
        done = scan(kTrustedReviewsScanTrust, tables_.trust, in_.user, kAll) &&
               scan(kTrustedReviewsScanReviews, tables_.review, in_.item, kAll);
        break;
      default: break;
    }
    return done ? Outcome::commit : txn_.stop();
  }

 private:
  static constexpr std::uint32_t kShown = 10;
  static constexpr std::uint32_t kAll = 0;

  template <class T>
  bool read(AccessId state, T& table, std::uint64_t number) {
    return static_cast<bool>(txn_.read(reads_.state(state), table, make_key(number)));
  }

  /// The rows of one user or item.
  template <class T>
  bool scan(AccessId state, T& table, std::uint64_t of, std::uint32_t limit) {
    return txn_.scan(reads_.state(state), table, pair_key(of, 0), last_pair(of), Order::ascending,
                     limit, [](const Key1&, const auto&) { return true; });
  }

  Txn& txn_;
  Tables<M>& tables_;
  const Input& in_;
  Reads reads_;
};

}  // namespace heddle::epinions
