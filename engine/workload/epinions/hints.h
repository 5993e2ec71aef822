#pragma once

#include "model/hints.h"
#include "workload/epinions/inputs.h"
#include "workload/epinions/schema.h"
#include "workload/epinions/states.h"
#include "workload/pair_key.h"

namespace heddle::epinions {

/// The users and items, as in the SMF paper (§4.1.1), by their rows and ranges.
inline void add_hints(const Input& input, Hints& hints) {
  const auto add_row = [&hints](AccessId state, std::uint64_t number) { hints.add(state, number); };
  const auto add_pair = [&hints](AccessId state, std::uint64_t first, std::uint64_t second) {
    hints.add(state, pair_key(first, second).words[0]);
  };
  switch (input.type) {
    case Type::update_user_name: return add_row(kUserNameUpdate, input.user);
    case Type::update_item_title: return add_row(kItemTitleUpdate, input.item);
    case Type::update_review_rating:
      add_pair(kReviewRatingUpdate, input.item, input.user);
      return add_pair(kReviewRatingUpdateByUser, input.user, input.item);
    case Type::update_trust_rating: return add_pair(kTrustRatingUpdate, input.user, input.other);
    case Type::get_review_item_by_id:
      add_row(kReviewItemReadItem, input.item);
      return add_pair(kReviewItemScanReviews, input.item, 0);
    case Type::get_reviews_by_user:
      add_row(kReviewsByUserReadUser, input.user);
      return add_pair(kReviewsByUserScanReviews, input.user, 0);
    case Type::get_average_rating_by_trusted_user:
      add_pair(kTrustedAverageScanTrust, input.user, 0);
      return add_pair(kTrustedAverageScanReviews, input.item, 0);
    case Type::get_item_average_rating: return add_pair(kAverageScanReviews, input.item, 0);
    case Type::get_item_reviews_by_trusted_user:
      add_pair(kTrustedReviewsScanTrust, input.user, 0);
      return add_pair(kTrustedReviewsScanReviews, input.item, 0);
  }
}

}  // namespace heddle::epinions
