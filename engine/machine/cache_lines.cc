#include "machine/cache_lines.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace heddle {

namespace {
/// The initial number of lines: a table that grows is filled repeatedly, but one that is too large
/// takes long to clear. A run of some milliseconds touches up to a sixth of a small database.
std::size_t first_lines(std::size_t database_lines) {
  constexpr std::size_t kFewest = std::size_t{1} << 15;
  constexpr std::size_t kMost = std::size_t{1} << 20;
  return std::clamp(std::bit_ceil(database_lines / 2), kFewest, kMost);
}
}  // namespace

CacheLines::CacheLines(const CostModel& model, int cores, double ticks_per_ns,
                       std::size_t database_lines)
    : lines_(first_lines(database_lines)),
      shift_(64 - std::countr_zero(lines_.size() / kNeighbours)),
      recent_(kRecent * static_cast<std::size_t>(cores)),
      own_(model.private_lines * static_cast<std::size_t>(cores)),
      common_(model.shared_lines * static_cast<std::size_t>((cores + model.cores_per_socket - 1) /
                                                            model.cores_per_socket)),
      stores_done_(static_cast<std::size_t>(cores)),
      streams_(static_cast<std::size_t>(cores)),
      flights_(model.fetches > 0 ? static_cast<std::size_t>(cores) : 0, Flights(model.fetches)),
      own_size_(model.private_lines),
      own_mask_(model.private_lines - 1),
      common_size_(model.shared_lines),
      common_mask_(model.shared_lines - 1),
      cores_(cores),
      cores_per_socket_(model.cores_per_socket),
      exposed_(model.exposed) {
  const std::size_t cached = common_.size() + own_.size();
  const double resident = static_cast<double>(cached) /
                          static_cast<double>(std::max<std::size_t>({database_lines, cached, 1}));
  resident_ = static_cast<std::uint32_t>(resident * std::numeric_limits<std::uint32_t>::max());
  const auto ticks = [ticks_per_ns](double ns) { return static_cast<Ticks>(ns * ticks_per_ns); };
  stream_ = ticks(model.stream_ns);
  shared_hit_ = ticks(model.shared_hit_ns);
  memory_ = ticks(model.memory_ns);
  transfer_ = ticks(model.transfer_ns);
  far_transfer_ = ticks(model.far_transfer_ns);
  atomic_ = ticks(model.atomic_ns);
}

CacheLines::Line& CacheLines::add(std::uintptr_t address) {
  if ((count_ + 1) * 2 > lines_.size()) grow();
  Line line;
  line.address = address;
  line.number = static_cast<std::uint32_t>(count_++);
  return place(line);
}

CacheLines::Line& CacheLines::place(const Line& line) {
  std::size_t at = home(line.address);
  while (lines_[at].address != 0) at = (at + 1) & (lines_.size() - 1);
  return lines_[at] = line;
}

void CacheLines::grow() {
  PageArray<Line> old(lines_.size() * 2);
  std::swap(old, lines_);
  --shift_;
  for (const Line& line : old) {
    if (line.address != 0) place(line);
  }
}

/// Calls f(other) for the cores that got a line. Some of them may have evicted it since.
template <class F>
void CacheLines::for_each_other(int core, const Line& line, F f) const {
  if (line.shared == 0) {
    const auto owner = static_cast<int>(line.owner);
    if (line.owner != kNobody && owner != core && has(owner, line)) f(owner);
    return;
  }
  for (std::uint64_t bits = line.readers; bits != 0; bits &= bits - 1) {
    for (int other = std::countr_zero(bits); other < cores_; other += kReaderBits) {
      if (other != core && has(other, line)) f(other);
    }
  }
}

/// The cost of making a shared line exclusive: the furthest of the other cores that share it must
/// invalidate its copy.
CacheLines::Ticks CacheLines::furthest_other(int core, const Line& line) const {
  Ticks longest = shared_hit_;  // to learn that no other core has it
  for_each_other(core, line,
                 [&](int other) { longest = std::max(longest, transfer(core, other)); });
  return longest;
}

void CacheLines::take_away(int core, const Line& line) {
  for_each_other(core, line, [&](int other) { own_[own_place(other, line)] = 0; });
}

CacheLines::Ticks CacheLines::look_up(int core, const void* address, Access access, Ticks now) {
  // The engine reads it right after this: the host's cache miss overlaps those of the look-up.
  __builtin_prefetch(address);
  Line& line = line_of(address);
  Ticks cost = 0;
  const bool alone = line.owner == static_cast<unsigned>(core) && line.shared == 0;
  if (!has(core, line) || (access != Access::load && !alone)) {
    cost = fetch(core, line, access, now);
    if (access == Access::load) cost = exposed(cost);
  } else {
    cost = await(core, line, access, now);
  }
  recent_of(core, line.address) = Recent(line, core, own_place(core, line));
  return cost;
}

/// The cost of an access to a line that the core has, or that is in flight to it.
CacheLines::Ticks CacheLines::await(int core, const Line& line, Access access, Ticks now) {
  Ticks wait = 0;
  if (!flights_.empty()) wait = flights_[static_cast<std::size_t>(core)].use(line.address, now);
  switch (access) {
    case Access::load: return exposed(wait);
    case Access::exchange: return wait + atomic_;
    case Access::store: break;
  }
  if (wait > 0) note_store(core, now + wait);
  return 0;
}

void CacheLines::fetch_ahead(int core, const void* address, Ticks now) {
  if (flights_.empty()) return;
  __builtin_prefetch(address);
  Line& line = line_of(address);
  if (has(core, line)) return;
  Flights& flights = flights_[static_cast<std::size_t>(core)];
  const Ticks departure = flights.departure(now);
  flights.add(line.address, departure + fetch(core, line, Access::load, departure));
  // The core has probably accessed it before: its next access is to come here nevertheless.
  Recent& recent = recent_of(core, line.address);
  if (recent.is(line.address)) recent = Recent();
}

/// The latency of the access from now on; for a load, before instructions hide some of it.
CacheLines::Ticks CacheLines::fetch(int core, Line& line, Access access, Ticks now) {
  const auto socket = static_cast<std::size_t>(core / cores_per_socket_);
  Tag& common = common_[socket * common_size_ + (line.number & common_mask_)];
  const bool has_it = has(core, line);
  const auto owner = static_cast<int>(line.owner);
  const bool owned = line.owner != kNobody && owner != core && line.shared == 0 && has(owner, line);
  Ticks latency;
  if (has_it) {
    latency = furthest_other(core, line);
  } else if (owned) {
    latency = transfer(core, owner);
  } else {
    const bool near = common == tag(line) || (line.owner == kNobody && in_shared_cache(line));
    latency = near ? shared_hit_ : memory_;
    if (streams_[static_cast<std::size_t>(core)].follow(line.address)) {
      latency = std::min(latency, stream_);
    }
  }
  const Ticks wait = line.arrives > now ? line.arrives - now : 0;
  const Ticks arrival = now + wait + latency;
  if (access == Access::load) {
    if (owned) {
      line.shared = 1;
      line.readers = reader(owner);
      Recent& of_owner = recent_of(owner, line.address);
      if (of_owner.is(line.address)) of_owner.not_alone();
    }
    if (line.shared != 0) {
      line.readers |= reader(core);
    } else {
      line.owner = static_cast<unsigned>(core);
    }
  } else {
    take_away(core, line);
    line.writes = line.writes + 1;
    line.owner = static_cast<unsigned>(core);
    line.shared = 0;
    line.arrives = arrival;
  }
  own_[own_place(core, line)] = common = tag(line);
  switch (access) {
    case Access::load: return wait + latency;
    case Access::exchange: return wait + latency + atomic_;
    case Access::store: break;
  }
  note_store(core, arrival);
  return 0;
}

}  // namespace heddle
