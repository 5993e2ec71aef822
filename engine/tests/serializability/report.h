#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "serializability/graph.h"
#include "serializability/history.h"

namespace heddle::serializability {

/// What the checker found wrong.
struct Anomaly {
  std::string name;  ///< Adya's where it has one: "G1a aborted read"
  std::string text;  ///< everything a reader needs, several lines
};

inline std::string text_of(std::uint32_t client, std::uint64_t sequence) {
  if (client == kLoader) return "loader";
  std::string text("T");
  text.append(std::to_string(client)).append(":").append(std::to_string(sequence));
  return text;
}

inline std::string text_of(VersionId version) {
  if (version == kNothing) return "nothing";
  return text_of(client_of(version), sequence_of(version)) + "#" +
         std::to_string(number_of(version));
}

inline std::string text_of(const Operation& operation) {
  const std::string item = operation.item.text();
  const std::string scan = operation.by_scan ? " (scan)" : "";
  switch (operation.step) {
    case Step::read: return "read " + item + " = " + text_of(operation.version) + scan;
    case Step::missed: return "missed " + item + scan;
    case Step::write:
      return "write " + item + " = " + text_of(operation.version) + " over " +
             text_of(operation.replaced);
    case Step::remove: return "remove " + item + " = " + text_of(operation.replaced);
    case Step::fault: break;
  }
  switch (static_cast<Fault>(operation.stamp)) {
    case Fault::foreign_row: return "found another key's row under " + item;
    case Fault::scan_disorder: return "scan out of order or double at " + item;
    case Fault::scan_outside: return "scan gave a key outside its bounds: " + item;
  }
  return "fault";
}

inline std::string text_of(const Transaction& transaction, const ClientLog& log) {
  std::string text = text_of(transaction.client, transaction.sequence) + " (type " +
                     std::to_string(transaction.type) +
                     (transaction.committed ? "" : ", rolled back") + ", clock " +
                     std::to_string(transaction.began) + " to " +
                     std::to_string(transaction.ended) + "):";
  constexpr std::uint64_t kMost = 40;
  const std::uint64_t end =
      std::min(transaction.end_operation, transaction.first_operation + kMost);
  for (std::uint64_t at = transaction.first_operation; at < end; ++at) {
    text += (at == transaction.first_operation ? " " : "; ") + text_of(log.operations[at]);
  }
  return text + (end < transaction.end_operation ? "; ..." : "");
}

/// Adya's name for a cycle of these edges.
inline std::string name_of_cycle(const std::vector<Edge>& cycle) {
  const auto count = [&cycle](Why why) {
    return std::count_if(cycle.begin(), cycle.end(),
                         [why](const Edge& edge) { return edge.why == why; });
  };
  const auto anti = count(Why::rw) + count(Why::predicate);
  if (anti == 0) return count(Why::wr) == 0 ? "G0 write cycle" : "G1c circular information flow";
  if (anti > 1) return count(Why::predicate) == 0 ? "G2-item (write skew)" : "G2 (phantom skew)";
  return count(Why::predicate) == 0 ? "G-single (read skew)" : "G-single (phantom)";
}

inline std::string text_of(Why why) {
  switch (why) {
    case Why::ww: return "ww";
    case Why::wr: return "wr";
    case Why::rw: return "rw";
    case Why::predicate: return "predicate-rw";
  }
  return "?";
}

}  // namespace heddle::serializability
