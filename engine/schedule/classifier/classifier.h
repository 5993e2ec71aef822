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

/// What is known of a workload's hot keys: which rows a transaction is going to touch, told from
/// its type and its hints (SMF, VLDB 2024, §4.1.2). Trained from a trace (trainer/classifier/),
/// kept in a policy's file as `schedule.classifier`.
///
/// A transaction's metadata vector has a number for each hint, in their order: how hot its key is
/// among the hot ones of its table, the hottest as many as there are, the least hot 1, any other
/// key 0. Hints of a loop, which come in any order and number, follow those of no loop, the hottest
/// first. What is beyond the length of the type's rows is left out; what is missing is 0.
struct Classifier {
  /// What is done to a hot row.
  struct Operation {
    AccessId state = kNoState;  ///< which tells the table, and whether it writes
    std::uint64_t key = 0;      ///< as in a Hint
    double place = 0;           ///< where in the transaction, 0 to 1
  };
  using Operations = std::vector<Operation>;

  struct Type {
    std::size_t type = 0;  ///< of the signature
    std::vector<std::vector<int>> rows;
    std::vector<int> labels;           ///< one a row: its cluster
    std::vector<Operations> clusters;  ///< the canonical operations of each
  };

  /// A type's rows times one more than their length: so that all may be gone through in the path of
  /// a transaction.
  static constexpr std::size_t kMostNumbers = 2048;

  int neighbours = 1;
  std::map<std::string, std::vector<std::uint64_t>> hot_keys;  ///< by table, the hottest first
  std::vector<Type> types;  ///< transactions of any other type are taken to be cold

  /// @param json the section of a policy's file
  /// @throws std::invalid_argument naming what is wrong with it, and where
  [[nodiscard]] static Classifier parse(std::string_view json, const Signature& signature);
  /// What `parse` makes the same of.
  [[nodiscard]] std::string to_json(const Signature& signature) const;

  /// "3 types, 42 rows, 12 hot keys": what a result records of it.
  [[nodiscard]] std::string summary() const;
};

}  // namespace heddle::classifier
