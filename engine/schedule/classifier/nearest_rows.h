#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::classifier {

/// Neighbours that may vote, at most.
inline constexpr int kMostNeighbours = 16;

/// Classifies a vector by the labelled rows that lie nearest to it (k nearest neighbours; SMF, VLDB
/// 2024, §4.1.2), by Euclidean distance. A neighbour's vote weighs 1 / distance, so that a row
/// which equals the vector decides alone; it is found by its hash, and in a transaction's path
/// nearly all vectors have one. Only for others the rows are gone through.
class NearestRows {
 public:
  using Row = std::vector<int>;

  /// Rows whose distances are found side by side.
  static constexpr std::size_t kBlock = 16;

  /// @param rows all of one length, none twice; at least one
  /// @param labels one a row, from 0
  /// @param neighbours how many vote, 1 to kMostNeighbours; if there are fewer rows, all do
  NearestRows(std::span<const Row> rows, std::span<const int> labels, int neighbours);

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t size() const { return labels_.size(); }

  /// The label of a vector.
  /// @param vector as long as the rows
  /// @param distances scratch of the caller's, so that nothing is allocated
  [[nodiscard]] int label(std::span<const float> vector, std::vector<float>& distances) const;

 private:
  struct Neighbour {
    float distance = 0;  ///< its square
    int label = 0;
  };

  /// The row that equals the vector; -1: there is none.
  [[nodiscard]] std::int32_t equal_row(std::span<const float> vector) const;
  class Nearest;

  /// The nearest, in order; of two as near that first whose row is. As many as there is room for.
  void find_nearest(std::span<const float> vector, std::vector<float>& distances,
                    std::span<Neighbour> nearest) const;
  [[nodiscard]] static int elected(std::span<const Neighbour> nearest);

  std::size_t columns_ = 0;
  std::size_t neighbours_ = 1;
  std::vector<int> labels_;
  std::size_t blocks_ = 0;
  std::vector<float> by_block_;      ///< of each block of rows one column after the other
  std::vector<float> by_row_;        ///< row after row, for one comparison
  std::vector<std::int32_t> equal_;  ///< by hash, the row or -1; a power of two of them
};

}  // namespace heddle::classifier
