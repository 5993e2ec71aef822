#include "schedule/admission/hinted_states.h"

#include <algorithm>

namespace heddle::admission {

namespace {

/// A type that scans a table and removes rows of it takes those it finds, such as the oldest order:
/// two scans from one key conflict, although a scan alone only reads.
bool removes_from(const TypeSpec& type, const std::string& table) {
  return std::any_of(type.accesses.begin(), type.accesses.end(), [&table](const auto& access) {
    return access.kind == AccessKind::remove && access.table == table;
  });
}

}  // namespace

HintedStates::HintedStates(const Signature& signature) {
  for (const TypeSpec& type : signature.types) {
    for (std::size_t at = 0; at < type.accesses.size(); ++at) {
      const AccessSpec& access = type.accesses[at];
      const bool scans = access.kind == AccessKind::scan;
      const bool reads = access.kind == AccessKind::read;
      states_.push_back({.salt = salt_of(access.table),
                         .place = static_cast<float>(at) / static_cast<float>(type.accesses.size()),
                         .writes = scans ? removes_from(type, access.table) : !reads,
                         .loop = access.loop,
                         .write_of = reads || scans ? "" : access.table});
    }
  }
}

/// The same on every machine and in every run, unlike std::hash (FNV-1a).
std::uint64_t HintedStates::salt_of(std::string_view table) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : table) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace heddle::admission
