#include "schedule/classifier/nearest_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"

namespace heddle::classifier {
namespace {

struct Labelled {
  std::vector<NearestRows::Row> rows;
  std::vector<int> labels;
};

/// Rows that differ, of small numbers.
Labelled drawn(Random& random, std::size_t count, std::size_t columns, int labels) {
  Labelled made;
  std::set<NearestRows::Row> seen;
  while (made.rows.size() < count) {
    NearestRows::Row row(columns);
    for (int& value : row) value = static_cast<int>(random.below(40));
    if (!seen.insert(row).second) continue;
    made.rows.push_back(row);
    made.labels.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(labels))));
  }
  return made;
}

double distance(const NearestRows::Row& row, const std::vector<float>& vector) {
  double sum = 0;
  for (std::size_t at = 0; at < row.size(); ++at) sum += std::pow(row[at] - vector[at], 2);
  return std::sqrt(sum);
}

/// The labels that may win by the definition: several, if two have as many votes, or if the last of
/// the neighbours is as near as a row that is not a neighbour.
std::set<int> brute_force(const Labelled& all, std::size_t neighbours,
                          const std::vector<float>& vector) {
  std::vector<std::size_t> order(all.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return distance(all.rows[a], vector) < distance(all.rows[b], vector);
  });
  if (distance(all.rows[order[0]], vector) == 0) return {all.labels[order[0]]};
  std::map<int, double> votes;
  double most = 0;
  for (std::size_t at = 0; at < std::min(neighbours, order.size()); ++at) {
    double& sum = votes[all.labels[order[at]]];
    sum += 1 / distance(all.rows[order[at]], vector);
    most = std::max(most, sum);
  }
  std::set<int> best;
  for (const auto& [label, sum] : votes) {
    if (sum > most * (1 - 1e-5)) best.insert(label);
  }
  return best;
}

TEST(NearestRows, AgreeWithTheDefinition) {
  Random random(7);
  std::vector<float> distances;
  for (const std::size_t count : {1U, 2U, 15U, 16U, 17U, 100U, 700U}) {
    for (const std::size_t columns : {1U, 2U, 5U}) {
      if (count > 30 && columns == 1) continue;  // there are not as many numbers
      const Labelled all = drawn(random, count, columns, 6);
      for (const int neighbours : {1, 2, 3, 7, kMostNeighbours}) {
        const NearestRows nearest(all.rows, all.labels, neighbours);
        EXPECT_EQ(nearest.columns(), columns);
        EXPECT_EQ(nearest.size(), count);
        for (int trial = 0; trial < 50; ++trial) {
          std::vector<float> vector(columns);
          for (float& value : vector) value = static_cast<float>(random.below(45));
          const int label = nearest.label(vector, distances);
          EXPECT_TRUE(
              brute_force(all, static_cast<std::size_t>(neighbours), vector).contains(label))
              << count << " rows of " << columns << ", " << neighbours << " neighbours";
        }
      }
    }
  }
}

TEST(NearestRows, ARowThatEqualsTheVectorDecidesAlone) {
  const std::vector<NearestRows::Row> rows{{1, 1}, {1, 2}, {2, 1}, {2, 2}};
  const std::vector<int> labels{1, 0, 0, 0};
  std::vector<float> distances;
  const NearestRows nearest(rows, labels, 4);
  EXPECT_EQ(nearest.label(std::vector<float>{1, 1}, distances), 1);
  EXPECT_EQ(nearest.label(std::vector<float>{2, 2}, distances), 0);
  EXPECT_EQ(nearest.label(std::vector<float>{0, 0}, distances), 0);
}

TEST(NearestRows, RowsOfNoNumberAreOne) {
  const std::vector<NearestRows::Row> rows{{}};
  const std::vector<int> labels{3};
  std::vector<float> distances;
  EXPECT_EQ(NearestRows(rows, labels, 1).label({}, distances), 3);
}

}  // namespace
}  // namespace heddle::classifier
