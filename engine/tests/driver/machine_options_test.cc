#include "driver/machine_options.h"

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace heddle {
namespace {

OptionMap virtual_with(OptionMap options) {
  options["kind"] = "virtual";
  return options;
}

std::string refused(const OptionMap& options) {
  try {
    (void)parse_machine(virtual_with(options));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "it was read";
}

TEST(MachineOptions, AScheduleIsTheCostModelsUnlessAskedFor) {
  const ScheduleOptions schedule = parse_machine(virtual_with({})).schedule;
  EXPECT_EQ(schedule.kind, ScheduleKind::clock);
  EXPECT_TRUE(schedule.rescues());
}

TEST(MachineOptions, AScheduleIsRead) {
  const ScheduleOptions delays = parse_machine(virtual_with({{"schedule", "delays"},
                                                             {"delay_every", "7"},
                                                             {"delay_us", "0.5"},
                                                             {"rescue", "true"}}))
                                     .schedule;
  EXPECT_EQ(delays.kind, ScheduleKind::delays);
  EXPECT_EQ(delays.delay_every, 7U);
  EXPECT_EQ(delays.delay_us, 0.5);
  EXPECT_TRUE(delays.rescues());
  const ScheduleOptions priorities =
      parse_machine(virtual_with({{"schedule", "priorities"}, {"depth", "5"}, {"steps", "99"}}))
          .schedule;
  EXPECT_EQ(priorities.kind, ScheduleKind::priorities);
  EXPECT_EQ(priorities.depth, 5);
  EXPECT_EQ(priorities.steps, 99U);
  EXPECT_FALSE(priorities.rescues());
  EXPECT_FALSE(parse_machine(virtual_with({{"rescue", "false"}})).schedule.rescues());
}

TEST(MachineOptions, AMistakeIsRefusedByName) {
  EXPECT_EQ(refused({{"schedule", "script"}}),
            "machine: option 'schedule' is 'script'; allowed: one of clock, delays, priorities");
  EXPECT_EQ(refused({{"depth", "0"}}),
            "machine: option 'depth' is '0'; allowed: an integer from 1 to 100");
  EXPECT_EQ(refused({{"rescue", "maybe"}}),
            "machine: option 'rescue' is 'maybe'; allowed: one of true, false");
  EXPECT_NE(refused({{"delay", "1"}}).find("unknown option 'delay'"), std::string::npos);
  EXPECT_THROW((void)parse_machine({{"kind", "threads"}, {"schedule", "delays"}}),
               std::invalid_argument);
}

}  // namespace
}  // namespace heddle
