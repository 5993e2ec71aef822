#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "driver/copied_run.h"
#include "driver/session.h"
#include "driver/session_runs.h"
#include "observe/recorded_timeline.h"

/// The timelines of sessions on virtual cores.
namespace heddle {
namespace {

using Json = nlohmann::json;
using session_runs::Way;

constexpr double kSeconds = 0.0005;
constexpr std::size_t kPlenty = 1'000'000;

/// A run on a copy of one database, which stays as it was loaded.
Json run(Way way, std::size_t events, double warmup = kSeconds, double seconds = kSeconds) {
  static const auto session = open_session({{"name", "tpcc"}, {"warehouses", "1"}, {"mix", "full"}},
                                           8, 1, {.kind = "virtual"});
  way.options.seconds = seconds;
  way.options.warmup = warmup;
  way.options.timeline_events = events;
  return Json::parse(run_on_copy(*session, way.options, false, [] { return false; }));
}

Way ic3() {
  return session_runs::with_policy(
      tables::ic3(workload_signature({{"name", "tpcc"}, {"warehouses", "1"}, {"mix", "full"}})));
}
Way locking() { return {"2pl", {.protocol = "two_phase_locking"}}; }

TEST(RecordedTimeline, DoesNotChangeTheRun) {
  for (const Way& way : {Way{"silo", {}}, locking(), ic3()}) {
    SCOPED_TRACE(way.name);
    Json recorded = run(way, kPlenty);
    EXPECT_GT(recorded.at("timeline").at("events").size(), 1000U);
    recorded.erase("timeline");
    EXPECT_EQ(recorded, run(way, 0));
  }
}

/// Follows the events of each core, and fails if one can't come after the other.
class Follower {
 public:
  void follow(const Json& event) {
    const int core = event.at(1);
    const std::string what = event.at(2);
    Core& here = cores_[core];
    ASSERT_GE(event.at(0), here.time) << event;
    here.time = event.at(0);
    if (what == "attempt") {
      ASSERT_FALSE(here.attempt) << event;
      here = {.time = here.time, .attempt = true};
    } else if (what == "end") {
      ASSERT_TRUE(here.attempt && !here.access && !here.wait) << event;
      here.attempt = false;
      ++outcomes_[event.at(3)];
    } else if (what == "access") {
      ASSERT_TRUE(here.attempt && !here.access) << event;
      here.access = true;
    } else if (what == "access_end") {
      ASSERT_TRUE(here.access && !here.wait) << event;
      here.access = false;
    } else if (what == "wait") {
      ASSERT_TRUE(here.attempt && !here.wait) << event;
      ASSERT_NE(event.at(3), core) << "no core waits for itself";
      here.wait = true;
    } else if (what == "wait_end" || what == "wait_skipped") {
      ASSERT_TRUE(here.wait) << event;
      here.wait = false;
    } else if (what == "spun" || what == "dependency") {
      ASSERT_NE(event.at(3), core) << event;
    }
    seen_.insert(what);
  }
  [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }
  [[nodiscard]] std::size_t outcomes(const std::string& outcome) { return outcomes_[outcome]; }

 private:
  struct Core {
    double time = -1e9;
    bool attempt = false;
    bool access = false;
    bool wait = false;
  };
  std::map<int, Core> cores_;
  std::set<std::string> seen_;
  std::map<std::string, std::size_t> outcomes_;
};

TEST(RecordedTimeline, TellsOfEveryAttemptOfTheWindow) {
  for (const Way& way : {locking(), ic3()}) {
    SCOPED_TRACE(way.name);
    const Json result = run(way, kPlenty, 0);
    Follower follower;
    for (const Json& event : result.at("timeline").at("events")) follower.follow(event);
    EXPECT_EQ(follower.outcomes("commit") + follower.outcomes("rollback"), result.at("commits"));
    std::size_t aborts = 0;
    for (const Json& type : result.at("types")) aborts += type.at("aborts").get<std::size_t>();
    EXPECT_EQ(follower.outcomes("abort"), aborts);
    EXPECT_GT(follower.outcomes("commit"), 10U);
    for (const std::string what : {"access", "wait", "commit"}) {
      EXPECT_TRUE(follower.seen().contains(what)) << what;
    }
    if (way.name == "2pl") continue;
    for (const std::string what : {"dependency", "validation", "publication"}) {
      EXPECT_TRUE(follower.seen().contains(what)) << what;
    }
  }
}

/// The latencies of the transactions that the result counts, which the recording must add up to.
class Latencies {
 public:
  void follow(const Json& event) {
    const int core = event.at(1);
    const std::string what = event.at(2);
    const double time = event.at(0);
    Core& here = cores_[core];
    if (what == "window") {
      here.counts = true;
    } else if (what == "transaction") {
      here.arrived = time - event.at(4).get<double>();
      here.begun = here.counts;
    } else if (what == "transaction_end" && here.begun) {
      EXPECT_DOUBLE_EQ(event.at(3).get<double>(), time - here.arrived) << event;
      ++count_;
    } else if (what == "wait") {
      here.waits = true;
    } else if (what == "wait_end") {
      here.waits = false;
    } else if (what == "wake") {
      // The recording may begin after the wait of a transaction that was woken before the window,
      // and the end of the run ends a wait before its lock is released.
      const bool within = here.counts && time < kSeconds * 1e9;
      EXPECT_TRUE(!within || cores_[event.at(3)].waits) << event;
      ++wakes_;
    } else if (what == "commit") {
      here.last_step = 0;
    } else if (kSteps.contains(what)) {
      EXPECT_GT(kSteps.at(what), here.last_step) << event;
      here.last_step = kSteps.at(what);
      steps_.insert(what);
    }
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t wakes() const { return wakes_; }
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }

 private:
  struct Core {
    double arrived = 0;
    bool counts = false;
    bool begun = false;
    bool waits = false;
    int last_step = 0;
  };
  static inline const std::map<std::string, int> kSteps{
      {"validate", 1}, {"install", 2}, {"release", 3}};
  std::map<int, Core> cores_;
  std::set<std::string> steps_;
  std::size_t count_ = 0;
  std::size_t wakes_ = 0;
};

TEST(RecordedTimeline, HasTheLatencyOfEveryTransactionThatCounts) {
  const Way detecting{
      "2pl", {.protocol = "two_phase_locking", .protocol_options = {{"conflict", "detect"}}}};
  for (const Way& way : {Way{"silo", {}}, locking(), detecting, ic3()}) {
    for (const double warmup : {0.0, kSeconds}) {
      SCOPED_TRACE(way.name + ", warm-up " + std::to_string(warmup));
      const Json result = run(way, kPlenty, warmup);
      Latencies latencies;
      for (const Json& event : result.at("timeline").at("events")) latencies.follow(event);
      EXPECT_EQ(latencies.count(), result.at("commits"));
      EXPECT_EQ(latencies.wakes() > 0, way.name == "2pl");
      EXPECT_EQ(latencies.steps(), way.name == "silo" ? 2U : 3U);
    }
  }
}

TEST(RecordedTimeline, PacksTheSameEvents) {
  Way way = locking();
  const Json events = run(way, kPlenty).at("timeline").at("events");
  way.options.timeline_packed = true;
  const Json packed = run(way, kPlenty).at("timeline");
  EXPECT_EQ(packed.at("packed").get<std::string>().size(),
            events.size() * sizeof(TimelineEvent) / 3 * 4);
  EXPECT_FALSE(packed.contains("events"));
  EXPECT_EQ(packed.at("whats").at(1), "attempt");
}

TEST(RecordedTimeline, BeginsWithTheAttemptsThatAreGoingOn) {
  const Json events = run(ic3(), kPlenty).at("timeline").at("events");
  EXPECT_LT(events.front().at(0), 0);
  Follower follower;
  std::set<int> cores;
  for (const Json& event : events) {
    follower.follow(event);
    if (cores.insert(event.at(1).get<int>()).second) {
      EXPECT_EQ(event.at(2), "attempt");
    }
  }
  EXPECT_EQ(cores.size(), 8U);
}

TEST(RecordedTimeline, SaysHowMuchItHasLeftOut) {
  const Json all = run(ic3(), kPlenty).at("timeline");
  const Json some = run(ic3(), 1000).at("timeline");
  EXPECT_EQ(all.at("dropped"), 0);
  EXPECT_EQ(some.at("events").size(), 1000U);
  for (std::size_t at = 0; at < 1000; ++at) {
    const Json& event = some.at("events").at(at);
    // A spin that continued when the limit was reached keeps its length at that time.
    if (event.at(2) != "spun") {
      EXPECT_EQ(event, all.at("events").at(at));
    }
  }
  EXPECT_GT(some.at("dropped"), 0);
}

}  // namespace
}  // namespace heddle
