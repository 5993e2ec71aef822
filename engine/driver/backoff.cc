#include "driver/backoff.h"

#include <stdexcept>

namespace heddle {

BackoffKind parse_backoff(std::string_view name) {
  if (name == "none") return BackoffKind::none;
  if (name == "exponential") return BackoffKind::exponential;
  if (name == "static") return BackoffKind::constant;
  if (name == "policy") return BackoffKind::policy;
  throw std::invalid_argument("backoff '" + std::string(name) +
                              "' is not known; valid: none, exponential, static, policy");
}

}  // namespace heddle
