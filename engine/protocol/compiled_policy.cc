#include "protocol/compiled_policy.h"

#include <algorithm>
#include <set>
#include <utility>

namespace heddle {

CompiledPolicy::CompiledPolicy(Policy policy) : policy_(std::move(policy)) {
  compile_states();
  compile_types();
  compile_replacements();
  compile_traits();
}

void CompiledPolicy::compile_states() {
  const Signature& signature = policy_.signature;
  const std::size_t count = signature.state_count();
  states_.resize(count);
  links_reads_.resize(count);

  std::set<std::string> published_tables;
  for (std::size_t state = 0; state < count; ++state) {
    if (policy_.rows[state].public_write) published_tables.insert(signature.access(state).table);
  }

  publishes_ = !published_tables.empty();

  std::size_t state = 0;
  for (const TypeSpec& type : signature.types) {
    for (std::size_t local = 0; local < type.accesses.size(); ++local, ++state) {
      const AccessSpec& access = type.accesses[local];
      const PolicyRow& row = policy_.rows[state];
      CompiledState& compiled = states_[state];
      const bool published = published_tables.contains(access.table);
      compiled.ordinal = static_cast<std::uint16_t>(local + 1);
      compiled.dirty_read = row.dirty_read && published;
      compiled.publishes = row.public_write;
      compiled.validates = row.public_write || row.early_validation;
      compiled.loop = access.loop;
      compiled.reads_and_writes = access.kind == AccessKind::read_modify_write;
      compiled.wait = row.wait;
      if (local + 1 < type.accesses.size()) {
        compiled.wait_before_validation = policy_.rows[state + 1].wait;
      }
      links_reads_[state] = published;
    }
  }
}

void CompiledPolicy::compile_types() {
  const Signature& signature = policy_.signature;
  types_.resize(signature.types.size());
  const auto waits = [](const std::vector<std::uint16_t>& cells) {
    return std::any_of(cells.begin(), cells.end(), [](std::uint16_t cell) { return cell != 0; });
  };
  for (std::size_t type = 0; type < types_.size(); ++type) {
    const std::size_t first = signature.first_state(type);
    const std::size_t end = signature.first_state(type + 1);
    bool has_dependencies = false;
    bool in_lists = false;
    std::uint16_t last_point = 0;
    for (std::size_t state = first; state < end; ++state) {
      CompiledState& compiled = states_[state];
      has_dependencies = has_dependencies || compiled.dirty_read || compiled.publishes;
      in_lists = in_lists || has_dependencies || links_reads_[state];
      if (compiled.dirty_read || compiled.validates) types_[type].native = false;
      if (compiled.publishes) types_[type].published_until = compiled.ordinal;
      if (!compiled.validates) continue;
      if (state + 1 == end && !in_lists && !compiled.loop) {
        compiled.validates = false;
        types_[type].commit_point = static_cast<AccessId>(state);
      }
      // Of two publication points the first may succeed and the second fail; a point in a loop
      // counts as several.
      types_[type].recorded_until = compiled.loop ? compiled.ordinal : last_point;
      last_point = compiled.ordinal;
    }
    for (std::size_t state = first; has_dependencies && state < end; ++state) {
      CompiledState& compiled = states_[state];
      compiled.waits = waits(compiled.wait);
      compiled.waits_before_validation =
          compiled.validates && waits(compiled.wait_before_validation);
      for (std::size_t other = 0; other < types_.size(); ++other) {
        const std::uint16_t cell = compiled.wait[other];
        const bool until_commit = cell > signature.types[other].accesses.size();
        if (cell != 0 && !until_commit) types_[other].announces = true;
      }
    }
  }
}

void CompiledPolicy::compile_replacements() {
  const Signature& signature = policy_.signature;
  const auto replaces = [this](std::size_t state) {
    return states_[state].publishes && !states_[state].waits_before_validation;
  };
  std::size_t state = 0;
  for (const TypeSpec& type : signature.types) {
    for (std::size_t local = 0; local < type.accesses.size(); ++local, ++state) {
      CompiledState& compiled = states_[state];
      if (!compiled.dirty_read) continue;
      if (compiled.reads_and_writes) {
        if (replaces(state)) compiled.replaced_at = static_cast<AccessId>(state);
        continue;
      }
      if (compiled.validates || local + 1 == type.accesses.size()) continue;
      const AccessSpec& next = type.accesses[local + 1];
      const bool writes = next.kind == AccessKind::update || next.kind == AccessKind::remove;
      if (writes && next.table == type.accesses[local].table && replaces(state + 1)) {
        compiled.replaced_at = static_cast<AccessId>(state + 1);
      }
    }
  }
}

void CompiledPolicy::compile_traits() {
  const Signature& signature = policy_.signature;
  traits_.resize(states_.size());
  for (std::size_t type = 0; type < types_.size(); ++type) {
    for (std::size_t state = signature.first_state(type); state < signature.first_state(type + 1);
         ++state) {
      const CompiledState& compiled = states_[state];
      unsigned traits = 0;
      if (compiled.waits) traits |= state_trait::kWaits;
      if (compiled.dirty_read) traits |= state_trait::kDirtyRead;
      if (compiled.validates) traits |= state_trait::kValidates;
      if (types_[type].announces) traits |= state_trait::kAnnounces;
      traits_[state] = static_cast<std::uint8_t>(traits);
    }
  }
}

}  // namespace heddle
