// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_RANK_CHANNEL_HPP
#define CHEVRON_PERF_RANK_CHANNEL_HPP

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace perf {

//! @brief A socket that carries lines. Whoever waits for a line sleeps: an idle rank must not disturb another
//! contestant's measurement.
class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  Channel(Channel&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), received_(std::move(other.received_)) {}
  Channel& operator=(Channel&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    received_.swap(other.received_);
    return *this;
  }
  ~Channel() { close(); }

  //! @brief Connects to the socket of that path; nothing if nobody listens there.
  static std::optional<Channel> connect(std::string const& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return std::nullopt;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    Channel channel(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(channel.descriptor_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0)
      return std::nullopt;
    return channel;
  }

  //! @brief Two ends of one connection.
  static std::pair<Channel, Channel> pair() {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) ends[0] = ends[1] = -1;
    return {Channel(ends[0]), Channel(ends[1])};
  }

  bool open() const { return descriptor_ >= 0; }

  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

  //! @brief Ends the connection for both sides, even where another process still holds a copy of this end.
  void hang_up() {
    if (descriptor_ >= 0) ::shutdown(descriptor_, SHUT_RDWR);
    close();
  }

  bool write_line(std::string line) {
    line += '\n';
    for (std::size_t sent = 0; sent < line.size();) {
      auto const n = ::send(descriptor_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      sent += static_cast<std::size_t>(n);
    }
    return true;
  }

  //! @brief The next line, without its end; nothing if the other side is gone or the time is up.
  std::optional<std::string> read_line(std::chrono::milliseconds patience = forever) {
    auto const deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
      if (auto const end = received_.find('\n'); end != std::string::npos) {
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
      }
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      pollfd waiting = {descriptor_, POLLIN, 0};
      int const ready =
          ::poll(&waiting, 1, static_cast<int>(std::max(left.count(), std::chrono::milliseconds::rep{0})));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return std::nullopt;
      char piece[4096];
      auto const n = ::recv(descriptor_, piece, sizeof piece, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return std::nullopt;
      received_.append(piece, static_cast<std::size_t>(n));
    }
  }

  static constexpr std::chrono::milliseconds forever{2'000'000'000};

 private:
  int descriptor_;
  std::string received_;
};

}  // namespace perf

#endif
