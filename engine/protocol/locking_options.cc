#include "protocol/locking_options.h"

#include <stdexcept>
#include <string_view>
#include <vector>

#include "protocol/grant/registry.h"

namespace heddle {

namespace {

constexpr std::size_t kMostPartitions = 65'536;

bool uses_dependencies(const std::string& grant) {
  return grant == grant::Ldsf::kName || grant == grant::Bldsf::kName ||
         grant == grant::Hldsf::kName;
}

std::string text_of(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += std::to_string(rank);
  return text;
}

std::vector<std::string_view> delay_names() {
  std::vector<std::string_view> names;
  for (const grant::NamedDelay& delay : grant::kDelays) names.push_back(delay.name);
  return names;
}

}  // namespace

void LockingOptions::read(OptionReader& reader) {
  reader.choice("conflict", rule,
                {{"wait_die", ConflictRule::wait_die},
                 {"no_wait", ConflictRule::no_wait},
                 {"detect", ConflictRule::detect}},
                "which conflicting requests wait; detect: all, until a deadlock is found");
  const std::vector<std::string> grants = grant::Policies::names();
  reader.choice("grant", grant, {grants.begin(), grants.end()},
                "with detect, who of those waiting gets a released lock");
  reader.choice("dependency", policy.exact, {{"approximate", false}, {"exact", true}},
                "with ldsf, bldsf or hldsf, how dependency sets are counted");
  const std::vector<std::string_view> delays = delay_names();
  const std::string log2(delays.front());
  std::string delay = log2;
  reader.choice("delay", delay, delays,
                "with bldsf, how the delay grows with the number of shared locks granted at once");
  policy.delay = grant::delay_factor(delay);
  std::string ranks = text_of(policy.ranks);
  reader.text("rank", ranks,
              "with detect, a digit for each transaction type: a lock goes to the highest first");
  policy.ranks.clear();
  for (const char digit : ranks) {
    if (digit < '0' || digit > '9') {
      reader.reject("rank", ranks, "a digit for each transaction type, such as 20100");
    }
    policy.ranks.push_back(digit - '0');
  }

  reader.integer(
      "partitions", partitions, 0, kMostPartitions,
      "of the data, each locked or validated, whichever is faster (CormCC); 0: all locked");

  const std::uint64_t usual_span = span;
  reader.integer("span", span, 2, 1'000'000,
                 "with partitions, measured transactions of one between two decisions");
  if (span != usual_span && partitions == 0) {
    reader.reject("span", std::to_string(span), "none, or partitions of 1 or more");
  }

  // wait_die lets a request wait for those ahead of it only: in another order it would wait for
  // others as well, and transactions might wait in a circle.
  if (grant != grant::Fifo::kName && rule != ConflictRule::detect) {
    reader.reject("grant", grant, "fifo; the others need conflict=detect");
  }
  if (policy.exact && !uses_dependencies(grant)) {
    reader.reject("dependency", "exact", "approximate; exact needs grant=ldsf, bldsf or hldsf");
  }
  if (delay != log2 && grant != grant::Bldsf::kName) {
    reader.reject("delay", delay, log2 + "; the others need grant=bldsf");
  }
  if (!policy.ranks.empty() && rule != ConflictRule::detect) {
    reader.reject("rank", ranks, "none, or conflict=detect");
  }
}

LockingOptions LockingOptions::parse(const OptionMap& options) {
  OptionReader reader("protocol two_phase_locking", options);
  return read_options<LockingOptions>(reader);
}

LockingOptions LockingOptions::parse(const OptionMap& options, const Signature& signature) {
  LockingOptions read = parse(options);
  const std::size_t types = signature.types.size();
  if (read.policy.ranks.empty() || read.policy.ranks.size() == types) return read;
  throw std::invalid_argument("protocol two_phase_locking: option 'rank' is '" +
                              text_of(read.policy.ranks) + "'; workload " + signature.workload +
                              " has " + std::to_string(types) +
                              " transaction types, each of which needs a digit");
}

}  // namespace heddle
