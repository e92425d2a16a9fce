// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_LISTENER_HPP
#define CHEVRON_PERF_LISTENER_HPP

#include <chrono>
#include <optional>
#include <string>

#include <perf/rank/channel.hpp>

namespace perf {

//! @brief A folder of this run's own, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;
  ~TemporaryFolder();
  std::string file(std::string const& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

//! @brief A socket in the file system at which the ranks of a peer report.
class Listener {
 public:
  explicit Listener(std::string path);
  Listener(Listener const&) = delete;
  Listener& operator=(Listener const&) = delete;
  ~Listener();

  std::string const& path() const { return path_; }
  //! @brief The next connection; nothing if none comes in that time.
  std::optional<Channel> accept(std::chrono::milliseconds patience);

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace perf

#endif
