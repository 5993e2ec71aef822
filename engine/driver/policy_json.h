#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "model/options.h"
#include "model/signature.h"
#include "protocol/policy.h"

namespace heddle {

/// An invalid policy document; the message names the row and the field at fault and the valid
/// values.
class PolicyError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Reads a policy document and validates all of it: structure, signature, every range. This is the
/// only validator; Python uses it too.
///
/// @param signature the workload it is to run on; a policy for another signature is rejected
/// @throws PolicyError
[[nodiscard]] Policy parse_policy(std::string_view json, const Signature& signature);

/// The canonical document: equal policies give equal texts. One row per line.
[[nodiscard]] std::string to_json(const Policy& policy);

/// The admission options of a policy, in the form that Options::parse of the admission takes;
/// empty: the policy has none.
[[nodiscard]] OptionMap schedule_options(const Policy& policy);

/// The signature as it appears in a document.
[[nodiscard]] std::string to_json(const Signature& signature);
/// @throws PolicyError
[[nodiscard]] Signature parse_signature(std::string_view json);

}  // namespace heddle
