#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/storage.h"
#include "workload/tpcc/analytical.h"
#include "workload/tpcc/consistency.h"
#include "workload/tpcc/delivery.h"
#include "workload/tpcc/hints.h"
#include "workload/tpcc/inputs.h"
#include "workload/tpcc/new_order.h"
#include "workload/tpcc/options.h"
#include "workload/tpcc/order_status.h"
#include "workload/tpcc/payment.h"
#include "workload/tpcc/population.h"
#include "workload/tpcc/random_values.h"
#include "workload/tpcc/states.h"
#include "workload/tpcc/stock_level.h"
#include "workload/tpcc/tables.h"

namespace heddle {

/// TPC-C, according to the specification v5.11, as stored procedures.
///
/// Differences from a published TPC-C run: terminals have no keying and think times (clause 5.2.5),
/// Delivery is not queued but part of the mix, and of a terminal's display only the values that
/// must be computed are computed. Throughputs are not tpmC. An analytical query may be added, which
/// the specification does not have.
template <class M>
class Tpcc {
 public:
  using Options = TpccOptions;
  using Input = tpcc::Input;
  static constexpr std::string_view kName = "tpcc";

  /// NewOrder, Payment and Delivery, 26 states; three more with the analytical query.
  static Signature signature(const Options& options) {
    return tpcc::signature(options.has_analytical());
  }

  static std::vector<std::string> type_names(const Options& options) {
    std::vector<std::string> names;
    for (const tpcc::Type type : options.types()) {
      names.emplace_back(tpcc::kTypeNames[static_cast<std::size_t>(type)]);
    }
    return names;
  }

  Tpcc(Storage<M>& storage, const Options& options)
      : warehouses_(static_cast<std::uint32_t>(options.warehouses)),
        types_with_states_(static_cast<int>(options.types().with_states())),
        tables_(storage, warehouses_),
        generator_(options, storage.max_workers()) {}

  /// Populates the tables. The seed determines the rows, and the constants of NURand in later
  /// inputs.
  void load(std::uint64_t seed) {
    Random random = Random::stream(seed, 0);
    const auto constants = tpcc::NurandConstants::draw(random);
    tpcc::Population<M>(tables_, constants, seed).load(warehouses_);
    generator_.use(constants);
  }

  void generate(Random& random, int worker, int workers, std::uint64_t now_us, Input& input) const {
    generator_.generate(random, worker, workers, now_us, input);
  }

  static int type_of(const Input& input) { return input.number; }

  [[nodiscard]] bool is_snapshot(int type) const { return type >= types_with_states_; }

  static void hints(const Input& input, Hints& hints) { tpcc::add_hints(input, hints); }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    switch (input.type) {
      case tpcc::Type::new_order: {
        tpcc::NewOrderOutput output;
        return tpcc::NewOrderTransaction(txn, tables_, input.new_order).run(output);
      }
      case tpcc::Type::payment: {
        tpcc::PaymentOutput output;
        return tpcc::PaymentTransaction(txn, tables_, input.payment).run(output);
      }
      case tpcc::Type::delivery: {
        tpcc::DeliveryOutput output;
        return tpcc::DeliveryTransaction(txn, tables_, input.delivery).run(output);
      }
      case tpcc::Type::analytical: {
        tpcc::AnalyticalOutput output;
        return tpcc::AnalyticalQuery(txn, tables_, input.analytical).run(output);
      }
      case tpcc::Type::order_status:
      case tpcc::Type::stock_level: break;
    }
    assert(false && "snapshots are read by query()");
    return Outcome::rollback;
  }

  template <class Txn>
  Outcome query(Txn& txn, const Input& input) {
    if (input.type == tpcc::Type::order_status) {
      tpcc::OrderStatusOutput output;
      return tpcc::order_status(txn, tables_, input.order_status, output);
    }
    assert(input.type == tpcc::Type::stock_level);
    tpcc::StockLevelOutput output;
    return tpcc::stock_level(txn, tables_, input.stock_level, output);
  }

  /// Clause 3.3.2 and more, one line per violation. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return tpcc::ConsistencyCheck<M>(tables_, warehouses_).run();
  }

  [[nodiscard]] tpcc::Tables<M>& tables() { return tables_; }

 private:
  std::uint32_t warehouses_;
  int types_with_states_;
  tpcc::Tables<M> tables_;
  tpcc::InputGenerator generator_;
};

}  // namespace heddle
