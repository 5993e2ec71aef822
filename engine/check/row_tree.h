#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "check/lives.h"
#include "check/serialization.h"

namespace heddle::check {

/// A row that has existed, by its key.
struct RowName {
  std::uint64_t word;
  std::uint32_t key;  ///< its number
};

/// The rows of one table in order, for ranges that missed many of them.
///
/// A queue is scanned from its start, past all rows that have ever been taken from it: one edge for
/// each row and scan would be too many. So rows are grouped in blocks, and blocks in larger blocks.
/// Where the clock puts a miss after all lives of a block, it comes after one node, which comes
/// after all transactions that deleted the block's rows; a second node comes before the block's
/// inserts in the same way.
class RowTree {
 public:
  /// @param rows in order
  RowTree(Lives& lives, Serialization& serialization, std::vector<RowName> rows);

  [[nodiscard]] const std::vector<RowName>& rows() const { return rows_; }
  /// The first row from `word` on, not before row `from`, and probably near it.
  [[nodiscard]] std::size_t find(std::uint64_t word, std::size_t from) const;

  /// Places `miss`, of a transaction that changed none of them, relative to the rows [begin, end).
  void place(Miss miss, std::size_t begin, std::size_t end);

 private:
  static constexpr std::size_t kRows = 16;   ///< per block
  static constexpr std::size_t kBlocks = 8;  ///< per larger block
  static constexpr std::uint32_t kNone = Transactions::kNone;

  struct Block {
    /// Over all its lives.
    std::uint64_t some_begun_by = ~std::uint64_t{0};
    std::uint64_t all_begun_by = 0;
    std::uint64_t some_ended_from = ~std::uint64_t{0};
    std::uint64_t all_ended_from = 0;
    std::uint32_t after = kNone;   ///< the node after them
    std::uint32_t before = kNone;  ///< the node before them
  };

  static void include(Block& block, const Life& life);
  [[nodiscard]] static std::size_t rows_of(std::size_t level);
  [[nodiscard]] bool place_by_block(const Miss& miss, std::size_t level, std::size_t number);
  std::uint32_t node_after(std::size_t level, std::size_t number);
  std::uint32_t node_before(std::size_t level, std::size_t number);
  /// For a block, the smaller blocks or the rows.
  template <class OfBlock, class OfLife>
  void each_part(std::size_t level, std::size_t number, OfBlock of_block, OfLife of_life);

  Lives& lives_;
  Serialization& serialization_;
  std::vector<RowName> rows_;
  std::vector<std::vector<Block>> levels_;
};

}  // namespace heddle::check
