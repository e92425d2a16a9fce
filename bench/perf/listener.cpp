// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <perf/listener.hpp>

namespace perf {

TemporaryFolder::TemporaryFolder()
    : path_((std::filesystem::temp_directory_path() / "chevron-perf-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) path_.clear();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Listener::Listener(std::string path)
    : path_(std::move(path)), descriptor_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path_.size() < sizeof address.sun_path) {
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    ::bind(descriptor_, reinterpret_cast<sockaddr const*>(&address), sizeof address);
    ::listen(descriptor_, 64);
  }
}

Listener::~Listener() {
  ::close(descriptor_);
  ::unlink(path_.c_str());
}

std::optional<Channel> Listener::accept(std::chrono::milliseconds patience) {
  pollfd waiting = {descriptor_, POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return std::nullopt;
  int const connection = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return std::nullopt;
  return Channel(connection);
}

}  // namespace perf
