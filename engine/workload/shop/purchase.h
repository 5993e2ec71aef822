#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/shop/cart.h"
#include "workload/shop/input.h"
#include "workload/shop/schema.h"
#include "workload/shop/states.h"
#include "workload/shop/tables.h"

namespace heddle::shop {

/// PURCHASE: sells the products in the visitor's cart, all of them or the recorded product alone,
/// and creates an order. The recorded product is sold in any case: if it is not in the cart, a
/// piece is sold directly from stock.
///
/// It goes table by table, products in the order of their numbers, so that two-phase locking avoids
/// aborts.
template <class Txn, class M>
class PurchaseTransaction {
 public:
  PurchaseTransaction(Txn& txn, Tables<M>& tables, const Input& input, std::int64_t delivery)
      : txn_(txn), tables_(tables), in_(input), delivery_(delivery) {}

  Outcome run(bool whole_cart) {
    if (!look_into_cart(whole_cart) || !sell() || !empty_cart() || !insert_order()) {
      return txn_.stop();
    }
    return in_.rolls_back ? Outcome::rollback : Outcome::commit;
  }

 private:
  struct Line {
    Row<CartLine> in_cart;  ///< falsy: bought without the cart
    std::uint64_t product;
    std::int64_t amount_cents;

    [[nodiscard]] std::int64_t quantity() const { return in_cart ? in_cart->quantity : 1; }
  };

  bool look_into_cart(bool whole_cart) {
    const CartKeys& keys = tables_.cart_keys;
    const Key1 lo = whole_cart ? keys.first(in_.visit) : keys.key(in_.visit, in_.product);
    const Key1 hi = whole_cart ? keys.last(in_.visit) : lo;
    bool recorded = false;
    // One line fewer than an order can hold: the recorded product may not be among them.
    if (!txn_.template scan<CartLine>(kPurchaseScanCart, tables_.cart_line, lo, hi,
                                      Order::ascending, kMostOrderLines - 1,
                                      [&](const Key1& key, const auto& row) {
                                        const std::uint64_t product = keys.product_of(key);
                                        if (!recorded && product > in_.product) add_recorded();
                                        recorded = recorded || product >= in_.product;
                                        lines_[count_++] = {row, product, 0};
                                        return true;
                                      })) {
      return false;
    }
    if (!recorded) add_recorded();
    return true;
  }

  void add_recorded() { lines_[count_++] = {{}, in_.product, 0}; }

  bool sell() {
    RowsAheadInLoop<M> rows;
    for (std::size_t i = 0; i < count_; ++i) {
      auto* const found = rows.turn(i, count_, [this](std::size_t at, auto ahead) {
        ahead(tables_.stock, make_key(lines_[at].product), sizeof(Stock));
      });
      Line& line = lines_[i];
      const auto stock =
          txn_.read(kPurchaseReadStock, tables_.stock, make_key(line.product), found);
      if (!stock) return false;
      line.amount_cents =
          line.quantity() * (line.in_cart ? line.in_cart->price_cents : stock->head.price_cents);
      if (!txn_.update(kPurchaseSellStock, tables_.stock, stock,
                       [&](Stock& row) { sell(row, line); })) {
        return false;
      }
    }
    txn_.passed(kPurchaseSellStock);
    return true;
  }

  void sell(Stock& stock, const Line& line) const {
    if (line.in_cart) {
      stock.head.reserved -= line.quantity();
    } else {
      take_from_shelf(stock.head, delivery_);
    }
    stock.sold += line.quantity();
    stock.revenue_cents += line.amount_cents;
  }

  bool empty_cart() {
    for (std::size_t i = 0; i < count_; ++i) {
      if (!lines_[i].in_cart) continue;
      if (!txn_.remove(kPurchaseRemoveLine, tables_.cart_line, lines_[i].in_cart)) return false;
    }
    txn_.passed(kPurchaseRemoveLine);
    return true;
  }

  bool insert_order() {
    PlacedOrder order{.visit = in_.visit,
                      .placed_us = in_.placed_us,
                      .lines = static_cast<std::int64_t>(count_),
                      .total_cents = 0};
    for (std::size_t i = 0; i < count_; ++i) order.total_cents += lines_[i].amount_cents;
    if (!txn_.insert(kPurchaseInsertOrder, tables_.orders, make_key(in_.request), order)) {
      return false;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const Line& line = lines_[i];
      const OrderLine row{.put_in_cart_by = line.in_cart ? line.in_cart->put_in_by : kNoRequest,
                          .product = static_cast<std::int64_t>(line.product),
                          .quantity = line.quantity(),
                          .amount_cents = line.amount_cents};
      if (!txn_.insert(kPurchaseInsertOrderLine, tables_.order_line,
                       order_line_key(in_.request, i + 1), row)) {
        return false;
      }
    }
    txn_.passed(kPurchaseInsertOrderLine);
    return true;
  }

  Txn& txn_;
  Tables<M>& tables_;
  const Input& in_;
  std::int64_t delivery_;
  std::array<Line, kMostOrderLines> lines_;  // the first `count_` are set
  std::size_t count_ = 0;
};

}  // namespace heddle::shop
