#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/random.h"
#include "workload/taobench/graph.h"
#include "workload/taobench/options.h"
#include "workload/taobench/states.h"
#include "workload/zipf.h"

namespace heddle::taobench {

enum class Kind : std::uint8_t { read_object, read_edge, scan_edges, update_object, update_edge };

struct Operation {
  std::uint32_t object;
  std::uint32_t to;  ///< of an edge
  Kind kind;
  bool two_way;        ///< the edge has a reverse edge
  std::int8_t change;  ///< the amount that an update adds
};

struct Input {
  static constexpr std::size_t kMostOperations = 60;

  Type type;
  std::uint32_t count;
  std::array<Operation, kMostOperations> operations;
};

/// Draws inputs. Hot objects occur at any position of a transaction (SMF, §5.1.1), and may occur
/// twice.
class InputGenerator {
 public:
  explicit InputGenerator(const TaoBenchOptions& options)
      : options_(options),
        graph_(options.objects),
        zipf_(options.objects, options.theta),
        scatter_(options.objects) {}

  void generate(Random& random, Input& input) const {
    input.type = static_cast<Type>(options_.mix.draw(random));
    input.count = static_cast<std::uint32_t>(size(random, input.type));
    for (std::uint32_t i = 0; i < input.count; ++i) draw(random, input.type, input.operations[i]);
    balance(input);
  }

 private:
  /// The number of operations (SMF, §5.1.1, in words: short reads, read-write transactions below
  /// ten operations, few of up to sixty).
  [[nodiscard]] std::int64_t size(Random& random, Type type) const {
    switch (type) {
      case Type::write:
      case Type::read: return 1;
      case Type::read_txn: return random.between(2, 4);
      case Type::write_txn: break;
    }
    const bool is_long = random.below(100) < static_cast<std::uint64_t>(options_.long_share);
    return is_long ? random.between(10, Input::kMostOperations) : random.between(2, 9);
  }

  void draw(Random& random, Type type, Operation& operation) const {
    operation.kind = draw_kind(random, type);
    operation.object = static_cast<std::uint32_t>(scatter_(zipf_(random)));
    operation.to =
        static_cast<std::uint32_t>(graph_.to(operation.object, random.below(Graph::kDegree)));
    operation.two_way = graph_.two_way(operation.object, operation.to);
  }

  /// The ratio of objects to edges is that of TAOBench's workload A, the one whose configuration is
  /// published with its code and has transactions.
  [[nodiscard]] Kind draw_kind(Random& random, Type type) const {
    if (type == Type::read) {
      const std::uint64_t card = random.below(475 + 68 + 376 + 39);
      return card < 475        ? Kind::read_object
             : card < 475 + 68 ? Kind::read_edge
                               : Kind::scan_edges;  // ranges, and counts, which are scans here, too
    }
    const bool writes = type == Type::write ||
                        (type == Type::write_txn &&
                         random.below(100) < static_cast<std::uint64_t>(options_.write_share));
    // Inserts of objects (111) and edges (10) are done as updates, so that the table does not grow
    // with the length of a run.
    if (writes) {
      return random.below(111 + 214 + 10 + 380) < 111 + 214 ? Kind::update_object
                                                            : Kind::update_edge;
    }
    return random.below(1 + 5) == 0 ? Kind::read_object : Kind::read_edge;
  }

  /// The amounts that a transaction adds to objects and one-way edges are taken away elsewhere, so
  /// that their numbers always add up to 0; both rows of a two-way edge get the same amount.
  static void balance(Input& input) {
    Operation* unpaired = nullptr;
    for (std::uint32_t i = 0; i < input.count; ++i) {
      Operation& drawn = input.operations[i];
      drawn.change = 0;
      if (drawn.kind == Kind::update_edge && drawn.two_way) {
        drawn.change = 1;
      } else if (drawn.kind == Kind::update_object || drawn.kind == Kind::update_edge) {
        drawn.change = unpaired == nullptr ? 1 : -1;
        unpaired = unpaired == nullptr ? &drawn : nullptr;
      }
    }
    if (unpaired != nullptr) unpaired->change = 0;
  }

  TaoBenchOptions options_;
  Graph graph_;
  Zipf zipf_;
  Scatter scatter_;
};

}  // namespace heddle::taobench
