#include "workload/taobench.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "damage.h"

namespace heddle::taobench {
namespace {

using test::Alone;

TaoBenchOptions few(OptionMap more = {}) {
  more.insert({{"objects", "40"}});
  return TaoBenchOptions::parse(more);
}

TEST(TaoBenchGraph, HasNineEdgesAnObjectAndTwoOfThemBack) {
  for (const std::uint64_t objects : {Graph::kFewestObjects, std::uint64_t{1000}}) {
    const Graph graph(objects);
    std::set<std::pair<std::uint64_t, std::uint64_t>> edges;
    for (std::uint64_t from = 0; from < objects; ++from) {
      for (std::uint64_t edge = 0; edge < Graph::kDegree; ++edge) {
        edges.insert({from, graph.to(from, edge)});
      }
    }
    EXPECT_EQ(edges.size(), objects * Graph::kDegree);
    std::uint64_t two_way = 0;
    for (const auto& [from, to] : edges) {
      EXPECT_NE(from, to);
      EXPECT_EQ(graph.two_way(from, to), edges.contains({to, from}));
      two_way += graph.two_way(from, to);
    }
    EXPECT_EQ(two_way, objects * Graph::kTwoWay);
  }
}

TEST(TaoBenchInputs, AreOfTheShapeThatThePaperSums) {
  Alone<TaoBench> graph(few({{"objects", "1000"}}));
  constexpr int kTransactions = 20'000;
  std::map<Type, int> drawn;
  int long_ones = 0;
  double writes = 0;
  double operations = 0;
  for (int i = 0; i < kTransactions; ++i) {
    const Input input = graph.next();
    ++drawn[input.type];
    const bool several = input.type == Type::read_txn || input.type == Type::write_txn;
    EXPECT_GE(input.count, several ? 2U : 1U);
    EXPECT_LE(input.count, input.type == Type::write_txn  ? 60U
                           : input.type == Type::read_txn ? 4U
                                                          : 1U);
    if (input.type != Type::write_txn) continue;
    long_ones += input.count >= 10;
    operations += input.count;
    for (std::uint32_t at = 0; at < input.count; ++at) {
      const Kind kind = input.operations[at].kind;
      writes += kind == Kind::update_object || kind == Kind::update_edge;
    }
  }
  EXPECT_NEAR(drawn[Type::read], 3000, 250);
  EXPECT_NEAR(drawn[Type::read_txn], 9000, 350);
  EXPECT_NEAR(drawn[Type::write], 800, 150);
  EXPECT_NEAR(drawn[Type::write_txn], 7200, 350);
  EXPECT_NEAR(long_ones, 720, 120);
  EXPECT_NEAR(writes / operations, 0.3, 0.02);
}

TEST(TaoBench, ATwoWayEdgeIsChangedBothWays) {
  Alone<TaoBench> graph(few());
  const auto& edges = graph.workload().tables().edges;
  Input input{.type = Type::write, .count = 1, .operations = {}};
  for (const auto& [from, to] : {std::pair{7U, 8U}, std::pair{8U, 7U}}) {
    input.operations[0] = {
        .object = from, .to = to, .kind = Kind::update_edge, .two_way = true, .change = 1};
    ASSERT_EQ(graph.execute(input), Outcome::commit);
  }
  EXPECT_EQ(edges.find_quiescent(pair_key(7, 8))->number(), 2);
  EXPECT_EQ(edges.find_quiescent(pair_key(8, 7))->number(), 2);
}

TEST(TaoBench, StaysConsistent) {
  for (const char* reads : {"latest", "snapshot"}) {
    Alone<TaoBench> graph(few({{"reads", reads}, {"writes", "60"}}));
    const auto counts = graph.run(20'000);
    EXPECT_EQ(counts.aborts, 0);
    EXPECT_TRUE(counts.rollbacks.empty());
    EXPECT_EQ(counts.commits.size(), kTypes);
    EXPECT_EQ(graph.workload().check(), std::vector<std::string>{});
    std::size_t changed = 0;
    graph.workload().tables().edges.for_each(
        [&](const Key1&, const Value& row) { changed += row.number() != 0; });
    EXPECT_GT(changed, 100U);
  }
}

/// Every condition is made to fail: a check that cannot fail proves nothing.
class TaoBenchConsistency : public test::Damage<TaoBench> {
 protected:
  TaoBenchConsistency() : Damage(graph_) { (void)graph_.run(1000); }

  Alone<TaoBench> graph_{few()};
};

TEST_F(TaoBenchConsistency, HoldsAtFirst) { EXPECT_EQ(violated(), Names{}); }

TEST_F(TaoBenchConsistency, LostUpdate) {
  damage(tables().objects, make_key(3u), [](Value& row) { row.add(1); });
  EXPECT_EQ(violated(), Names{"sum"});
  damage(tables().edges, pair_key(3, 8), [](Value& row) { row.add(-1); });
  EXPECT_EQ(violated(), Names{}) << "what one gained, another lost";
}

TEST_F(TaoBenchConsistency, EdgesThatDisagree) {
  damage(tables().edges, pair_key(3, 4), [](Value& row) { row.add(1); });
  EXPECT_EQ(violated(), Names{"edges back"});
}

TEST_F(TaoBenchConsistency, TornRows) {
  damage(tables().objects, make_key(3u), [](Value& row) { ++row.words.back(); });
  damage(tables().edges, pair_key(3, 8), [](Value& row) { ++row.words.back(); });
  EXPECT_EQ(violated(), (Names{"edges", "objects"}));
}

TEST_F(TaoBenchConsistency, MissingRows) {
  remove(tables().edges, pair_key(3, 4));
  const Names names = violated();
  EXPECT_EQ(names, (Names{"edges back", "rows"}));
  remove(tables().edges, pair_key(4, 3));
  EXPECT_EQ(violated(), Names{"rows"});
}

}  // namespace
}  // namespace heddle::taobench
