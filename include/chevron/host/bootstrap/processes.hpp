// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_BOOTSTRAP_PROCESSES_HPP
#define CHEVRON_HOST_BOOTSTRAP_PROCESSES_HPP

//! @file
//! How processes of one user on one host become ranks of a group: they meet at rank 0, and exchange messages
//! and file descriptors through it. Used when a group is formed and when a window is made, never in a call.

#include <chevron/core/error.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/bootstrap/key.hpp>
#include <chevron/host/bootstrap/socket.hpp>
#include <chevron/host/cpu.hpp>
#include <chevron/host/memory.hpp>
#include <chevron/host/options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chevron {

//! @brief What a process says when it comes.
struct Hello {
  Configuration configuration{};
  CpuSet cpus{};
  std::int32_t rank = -1;
  pid_t pid = 0;  //!< filled in by rank 0, from what the kernel says
};

//! @brief The ranks of a group, connected through rank 0. Every exchange is collective, bounded by the
//! deadline, and ends on all ranks with the same cause when it fails.
class Processes {
  using Deadline = detail::Deadline;
  using MessageSocket = detail::MessageSocket;

 public:
  //! @brief What every rank contributed to an exchange, in rank order.
  template <class Message>
  struct Gathered {
    PerRank<Message, max_ranks> messages{};
    std::vector<OwnedFd> descriptors{};  //!< one per rank, where every rank gave one
  };

  //! @brief Meets the other ranks under a key.
  //! Errors: timeout, peer_died, duplicate_rank, the mismatches; processes of other users are not let in
  [[nodiscard]] static Result<Processes> meet(SharedMemoryKey const& key, Hello const& hello,
                                              std::chrono::milliseconds deadline) {
    Processes group(hello.rank, hello.configuration.ranks, deadline);
    std::string const name = "chevron-" + key.text();
    Result<void> met = hello.rank == 0 ? group.receive_all(name, hello) : group.come(name, hello);
    if (!met) return met.error();
    if (auto watching = group.watch(); !watching) return watching.error();
    return group;
  }

  [[nodiscard]] Hello const& hello(int rank) const { return hellos_[rank]; }

  //! Whether the process of a rank has ended.
  [[nodiscard]] bool has_ended(int rank) const {
    OwnedFd const& process = processes_[static_cast<std::size_t>(rank)];
    return !process || detail::is_readable(process.get());
  }

  //! @brief Gives every rank's message, and descriptor where `descriptor` is one, to every rank.
  //! Errors: timeout and peer_died, naming the rank, on every rank
  template <class Message>
  [[nodiscard]] Result<Gathered<Message>> all_gather(Message const& mine, int descriptor,
                                                     char const* during) {
    return rank_ == 0 ? gather_and_spread(mine, descriptor, during) : send_and_wait(mine, descriptor, during);
  }

  //! @brief Whether all ranks have succeeded so far; the first failure in rank order otherwise, on every
  //! rank.
  [[nodiscard]] Result<void> agree(std::optional<Error> const& mine, char const* during) {
    struct Status {
      Errc code;
      int native;
    };
    auto const all = all_gather(Status{mine ? mine->code : Errc::ok, mine ? mine->native : 0}, -1, during);
    if (!all) return all.error();
    for (int rank = 0; rank < ranks_; ++rank) {
      Status const& status = all->messages[rank];
      if (status.code != Errc::ok) return error(status.code, rank, during, status.native);
    }
    return {};
  }

 private:
  template <class Message>
  struct Reply {
    Errc code = Errc::ok;
    std::int32_t rank = -1;
    PerRank<Message, max_ranks> messages{};
  };

  Processes(int rank, int ranks, std::chrono::milliseconds deadline)
      : rank_(rank), ranks_(ranks), deadline_(deadline) {}

  [[nodiscard]] Error error(Errc code, int culprit, char const* during, int native = 0) const {
    return {.code = code,
            .rank = static_cast<std::int16_t>(culprit),
            .reporter = static_cast<std::int16_t>(rank_),
            .native = native,
            .during = during};
  }

  [[nodiscard]] Deadline from_now() const { return std::chrono::steady_clock::now() + deadline_; }

  //! Rank 0 decides when a wait is over, and says who was missing; the others give it time to say so.
  [[nodiscard]] Deadline from_now_for_rank_0() const {
    return from_now() + deadline_ / 4 + std::chrono::milliseconds(100);
  }

  // ---- meeting
  // ----------------------------------------------------------------------------------------------

  [[nodiscard]] Result<void> receive_all(std::string const& name, Hello const& mine) {
    constexpr char const* during = "joining";
    Deadline const deadline = from_now();
    connections_.resize(static_cast<std::size_t>(ranks_));
    hellos_[0] = mine;
    hellos_[0].pid = ::getpid();
    Result<OwnedFd> listening = listen(name, deadline);
    if (!listening) return listening.error();
    std::vector<MessageSocket> strangers;
    std::optional<Error> failed;
    for (int here = 1; here < ranks_ && !failed;) {
      std::vector<pollfd> entries{{listening->get(), POLLIN, 0}};
      for (MessageSocket const& stranger : strangers) entries.push_back({stranger.fd(), POLLIN, 0});
      if (::poll(entries.data(), entries.size(), detail::milliseconds_until(deadline)) == 0) {
        failed = error(Errc::timeout, first_missing(), during);
        break;
      }
      std::vector<MessageSocket> waiting;
      for (std::size_t i = 0; i < strangers.size(); ++i) {
        if (entries[i + 1].revents == 0) {
          waiting.push_back(std::move(strangers[i]));
        } else if (!failed) {
          failed = admit(std::move(strangers[i]), mine, here);
        }
      }
      strangers = std::move(waiting);
      if ((entries[0].revents & POLLIN) != 0) {
        MessageSocket stranger(OwnedFd(::accept4(listening->get(), nullptr, nullptr, SOCK_CLOEXEC)));
        if (stranger && stranger.peer().uid == ::geteuid()) strangers.push_back(std::move(stranger));
      }
    }
    // Closed before anybody learns that the group is complete: who then comes finds the next meeting, not
    // this one.
    *listening = OwnedFd();
    Reply<Hello> const reply{failed ? failed->code : Errc::ok, failed ? failed->rank : -1, hellos_};
    spread(reply, {});
    if (failed) return *failed;
    return {};
  }

  //! The name may still be taken by an earlier meeting that is just ending.
  [[nodiscard]] Result<OwnedFd> listen(std::string const& name, Deadline deadline) const {
    for (;;) {
      auto listening = detail::listen_on(name, 2 * max_ranks);
      if (listening || listening.error().native != EADDRINUSE || detail::milliseconds_until(deadline) == 0) {
        return listening;
      }
      ::poll(nullptr, 0, 1);
    }
  }

  [[nodiscard]] std::optional<Error> admit(MessageSocket connection, Hello const& mine, int& here) {
    constexpr char const* during = "joining";
    Hello hello;
    std::vector<OwnedFd> none;
    if (connection.receive(&hello, sizeof(hello), none) != MessageSocket::Received::message)
      return std::nullopt;
    hello.pid = connection.peer().pid;
    auto const difference = mine.configuration.difference(hello.configuration);
    bool const in_range = hello.rank > 0 && hello.rank < ranks_;
    auto const slot = static_cast<std::size_t>(in_range ? hello.rank : 0);
    bool const taken = in_range && static_cast<bool>(connections_[slot]);
    if (difference != Errc::ok || !in_range || taken) {
      Errc const code = difference != Errc::ok ? difference : Errc::duplicate_rank;
      connections_.push_back(std::move(connection));  // it is told as well
      return error(code, hello.rank, during);
    }
    connections_[slot] = std::move(connection);
    hellos_[hello.rank] = hello;
    ++here;
    return std::nullopt;
  }

  [[nodiscard]] int first_missing() const {
    int missing = 1;
    while (missing < ranks_ - 1 && connections_[static_cast<std::size_t>(missing)]) ++missing;
    return missing;
  }

  [[nodiscard]] Result<void> come(std::string const& name, Hello const& mine) {
    constexpr char const* during = "joining";
    auto connection = detail::connect_to(name, from_now());
    if (!connection) return connection.error();
    if (connection->peer().uid != ::geteuid()) return error(Errc::wrong_user, 0, during);
    connections_.push_back(std::move(*connection));
    if (!connections_[0].send(&mine, sizeof(mine), {})) return error(Errc::peer_died, 0, during);
    auto reply = wait_for_reply<Hello>(during);
    if (!reply) return reply.error();
    hellos_ = reply->messages;
    return {};
  }

  [[nodiscard]] Result<void> watch() {
    for (int rank = 0; rank < ranks_; ++rank) {
      auto process = detail::watch_process(hellos_[rank].pid);
      // Who has gone already did so for a reason, maybe told in a message that still waits to be read.
      if (!process && process.error().native != ESRCH) return process.error();
      processes_.push_back(process ? std::move(*process) : OwnedFd());
    }
    return {};
  }

  // ---- exchanging
  // -------------------------------------------------------------------------------------------

  template <class Message>
  [[nodiscard]] Result<Gathered<Message>> gather_and_spread(Message const& mine, int descriptor,
                                                            char const* during) {
    Gathered<Message> all;
    Reply<Message> reply;
    std::optional<Error> failed;
    all.messages[0] = mine;
    if (descriptor >= 0) all.descriptors.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    Deadline const deadline = from_now();
    for (int rank = 1; rank < ranks_ && !failed; ++rank) {
      failed = receive_from(rank, connections_[static_cast<std::size_t>(rank)], &all.messages[rank],
                            sizeof(Message), all.descriptors, deadline, during);
    }
    reply.messages = all.messages;
    if (failed) {
      reply.code = failed->code;
      reply.rank = failed->rank;
    }
    spread(reply, failed ? std::vector<OwnedFd>{} : std::exchange(all.descriptors, {}), &all.descriptors);
    if (failed) return *failed;
    return all;
  }

  template <class Message>
  [[nodiscard]] Result<Gathered<Message>> send_and_wait(Message const& mine, int descriptor,
                                                        char const* during) {
    std::vector<int> const descriptors = descriptor >= 0 ? std::vector<int>{descriptor} : std::vector<int>{};
    // A send that fails means that rank 0 has closed; what it said before is still there to be read.
    (void)connections_[0].send(&mine, sizeof(mine), descriptors);
    Gathered<Message> all;
    auto reply = wait_for_reply<Message>(during, &all.descriptors);
    if (!reply) return reply.error();
    all.messages = reply->messages;
    return all;
  }

  //! Sends a reply to all who are connected, and puts the descriptors into `keep`. Who has gone is found out
  //! later.
  template <class Message>
  void spread(Reply<Message> const& reply, std::vector<OwnedFd> descriptors,
              std::vector<OwnedFd>* keep = nullptr) {
    std::vector<int> numbers;
    for (OwnedFd const& fd : descriptors) numbers.push_back(fd.get());
    for (MessageSocket const& connection : connections_) {
      if (connection) (void)connection.send(&reply, sizeof(reply), numbers);
    }
    if (keep != nullptr) *keep = std::move(descriptors);
  }

  template <class Message>
  [[nodiscard]] Result<Reply<Message>> wait_for_reply(char const* during,
                                                      std::vector<OwnedFd>* keep = nullptr) {
    Reply<Message> reply;
    std::vector<OwnedFd> descriptors;
    if (auto failed = receive_from(0, connections_[0], &reply, sizeof(reply), descriptors,
                                   from_now_for_rank_0(), during)) {
      return *failed;
    }
    if (reply.code != Errc::ok) return error(reply.code, reply.rank, during);
    if (keep != nullptr) *keep = std::move(descriptors);
    return reply;
  }

  //! One message of a rank, or why there is none: it has not come in time, or its process has ended.
  [[nodiscard]] std::optional<Error> receive_from(int rank, MessageSocket const& connection, void* data,
                                                  std::size_t size_bytes, std::vector<OwnedFd>& descriptors,
                                                  Deadline deadline, char const* during) const {
    auto const index = static_cast<std::size_t>(rank);
    for (;;) {
      bool const watched = index < processes_.size();
      bool const gone = watched && !processes_[index];
      pollfd entries[2] = {{connection.fd(), POLLIN, 0}, {watched ? processes_[index].get() : -1, POLLIN, 0}};
      int const ready = ::poll(entries, 2, gone ? 0 : detail::milliseconds_until(deadline));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return error(gone ? Errc::peer_died : Errc::timeout, rank, during);
      if (entries[0].revents != 0) {
        auto const received = connection.receive(data, size_bytes, descriptors);
        if (received == MessageSocket::Received::message) return std::nullopt;
        // The other side sent something else: it is in another exchange than this one.
        bool const closed = received == MessageSocket::Received::closed;
        return error(closed ? Errc::peer_died : Errc::algorithm_mismatch, rank, during);
      }
      return error(Errc::peer_died, rank, during);
    }
  }

  int rank_;
  int ranks_;
  std::chrono::milliseconds deadline_;
  PerRank<Hello, max_ranks> hellos_{};
  std::vector<MessageSocket> connections_{};  //!< at rank 0: to each rank; elsewhere: to rank 0
  std::vector<OwnedFd> processes_{};          //!< one per rank, readable once its process has ended
};

}  // namespace chevron

#endif
