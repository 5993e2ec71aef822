#include "workload/replay/rotation.h"

namespace heddle::replay {

Rotation::Rotation(const Program& program, int workers) {
  const std::vector<std::uint32_t> lengths = session_lengths(program, workers);
  std::vector<std::uint32_t> numbers(lengths.size());  // without sessions that have no transaction
  std::vector<std::uint32_t> place;
  std::uint32_t before = 0;
  for (std::size_t session = 0; session < lengths.size(); ++session) {
    if (lengths[session] == 0) continue;
    numbers[session] = static_cast<std::uint32_t>(first_.size());
    first_.push_back(before);
    before += lengths[session];
  }
  place = first_;
  first_.push_back(before);
  transactions_.resize(program.transactions());
  for (std::size_t i = 0; i < program.transactions(); ++i) {
    transactions_[place[numbers[program.session(i)]]++] = static_cast<std::uint32_t>(i);
  }
  const auto sessions = static_cast<std::uint32_t>(place.size());
  const auto held = static_cast<std::uint32_t>(workers);
  rounds_.resize(sessions);
  for (std::uint32_t session = 0; session < held; ++session) {
    hands_.push_back({session, first_[session]});
  }
  queue_ = std::vector<std::atomic<std::uint32_t>>(sessions - held);
  for (std::uint32_t session = held; session < sessions; ++session) {
    queue_[session - held].store(session, std::memory_order_relaxed);  // before any worker exists
  }
}

}  // namespace heddle::replay
