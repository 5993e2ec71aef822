#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "model/options.h"
#include "model/signature.h"
#include "protocol/policy.h"

namespace heddle {

/// A policy document that can't be used; the message names the row and the field at fault and what
/// would be right.
class PolicyError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Reads a policy document (DESIGN §6) and checks it whole: structure, signature, every range. The
/// one validator: Python uses it too.
///
/// @param signature the workload it is to run on; a policy for another one is refused
/// @throws PolicyError
[[nodiscard]] Policy parse_policy(std::string_view json, const Signature& signature);

/// The document, canonical: equal policies give equal texts. One row a line.
[[nodiscard]] std::string to_json(const Policy& policy);

/// Which transaction starts next under a policy, as Options::parse of the admission takes it;
/// empty: the policy does not say.
[[nodiscard]] OptionMap schedule_options(const Policy& policy);

/// The signature as it stands in a document, and back.
[[nodiscard]] std::string to_json(const Signature& signature);
/// @throws PolicyError
[[nodiscard]] Signature parse_signature(std::string_view json);

}  // namespace heddle
