#include "protocol/protocol.h"

#include <stdexcept>

namespace heddle {

void reject_protocol_option(std::string_view protocol, const std::string& key,
                            const std::string& value, std::string_view valid) {
  throw std::invalid_argument("protocol " + std::string(protocol) + ": option '" + key + "=" +
                              value + "' is not known; valid: " + std::string(valid));
}

}  // namespace heddle
