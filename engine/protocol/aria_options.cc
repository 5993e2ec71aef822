#include "protocol/aria_options.h"

namespace heddle {

void AriaOptions::read(OptionReader& reader) {
  constexpr int kMostInBatch = 1024;
  reader.integer("batch", batch, 0, kMostInBatch,
                 "most new transactions of a batch, on all cores; 0: one per core");
  reader.choice("reordering", reordering, {{"on", true}, {"off", false}},
                "on: a transaction may be placed before one that overwrites what it has read");
}

AriaOptions AriaOptions::parse(const OptionMap& options) {
  OptionReader reader("protocol aria", options);
  return read_options<AriaOptions>(reader);
}

}  // namespace heddle
