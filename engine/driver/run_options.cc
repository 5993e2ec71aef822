#include "driver/run_options.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/backoff.h"
#include "machine/memory_guard.h"
#include "machine/timeline.h"
#include "protocol/external_options.h"
#include "protocol/names.h"

namespace heddle {

namespace {

constexpr std::size_t kMostIntervals = 100'000;

/// The bytes that recording takes where it has its memory before the run: the events of each core,
/// and those of all cores in one order.
std::size_t bytes_of_events(std::size_t events) { return 2 * events * sizeof(TimelineEvent); }

/// That a workload passes no hints, and how it would.
std::string without_hints(const RunGround& ground) {
  return "workload " + std::string(ground.workload) + " passes no hints of its keys" +
         (ground.hints_optional ? " unless hints=writes or hints=all is set" : "");
}

/// What an external store cannot do together with the other options of a run.
void validate(const ExternalOptions& external, const RunOptions& options, const RunGround& ground) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument(what); };
  if (external.locks != OutsideLocks::off && !ground.has_hints) {
    refuse(without_hints(ground) +
           ", so nothing can be locked in front of the store: use locks=off");
  }
  if (external.merge == 1) return;
  if (schedules(options.schedule)) {
    refuse(
        "merge: an admission policy chooses one transaction at a time; use "
        "schedule.policy=fifo, or merge=1");
  }
  if (options.trace_bytes != 0 || options.timeline_events != 0) {
    refuse("merge: traces and timelines are of single transactions; use merge=1");
  }
}

}  // namespace

void validate(const RunOptions& options, const RunGround& ground) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument(what); };
  if (!(options.seconds > 0) || !std::isfinite(options.seconds)) {
    refuse("seconds must be positive, not " + std::to_string(options.seconds));
  }
  if (!(options.warmup >= 0) || !std::isfinite(options.warmup)) {
    refuse("warmup must not be negative, not " + std::to_string(options.warmup));
  }
  if (!(options.backoff_us >= 0) || !std::isfinite(options.backoff_us)) {
    refuse("backoff_us must not be negative, not " + std::to_string(options.backoff_us));
  }
  if (!(options.epoch_us > 0) || !std::isfinite(options.epoch_us)) {
    refuse("epoch_us must be positive, not " + std::to_string(options.epoch_us));
  }
  if (is_external(options.protocol) && ground.single_threaded) {
    refuse(
        "protocol external waits for a database, which would stop all virtual cores; use "
        "machine=threads");
  }
  if (is_external(options.protocol)) {
    validate(ExternalOptions::parse(options.protocol_options), options, ground);
  }
  const bool executes = executes_policy(options.protocol);
  if (executes && options.policy == nullptr) {
    refuse("protocol policy_table needs a policy");
  }
  const bool follows = parse_backoff(options.backoff) == BackoffKind::policy;
  if (!executes && options.policy != nullptr && !follows) {
    refuse("protocol " + options.protocol +
           " does not execute a policy; use policy_table, or backoff policy for its backoff alone");
  }
  if (options.policy != nullptr) {
    const std::string& own = options.policy->policy().protocol;
    if (executes && !own.empty()) {
      refuse("the policy runs under protocol " + own + ", not policy_table");
    }
  }
  if (follows && options.policy == nullptr) {
    refuse("backoff policy needs a policy, whose backoff table it follows");
  }
  if (!ground.has_hints && schedules(options.schedule)) {
    refuse(without_hints(ground) + ", so nothing can be scheduled: use schedule.policy=fifo");
  }
  const Sampling& sampling = options.timeline_sampling;
  if (!(sampling.share > 0) || !(sampling.share <= 1)) {
    refuse("timeline_share must be above 0 and at most 1, not " + std::to_string(sampling.share));
  }
  if (!ground.samples_timelines && (sampling.share < 1 || !sampling.skipped_states.empty())) {
    refuse(
        "a timeline on virtual cores has the whole run: leave timeline_share and "
        "timeline_skipped_states out");
  }
  if (ground.samples_timelines && options.timeline_events != 0) {
    const std::uint64_t most = memory_left() / bytes_of_events(1);
    if (options.timeline_events > most) {
      refuse("timeline_events=" + std::to_string(options.timeline_events) +
             ": there is memory for " + std::to_string(most) + " events; give fewer");
    }
  }
  if (options.trace_bytes != 0 && ground.single_threaded) {
    refuse("a trace is recorded on real cores; open the session on machine threads");
  }
  if (options.trace_bytes != 0 && options.history_bytes != 0) {
    refuse("a run records its history or a trace, not both");
  }
  if (options.policy != nullptr && options.policy->policy().signature != ground.signature) {
    refuse("the policy is for another workload: its signature differs");
  }
  if (options.intervals > kMostIntervals) {
    refuse("intervals must be at most " + std::to_string(kMostIntervals) + ", not " +
           std::to_string(options.intervals));
  }
  if (options.intervals != 0 && interval_us(options) == 0) {
    refuse("the window of " + std::to_string(options.seconds) + " s can't be divided into " +
           std::to_string(options.intervals) + " intervals of whole microseconds");
  }
  if (!options.switches.empty() && !executes) {
    refuse("protocol " + options.protocol + " does not execute a policy; use policy_table");
  }
  double earlier = 0;
  for (const PlannedSwitch& planned : options.switches) {
    if (!(planned.at_s >= earlier) || !(planned.at_s < options.seconds)) {
      refuse("a switch must be within the window of " + std::to_string(options.seconds) +
             " s, and not before an earlier one; not at " + std::to_string(planned.at_s));
    }
    earlier = planned.at_s;
    if (planned.policy == nullptr || planned.policy->policy().signature != ground.signature) {
      refuse("a policy to switch to is for another workload: its signature differs");
    }
    if (!planned.policy->policy().protocol.empty()) {
      refuse("a run can't switch to a policy under protocol " + planned.policy->policy().protocol +
             "; start another run with it");
    }
  }
}

std::vector<bool> types_with_recorded_accesses(const RunOptions& options,
                                               const Signature& signature) {
  std::vector<bool> types(signature.types.size(), false);
  if (options.timeline_events == 0) return types;
  const std::vector<std::uint32_t>& skipped = options.timeline_sampling.skipped_states;
  for (std::uint32_t state = 0; state < signature.state_count(); ++state) {
    if (std::find(skipped.begin(), skipped.end(), state) != skipped.end()) continue;
    types[signature.type_of(state)] = true;
  }
  return types;
}

std::uint64_t interval_us(const RunOptions& options) {
  constexpr double kRounding = 1e-6;
  const double us = options.seconds * 1e6 / static_cast<double>(options.intervals);
  const double whole = std::round(us);
  return std::abs(us - whole) > kRounding ? 0 : static_cast<std::uint64_t>(whole);
}

std::uint64_t poll_us(const RunOptions& options, std::uint64_t usual) {
  if (options.intervals == 0) return usual;
  const std::uint64_t interval = interval_us(options);
  std::uint64_t poll = std::min(usual, interval);
  while (interval % poll != 0) --poll;
  return poll;
}

}  // namespace heddle
