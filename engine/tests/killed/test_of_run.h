#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "killed/killed_run.h"
#include "store/opened_stores.h"

namespace heddle::killed {

/// The stores that keep what they have committed: all but those in memory.
inline std::vector<std::string> durable_stores() {
  std::vector<std::string> stores = store::test::tested_stores();
  std::erase(stores, "map");
  return stores;
}

/// Kills a run, and expects that nothing is lost; that one whose store was killed ends by itself,
/// with what it has measured; and that it names the server.
inline void expect_no_faults(const KilledRun& run) {
  SCOPED_TRACE(run.describe());
  const Remains remains = remains_of(run);
  if (remains.missing) GTEST_SKIP() << *remains.missing;
  EXPECT_FALSE(remains.acknowledged.empty());
  for (const std::string& fault : faults_in(remains)) ADD_FAILURE() << fault;
  EXPECT_EQ(remains.ended, survives(run.victim)) << remains.failure;
  if (!survives(run.victim)) return;
  EXPECT_EQ(remains.failure.find(" the server has not answered for ") != std::string::npos,
            is_silent(run.victim))
      << remains.failure;
  EXPECT_EQ(remains.failure.find("store " + run.store + ": "), 0U) << remains.failure;
  EXPECT_NE(remains.failure.find(remains.server_folder), std::string::npos) << remains.failure;
  // Those that ended last have not been acknowledged: their workers have begun none after them.
  EXPECT_GE(remains.commits, remains.acknowledged.size());
  EXPECT_LE(remains.commits, remains.acknowledged.size() + remains.in_flight);
}

}  // namespace heddle::killed
