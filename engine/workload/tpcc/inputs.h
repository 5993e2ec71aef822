#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/random.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/options.h"
#include "workload/tpcc/random_values.h"
#include "workload/tpcc/schema.h"
#include "workload/tpcc/states.h"

/// The inputs of terminals (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1). They contain all random
/// values and times, so that a transaction can be run again with the same effect.
namespace heddle::tpcc {

struct NewOrderInput {
  struct Line {
    std::uint32_t item;
    std::uint16_t supply_warehouse;
    std::uint16_t quantity;
  };

  std::uint64_t entry_us;
  std::uint16_t warehouse;
  std::uint16_t customer;
  std::uint8_t district;
  std::uint8_t line_count;
  bool all_local;
  std::array<Line, kMostOrderLines> lines;
};

/// A customer, by number or by last name.
struct CustomerChoice {
  static constexpr std::uint16_t kByLastName = 0;

  std::uint16_t warehouse;
  std::uint16_t customer;  // kByLastName: look up `last`
  std::uint8_t district;
  Text<16> last;  // set only if the choice is by last name
};

struct PaymentInput {
  std::uint64_t date_us;
  std::uint64_t history;  // the key of the row to add
  std::uint32_t amount_cents;
  std::uint16_t warehouse;
  std::uint8_t district;
  CustomerChoice customer;
};

struct DeliveryInput {
  std::uint64_t delivery_us;
  std::uint16_t warehouse;
  std::uint8_t carrier;
};

struct OrderStatusInput {
  CustomerChoice customer;
};

struct StockLevelInput {
  std::uint16_t warehouse;
  std::uint8_t district;
  std::uint8_t threshold;
};

/// Warehouses in the order of their numbers.
struct AnalyticalInput {
  std::uint32_t orders;  // the latest ones of each district
  std::uint16_t first_warehouse;
  std::uint8_t warehouses;
};

struct Input {
  Type type;
  std::uint8_t number;  // of the type
  union {               // the member is selected by `type`
    NewOrderInput new_order;
    PaymentInput payment;
    DeliveryInput delivery;
    OrderStatusInput order_status;
    StockLevelInput stock_level;
    AnalyticalInput analytical;
  };
};

/// Draws inputs.
class InputGenerator {
 public:
  InputGenerator(const TpccOptions& options, int max_workers)
      : warehouses_(static_cast<std::uint32_t>(options.warehouses)),
        mix_(options.mix),
        types_(options.types()),
        analytical_(options.analytical.value_or(0) / TpccOptions::kStockLevels),
        analytical_input_{
            .orders = options.analytical_orders.value_or(100),
            .first_warehouse = 1,
            .warehouses = static_cast<std::uint8_t>(options.analytical_warehouses.value_or(1))},
        payments_(static_cast<std::size_t>(max_workers)) {}

  void use(const NurandConstants& constants) { constants_ = constants; }

  /// The next transaction of `worker`, one of `workers`, numbered from 0.
  void generate(Random& random, int worker, int workers, std::uint64_t now_us, Input& input) const {
    assert(0 <= worker && worker < workers);
    assert(static_cast<std::size_t>(worker) < payments_.size());
    const std::uint16_t home = home_warehouse(random, static_cast<std::uint32_t>(worker),
                                              static_cast<std::uint32_t>(workers));
    input.type = draw_type(random);
    input.number = types_.number(input.type);
    switch (input.type) {
      case Type::new_order: return new_order(random, home, now_us, input.new_order);
      case Type::payment:
        return payment(random, home, static_cast<std::size_t>(worker), now_us, input.payment);
      case Type::delivery: return delivery(random, home, now_us, input.delivery);
      case Type::order_status:
        input.order_status.customer.warehouse = home;
        input.order_status.customer.district = random_district(random);
        return choose_customer(random, input.order_status.customer);
      case Type::stock_level:
        input.stock_level = {home, random_district(random),
                             static_cast<std::uint8_t>(random.between(10, 20))};
        return;
      case Type::analytical: return analytical(random, input.analytical);
    }
  }

 private:
  /// The number of payments drawn for a worker; on its own cache line, because the worker
  /// increments it.
  struct alignas(64) Payments {
    std::uint64_t count = 0;
  };

  /// A worker's terminals belong to one warehouse; with fewer workers than warehouses, to every
  /// `workers`-th one, so that none is idle.
  [[nodiscard]] std::uint16_t home_warehouse(Random& random, std::uint32_t worker,
                                             std::uint32_t workers) const {
    if (workers >= warehouses_) return static_cast<std::uint16_t>(worker % warehouses_ + 1);
    const std::uint32_t own = (warehouses_ - worker + workers - 1) / workers;
    return static_cast<std::uint16_t>(worker + random.below(own) * workers + 1);
  }

  /// The mix of clause 5.2.3, or the part of it that runs.
  [[nodiscard]] Type draw_type(Random& random) const {
    const std::uint64_t cards = mix_ == TpccOptions::Mix::full         ? 100
                                : mix_ == TpccOptions::Mix::read_write ? 92
                                                                       : 88;
    const std::uint64_t card = random.below(cards);
    if (card < 45) return Type::new_order;
    if (card < 88) return Type::payment;
    if (card < 92) return Type::delivery;
    if (card < 96) return Type::order_status;
    // Without queries nothing more is drawn, and a seed gives the inputs that it gave before.
    return analytical_ > 0 && random.unit() < analytical_ ? Type::analytical : Type::stock_level;
  }

  static std::uint8_t random_district(Random& random) {
    return static_cast<std::uint8_t>(random.below(kDistrictsPerWarehouse) + 1);
  }

  /// Uniform over the warehouses other than `home`. Precondition: there are at least two.
  [[nodiscard]] std::uint16_t other_warehouse(Random& random, std::uint16_t home) const {
    const auto drawn = static_cast<std::uint16_t>(random.below(warehouses_ - 1) + 1);
    return drawn < home ? drawn : static_cast<std::uint16_t>(drawn + 1);
  }

  void new_order(Random& random, std::uint16_t home, std::uint64_t now_us,
                 NewOrderInput& input) const {
    input.entry_us = now_us;
    input.warehouse = home;
    input.district = random_district(random);
    input.customer = static_cast<std::uint16_t>(random_customer(random, constants_.customer));
    const std::uint64_t bits = random.next();
    input.line_count = static_cast<std::uint8_t>(
        kFewestOrderLines +
        Random::scale(static_cast<std::uint32_t>(bits), kMostOrderLines - kFewestOrderLines + 1));
    input.all_local = true;
    for (std::size_t i = 0; i < input.line_count; ++i) {
      NewOrderInput::Line& line = input.lines[i];
      line.item = random_item(random, constants_.item);
      const std::uint64_t line_bits = random.next();
      line.quantity =
          static_cast<std::uint16_t>(1 + Random::scale(static_cast<std::uint32_t>(line_bits), 10));
      line.supply_warehouse = home;
      // 1 % of the lines are supplied by another warehouse, if there is one.
      const auto supply_bits = static_cast<std::uint32_t>(line_bits >> 32);
      if (Random::scale(supply_bits, 100) == 0 && warehouses_ > 1) {
        line.supply_warehouse = other_warehouse(random, home);
        input.all_local = false;
      }
    }
    // 1 % of the orders name an item that does not exist, last, and are rolled back (2.4.1.4).
    if (Random::scale(static_cast<std::uint32_t>(bits >> 32), 100) == 0) {
      input.lines[input.line_count - 1U].item = kItems + 1;
    }
  }

  void payment(Random& random, std::uint16_t home, std::size_t worker, std::uint64_t now_us,
               PaymentInput& input) const {
    input.date_us = now_us;
    input.history = history_key(worker, ++payments_[worker].count).words[0];
    input.amount_cents = static_cast<std::uint32_t>(random.between(100, 500'000));
    input.warehouse = home;
    const std::uint64_t bits = random.next();
    input.district =
        static_cast<std::uint8_t>(1 + Random::scale(static_cast<std::uint32_t>(bits), 10));
    input.customer.warehouse = home;
    input.customer.district = input.district;
    // 15 % of the customers pay away from their own warehouse, if there is another.
    if (Random::scale(static_cast<std::uint32_t>(bits >> 32), 100) >= 85) {
      input.customer.district = random_district(random);
      if (warehouses_ > 1) input.customer.warehouse = other_warehouse(random, home);
    }
    choose_customer(random, input.customer);
  }

  static void delivery(Random& random, std::uint16_t home, std::uint64_t now_us,
                       DeliveryInput& input) {
    input = {now_us, home, static_cast<std::uint8_t>(random.between(1, 10))};
  }

  void analytical(Random& random, AnalyticalInput& input) const {
    input = analytical_input_;
    input.first_warehouse =
        static_cast<std::uint16_t>(random.below(warehouses_ - input.warehouses + 1) + 1);
  }

  /// 60 % by last name, 40 % by number (2.5.1.2, 2.6.1.2).
  void choose_customer(Random& random, CustomerChoice& choice) const {
    if (random.below(100) < 60) {
      choice.customer = CustomerChoice::kByLastName;
      choice.last = kLastNameTexts[random_last_name(random, constants_.last_name_run)];
    } else {
      choice.customer = static_cast<std::uint16_t>(random_customer(random, constants_.customer));
    }
  }

  std::uint32_t warehouses_;
  TpccOptions::Mix mix_;
  TypeList types_;
  double analytical_;  ///< the share of StockLevels that are analytical queries
  AnalyticalInput analytical_input_;
  NurandConstants constants_{};
  /// A worker writes only its own element: generating is const towards everything shared.
  mutable std::vector<Payments> payments_;
};

}  // namespace heddle::tpcc
