#include "store/postgresql/copy_filler.h"

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "store/sql_name.h"

namespace heddle::store {

namespace {

/// An integer in network byte order.
template <class Integer>
void append(std::string& buffer, Integer number) {
  for (int shift = 8 * (sizeof(Integer) - 1); shift >= 0; shift -= 8) {
    buffer += static_cast<char>(number >> shift & 0xff);
  }
}

/// Every page keeps space for new versions of its rows: an update that stays in its page changes no
/// index. A reader at SERIALIZABLE conflicts with every change of an index page that it has read.
constexpr int kFillFactor = 50;

}  // namespace

CopyFiller::CopyFiller(const StoreSetup& setup, const Address& address, ServerWaits& waits,
                       const std::string& schema)
    : address_(address), waits_(waits), client_(connect_to(address)), copied_(setup.tables.size()) {
  std::string sql = "BEGIN;";
  for (const TableSpec& table : setup.tables) {
    tables_.push_back(schema + "." + in_quotes(table.name));
    sql +=
        "CREATE TABLE " + tables_.back() +
        " (k bytea NOT NULL, v bytea NOT NULL) WITH (fillfactor = " + std::to_string(kFillFactor) +
        ");";
    // Compression would make figures depend on what the values are.
    sql += "ALTER TABLE " + tables_.back() + " ALTER COLUMN v SET STORAGE EXTERNAL;";
  }
  (void)execute(caller(), sql);
}

void CopyFiller::put(std::size_t table, Bytes key, Bytes value) {
  constexpr std::size_t kFull = 1 << 16;
  if (table != copied_) {
    end_copy();
    begin_copy(table);
  }
  append(buffer_, std::int16_t{2});
  add(key);
  add(value);
  if (buffer_.size() >= kFull) flush();
}

void CopyFiller::commit() {
  end_copy();
  // Faster than with the rows, and the index has its rows in order.
  for (const std::string& table : tables_) {
    (void)execute(caller(), "ALTER TABLE " + table + " ADD PRIMARY KEY (k)", {},
                  ServerWaits::For::bulk);
  }
  (void)execute(caller(), "COMMIT", {}, ServerWaits::For::bulk);
}

void CopyFiller::begin_copy(std::size_t table) {
  using namespace std::string_view_literals;
  // Frozen: the first reads need not mark the rows as committed.
  (void)execute(caller(), "COPY " + tables_[table] + " FROM STDIN (FORMAT binary, FREEZE)");
  copied_ = table;
  buffer_ = "PGCOPY\n\377\r\n\0"sv;
  append(buffer_, std::int32_t{0});  // flags
  append(buffer_, std::int32_t{0});  // length of the rest of the header
}

void CopyFiller::end_copy() {
  if (copied_ == tables_.size()) return;
  copied_ = tables_.size();
  append(buffer_, std::int16_t{-1});
  flush();
  const auto send_end = [this] { return PQputCopyEnd(client_.get(), nullptr); };
  bool ok = send(send_end);
  while (true) {
    await_result(caller(), ServerWaits::For::bulk);
    const Answer answer{PQgetResult(client_.get())};
    if (answer == nullptr) return;
    ok = ok && PQresultStatus(answer.get()) == PGRES_COMMAND_OK;
    if (!ok) throw std::runtime_error(describe_error(client_.get(), answer.get(), address_));
  }
}

void CopyFiller::add(Bytes field) {
  append(buffer_, static_cast<std::int32_t>(field.size()));
  buffer_.append(reinterpret_cast<const char*>(field.data()), field.size());
}

void CopyFiller::flush() {
  const auto send_rows = [this] {
    return PQputCopyData(client_.get(), buffer_.data(), static_cast<int>(buffer_.size()));
  };
  if (!send(send_rows)) throw std::runtime_error(describe_error(client_.get(), nullptr, address_));
  buffer_.clear();
}

template <class Send>
bool CopyFiller::send(Send call) {
  int accepted = call();
  for (; accepted == 0; accepted = call()) {  // what is queued fills its buffer
    heddle::store::flush(caller(), ServerWaits::For::statement);
  }
  return accepted == 1;
}

}  // namespace heddle::store
