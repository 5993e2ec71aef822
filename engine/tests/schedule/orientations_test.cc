#include "schedule/orientations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "schedule/batch.h"

namespace heddle::schedule {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// A batch whose conflict graph has these edges: both ends write a key that is theirs.
Batch batch_of(std::uint32_t size, const Edges& edges) {
  std::vector<std::vector<Operation>> transactions(size, {Operation{}});
  for (std::uint32_t key = 0; key < edges.size(); ++key) {
    for (const std::uint32_t end : {edges[key].first, edges[key].second}) {
      transactions[end].push_back({Access::kWrite, key});
    }
  }
  Batch batch;
  for (const auto& transaction : transactions) batch.add(transaction);
  return batch;
}

/// An orientation: for each edge, whether it points from its first end to its second.
std::vector<bool> orientation(const Order& order, const Edges& edges) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) place[order[at]] = at;
  std::vector<bool> found;
  for (const auto& [one, other] : edges) found.push_back(place[one] < place[other]);
  return found;
}

std::set<std::vector<bool>> all_orientations(std::uint32_t size, const Edges& edges) {
  Order order(size);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::set<std::vector<bool>> found;
  do {
    found.insert(orientation(order, edges));
  } while (std::next_permutation(order.begin(), order.end()));
  return found;
}

TEST(ConflictGraph, HasAnEdgeWhereOneWritesWhatTheOtherTouches) {
  Batch batch;
  const Operation reads{Access::kRead, 0};
  const Operation writes{Access::kWrite, 0};
  batch.add(std::vector{reads});
  batch.add(std::vector{reads, reads});
  batch.add(std::vector{reads, writes});
  batch.add(std::vector{Operation{}});
  const ConflictGraph graph(batch);
  EXPECT_EQ(graph.edge_count(), 2U);
  EXPECT_EQ(graph.neighbours(2).size(), 2U);
  EXPECT_TRUE(graph.neighbours(3).empty());
}

/// Counts orientations on the walk and compares them with a uniform distribution.
void expect_uniform(std::uint32_t size, const Edges& edges) {
  const Batch batch = batch_of(size, edges);
  const ConflictGraph graph(batch);
  ASSERT_EQ(graph.edge_count(), edges.size());
  const auto all = all_orientations(size, edges);
  constexpr int kSamplesEach = 400;
  constexpr int kStepsBetween = 40;
  OrientationWalk walk(graph, 5);
  std::map<std::vector<bool>, int> counts;
  const auto samples = static_cast<int>(all.size()) * kSamplesEach;
  for (int sample = 0; sample < samples; ++sample) {
    for (int step = 0; step < kStepsBetween; ++step) walk.step();
    ++counts[orientation(walk.order(), edges)];
  }
  ASSERT_EQ(counts.size(), all.size());
  double chi_square = 0;
  for (const auto& [found, count] : counts) {
    chi_square += (count - kSamplesEach) * (count - kSamplesEach) / double{kSamplesEach};
  }
  // Its mean is the degrees of freedom, its variance twice that: five standard deviations.
  const auto freedom = static_cast<double>(all.size() - 1);
  EXPECT_LT(chi_square, freedom + 5 * std::sqrt(2 * freedom));
}

TEST(OrientationWalk, IsUniformOverAPath) { expect_uniform(4, {{0, 1}, {1, 2}, {2, 3}}); }

TEST(OrientationWalk, IsUniformOverATriangleWithATail) {
  expect_uniform(4, {{0, 1}, {1, 2}, {0, 2}, {2, 3}});
}

TEST(OrientationWalk, IsUniformOverAllOrdersOfFour) {
  expect_uniform(4, {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}});
}

TEST(OrientationWalk, IsUniformOverACycleOfFive) {
  expect_uniform(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 4}});
}

TEST(OrientationWalk, IsUniformOverTwoParts) {
  expect_uniform(5, {{0, 3}, {1, 4}, {1, 2}, {2, 4}});
}

TEST(OrientationWalk, StaysWhereNothingConflicts) {
  const Batch batch = batch_of(3, {});
  const ConflictGraph graph(batch);
  OrientationWalk walk(graph, 1);
  walk.step();
  EXPECT_EQ(walk.order(), (Order{0, 1, 2}));
}

}  // namespace
}  // namespace heddle::schedule
