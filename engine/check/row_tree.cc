#include "check/row_tree.h"

#include <algorithm>
#include <utility>

namespace heddle::check {

RowTree::RowTree(Lives& lives, Serialization& serialization, std::vector<RowName> rows)
    : lives_(lives), serialization_(serialization), rows_(std::move(rows)) {
  levels_.emplace_back((rows_.size() + kRows - 1) / kRows);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    lives_.each(rows_[row].key, [&](const Life& life) { include(levels_[0][row / kRows], life); });
  }
  while (levels_.back().size() > 1) {
    const std::vector<Block>& parts = levels_.back();
    std::vector<Block> blocks((parts.size() + kBlocks - 1) / kBlocks);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      Block& block = blocks[part / kBlocks];
      block.some_begun_by = std::min(block.some_begun_by, parts[part].some_begun_by);
      block.all_begun_by = std::max(block.all_begun_by, parts[part].all_begun_by);
      block.some_ended_from = std::min(block.some_ended_from, parts[part].some_ended_from);
      block.all_ended_from = std::max(block.all_ended_from, parts[part].all_ended_from);
    }
    levels_.push_back(std::move(blocks));
  }
}

void RowTree::include(Block& block, const Life& life) {
  block.some_begun_by = std::min(block.some_begun_by, life.began_by);
  block.all_begun_by = std::max(block.all_begun_by, life.began_by);
  block.some_ended_from = std::min(block.some_ended_from, life.ended_from);
  block.all_ended_from = std::max(block.all_ended_from, life.ended_from);
}

std::size_t RowTree::find(std::uint64_t word, std::size_t from) const {
  std::size_t step = 1;
  while (from + step < rows_.size() && rows_[from + step].word < word) step *= 2;
  const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(from);
  const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(std::min(rows_.size(), from + step));
  const auto found = std::lower_bound(
      begin, end, word, [](const RowName& one, std::uint64_t wanted) { return one.word < wanted; });
  return static_cast<std::size_t>(found - rows_.begin());
}

std::size_t RowTree::rows_of(std::size_t level) {
  std::size_t rows = kRows;
  for (; level > 0; --level) rows *= kBlocks;
  return rows;
}

/// From the left, takes each time the largest block that begins there, lies within and is decided.
void RowTree::place(Miss miss, std::size_t begin, std::size_t end) {
  while (begin < end) {
    std::size_t level = 0;
    while (level + 1 < levels_.size() && begin % rows_of(level + 1) == 0 &&
           begin + rows_of(level + 1) <= end) {
      ++level;
    }
    bool placed = false;
    if (begin % kRows == 0 && begin + kRows <= end) {
      for (std::size_t tried = level + 1; tried > 0 && !placed; --tried) {
        placed = place_by_block(miss, tried - 1, begin / rows_of(tried - 1));
        if (placed) begin += rows_of(tried - 1);
      }
    }
    if (placed) continue;
    // Row by row up to the next possible start of a block.
    const std::size_t stop = std::min(end, (begin / kRows + 1) * kRows);
    for (; begin < stop; ++begin) {
      miss.key = rows_[begin].key;
      lives_.place(miss);
    }
  }
}

bool RowTree::place_by_block(const Miss& miss, std::size_t level, std::size_t number) {
  const Block& block = levels_[level][number];
  if (block.all_begun_by <= miss.from && block.all_ended_from < miss.to) {
    serialization_.add(node_after(level, number), miss.node, Why::wr);
    return true;
  }
  if (block.some_ended_from >= miss.to && block.some_begun_by > miss.from) {
    serialization_.add(miss.node, node_before(level, number), Why::predicate);
    return true;
  }
  return false;
}

template <class OfBlock, class OfLife>
void RowTree::each_part(std::size_t level, std::size_t number, OfBlock of_block, OfLife of_life) {
  if (level == 0) {
    const std::size_t end = std::min(rows_.size(), (number + 1) * kRows);
    for (std::size_t row = number * kRows; row < end; ++row) {
      lives_.each(rows_[row].key, of_life);
    }
    return;
  }
  const std::size_t end = std::min(levels_[level - 1].size(), (number + 1) * kBlocks);
  for (std::size_t part = number * kBlocks; part < end; ++part) of_block(part);
}

// The inner edges count as reads: on a cycle they have no weight next to the edge at its end.

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
std::uint32_t RowTree::node_after(std::size_t level, std::size_t number) {
  std::uint32_t node = levels_[level][number].after;
  if (node != kNone) return node;
  levels_[level][number].after = node = serialization_.add_node();
  each_part(
      level, number,
      [&](std::size_t part) { serialization_.add(node_after(level - 1, part), node, Why::wr); },
      [&](const Life& life) { serialization_.add(life.last, node, Why::wr); });
  return node;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
std::uint32_t RowTree::node_before(std::size_t level, std::size_t number) {
  std::uint32_t node = levels_[level][number].before;
  if (node != kNone) return node;
  levels_[level][number].before = node = serialization_.add_node();
  each_part(
      level, number,
      [&](std::size_t part) { serialization_.add(node, node_before(level - 1, part), Why::wr); },
      [&](const Life& life) { serialization_.add(node, life.first, Why::wr); });
  return node;
}

}  // namespace heddle::check
