#pragma once

#include <cstdint>

#include "model/options.h"
#include "workload/mix.h"
#include "workload/reads.h"
#include "workload/taobench/graph.h"
#include "workload/taobench/states.h"

namespace heddle {

/// The options of TAOBench.
struct TaoBenchOptions {
  std::uint64_t objects = 100'000;
  double theta = 0.99;
  Mix<taobench::kTypes> mix{{4, 36, 15, 45}};
  int long_share = 10;
  int write_share = 30;
  Reads reads;

  void read(OptionReader& reader) {
    constexpr std::int64_t kMostObjects = 100'000'000;
    reader.integer("objects", objects, taobench::Graph::kFewestObjects, kMostObjects,
                   "objects, each with nine edges; the SMF paper has 10000000");
    reader.real("theta", theta, 0, 4, "exponent of the Zipf distribution of objects; 0 is uniform");
    mix.read(reader, taobench::kTypeNames);
    reader.integer("long", long_share, 0, 100,
                   "write_txn with 10 to 60 operations, percent; the others have 2 to 9");
    reader.integer("writes", write_share, 0, 100, "operations of a write_txn that write, percent");
    reads.read(reader);
  }

  static TaoBenchOptions parse(const OptionMap& map) {
    OptionReader reader("taobench", map);
    const auto options = read_options<TaoBenchOptions>(reader);
    options.mix.validate(reader, taobench::kTypeNames);
    return options;
  }
};

}  // namespace heddle
