#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/key.h"
#include "storage/storage.h"
#include "workload/replay/rotation.h"
#include "workload/shop/cart.h"
#include "workload/shop/consistency.h"
#include "workload/shop/input.h"
#include "workload/shop/options.h"
#include "workload/shop/purchase.h"
#include "workload/shop/requests.h"
#include "workload/shop/states.h"
#include "workload/shop/tables.h"

namespace heddle {

/// An online shop that serves the requests of a trace (Polyjuice, OSDI 2021, §7.6): CART and
/// PURCHASE as stored procedures over stock, carts and orders, VIEW as a snapshot read.
///
/// The distribution of sessions and the rounds are those of the workload `replay`. It takes from a
/// trace which session requested what for which product, in which order; the accesses are the
/// procedures' own.
template <class M>
class Shop {
 public:
  using Options = ShopOptions;
  using Input = shop::Input;
  static constexpr std::string_view kName = "shop";

  /// The same for every trace and every option.
  static Signature signature(const Options&) { return shop::signature(); }

  static std::vector<std::string> type_names(const Options& options) {
    const std::size_t count =
        options.requests->has_views() ? shop::kTypeNames.size() : shop::kPolicyTypes;
    return {shop::kTypeNames.begin(), shop::kTypeNames.begin() + count};
  }

  Shop(Storage<M>& storage, const Options& options)
      : requests_(options.requests),
        initial_stock_(options.initial_stock),
        whole_cart_(options.checkout == Options::Checkout::cart),
        rotation_(requests_->program(), storage.max_workers()),
        tables_(storage, static_cast<std::size_t>(requests_->products()),
                requests_->program().transactions(), requests_->has_views()) {}

  /// The seed determines the prices, which a replay program does not contain. Carts and orders are
  /// empty.
  void load(std::uint64_t seed) {
    for (std::uint64_t product = 0; product < requests_->products(); ++product) {
      const std::int64_t price_cents = Random::stream(seed, product).between(100, 100'000);
      tables_.stock.load(make_key(product), {.head = {.price_cents = price_cents,
                                                      .available = initial_stock_,
                                                      .reserved = 0,
                                                      .restocked = 0},
                                             .sold = 0,
                                             .revenue_cents = 0});
    }
  }

  /// Nothing is drawn: the requests are the trace's, for every seed.
  void generate(Random& /*random*/, int worker, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    const replay::Turn turn = rotation_.next(worker);
    input = requests_->input(turn.transaction, turn.round);
  }

  static int type_of(const Input& input) { return static_cast<int>(input.type); }
  [[nodiscard]] static bool is_snapshot(int type) {
    return type >= static_cast<int>(shop::kPolicyTypes);
  }

  /// The product of the request; the rest of the cart is known only when it is read.
  static void hints(const Input& input, Hints& hints) {
    if (input.type == shop::Type::view) return;
    hints.add(input.type == shop::Type::cart ? shop::kCartReserveStock : shop::kPurchaseSellStock,
              input.product);
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    if (input.type == shop::Type::cart) {
      return shop::CartTransaction(txn, tables_, input, initial_stock_).run();
    }
    assert(input.type == shop::Type::purchase);
    return shop::PurchaseTransaction(txn, tables_, input, initial_stock_).run(whole_cart_);
  }

  /// VIEW: reads a product's price and stock.
  template <class Txn>
  Outcome query(Txn& txn, const Input& input) {
    const auto stock =
        txn.template read<shop::StockHead>(kNoState, tables_.stock, make_key(input.product));
    return stock ? Outcome::commit : txn.stop();
  }

  /// See docs/shop.md; one line per violation. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return shop::ConsistencyCheck<M>(tables_, *requests_, initial_stock_).run();
  }

  [[nodiscard]] shop::Tables<M>& tables() { return tables_; }

 private:
  std::shared_ptr<const shop::Requests> requests_;
  std::int64_t initial_stock_;
  bool whole_cart_;
  replay::Rotation rotation_;
  shop::Tables<M> tables_;
};

}  // namespace heddle
