#include "workload/replay.h"

#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "program_file.h"

namespace heddle {
namespace {

using test::Alone;
using test::ProgramFile;

/// A shop: products, which exist from the beginning, and orders, which are inserted and deleted.
const std::string kShop = R"(
  "tables": [{"name": "goods", "rows": 4}, {"name": "orders", "rows": 3}],
  "types": [
    {"name": "order", "accesses": [
      {"name": "look", "table": 0, "kind": "read"},
      {"name": "sell", "table": 0, "kind": "update"},
      {"name": "add", "table": 1, "kind": "insert"}]},
    {"name": "cancel", "accesses": [
      {"name": "list", "table": 1, "kind": "scan"},
      {"name": "drop", "table": 1, "kind": "delete"},
      {"name": "restock", "table": 0, "kind": "update"}]}])";
const std::vector<std::uint8_t> kBorn{0, 0, 0, 0, 1, 1, 0};

const std::vector<ProgramFile::Transaction> kDay{
    {0, 0, {{0, 0}, {1, 0}, {1, 1}, {2, 0}}}, {1, 0, {{0, 2}, {1, 2}, {2, 1}}},
    {0, 1, {{0, 0}, {1, 0}, {2, 0}}},         {1, 0, {{0, 3}, {1, 3}}, true},
    {2, 1, {{1, 2}, {2, 3}, {2, 2}}},
};

ReplayOptions options_of(const ProgramFile& file) {
  return ReplayOptions::parse({{"program", file.path()}});
}

std::string refusal(const ProgramFile& file) {
  try {
    (void)options_of(file);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

/// Wraps a transaction and records the accesses of the procedure.
template <class Txn>
struct Watched {
  Txn& txn;
  std::vector<std::string>& told;

  template <class T>
  auto read(AccessId state, T& table, const Key1& key, typename T::RecordType* found) {
    tell("read", state, table, key);
    return txn.read(state, table, key, found);
  }
  template <class T, class V, class F>
  bool update(AccessId state, T& table, const Row<V>& row, F modify) {
    told.push_back("update " + std::to_string(state));
    return txn.update(state, table, row, modify);
  }
  template <class T, class V>
  bool insert(AccessId state, T& table, const Key1& key, const V& value) {
    tell("insert", state, table, key);
    return txn.insert(state, table, key, value);
  }
  template <class T, class V>
  bool remove(AccessId state, T& table, const Row<V>& row) {
    told.push_back("remove " + std::to_string(state));
    return txn.remove(state, table, row);
  }
  template <class P, class T, class F>
  bool scan(AccessId state, T& table, const Key1& lo, const Key1& hi, Order order,
            std::uint32_t limit, F visit) {
    tell("scan", state, table, lo);
    return txn.template scan<P>(state, table, lo, hi, order, limit, visit);
  }
  void passed(AccessId state) { told.push_back("passed " + std::to_string(state)); }
  Outcome stop() { return txn.stop(); }

  template <class T>
  void tell(const std::string& what, AccessId state, const T& table, const Key1& key) {
    told.push_back(what + " " + std::to_string(state) + " " + table.name() + " " +
                   std::to_string(key.words[0] >> 32) + "." +
                   std::to_string(key.words[0] & 0xffffffff));
  }
};

std::vector<std::string> watch(Alone<Replay>& replay, const Alone<Replay>::Input& input,
                               Outcome wanted = Outcome::commit) {
  std::vector<std::string> told;
  const Outcome outcome = replay.transact([&]<class Txn>(Txn& txn) {
    Watched<Txn> watched{txn, told};
    return replay.workload().execute(watched, input);
  });
  EXPECT_EQ(outcome, wanted);
  return told;
}

using Told = std::vector<std::string>;

TEST(Replay, TheSignatureIsTheTracesTypesAndAccesses) {
  const ProgramFile file(kShop, 3, kDay, kBorn);
  const Signature signature = Replay<ThreadsMachine>::signature(options_of(file));
  EXPECT_EQ(signature,
            (Signature{"replay",
                       {{"order",
                         {{"look", "goods", AccessKind::read, true},
                          {"sell", "goods", AccessKind::read_modify_write, true},
                          {"add", "orders", AccessKind::insert, true}}},
                        {"cancel",
                         {{"list", "orders", AccessKind::scan, true},
                          {"drop_read", "orders", AccessKind::read, true},
                          {"drop", "orders", AccessKind::remove, true},
                          {"restock", "goods", AccessKind::read_modify_write, true}}}}}));
}

TEST(Replay, TheReadOfADeletedRowIsNamedLikeNoOtherAccess) {
  std::string shop = kShop;
  const std::string list = R"("name": "list")";
  shop.replace(shop.find(list), list.size(), R"("name": "drop_read")");
  const ProgramFile file(shop, 3, kDay, kBorn);
  const Signature signature = Replay<ThreadsMachine>::signature(options_of(file));
  EXPECT_EQ(signature.types[1].accesses[0].name, "drop_read");
  EXPECT_EQ(signature.types[1].accesses[1].name, "drop_read_first");
  EXPECT_EQ(signature.types[1].accesses[2].name, "drop");
}

TEST(Replay, MakesTheRecordedAccessesInTheirOrder) {
  const ProgramFile file(kShop, 3, kDay, kBorn);
  Alone<Replay> replay(options_of(file));
  EXPECT_EQ(watch(replay, replay.next()),
            (Told{"read 0 goods 0.0", "passed 0", "read 1 goods 0.0", "update 1",
                  "read 1 goods 1.0", "update 1", "passed 1", "insert 2 orders 0.0", "passed 2"}));
  // The first session's second transaction, then the second session.
  EXPECT_EQ(watch(replay, replay.next()),
            (Told{"scan 3 orders 0.0", "passed 3", "read 4 orders 0.0", "remove 5", "passed 5",
                  "read 6 goods 0.0", "update 6", "passed 6"}));
  EXPECT_EQ(watch(replay, replay.next()),
            (Told{"read 0 goods 2.0", "passed 0", "read 1 goods 2.0", "update 1", "passed 1",
                  "insert 2 orders 1.0", "passed 2"}));
  EXPECT_EQ(watch(replay, replay.next(), Outcome::rollback),
            (Told{"read 0 goods 3.0", "passed 0", "read 1 goods 3.0", "update 1", "passed 1"}));
  EXPECT_EQ(watch(replay, replay.next()),
            (Told{"read 4 orders 2.0", "remove 5", "passed 5", "read 6 goods 3.0", "update 6",
                  "read 6 goods 2.0", "update 6", "passed 6"}));
  EXPECT_TRUE(replay.workload().check().empty());
}

TEST(Replay, ABornRowIsAnotherOneInEveryRound) {
  const ProgramFile file(kShop, 3, kDay, kBorn);
  Alone<Replay> replay(options_of(file));
  (void)replay.run(5);
  const Told second = watch(replay, replay.next());
  EXPECT_EQ(second.at(second.size() - 2), "insert 2 orders 0.1");
  const Told third = watch(replay, replay.next());
  EXPECT_EQ(third.front(), "scan 3 orders 0.1");
  EXPECT_EQ(third.at(3), "remove 5");  // inserted by the insert of this round
}

TEST(Replay, WhatIsDoneToARowThatIsNotThereFindsNothing) {
  const ProgramFile file(kShop, 3, kDay, kBorn);
  Alone<Replay> replay(options_of(file));
  const auto counts = replay.run(50);
  EXPECT_EQ(counts.aborts, 0);
  EXPECT_EQ(counts.commits.at(0), 20);
  EXPECT_EQ(counts.commits.at(1), 20);
  EXPECT_EQ(counts.rollbacks.at(0), 10);
  EXPECT_TRUE(replay.workload().check().empty());
}

TEST(Replay, ANumberThatComesAgainIsPassedAfterItsLastRound) {
  const ProgramFile file(kShop, 1, {{0, 0, {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}}}}, kBorn);
  Alone<Replay> replay(options_of(file));
  EXPECT_EQ(
      watch(replay, replay.next()),
      (Told{"read 0 goods 0.0", "read 1 goods 0.0", "update 1", "read 0 goods 1.0", "passed 0",
            "read 1 goods 1.0", "update 1", "passed 1", "insert 2 orders 0.0", "passed 2"}));
}

/// A transaction that loses its first update, and commits.
template <class Txn>
struct LosesAnUpdate : Watched<Txn> {
  int updates = 0;
  template <class T, class V, class F>
  bool update(AccessId state, T& table, const Row<V>& row, F modify) {
    return updates++ == 0 || this->txn.update(state, table, row, modify);
  }
};

TEST(Replay, CheckSeesALostUpdate) {
  const ProgramFile file(kShop, 3, kDay, kBorn);
  Alone<Replay> replay(options_of(file));
  const auto input = replay.next();
  std::vector<std::string> told;
  ASSERT_EQ(replay.transact([&]<class Txn>(Txn& txn) {
    LosesAnUpdate<Txn> losing{{txn, told}};
    return replay.workload().execute(losing, input);
  }),
            Outcome::commit);
  EXPECT_EQ(replay.workload().check().size(), 1U);
}

TEST(Replay, ASessionIsOneWorkersInItsOrderAndTheSharesAreEven) {
  std::vector<ProgramFile::Transaction> day;
  for (std::uint32_t i = 0; i < 400; ++i) day.push_back({i * i % 97 % 20, 0, {{0, i % 4}}});
  const ProgramFile file(kShop, 20, day, kBorn);
  const replay::Program program(file.path());
  const replay::Shares shares(program, 3);
  std::vector<int> owner(20, -1);
  std::set<std::uint32_t> made;
  for (int worker = 0; worker < 3; ++worker) {
    std::uint32_t last = 0;
    std::uint32_t count = 0;
    for (replay::Turn turn = shares.next(worker); turn.round == 0; turn = shares.next(worker)) {
      const std::uint32_t session = program.session(turn.transaction);
      EXPECT_TRUE(owner[session] == -1 || owner[session] == worker);
      owner[session] = worker;
      EXPECT_TRUE(count == 0 || turn.transaction > last);
      EXPECT_TRUE(made.insert(turn.transaction).second);
      last = turn.transaction;
      ++count;
    }
    EXPECT_NEAR(count, 400 / 3.0, 10);
    EXPECT_EQ(shares.next(worker).round, 1U);
  }
  EXPECT_EQ(made.size(), 400U);
}

TEST(Replay, FewerSessionsThanWorkersAreRefused) {
  const ProgramFile file(kShop, 3, kDay, kBorn);
  const replay::Program program(file.path());
  EXPECT_NO_THROW(replay::Shares(program, 3));
  try {
    const replay::Shares shares(program, 4);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("3 sessions, fewer than the 4 cores"),
              std::string::npos);
  }
}

TEST(ReplayProgram, EveryTruncationIsRefused) {
  const ProgramFile file(kShop, 3, kDay, kBorn);
  for (std::size_t size = 0; size < file.bytes().size(); size += size < file.arrays() ? 7 : 1) {
    file.write(file.bytes().substr(0, size));
    EXPECT_NE(refusal(file), "") << size;
  }
  file.write(file.bytes() + "x");
  EXPECT_NE(refusal(file).find("end of the file"), std::string::npos);
}

TEST(ReplayProgram, AnyByteMayBeWrong) {
  const ProgramFile file(kShop, 3, kDay, kBorn);
  constexpr std::array kFlips{0x01, 0x80, 0xff, 0x10, 0x02};
  int refused = 0;
  for (std::size_t at = 0; at < file.bytes().size(); ++at) {
    std::string bytes = file.bytes();
    bytes[at] = static_cast<char>(bytes[at] ^ kFlips[at % kFlips.size()]);
    file.write(bytes);
    if (const std::string why = refusal(file); !why.empty()) {
      ++refused;
      EXPECT_EQ(why.find("replay program " + file.path()), 0U);
      continue;
    }
    Alone<Replay> replay(options_of(file));
    EXPECT_EQ(replay.run(20).aborts, 0);
    EXPECT_TRUE(replay.workload().check().empty());
  }
  EXPECT_GT(refused, 300);
}

TEST(ReplayProgram, ARefusalNamesTheByteAndTheField) {
  const ProgramFile file(kShop, 3, kDay, kBorn);
  const std::size_t begins = file.arrays();
  const std::size_t firsts = begins + 5 * 8;
  const std::size_t rows = firsts + 6 * 8;
  const std::size_t accesses = 15;
  const std::size_t sessions = rows + accesses * 4;
  const std::map<std::size_t, std::string> fields{
      {0, "magic"},
      {8, "version"},
      {12, "length of the header"},
      {begins + 1, "begin[1]"},
      {firsts + 8 + 7, "first_access[2]: it is below the one before it"},
      {rows, "row[0]: 255 is none of 4 of table goods"},
      {sessions, "session[0]: 255 is none of 3"},
      {sessions + 5 * 4, "access[0]: 255 is none of 3 of type order"},
      {sessions + 5 * 4 + accesses * 2, "type[0]: 255 is none of 2"},
      {sessions + 5 * 4 + accesses * 2 + 5 * 2, "rolls_back[0]"},
      {file.bytes().size() - 1, "born[6]"}};
  for (const auto& [at, field] : fields) {
    std::string bytes = file.bytes();
    bytes[at] = static_cast<char>(0xff);
    file.write(bytes);
    EXPECT_NE(refusal(file).find(field), std::string::npos) << field << ": " << refusal(file);
  }
}

TEST(ReplayProgram, AHeaderThatMakesNoSenseNamesItsKey) {
  const std::map<std::string, std::string> headers{
      {R"("tables": [{"name": "a", "rows": 0}])", "an object with 'types'"},
      {R"("tables": [{"name": "a"}], "types": [])", "tables[0] must be an object with 'rows'"},
      {R"("tables": [{"name": "a", "rows": -1}], "types": [])", "tables[0].rows"},
      {R"("tables": [{"name": "a", "rows": 0}, {"name": "a", "rows": 0}], "types": [])",
       "tables[1].name"},
      {R"("tables": {}, "types": [])", "tables must be a list"},
      {R"("tables": [], "types": [{"name": "t", "accesses": []}])", "types[0].accesses"},
      {R"("tables": [], "types": [{"name": "t", "accesses": [
          {"name": "a", "table": 0, "kind": "read"}]}])",
       "types[0].accesses[0].table"},
      {R"("tables": [{"name": "a", "rows": 0}], "types": [{"name": "t", "accesses": [
          {"name": "a", "table": 0, "kind": "write"}]}])",
       "types[0].accesses[0].kind"},
  };
  for (const auto& [header, place] : headers) {
    const ProgramFile file(header, 1, {{0, 0, {}}}, {});
    EXPECT_NE(refusal(file).find(place), std::string::npos) << place << ": " << refusal(file);
  }
  const ProgramFile empty(kShop, 0, {}, kBorn);
  EXPECT_NE(refusal(empty).find("transactions must be more than 0"), std::string::npos);
}

TEST(ReplayOptions, NameTheProgram) {
  EXPECT_THROW(ReplayOptions::parse({}), std::invalid_argument);
  EXPECT_THROW(ReplayOptions::parse({{"program", "/there/is/none"}}), std::invalid_argument);
  EXPECT_THROW(ReplayOptions::parse({{"program", "/"}}), std::invalid_argument);
}

}  // namespace
}  // namespace heddle
