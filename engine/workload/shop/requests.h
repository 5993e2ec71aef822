#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "workload/replay/program.h"
#include "workload/shop/input.h"
#include "workload/shop/schema.h"
#include "workload/shop/states.h"

namespace heddle::shop {

/// A part of a trace interpreted as requests to a shop: each transaction is of one of the types in
/// `kTypeNames` and about one row of the table `product`.
class Requests {
 public:
  /// Throws std::invalid_argument naming what the trace lacks.
  explicit Requests(std::shared_ptr<const replay::Program> program);

  [[nodiscard]] const replay::Program& program() const { return *program_; }
  [[nodiscard]] std::uint64_t products() const { return products_; }
  /// Whether the trace has the type `view`, even if the part has no such transaction.
  [[nodiscard]] bool has_views() const { return has_views_; }

  /// A transaction of the part in a round.
  [[nodiscard]] Input input(std::uint64_t transaction, std::uint64_t round) const {
    return {.request = round * program_->transactions() + transaction,
            .visit = round * program_->sessions() + program_->session(transaction),
            .placed_us = program_->begin(transaction),
            .product = product_[transaction],
            .type = types_[program_->type(transaction)],
            .rolls_back = program_->rolls_back(transaction)};
  }
  /// The input of a request, of any number.
  [[nodiscard]] Input input(RequestId request) const {
    return input(request % program_->transactions(), request / program_->transactions());
  }

 private:
  void find_types();
  void find_products();

  std::shared_ptr<const replay::Program> program_;
  std::vector<Type> types_;  ///< by the trace's number
  bool has_views_ = false;
  std::uint16_t product_table_ = 0;
  std::uint64_t products_ = 0;
  std::vector<std::uint32_t> product_;  ///< by transaction
};

}  // namespace heddle::shop
