#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::classifier {

/// The greatest number of neighbours that vote.
inline constexpr int kMostNeighbours = 16;

/// Classifies a vector by the nearest labelled rows (k nearest neighbours; SMF, VLDB 2024, §4.1.2),
/// by Euclidean distance. A neighbour's vote weighs 1 / distance, so that a row equal to the vector
/// decides alone. Such a row is found by its hash, and on a transaction's path nearly every vector
/// has one; the rows are searched only for the others.
class NearestRows {
 public:
  using Row = std::vector<int>;

  /// The number of rows whose distances are computed together.
  static constexpr std::size_t kBlock = 16;

  /// @param rows all of one length, without duplicates; at least one
  /// @param labels one per row, from 0
  /// @param neighbours number of votes, 1 to kMostNeighbours; if there are fewer rows, all vote
  NearestRows(std::span<const Row> rows, std::span<const int> labels, int neighbours);

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t size() const { return labels_.size(); }

  /// The label of a vector.
  /// @param vector as long as the rows
  /// @param distances the caller's scratch memory, so that nothing is allocated
  [[nodiscard]] int label(std::span<const float> vector, std::vector<float>& distances) const;

 private:
  struct Neighbour {
    float distance = 0;  ///< its square
    int label = 0;
  };

  /// The row that equals the vector; -1: there is none.
  [[nodiscard]] std::int32_t equal_row(std::span<const float> vector) const;
  class Nearest;

  /// The nearest rows, in order; of two at the same distance the first row is first. As many as
  /// fit.
  void find_nearest(std::span<const float> vector, std::vector<float>& distances,
                    std::span<Neighbour> nearest) const;
  [[nodiscard]] static int elected(std::span<const Neighbour> nearest);

  std::size_t columns_ = 0;
  std::size_t neighbours_ = 1;
  std::vector<int> labels_;
  std::size_t blocks_ = 0;
  std::vector<float> by_block_;      ///< per block, one column of its rows after the other
  std::vector<float> by_row_;        ///< row after row, for one comparison
  std::vector<std::int32_t> equal_;  ///< by hash, the row or -1; their number is a power of two
};

}  // namespace heddle::classifier
