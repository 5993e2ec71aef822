#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/key.h"
#include "workload/pair_key.h"
#include "workload/taobench/graph.h"
#include "workload/taobench/tables.h"
#include "workload/violations.h"

namespace heddle::taobench {

/// Checks that an edge and its reverse edge agree, that the amounts added to some rows were taken
/// from others, that no row is torn, and that none is missing. Quiescent only.
template <class M>
class ConsistencyCheck {
 public:
  ConsistencyCheck(const Tables<M>& tables, const Graph& graph) : tables_(tables), graph_(graph) {}

  [[nodiscard]] std::vector<std::string> run() {
    check_objects();
    check_edges();
    if (sum_ != 0) {
      violations_.add("sum", "objects and one-way edges add up to ", sum_,
                      ", not to 0: updates were lost or doubled");
    }
    return violations_.take();
  }

 private:
  void expect_rows(const char* table, std::uint64_t rows, std::uint64_t due) {
    if (rows != due) violations_.add("rows", table, " has ", rows, " rows, not ", due);
  }

  void check_objects() {
    std::uint64_t rows = 0;
    tables_.objects.for_each([&](const Key1& key, const Value& row) {
      ++rows;
      sum_ += row.number();
      if (row.torn()) violations_.add("objects", "object ", key.words[0], " is torn");
    });
    expect_rows("OBJECTS", rows, graph_.objects());
  }

  void check_edges() {
    std::uint64_t rows = 0;
    tables_.edges.for_each([&](const Key1& key, const Value& row) {
      ++rows;
      const std::uint64_t from = first_of(key);
      const std::uint64_t to = second_of(key);
      if (row.torn()) violations_.add("edges", "edge ", from, " to ", to, " is torn");
      if (graph_.two_way(from, to)) {
        check_back(from, to, row);
      } else {
        sum_ += row.number();
      }
    });
    expect_rows("EDGES", rows, graph_.objects() * Graph::kDegree);
  }

  void check_back(std::uint64_t from, std::uint64_t to, const Value& row) {
    const Value* back = tables_.edges.find_quiescent(pair_key(to, from));
    if (back != nullptr && back->number() == row.number()) return;
    violations_.add("edges back", "edge ", from, " to ", to, " is at ", row.number(), ", back at ",
                    back == nullptr ? "nothing" : std::to_string(back->number()));
  }

  const Tables<M>& tables_;
  const Graph& graph_;
  std::int64_t sum_ = 0;  // of the amounts that transactions add and take away equally
  Violations violations_;
};

}  // namespace heddle::taobench
