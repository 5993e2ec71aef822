#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/storage.h"
#include "workload/tpce/consistency.h"
#include "workload/tpce/hints.h"
#include "workload/tpce/inputs.h"
#include "workload/tpce/market_feed.h"
#include "workload/tpce/options.h"
#include "workload/tpce/population.h"
#include "workload/tpce/states.h"
#include "workload/tpce/tables.h"
#include "workload/tpce/trade_order.h"
#include "workload/tpce/trade_update.h"

namespace heddle {

/// The three read-write types of TPC-E that Polyjuice runs (OSDI 2021, §7.4): Trade-Order,
/// Market-Feed and Trade-Update, according to the specification v1.14, as stored procedures.
///
/// docs/tpce.md lists the differences from the specification. Throughputs are not tpsE.
template <class M>
class Tpce {
 public:
  using Options = TpceOptions;
  using Input = tpce::Input;
  static constexpr std::string_view kName = "tpce";

  /// The same for every option: 65 states.
  static Signature signature(const Options&) { return tpce::signature(); }

  static std::vector<std::string> type_names(const Options&) {
    return {tpce::kTypeNames.begin(), tpce::kTypeNames.end()};
  }

  Tpce(Storage<M>& storage, const Options& options)
      : scale_(options.scale()),
        tables_(storage, scale_),
        generator_(options, storage.max_workers()),
        feed_entries_(options.feed_entries) {}

  void load(std::uint64_t seed) { tpce::Population<M>(tables_, scale_, seed).load(); }

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
        return tpce::TradeOrderTransaction(txn, tables_, input.trade_order).run(output);
      }
      case tpce::Type::market_feed: {
        tpce::MarketFeedOutput output;
        return tpce::MarketFeedTransaction(txn, tables_, input.market_feed).run(output);
      }
      case tpce::Type::trade_update: {
        tpce::TradeUpdateOutput output;
        return tpce::TradeUpdateTransaction(txn, tables_, input.trade_update).run(output);
      }
    }
    return Outcome::rollback;
  }

  /// There is no snapshot type.
  [[nodiscard]] static bool is_snapshot(int /*type*/) { return false; }
  template <class Txn>
  Outcome query(Txn&, const Input&) {
    return Outcome::rollback;
  }

  /// One line per violation. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return tpce::ConsistencyCheck<M>(tables_, scale_, feed_entries_).run();
  }

  [[nodiscard]] tpce::Tables<M>& tables() { return tables_; }

 private:
  tpce::Scale scale_;
  tpce::Tables<M> tables_;
  tpce::InputGenerator generator_;
  std::uint32_t feed_entries_;
};

}  // namespace heddle
