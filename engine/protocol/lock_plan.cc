#include "protocol/lock_plan.h"

#include <set>

namespace heddle {

namespace {

bool writes(AccessKind kind) { return kind != AccessKind::read && kind != AccessKind::scan; }

/// For each table, the tables that precede it in the order in which a type first touches them.
std::map<std::string, std::set<std::string>> predecessors(
    const Signature& signature, const std::map<std::string, bool>& written) {
  std::map<std::string, std::set<std::string>> before;
  for (const TypeSpec& type : signature.types) {
    std::vector<std::string> seen;
    for (const AccessSpec& access : type.accesses) {
      // A table that is never written is never waited for, so it constrains no order.
      if (!written.at(access.table)) continue;
      std::set<std::string>& earlier = before[access.table];
      bool first_touch = true;
      for (const std::string& table : seen) first_touch = first_touch && table != access.table;
      if (!first_touch) continue;
      earlier.insert(seen.begin(), seen.end());
      seen.push_back(access.table);
    }
  }
  return before;
}

}  // namespace

LockPlan plan_locks(const Signature& signature) {
  LockPlan plan;
  for (const TypeSpec& type : signature.types) {
    for (std::size_t at = 0; at < type.accesses.size(); ++at) {
      const AccessSpec& access = type.accesses[at];
      bool& table_written = plan.written[access.table];
      table_written = table_written || writes(access.kind);
      const bool next_writes = at + 1 < type.accesses.size() &&
                               type.accesses[at + 1].table == access.table &&
                               (type.accesses[at + 1].kind == AccessKind::update ||
                                type.accesses[at + 1].kind == AccessKind::remove);
      plan.reads_for_update.push_back(access.kind == AccessKind::read_modify_write ||
                                      (!writes(access.kind) && next_writes));
    }
  }
  // Topological order; where types disagree, the table with fewest open predecessors goes next.
  auto before = predecessors(signature, plan.written);
  for (std::uint32_t rank = 0; !before.empty(); ++rank) {
    auto next = before.begin();
    for (auto at = before.begin(); at != before.end(); ++at) {
      if (at->second.size() < next->second.size()) next = at;
    }
    const std::string table = next->first;
    plan.ranks[table] = rank;
    before.erase(next);
    for (auto& [name, earlier] : before) earlier.erase(table);
  }
  return plan;
}

}  // namespace heddle
