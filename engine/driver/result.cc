#include "driver/result.h"

#include <string>

#include <nlohmann/json.hpp>

namespace heddle {

using Json = nlohmann::ordered_json;

namespace {

/// The latency of commits; null without any, because 0 would be the best value.
Json latency_json(const TypeResult& type) {
  if (type.commits == 0) return nullptr;
  const LatencyResult& latency = type.latency_us;
  Json json = {{"mean", latency.mean}, {"p50", latency.p50},   {"p90", latency.p90},
               {"p99", latency.p99},   {"p999", latency.p999}, {"max", latency.max}};
  for (std::size_t at = 0; at < LatencyResult::kPowers.size(); ++at) {
    json["norms"][std::to_string(LatencyResult::kPowers[at])] = latency.norms[at];
  }
  return json;
}

/// Numbers keyed by the types' names.
Json by_type(const std::vector<TypeResult>& types, const std::vector<std::uint64_t>& numbers) {
  Json json = Json::object();
  for (std::size_t type = 0; type < types.size(); ++type) json[types[type].name] = numbers[type];
  return json;
}

}  // namespace

std::string Result::to_json() const {
  Json types_json = Json::object();
  for (const TypeResult& type : types) {
    types_json[type.name] = {{"commits", type.commits},         {"rollbacks", type.rollbacks},
                             {"aborts", type.aborts},           {"unfinished", type.unfinished},
                             {"time_s", type.time_s},           {"throughput", type.throughput},
                             {"latency_us", latency_json(type)}};
    if (type.oldest_us) types_json[type.name]["oldest_us"] = *type.oldest_us;
    if (type.share) types_json[type.name]["share"] = *type.share;
    if (type.weight) types_json[type.name]["weight"] = *type.weight;
    if (type.backoff_us) types_json[type.name]["backoff_us"] = *type.backoff_us;
  }
  Json json = {
      {"schema_version", 1},
      {"protocol", protocol},
      {"policy", policy},
      {"workload", workload},
      {"machine", {{"kind", machine}, {"cores", cores}}},
      {"seed", seed},
      {"duration_s", duration_s},
      {"commits", commits},
      {"throughput", throughput},
      {"mixed_throughput", mixed_throughput},
      {"abort_rate", abort_rate},
      {"partial_retries", partial_retries},
      {"types", types_json},
      {"aborts", {{"by_reason", aborts_by_reason}, {"by_state", aborts_by_state}}},
      {"time_s",
       {{"useful", time_s.useful},
        {"waiting", time_s.waiting},
        {"wasted", time_s.wasted},
        {"backoff", time_s.backoff},
        {"commit", time_s.commit}}},
      {"waiting_by_state_s", waiting_by_state_s},
      {"interrupted", interrupted},
      {"memory",
       {{"grown_bytes", grown_bytes},
        {"database_bytes", database_bytes},
        {"short", short_of_memory}}},
      {"violations", violations},
  };
  if (syncs) json["syncs"] = *syncs;
  if (round_trips) json["round_trips"] = *round_trips;
  if (!failure.empty()) json["failure"] = failure;
  if (resident_bytes) json["memory"]["resident_bytes"] = *resident_bytes;
  if (arrivals) {
    json["arrivals"] = {{"offered", arrivals->offered},
                        {"backlog", arrivals->backlog},
                        {"lag_us", arrivals->lag_us},
                        {"idle_s", arrivals->idle_s}};
  }
  for (const IntervalResult& interval : intervals) {
    json["intervals"].push_back({{"start_s", interval.start_s},
                                 {"seconds", interval.seconds},
                                 {"commits", by_type(types, interval.commits)},
                                 {"aborts", by_type(types, interval.aborts)}});
  }
  for (const SwitchResult& one : switches) {
    json["switches"].push_back({{"at_s", one.at_s}, {"policy", one.policy}});
  }
  if (schedule) {
    json["schedule"] = {{"options", schedule->options}, {"hot", schedule->hot},
                        {"cold", schedule->cold},       {"overtaking", schedule->overtaking},
                        {"forced", schedule->forced},   {"deferred", schedule->deferred},
                        {"moved", schedule->moved},     {"choosing_s", schedule->choosing_s},
                        {"held_s", schedule->held_s}};
  }
  std::string text = json.dump();
  if (timeline != nullptr) {
    text.back() = ',';
    text += "\"timeline\":" + timeline->to_json() + '}';
  }
  return text;
}

}  // namespace heddle
