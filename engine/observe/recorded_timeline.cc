#include "observe/recorded_timeline.h"

#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "observe/base64.h"
#include "protocol/outcome.h"
#include "protocol/timeline.h"

namespace heddle {

namespace {

using Json = nlohmann::json;
using timeline::What;

Json core_or_none(std::uint32_t core) {
  return core == Timeline::kNobody ? -1 : static_cast<int>(core);
}

/// A number of accesses, or one of the names that Python gives to other goals.
Json goal_of_wait(std::uint64_t goal) {
  if (goal == timeline::kUntilEnd) return -1;
  if (goal == timeline::kUntilBatch) return -2;
  return static_cast<int>(goal);
}

Json state_or_none(std::uint64_t state) { return state == kNoState ? -1 : static_cast<int>(state); }

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::commit: return "commit";
    case Outcome::rollback: return "rollback";
    case Outcome::abort: break;
  }
  return "abort";
}

/// Appends what an event has besides its time, core and name.
void append_details(Json& row, const TimelineEvent& event, double ticks_per_ns) {
  switch (static_cast<What>(event.what)) {
    case What::access: {
      const auto access = timeline::AccessSubject::unpack(event.subject);
      row.push_back(state_or_none(access.state));
      row.push_back(to_string(access.kind));
      row.push_back(access.table);
      row.push_back(event.number);
      break;
    }
    case What::wait:
      row.push_back(core_or_none(event.subject));
      row.push_back(goal_of_wait(event.number));
      break;
    case What::spun:
      row.push_back(core_or_none(event.subject));
      row.push_back(static_cast<double>(event.number) / ticks_per_ns);
      break;
    case What::end: {
      const std::uint64_t reason = event.number & ((1U << timeline::kReasonBits) - 1);
      row.push_back(name_of(static_cast<Outcome>(event.subject)));
      row.push_back(kAbortReasonNames.at(reason));
      row.push_back(state_or_none(event.number >> timeline::kReasonBits));
      break;
    }
    case What::attempt:
    case What::validation:
    case What::publication:
      row.push_back(event.subject);
      row.push_back(event.number);
      break;
    case What::transaction:
      row.push_back(event.subject);
      row.push_back(static_cast<double>(event.number) / ticks_per_ns);
      break;
    case What::transaction_end:
      row.push_back(static_cast<double>(event.number) / ticks_per_ns);
      break;
    case What::dependency:
    case What::wake: row.push_back(event.subject); break;
    case What::access_end:
    case What::replayed:
    case What::wait_end:
    case What::wait_skipped:
    case What::retry:
    case What::commit:
    case What::backoff:
    case What::backoff_end:
    case What::window:
    case What::hold:
    case What::hold_end:
    case What::validate:
    case What::install:
    case What::release:
    case What::undo:
    case What::skip:
    case What::count_: break;
  }
}

}  // namespace

std::string RecordedTimeline::to_json() const {
  if (packed_) {
    const std::vector<TimelineEvent>& recorded = timeline_.events();
    return Json{{"tables", tables_},
                {"dropped", timeline_.dropped()},
                {"began", began_},
                {"ticks_per_us", ticks_per_ns_ * 1000},
                {"whats", timeline::kWhatNames},
                {"nobody", Timeline::kNobody},
                {"packed", base64(std::as_bytes(std::span(recorded)))}}
        .dump();
  }
  Json events = Json::array();
  for (const TimelineEvent& event : timeline_.events()) {
    // A core may have been behind the one that opened the window.
    const double ns =
        (static_cast<double>(event.time) - static_cast<double>(began_)) / ticks_per_ns_;
    Json row = {ns, event.core, timeline::kWhatNames.at(event.what)};
    append_details(row, event, ticks_per_ns_);
    events.push_back(std::move(row));
  }
  return Json{{"tables", tables_}, {"dropped", timeline_.dropped()}, {"events", std::move(events)}}
      .dump();
}

}  // namespace heddle
