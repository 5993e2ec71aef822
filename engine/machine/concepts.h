#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "machine/options.h"

namespace heddle {

class Timeline;

/// A worker of a crew, as it sees itself between transactions (CrewMember documents each function).
template <class W, class Ticks>
concept MachineMember =
    requires(W& worker, const W& constant, Ticks duration, const std::atomic<std::uint64_t>& stop) {
      { constant.worker() } -> std::same_as<int>;
      { constant.crowded() } -> std::same_as<bool>;
      { constant.turn_over(duration) } -> std::same_as<bool>;
      worker.pass_turn();
      worker.rest(duration, stop);
    };

/// Where the engine runs: ThreadsMachine documents each function. All are static.
template <class M>
concept Machine =
    requires(const void* address, const std::byte* bytes, std::size_t count, int& spins,
             const std::atomic<std::uint64_t>& word, std::uint64_t number, double us,
             typename M::Ticks duration, const MachineOptions& options, bool take_turns,
             const typename M::Crew& crew, const std::function<void(typename M::Member&)>& body,
             const std::function<bool()>& monitor, Timeline* timeline, std::uint16_t what,
             std::uint32_t subject) {
      { M::kKind } -> std::convertible_to<std::string_view>;
      { M::kSingleThreaded } -> std::convertible_to<bool>;
      { M::kSamples } -> std::convertible_to<bool>;

      // Hooks, called before the engine's action.
      M::on_load(address);
      M::on_load(address, count);
      M::on_store(address);
      M::on_store(address, count);
      M::on_exchange(address);
      M::on_lookup();
      M::on_insert();
      M::on_row();
      M::on_control();
      M::on_transaction();

      M::prefetch(bytes, count);
      { M::looks_ahead() } -> std::same_as<bool>;
      M::fetch_ahead(address, count);
      { M::number_of(address) } -> std::same_as<std::uintptr_t>;
      { M::order_of(address) } -> std::same_as<std::uintptr_t>;

      // The clock.
      { M::now() } -> std::same_as<typename M::Ticks>;
      M::resume_at(duration);
      { M::ticks_per_us() } -> std::same_as<double>;
      { M::ticks(us) } -> std::same_as<typename M::Ticks>;
      { M::microseconds(duration) } -> std::same_as<double>;

      // Waiting.
      M::relax(spins);
      M::relax(spins, address);
      { M::spins_before_park() } -> std::same_as<int>;
      M::pause();
      M::yield();
      M::park(word, number, number);
      M::unpark(word);
      M::unpark_all();
      M::idle(duration, word);

      // Recording; CoreRecorder documents each function.
      M::record_into(timeline);
      { M::recording() } -> std::same_as<bool>;
      { M::recording(subject) } -> std::same_as<bool>;
      M::record(what, subject, number);
      M::record_at(duration, what, subject, number);
      M::open_window(what);
      M::begin_transaction(duration, what);

      // Workers.
      { M::cores() } -> std::same_as<int>;
      { M::crew(options, spins, take_turns, count) } -> std::same_as<typename M::Crew>;
      { M::run_crew(crew, body, monitor) } -> std::same_as<bool>;
      requires MachineMember<typename M::Member, typename M::Ticks>;
    };

}  // namespace heddle
