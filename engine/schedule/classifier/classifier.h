#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/signature.h"
#include "protocol/outcome.h"

namespace heddle::classifier {

/// The knowledge of a workload's hot keys: which rows a transaction is going to access, predicted
/// from its type and its hints (SMF, VLDB 2024, §4.1.2). Trained from a trace
/// (trainer/classifier/), stored in a policy's file as `schedule.classifier`.
///
/// A transaction's metadata vector has a number for each hint, in their order: the heat of its key
/// among the hot keys of its table, from their number for the hottest to 1 for the least hot, and 0
/// for any other key. Hints of a loop, which come in any order and number, follow the other hints,
/// the hottest first. Values beyond the length of the type's rows are dropped; missing values are
/// 0.
struct Classifier {
  /// The operation on a hot row.
  struct Operation {
    AccessId state = kNoState;  ///< gives the table, and whether it writes
    std::uint64_t key = 0;      ///< as in a Hint
    double place = 0;           ///< position in the transaction, 0 to 1
  };
  using Operations = std::vector<Operation>;

  struct Type {
    std::size_t type = 0;  ///< of the signature
    std::vector<std::vector<int>> rows;
    std::vector<int> labels;           ///< one per row: its cluster
    std::vector<Operations> clusters;  ///< the canonical operations of each
  };

  /// The limit on a type's rows times one more than their length, so that a transaction's path can
  /// search them all.
  static constexpr std::size_t kMostNumbers = 2048;

  int neighbours = 1;
  std::map<std::string, std::vector<std::uint64_t>> hot_keys;  ///< by table, the hottest first
  std::vector<Type> types;  ///< transactions of any other type are assumed to be cold

  /// @param json the section of a policy's file
  /// @throws std::invalid_argument naming the invalid part and its place
  [[nodiscard]] static Classifier parse(std::string_view json, const Signature& signature);
  /// The text from which `parse` makes the same.
  [[nodiscard]] std::string to_json(const Signature& signature) const;

  /// "3 types, 42 rows, 12 hot keys": recorded in results.
  [[nodiscard]] std::string summary() const;
};

}  // namespace heddle::classifier
