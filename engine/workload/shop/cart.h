#pragma once

#include <cstdint>

#include "protocol/outcome.h"
#include "workload/shop/input.h"
#include "workload/shop/schema.h"
#include "workload/shop/states.h"
#include "workload/shop/tables.h"

namespace heddle::shop {

/// Takes a piece out of stock. If none is left, `delivery` pieces are restocked first, so that the
/// shop never runs out.
inline void take_from_shelf(StockHead& stock, std::int64_t delivery) {
  if (stock.available <= 0) {
    stock.available += delivery;
    stock.restocked += delivery;
  }
  --stock.available;
}

/// CART: reserves a piece of a product and adds it to the visitor's cart, which may already contain
/// pieces of that product.
template <class Txn, class M>
class CartTransaction {
 public:
  CartTransaction(Txn& txn, Tables<M>& tables, const Input& input, std::int64_t delivery)
      : txn_(txn), tables_(tables), in_(input), delivery_(delivery) {}

  Outcome run() {
    const auto stock =
        txn_.template read<StockHead>(kCartReadStock, tables_.stock, make_key(in_.product));
    if (!stock) return txn_.stop();
    const std::int64_t price_cents = stock->price_cents;
    if (!txn_.update(kCartReserveStock, tables_.stock, stock, [&](StockHead& row) {
          take_from_shelf(row, delivery_);
          ++row.reserved;
        })) {
      return txn_.stop();
    }
    const Key1 key = tables_.cart_keys.key(in_.visit, in_.product);
    if (const auto line = txn_.read(kCartReadLine, tables_.cart_line, key)) {
      if (!txn_.update(kCartUpdateLine, tables_.cart_line, line,
                       [](CartLine& row) { ++row.quantity; })) {
        return txn_.stop();
      }
    } else {
      if (txn_.stop() == Outcome::abort) return Outcome::abort;
      if (!txn_.insert(kCartInsertLine, tables_.cart_line, key,
                       CartLine{in_.request, 1, price_cents})) {
        return txn_.stop();
      }
    }
    return in_.rolls_back ? Outcome::rollback : Outcome::commit;
  }

 private:
  Txn& txn_;
  Tables<M>& tables_;
  const Input& in_;
  std::int64_t delivery_;
};

}  // namespace heddle::shop
