#include "driver/machine_options.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "machine/threads.h"
#include "machine/virtual.h"

namespace heddle {

namespace {

std::size_t lines(OptionReader& reader, const std::string& key, std::size_t fallback) {
  constexpr std::int64_t kLeast = 64;
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  const auto count = static_cast<std::size_t>(
      reader.integer(key, static_cast<std::int64_t>(fallback), kLeast, kMost));
  if (!std::has_single_bit(count)) reader.reject(key, std::to_string(count), "a power of two");
  return count;
}

CostModel parse_costs(OptionReader& reader) {
  CostModel model;
  const auto ns = [&reader](const char* key, double& value) {
    constexpr double kMost = 1e6;
    value = reader.real(key, value, 0, kMost);
  };
  model.cores_per_socket = static_cast<int>(
      reader.integer("cores_per_socket", model.cores_per_socket, 1, VirtualMachine::kMostCores));
  ns("word_ns", model.word_ns);
  ns("lookup_ns", model.lookup_ns);
  ns("insert_ns", model.insert_ns);
  ns("row_ns", model.row_ns);
  ns("control_ns", model.control_ns);
  ns("transaction_ns", model.transaction_ns);
  ns("shared_hit_ns", model.shared_hit_ns);
  ns("memory_ns", model.memory_ns);
  ns("transfer_ns", model.transfer_ns);
  ns("far_transfer_ns", model.far_transfer_ns);
  model.exposed = reader.real("exposed", model.exposed, 0, 1);
  ns("stream_ns", model.stream_ns);
  ns("atomic_ns", model.atomic_ns);
  ns("pause_ns", model.pause_ns);
  model.private_lines = lines(reader, "private_lines", model.private_lines);
  model.shared_lines = lines(reader, "shared_lines", model.shared_lines);
  return model;
}

/// The schedules that can be asked for by name; a script is made by a search, not by hand.
ScheduleKind schedule_named(const std::string& name) {
  if (name == "delays") return ScheduleKind::delays;
  return name == "priorities" ? ScheduleKind::priorities : ScheduleKind::clock;
}

ScheduleOptions parse_schedule(OptionReader& reader) {
  ScheduleOptions schedule;
  const auto count = [&reader](const char* key, std::uint64_t fallback) {
    constexpr std::int64_t kMost = 1'000'000'000;
    return static_cast<std::uint64_t>(
        reader.integer(key, static_cast<std::int64_t>(fallback), 1, kMost));
  };
  constexpr double kLongestDelayUs = 1e6;
  constexpr std::int64_t kDeepest = 100;
  schedule.kind =
      schedule_named(reader.choice("schedule", "clock", {"clock", "delays", "priorities"}));
  schedule.delay_every = count("delay_every", schedule.delay_every);
  schedule.delay_us = reader.real("delay_us", schedule.delay_us, 0, kLongestDelayUs);
  schedule.depth = static_cast<int>(reader.integer("depth", schedule.depth, 1, kDeepest));
  schedule.steps = count("steps", schedule.steps);
  const std::string rescue = reader.choice("rescue", "", {"true", "false"});
  if (!rescue.empty()) schedule.rescue = rescue == "true";
  return schedule;
}

}  // namespace

MachineOptions parse_machine(const OptionMap& options) {
  MachineOptions machine;
  OptionReader reader("machine", options);
  machine.kind =
      reader.choice("kind", machine.kind, {ThreadsMachine::kKind, VirtualMachine::kKind});
  if (machine.kind == VirtualMachine::kKind) {
    machine.seed =
        static_cast<std::uint64_t>(reader.integer("seed", static_cast<std::int64_t>(machine.seed),
                                                  0, std::numeric_limits<std::int64_t>::max()));
    machine.skew_ns = reader.real("skew_ns", machine.skew_ns, 0, 1e6);
    machine.model = parse_costs(reader);
    machine.schedule = parse_schedule(reader);
  }
  reader.finish();
  return machine;
}

}  // namespace heddle
