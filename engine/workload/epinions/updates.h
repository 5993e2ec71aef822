#pragma once

#include "protocol/outcome.h"
#include "storage/key.h"
#include "workload/epinions/inputs.h"
#include "workload/epinions/schema.h"
#include "workload/epinions/states.h"
#include "workload/epinions/tables.h"
#include "workload/pair_key.h"

namespace heddle::epinions {

/// Reads a row and changes it.
template <class Txn, class T, class F>
bool change(Txn& txn, AccessId read, AccessId update, T& table, const Key1& key, F modify) {
  const auto row = txn.read(read, table, key);
  return row && txn.update(update, table, row, modify);
}

/// The four types that write.
template <class Txn, class M>
Outcome run_update(Txn& txn, Tables<M>& tables, const Input& input) {
  bool done = false;
  switch (input.type) {
    case Type::update_user_name:
      done = change(txn, kUserNameRead, kUserNameUpdate, tables.user, make_key(input.user),
                    [&](User& row) { row.name = Text<3>::of(input.value); });
      break;
    case Type::update_item_title:
      done = change(txn, kItemTitleRead, kItemTitleUpdate, tables.item, make_key(input.item),
                    [&](Item& row) { row.title = Text<16>::of(input.value); });
      break;
    case Type::update_review_rating:
      done = change(txn, kReviewRatingRead, kReviewRatingUpdate, tables.review,
                    pair_key(input.item, input.user),
                    [&](Review& row) { row.rating = input.value; }) &&
             change(txn, kReviewRatingReadByUser, kReviewRatingUpdateByUser, tables.review_by_user,
                    pair_key(input.user, input.item),
                    [&](ReviewByUser& row) { row.rating = input.value; });
      break;
    case Type::update_trust_rating:
      done =
          change(txn, kTrustRatingRead, kTrustRatingUpdate, tables.trust,
                 pair_key(input.user, input.other), [&](Trust& row) { row.rating = input.value; });
      break;
    default: break;  // reads: see Queries
  }
  return done ? Outcome::commit : txn.stop();
}

}  // namespace heddle::epinions
