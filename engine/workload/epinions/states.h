#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/signature.h"
#include "protocol/outcome.h"

namespace heddle::epinions {

/// In the order of their states; the fifth and later ones only read.
enum class Type : std::uint8_t {
  update_user_name,
  update_item_title,
  update_review_rating,
  update_trust_rating,
  get_review_item_by_id,
  get_reviews_by_user,
  get_average_rating_by_trusted_user,
  get_item_average_rating,
  get_item_reviews_by_trusted_user,
};
inline constexpr std::size_t kTypes = 9;
inline constexpr std::size_t kWritingTypes = 4;
inline constexpr std::array<std::string_view, kTypes> kTypeNames{
    "update_user_name",
    "update_item_title",
    "update_review_rating",
    "update_trust_rating",
    "get_review_item_by_id",
    "get_reviews_by_user",
    "get_average_rating_by_trusted_user",
    "get_item_average_rating",
    "get_item_reviews_by_trusted_user",
};

enum State : AccessId {
  kUserNameRead,
  kUserNameUpdate,

  kItemTitleRead,
  kItemTitleUpdate,

  kReviewRatingRead,
  kReviewRatingUpdate,
  kReviewRatingReadByUser,
  kReviewRatingUpdateByUser,

  kTrustRatingRead,
  kTrustRatingUpdate,

  kReviewItemReadItem,
  kReviewItemScanReviews,

  kReviewsByUserReadUser,
  kReviewsByUserScanReviews,

  kTrustedAverageScanTrust,
  kTrustedAverageScanReviews,

  kAverageScanReviews,

  kTrustedReviewsScanTrust,
  kTrustedReviewsScanReviews,
};

/// The signature of all nine types.
[[nodiscard]] inline Signature signature() {
  using enum AccessKind;
  const AccessSpec scan_trust{"scan_trust", "TRUST", scan};
  const AccessSpec scan_reviews{"scan_reviews", "REVIEW", scan};
  Signature result{
      "epinions",
      {{"", {{"read_user", "USERACCT", read}, {"update_user", "USERACCT", update}}},
       {"", {{"read_item", "ITEM", read}, {"update_item", "ITEM", update}}},
       {"",
        {{"read_review", "REVIEW", read},
         {"update_review", "REVIEW", update},
         {"read_review_by_user", "REVIEW_BY_USER", read},
         {"update_review_by_user", "REVIEW_BY_USER", update}}},
       {"", {{"read_trust", "TRUST", read}, {"update_trust", "TRUST", update}}},
       {"", {{"read_item", "ITEM", read}, scan_reviews}},
       {"", {{"read_user", "USERACCT", read}, {"scan_reviews", "REVIEW_BY_USER", scan}}},
       {"", {scan_trust, scan_reviews}},
       {"", {scan_reviews}},
       {"", {scan_trust, scan_reviews}}}};
  for (std::size_t type = 0; type < kTypes; ++type) result.types[type].name = kTypeNames[type];
  return result;
}

}  // namespace heddle::epinions
