#include "protocol/mvto_options.h"

namespace heddle {

void MvtoOptions::read(OptionReader& reader) {
  reader.choice("isolation", isolation,
                {{"serializable", Isolation::serializable},
                 {"snapshot", Isolation::snapshot},
                 {"read_committed", Isolation::read_committed}},
                "the isolation level; below serializable histories have anomalies");
}

MvtoOptions MvtoOptions::parse(const OptionMap& options) {
  OptionReader reader("protocol mvto", options);
  return read_options<MvtoOptions>(reader);
}

}  // namespace heddle
