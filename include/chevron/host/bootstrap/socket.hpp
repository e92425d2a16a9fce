// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_BOOTSTRAP_SOCKET_HPP
#define CHEVRON_HOST_BOOTSTRAP_SOCKET_HPP

//! @file
//! Messages with file descriptors between processes of one user, with a deadline on everything.
//!
//! The addresses are in Linux's abstract name space: a name that ends with its process, so that nothing is
//! left behind.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/memory.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace chevron::detail {

using Deadline = std::chrono::steady_clock::time_point;

//! @brief Milliseconds until a deadline, for poll(): 0 when it has passed.
[[nodiscard]] inline int milliseconds_until(Deadline deadline) {
  auto const left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  constexpr long long longest = 1'000'000;
  return static_cast<int>(left < 0 ? 0 : left > longest ? longest : left);
}

//! @brief A connection that keeps message boundaries. A message is a plain struct and up to 64 descriptors.
class MessageSocket {
 public:
  static constexpr std::size_t most_descriptors = 64;

  MessageSocket() = default;
  explicit MessageSocket(OwnedFd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(fd_); }

  //! The process at the other end, as the kernel knows it.
  [[nodiscard]] ucred peer() const {
    ucred credentials{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
    socklen_t size = sizeof(credentials);
    ::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size);
    return credentials;
  }

  //! Sends a message whole. A peer that has gone is an error, not a signal.
  [[nodiscard]] bool send(void const* data, std::size_t size_bytes,
                          std::vector<int> const& descriptors) const {
    iovec part{.iov_base = const_cast<void*>(data), .iov_len = size_bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))];
    if (!descriptors.empty()) {
      std::size_t const bytes = descriptors.size() * sizeof(int);
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(bytes);
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(bytes);
      std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
    }
    ssize_t sent = 0;
    do {
      sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(size_bytes);
  }

  enum class Received { message, closed, malformed };

  //! Receives one message that is already there.
  [[nodiscard]] Received receive(void* data, std::size_t size_bytes,
                                 std::vector<OwnedFd>& descriptors) const {
    iovec part{.iov_base = data, .iov_len = size_bytes};
    msghdr message{};
    alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))];
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    // The other side's closing with something of ours unread is told once, before what it had said until then.
    ssize_t got = 0;
    do {
      got = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    for (cmsghdr* header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      std::size_t const count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
        descriptors.emplace_back(fd);
      }
    }
    if (got <= 0) return Received::closed;
    bool const cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    return !cut && got == static_cast<ssize_t>(size_bytes) ? Received::message : Received::malformed;
  }

 private:
  OwnedFd fd_;
};

//! @brief The address that a name stands for.
struct AbstractAddress {
  sockaddr_un address{};
  socklen_t size = 0;

  explicit AbstractAddress(std::string_view name) {
    address.sun_family = AF_UNIX;
    std::size_t const length =
        name.size() < sizeof(address.sun_path) - 1 ? name.size() : sizeof(address.sun_path) - 1;
    std::memcpy(address.sun_path + 1, name.data(), length);  // a leading zero byte: abstract
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  [[nodiscard]] sockaddr const* get() const { return reinterpret_cast<sockaddr const*>(&address); }
};

[[nodiscard]] inline OwnedFd new_socket() {
  return OwnedFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

//! @brief Takes a name and listens on it; fails with EADDRINUSE while another process has the name.
[[nodiscard]] inline Result<OwnedFd> listen_on(std::string_view name, int backlog) {
  OwnedFd fd = new_socket();
  AbstractAddress const address(name);
  if (!fd || ::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), backlog) != 0) {
    return system_error("listening for the other ranks");
  }
  return fd;
}

//! @brief Connects to a name, trying until the deadline while nobody listens there.
[[nodiscard]] inline Result<MessageSocket> connect_to(std::string_view name, Deadline deadline) {
  AbstractAddress const address(name);
  for (;;) {
    OwnedFd fd = new_socket();
    if (!fd) return system_error("connecting to rank 0");
    if (::connect(fd.get(), address.get(), address.size) == 0) return MessageSocket(std::move(fd));
    bool const not_yet = errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR || errno == ENOENT;
    if (!not_yet) return system_error("connecting to rank 0");
    int const left = milliseconds_until(deadline);
    if (left == 0) return Error{.code = Errc::timeout, .rank = 0, .during = "connecting to rank 0"};
    ::poll(nullptr, 0, left < 1 ? left : 1);
  }
}

//! @brief A descriptor that becomes readable when a process ends, however it ends.
[[nodiscard]] inline Result<OwnedFd> watch_process(pid_t pid) {
  OwnedFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return system_error("watching another rank's process");
  return fd;
}

[[nodiscard]] inline bool is_readable(int fd) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace chevron::detail

#endif
