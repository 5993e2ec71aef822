#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workload/shop/cart_keys.h"
#include "workload/shop/input.h"
#include "workload/shop/requests.h"
#include "workload/shop/schema.h"
#include "workload/shop/tables.h"
#include "workload/violations.h"

namespace heddle::shop {

/// Checks that no piece and no cent was lost or doubled between stock, carts and orders, and that
/// every cart and every order can result from the trace's requests. Quiescent only.
template <class M>
class ConsistencyCheck {
 public:
  ConsistencyCheck(const Tables<M>& tables, const Requests& requests, std::int64_t initial_stock)
      : tables_(tables),
        requests_(requests),
        initial_stock_(initial_stock),
        products_(static_cast<std::size_t>(requests.products())) {}

  [[nodiscard]] std::vector<std::string> run() {
    collect_carts();
    collect_orders();
    collect_order_lines();
    check_orders();
    check_carts_and_orders();
    check_stock();
    return violations_.take();
  }

 private:
  struct ProductSums {
    std::int64_t in_carts = 0;
    std::int64_t sold = 0;
    std::int64_t revenue_cents = 0;
  };
  struct OrderSums {
    RequestId number;
    std::int64_t promised_lines;
    std::int64_t total_cents;
    std::int64_t lines = 0;
    std::int64_t sum_cents = 0;
    bool has_recorded = false;  ///< a line of the product that the request was about
  };

  // Rows left by a broken run may contain any number, so every number is checked before use.
  ProductSums* product_sums(std::uint64_t product) {
    return product < products_.size() ? &products_[static_cast<std::size_t>(product)] : nullptr;
  }
  OrderSums* find_order(RequestId number) {
    const auto found = std::lower_bound(
        orders_.begin(), orders_.end(), number,
        [](const OrderSums& order, RequestId wanted) { return order.number < wanted; });
    return found != orders_.end() && found->number == number ? &*found : nullptr;
  }

  void collect_carts() {
    tables_.cart_line.for_each([&](const Key1& key, const CartLine& row) {
      const std::uint64_t visit = tables_.cart_keys.visit_of(key);
      const std::uint64_t product = tables_.cart_keys.product_of(key);
      ProductSums* sums = product_sums(product);
      if (sums == nullptr || row.quantity < 1 || !can_be_in_cart(row.put_in_by, visit, product)) {
        violations_.add("cart lines", "visit ", visit, ", product ", product, ": ", row.quantity,
                        " pieces, put in by request ", row.put_in_by,
                        ", which can't have put them there");
        return;
      }
      sums->in_carts += row.quantity;
      from_carts_.push_back(row.put_in_by);
    });
  }

  [[nodiscard]] bool can_be_in_cart(RequestId request, std::uint64_t visit,
                                    std::uint64_t product) const {
    const Input input = requests_.input(request);
    return input.type == Type::cart && input.visit == visit && input.product == product;
  }

  void collect_orders() {
    tables_.orders.for_each([&](const Key1& key, const PlacedOrder& row) {
      const RequestId number = key.words[0];
      const Input input = requests_.input(number);
      if (input.type != Type::purchase || input.visit != row.visit ||
          input.placed_us != row.placed_us) {
        violations_.add("orders", "order ", number, " of visit ", row.visit, ", placed at ",
                        row.placed_us, " us, is not the order of its request");
      }
      orders_.push_back({number, row.lines, row.total_cents});
    });
  }

  void collect_order_lines() {
    tables_.order_line.for_each([&](const Key1& key, const OrderLine& row) {
      const RequestId number = order_of(key);
      OrderSums* order = find_order(number);
      if (order == nullptr) {
        violations_.add("order lines", "order ", number, " has a line but is not in ORDERS");
        return;
      }
      if (static_cast<std::uint64_t>(++order->lines) != line_of(key)) {
        violations_.add("order lines", "order ", number, ": line ", line_of(key),
                        " is not next in number");
      }
      order->sum_cents += row.amount_cents;
      collect_line(*order, row);
    });
  }

  void collect_line(OrderSums& order, const OrderLine& row) {
    const Input placed = requests_.input(order.number);
    const auto product = static_cast<std::uint64_t>(row.product);
    ProductSums* sums = product_sums(product);
    const bool past_cart = row.put_in_cart_by == kNoRequest;
    if (sums == nullptr || row.quantity < 1 ||
        (past_cart ? product != placed.product
                   : !can_be_in_cart(row.put_in_cart_by, placed.visit, product))) {
      violations_.add("order lines", "order ", order.number, ": ", row.quantity,
                      " pieces of product ", row.product,
                      " are neither the product requested nor in the visit's cart");
      return;
    }
    order.has_recorded = order.has_recorded || product == placed.product;
    sums->sold += row.quantity;
    sums->revenue_cents += row.amount_cents;
    if (!past_cart) from_carts_.push_back(row.put_in_cart_by);
  }

  void check_orders() {
    for (const OrderSums& order : orders_) {
      if (order.lines != order.promised_lines) {
        violations_.add("order sizes", "order ", order.number, " should have ",
                        order.promised_lines, " lines, it has ", order.lines);
      }
      if (order.sum_cents != order.total_cents) {
        violations_.add("order totals", "order ", order.number, " comes to ", order.total_cents,
                        " cents, its lines to ", order.sum_cents);
      }
      if (!order.has_recorded) {
        violations_.add("order products", "order ", order.number, " lacks the requested product");
      }
    }
  }

  /// Everything put into a cart is still there or in exactly one order.
  void check_carts_and_orders() {
    std::sort(from_carts_.begin(), from_carts_.end());
    for (std::size_t i = 1; i < from_carts_.size(); ++i) {
      if (from_carts_[i] == from_carts_[i - 1]) {
        violations_.add("carts and orders", "the pieces that request ", from_carts_[i],
                        " put into the cart are in two places");
      }
    }
  }

  void check_stock() {
    std::size_t rows = 0;
    tables_.stock.for_each([&](const Key1& key, const Stock& row) {
      const std::uint64_t product = key.words[0];
      const ProductSums* sums = product_sums(product);
      if (sums == nullptr) {
        violations_.add("products", "product ", product, " should not exist");
        return;
      }
      ++rows;
      check_product(product, row, *sums);
    });
    if (rows != products_.size()) {
      violations_.add("products", rows, " rows, not ", products_.size());
    }
  }

  void check_product(std::uint64_t product, const Stock& row, const ProductSums& sums) {
    const StockHead& head = row.head;
    if (head.available + head.reserved + row.sold != initial_stock_ + head.restocked ||
        head.available < 0 || head.available > initial_stock_) {
      violations_.add("stock", "product ", product, ": of ", initial_stock_, " pieces and ",
                      head.restocked, " more, ", head.available, " are available, ", head.reserved,
                      " reserved, ", row.sold, " sold");
    }
    if (head.reserved != sums.in_carts) {
      violations_.add("reservations", "product ", product, ": ", head.reserved,
                      " pieces are reserved, carts hold ", sums.in_carts);
    }
    if (row.sold != sums.sold) {
      violations_.add("sales", "product ", product, ": ", row.sold,
                      " pieces are sold, orders hold ", sums.sold);
    }
    if (row.revenue_cents != sums.revenue_cents) {
      violations_.add("revenue", "product ", product, ": it earned ", row.revenue_cents,
                      " cents, its order lines come to ", sums.revenue_cents);
    }
  }

  const Tables<M>& tables_;
  const Requests& requests_;
  std::int64_t initial_stock_;
  std::vector<ProductSums> products_;
  std::vector<OrderSums> orders_;      // in the order of their numbers
  std::vector<RequestId> from_carts_;  // the request that put each line into a cart
  Violations violations_;
};

}  // namespace heddle::shop
