#include "check/report.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "check/printable.h"

namespace heddle::check {

namespace {

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::foreign_row: return "found another key's row under";
    case Fault::out_of_order: return "scan out of order, or twice, at";
    case Fault::out_of_range: return "scan returned a key outside its bounds:";
    case Fault::own_write: return "did not read its own write of";
    case Fault::lost_write: return "committed without its write of";
    case Fault::count_: break;
  }
  return "unknown fault at";
}

std::string_view text_of(Why why) {
  switch (why) {
    case Why::ww: return "ww";
    case Why::wr: return "wr";
    case Why::rw: return "rw";
    case Why::predicate: return "predicate-rw";
  }
  return "?";
}

bool leaves_a_version(const Operation& operation) {
  return operation.kind == Kind::write || operation.kind == Kind::remove;
}

/// Whether two anti-dependencies of a cycle follow each other.
bool has_two_in_a_row(const std::vector<Edge>& cycle) {
  for (std::size_t at = 0; at < cycle.size(); ++at) {
    if (cycle[at].is_anti() && cycle[(at + 1) % cycle.size()].is_anti()) return true;
  }
  return false;
}

}  // namespace

std::string Words::name(std::uint32_t node) const {
  return "w" + std::to_string(transactions_.worker(node)) + ":" +
         std::to_string(transactions_.number(node));
}

std::string Words::row(std::uint8_t table, std::uint64_t key) const {
  const auto& tables = transactions_.history().tables;
  return (table < tables.size() ? printable(tables[table]) : "table " + std::to_string(table)) +
         "/" + std::to_string(key);
}

std::string Words::version(const Operation& operation) const {
  if (!operation.is(flag::kUncommitted)) {
    if (operation.version < transactions_.history().first_version)
      return "the version before the run";
    return "version " + std::to_string(operation.version >> 32) + "." +
           std::to_string((operation.version & 0xffff'ffff) >> 3);
  }
  const Dirty dirty = Dirty::unpack(operation.version);
  const auto writer = transactions_.writer_of(dirty);
  return "the uncommitted write " + std::to_string(dirty.writes) + " of w" +
         std::to_string(dirty.worker) + ":" +
         (writer.known ? std::to_string(writer.attempt) : std::string("?"));
}

std::string Words::operation(const Operation& operation) const {
  const std::string where = row(operation.table, operation.key);
  switch (operation.kind) {
    case Kind::read:
      if (operation.is(flag::kOwn)) return "read its own " + where;
      return "read " + where + " = " + version(operation) +
             (operation.is(flag::kOfRange) ? " (scan)" : "");
    case Kind::miss:
      return "missed " + where +
             (operation.is(flag::kUncommitted) ? ", deleted by " + version(operation) : "");
    case Kind::write:
      return (operation.is(flag::kInserted) ? "insert " : "write ") + where + " = " +
             version(operation);
    case Kind::remove: return "remove " + where + " = " + version(operation);
    case Kind::range:
      return "scan " + where + " to " + std::to_string(operation.place) + ": " +
             std::to_string(operation.rows()) + " rows";
    case Kind::broken: break;
  }
  return std::string(name_of(static_cast<Fault>(operation.version))) + " " + where;
}

std::string Words::transaction(std::uint32_t node) const {
  constexpr std::uint32_t kMost = 40;
  const Attempt& attempt = transactions_.attempt(node);
  const auto& types = transactions_.history().types;
  std::string text = name(node) + " (";
  text +=
      attempt.type < types.size() ? printable(types[attempt.type]) : std::to_string(attempt.type);
  text += attempt.end == End::committed ? "" : ", rolled back";
  text += attempt.on_snapshot ? ", reads a snapshot" : "";
  text += "; from " + std::to_string(attempt.began) + " to " + std::to_string(attempt.ended) + "):";
  const std::uint32_t shown = std::min(attempt.operations, kMost);
  for (std::uint32_t offset = 0; offset < shown; ++offset) {
    text += (offset == 0 ? " " : "; ") + operation(transactions_.operation(node, offset));
  }
  if (shown < attempt.operations) {
    text += "; and " + std::to_string(attempt.operations - shown) + " more";
  }
  return text;
}

/// Edges don't contain their row: it is found again in the two transactions.
const Operation* Words::reason_of(const Edge& edge) const {
  const auto count = [this](std::uint32_t node) { return transactions_.attempt(node).operations; };
  const Operation* found = nullptr;
  std::uint64_t least = kNoReason;
  for (std::uint32_t i = 0; i < count(edge.from()); ++i) {
    const Operation& one = transactions_.operation(edge.from(), i);
    if (one.is(flag::kOwn) || one.kind == Kind::broken) continue;
    for (std::uint32_t j = 0; j < count(edge.to()); ++j) {
      const Operation& other = transactions_.operation(edge.to(), j);
      if (other.is(flag::kOwn) || other.kind == Kind::broken || one.table != other.table) continue;
      const std::uint64_t distance = distance_between(edge, one, other);
      if (distance >= least) continue;
      least = distance;
      found = other.kind == Kind::range ? &one : &other;
    }
  }
  return found;
}

/// The distance between the versions of two operations, one of which makes the other come after it;
/// kNoReason: it does not.
std::uint64_t Words::distance_between(const Edge& edge, const Operation& one,
                                      const Operation& other) const {
  const auto covers = [](const Operation& range, const Operation& row) {
    return range.kind == Kind::range && range.key <= row.key && row.key <= range.place;
  };
  const auto apart = [](const Operation& before, const Operation& after) {
    if (before.is(flag::kUncommitted)) return std::uint64_t{1};
    if (before.place != after.place || before.version >= after.version) return kNoReason;
    return after.version - before.version;
  };
  const bool of_one_row = one.key == other.key;
  const auto yes = [](bool reason) { return reason ? 0 : kNoReason; };
  switch (edge.why()) {
    case Why::ww:
      if (!of_one_row || !leaves_a_version(one) || !leaves_a_version(other)) return kNoReason;
      if (one.place == other.place) return apart(one, other);
      return yes(one.kind == Kind::remove && other.is(flag::kInserted));
    case Why::wr:
      if (one.kind == Kind::remove && (covers(other, one) || other.kind == Kind::miss)) {
        return yes(of_one_row || other.kind == Kind::range);
      }
      if (!of_one_row || !leaves_a_version(one) || other.kind != Kind::read) return kNoReason;
      if (!other.is(flag::kUncommitted)) {
        return yes(one.place == other.place && one.version == other.version);
      }
      return yes(transactions_.writer_of(Dirty::unpack(other.version)).node == edge.from());
    case Why::rw:
      if (!of_one_row || !leaves_a_version(other)) return kNoReason;
      if (one.kind == Kind::miss) return yes(other.is(flag::kInserted));
      return one.kind == Kind::read ? apart(one, other) : kNoReason;
    case Why::predicate: return yes(covers(one, other) && other.is(flag::kInserted));
  }
  return kNoReason;
}

std::string Words::cycle(const std::vector<Edge>& edges) const {
  std::string text;
  for (const Edge& edge : edges) {
    const Operation* about = reason_of(edge);
    text += "  " + name(edge.from()) + " --" + std::string(text_of(edge.why())) + " " +
            (about == nullptr ? "?" : row(about->table, about->key)) + "--> " + name(edge.to()) +
            "\n";
  }
  return text;
}

std::string Words::name_of_cycle(const std::vector<Edge>& edges) const {
  const auto count = [&edges](Why why) {
    return std::count_if(edges.begin(), edges.end(),
                         [why](const Edge& edge) { return edge.why() == why; });
  };
  const auto anti = count(Why::rw) + count(Why::predicate);
  if (anti == 0)
    return count(Why::wr) == 0 ? "G0 (write cycle)" : "G1c (circular information flow)";
  if (anti > 1 && !has_two_in_a_row(edges)) return "G2 (long fork)";
  if (anti > 1) return count(Why::predicate) == 0 ? "G2-item (write skew)" : "G2 (phantom skew)";
  if (count(Why::predicate) != 0) return "G-single (phantom)";
  return is_lost_update(edges) ? "G-single (lost update)" : "G-single (read skew)";
}

/// Whether the cycle is a lost update: one transaction overwrote the row that the other had read,
/// and the other overwrote that version.
bool Words::is_lost_update(const std::vector<Edge>& edges) const {
  if (edges.size() != 2) return false;
  const bool first = edges[0].why() == Why::ww;
  if (edges[first ? 0 : 1].why() != Why::ww) return false;
  const Operation* read = reason_of(edges[first ? 1 : 0]);
  if (read == nullptr) return false;
  for (const std::uint32_t node : {edges[0].from(), edges[1].from()}) {
    bool wrote = false;
    for (std::uint32_t at = 0; at < transactions_.attempt(node).operations; ++at) {
      const Operation& one = transactions_.operation(node, at);
      wrote = wrote || (leaves_a_version(one) && !one.is(flag::kOwn) && one.table == read->table &&
                        one.key == read->key);
    }
    if (!wrote) return false;
  }
  return true;
}

void Findings::add(const std::string& name, const std::string& what,
                   const std::vector<std::uint32_t>& nodes) {
  constexpr std::size_t kMostShown = 8;
  if (full()) return;
  Anomaly anomaly{name, name + ": " + what + (what.ends_with('\n') ? "" : "\n")};
  std::vector<std::uint32_t> shown;
  for (const std::uint32_t node : nodes) {
    if (node == Transactions::kNone || shown.size() == kMostShown) continue;
    if (std::find(shown.begin(), shown.end(), node) != shown.end()) continue;
    shown.push_back(node);
    anomaly.text += "    " + words_.transaction(node) + "\n";
  }
  anomalies_.push_back(std::move(anomaly));
}

std::string Report::to_json() const {
  nlohmann::json found = nlohmann::json::array();
  for (const Anomaly& anomaly : anomalies) {
    found.push_back({{"name", anomaly.name}, {"text", anomaly.text}});
  }
  return nlohmann::json{{"transactions", transactions},
                        {"committed", committed},
                        {"aborted", aborted},
                        {"operations", operations},
                        {"keys", keys},
                        {"edges", edges},
                        {"choices", choices},
                        {"open_choices", open_choices},
                        {"committed_by_type", committed_by_type},
                        {"anomalies", std::move(found)}}
      .dump();
}

}  // namespace heddle::check
