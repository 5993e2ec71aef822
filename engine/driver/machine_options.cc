#include "driver/machine_options.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "machine/threads.h"
#include "machine/virtual.h"

namespace heddle {

namespace {

/// The default number of virtual cores: that of the machine in the paper.
constexpr int kVirtualCores = 48;
/// The most steps of a schedule.
constexpr std::int64_t kMost = 1'000'000'000;

void read_kind(OptionReader& reader, std::string& kind) {
  reader.choice("kind", kind, {ThreadsMachine::kKind, VirtualMachine::kKind},
                "threads: real cores; virtual: cores simulated in virtual time");
}

void read_cores(OptionReader& reader, std::optional<int> cores, int most) {
  reader.integer("cores", cores, 1, most,
                 "number of cores, one worker each; null: all cores the process may use");
}

void read_lines(OptionReader& reader, const std::string& key, std::size_t& lines,
                const std::string& sentence) {
  constexpr std::int64_t kLeast = 64;
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  reader.integer(key, lines, kLeast, kMost, sentence);
  if (!std::has_single_bit(lines)) reader.reject(key, std::to_string(lines), "a power of two");
}

void read_costs(OptionReader& reader, CostModel& model) {
  const auto ns = [&reader](const std::string& key, double& value, const std::string& sentence) {
    constexpr double kMost = 1e6;
    reader.real(key, value, 0, kMost, sentence);
  };
  reader.integer("cores_per_socket", model.cores_per_socket, 1, VirtualMachine::kMostCores,
                 "cores that share a cache");
  ns("word_ns", model.word_ns, "the engine's instructions around an access to a shared word");
  ns("lookup_ns", model.lookup_ns, "the engine's instructions where a procedure looks up a row");
  ns("insert_ns", model.insert_ns, "the engine's instructions where a procedure inserts a row");
  ns("row_ns", model.row_ns,
     "the engine's instructions where a procedure uses a row it has, or a scan reaches one");
  ns("control_ns", model.control_ns,
     "the engine's instructions for concurrency control beyond Silo: a policy's row, a lock; "
     "twice at a publication point");
  ns("transaction_ns", model.transaction_ns,
     "the engine's instructions once a transaction: its input, beginning and end");
  ns("shared_hit_ns", model.shared_hit_ns, "a cache line from the cache the socket's cores share");
  ns("memory_ns", model.memory_ns, "a cache line from memory");
  ns("transfer_ns", model.transfer_ns,
     "a cache line that another core of the socket has, or must give up for a write");
  ns("far_transfer_ns", model.far_transfer_ns,
     "a cache line that a core of another socket has, or must give up for a write");
  reader.real(
      "exposed", model.exposed, 0, 1,
      "share of a load's latency that the core waits for; other instructions hide the rest");
  reader.integer("fetches", model.fetches, 0, CostModel::kMostFetches,
                 "cache lines that a core fetches at a time ahead of their use; 0: rows are not "
                 "fetched ahead");
  ns("stream_ns", model.stream_ns, "each line of a longer copy after its first");
  ns("atomic_ns", model.atomic_ns, "a locked instruction, in addition to the access");
  ns("pause_ns", model.pause_ns, "one pause in a spinning wait");
  read_lines(reader, "private_lines", model.private_lines,
             "lines of 64 bytes in a core's own cache, a power of two");
  read_lines(reader, "shared_lines", model.shared_lines,
             "lines of 64 bytes in the cache of a socket, a power of two");
}

/// @param when the settings apply, and how: "with schedule=delays"
void read_delays(OptionReader& reader, ScheduleOptions& schedule, const std::string& when) {
  constexpr double kLongestDelayUs = 1e6;
  constexpr std::int64_t kMostStates = 65'534;
  reader.integer("delay_every", schedule.delay_every, 1, kMost,
                 when + ", steps between two delays on average");
  reader.real("delay_us", schedule.delay_us, 0, kLongestDelayUs,
              when + ", the longest delay in microseconds of virtual time");
  reader.integer("delay_state", schedule.delay_state, 0, kMostStates,
                 when + ", the state whose accesses are delayed; null: every step");
}

/// Scripts are made by a search; only the other schedules are available by name.
void read_schedule(OptionReader& reader, ScheduleOptions& schedule) {
  constexpr std::int64_t kDeepest = 100;
  reader.choice("schedule", schedule.kind,
                {{"clock", ScheduleKind::clock},
                 {"delays", ScheduleKind::delays},
                 {"priorities", ScheduleKind::priorities}},
                "which core continues: clock: the one with the lowest clock; delays: the same, "
                "with random delays; priorities: the one with the highest random priority");
  read_delays(reader, schedule, "with schedule=delays");
  reader.integer("depth", schedule.depth, 1, kDeepest,
                 "with schedule=priorities, one more than the priority changes in a stretch");
  reader.integer("steps", schedule.steps, 1, kMost, "with schedule=priorities, steps in a stretch");
  reader.flag("rescue", schedule.rescue,
              "whether a parked core wakes by itself from time to time; null: with "
              "schedule=clock only");
}

void read_order(OptionReader& reader, MachineOptions& machine) {
  reader.integer("seed", machine.seed, 0, std::numeric_limits<std::int64_t>::max(),
                 "seed of the order of cores with equal clocks, and of what a schedule draws");
  reader.real("skew_ns", machine.skew_ns, 0, 1e6,
              "virtual time by which a core may lead the others; 0 is exact and four times slower");
}

}  // namespace

MachineOptions parse_machine(const OptionMap& options) {
  MachineOptions machine;
  OptionReader reader("machine", options);
  read_kind(reader, machine.kind);
  if (machine.kind == VirtualMachine::kKind) {
    read_order(reader, machine);
    read_costs(reader, machine.model);
    read_schedule(reader, machine.schedule);
  } else {
    // Not among the settings of users: for checks that a known delay is found.
    read_delays(reader, machine.schedule, "with a delay_state");
  }
  reader.finish();
  return machine;
}

std::vector<OptionSpec> machine_specs(std::string_view kind) {
  MachineOptions machine = parse_machine({{"kind", std::string(kind)}});
  const OptionMap nothing;
  OptionReader reader("machine", nothing);
  if (kind == VirtualMachine::kKind) {
    read_cores(reader, kVirtualCores, VirtualMachine::kMostCores);
    read_order(reader, machine);
    read_schedule(reader, machine.schedule);
  } else {
    read_cores(reader, std::nullopt, ThreadsMachine::kMostCores);
  }
  return reader.specs();
}

std::vector<OptionSpec> cost_specs() {
  CostModel model;
  const OptionMap nothing;
  OptionReader reader("machine", nothing);
  read_costs(reader, model);
  return reader.specs();
}

}  // namespace heddle
