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
  double theta = 0.99;  ///< Zipf's exponent of objects
  Mix<taobench::kTypes> mix{{4, 36, 15, 45}};
  int long_share = 10;   ///< percent of the write_txn that are long
  int write_share = 30;  ///< percent of their operations that write
  Reads reads;

  static TaoBenchOptions parse(const OptionMap& map) {
    constexpr std::int64_t kMostObjects = 100'000'000;
    OptionReader reader("taobench", map);
    TaoBenchOptions options;
    options.objects = static_cast<std::uint64_t>(
        reader.integer("objects", static_cast<std::int64_t>(options.objects),
                       taobench::Graph::kFewestObjects, kMostObjects));
    options.theta = reader.real("theta", options.theta, 0, 4);
    options.mix = options.mix.read(reader, taobench::kTypeNames, options.mix);
    options.long_share = static_cast<int>(reader.integer("long", options.long_share, 0, 100));
    options.write_share = static_cast<int>(reader.integer("writes", options.write_share, 0, 100));
    options.reads = Reads::read(reader);
    reader.finish();
    options.mix.validate(reader, taobench::kTypeNames);
    return options;
  }
};

}  // namespace heddle
