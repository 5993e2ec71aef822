#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/storage.h"
#include "workload/tpce/broker_volume.h"
#include "workload/tpce/consistency.h"
#include "workload/tpce/customer_position.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/hints.h"
#include "workload/tpce/input_generator.h"
#include "workload/tpce/inputs.h"
#include "workload/tpce/market_feed.h"
#include "workload/tpce/market_watch.h"
#include "workload/tpce/options.h"
#include "workload/tpce/population.h"
#include "workload/tpce/security_detail.h"
#include "workload/tpce/states.h"
#include "workload/tpce/tables.h"
#include "workload/tpce/trade_lookup.h"
#include "workload/tpce/trade_order.h"
#include "workload/tpce/trade_result.h"
#include "workload/tpce/trade_result_states.h"
#include "workload/tpce/trade_status.h"
#include "workload/tpce/trade_update.h"

namespace heddle {

/// TPC-E according to the specification v1.14, as stored procedures: the three read-write types
/// that Polyjuice runs (OSDI 2021, §7.4), Trade-Order, Market-Feed and Trade-Update, or with
/// `mix=full` all types that the specification measures.
///
/// docs/tpce.md lists the differences from the specification. Throughputs are not tpsE.
template <class M>
class Tpce {
 public:
  using Options = TpceOptions;
  using Input = tpce::Input;
  static constexpr std::string_view kName = "tpce";

  /// 65 states; 116 with Trade-Result.
  static Signature signature(const Options& options) {
    return options.is_full() ? tpce::full_signature() : tpce::signature();
  }

  static std::vector<std::string> type_names(const Options& options) {
    const auto all = std::span(tpce::kTypeNames);
    const auto those = options.is_full() ? all : all.first(tpce::kPolyjuiceTypes);
    return {those.begin(), those.end()};
  }

  Tpce(Storage<M>& storage, const Options& options)
      : scale_(options.scale()),
        tables_(storage, scale_),
        generator_(options, storage.max_workers()),
        feed_entries_(options.feed_entries) {
    if (options.is_full()) {
      full_.emplace(storage, scale_);
    } else {
      tables_.for_each([](auto& table) { table.skip_snapshots(); });  // no type reads a snapshot
    }
  }

  void load(std::uint64_t seed) {
    tpce::Population<M>(tables_, full_tables(), scale_, seed).load();
  }

  void generate(Random& random, int worker, int /*workers*/, std::uint64_t now_us,
                Input& input) const {
    generator_.generate(random, worker, now_us, input);
  }
  [[nodiscard]] double share(int type) const {
    return generator_.share(static_cast<tpce::Type>(type));
  }

  static int type_of(const Input& input) { return static_cast<int>(input.type); }

  static void hints(const Input& input, Hints& hints) { tpce::add_hints(input, hints); }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    switch (input.type) {
      case tpce::Type::trade_order: {
        tpce::TradeOrderOutput output;
        const auto outcome =
            tpce::TradeOrderTransaction(txn, tables_, input.trade_order).run(output);
        if (full_ && outcome == Outcome::commit) submit(input.trade_order, output);
        return outcome;
      }
      case tpce::Type::market_feed: {
        tpce::MarketFeedOutput output;
        const auto outcome =
            tpce::MarketFeedTransaction(txn, tables_, input.market_feed).run(output);
        if (full_ && outcome == Outcome::commit) {
          generator_.exchange().submit(input.market_feed.sender,
                                       std::span(output.trades).first(output.submitted));
        }
        return outcome;
      }
      case tpce::Type::trade_update: {
        tpce::TradeUpdateOutput output;
        return tpce::TradeUpdateTransaction(txn, tables_, input.trade_update).run(output);
      }
      case tpce::Type::trade_result: {
        tpce::TradeResultOutput output;
        return tpce::TradeResultTransaction(txn, tables_, *full_, input.trade_result).run(output);
      }
      default: break;
    }
    assert(false && "snapshots are read by query()");
    return Outcome::rollback;
  }

  [[nodiscard]] static bool is_snapshot(int type) {
    return tpce::reads_snapshot(static_cast<tpce::Type>(type));
  }

  template <class Txn>
  Outcome query(Txn& txn, const Input& input) {
    switch (input.type) {
      case tpce::Type::broker_volume: {
        tpce::BrokerVolumeOutput output;
        return tpce::broker_volume(txn, tables_, *full_, input.broker_volume, output);
      }
      case tpce::Type::customer_position: {
        tpce::CustomerPositionOutput output;
        return tpce::customer_position(txn, tables_, *full_, input.customer_position, output);
      }
      case tpce::Type::market_watch: {
        tpce::MarketWatchOutput output;
        return tpce::MarketWatchQuery(txn, tables_, *full_, input.market_watch).run(output);
      }
      case tpce::Type::security_detail: {
        tpce::SecurityDetailOutput output;
        return tpce::SecurityDetailQuery(txn, tables_, *full_, input.security_detail).run(output);
      }
      case tpce::Type::trade_lookup: {
        tpce::TradeLookupOutput output;
        return tpce::TradeLookupQuery(txn, tables_, *full_, input.trade_lookup).run(output);
      }
      case tpce::Type::trade_status: {
        tpce::TradeStatusOutput output;
        return tpce::trade_status(txn, tables_, *full_, input.trade_status, output);
      }
      default: break;
    }
    assert(false && "types that write are run by execute()");
    return Outcome::rollback;
  }

  /// One line per violation. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    tpce::ConsistencyCheck<M> check(tables_, scale_, feed_entries_);
    if (full_) check.include(*full_);
    return check.run();
  }

  [[nodiscard]] tpce::Tables<M>& tables() { return tables_; }
  /// nullptr without mix=full.
  [[nodiscard]] tpce::FullTables<M>* full_tables() { return full_ ? &*full_ : nullptr; }

 private:
  /// An order at the market's price goes to the market at once.
  void submit(const tpce::TradeOrderInput& order, const tpce::TradeOrderOutput& output) {
    if (!tpce::is_market(order.type)) return;
    const tpce::SubmittedTrade trade{.trade = order.trade,
                                     .account = order.account,
                                     .security = order.security,
                                     .broker = output.broker,
                                     .quantity = order.quantity,
                                     .price_cents = order.price_cents};
    generator_.exchange().submit(order.sender, {&trade, 1});
  }

  tpce::Scale scale_;
  tpce::Tables<M> tables_;
  tpce::InputGenerator generator_;
  std::uint32_t feed_entries_;
  std::optional<tpce::FullTables<M>> full_;
};

}  // namespace heddle
