// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_ERROR_HPP
#define CHEVRON_CORE_ERROR_HPP

//! @file
//! What can go wrong, and who did it. An error is a value; the library never throws, prints, exits or aborts.

#include <cstdint>
#include <string>
#include <system_error>

namespace chevron {

//! @brief What went wrong. The first group is found by the rank itself, the second concerns a peer, the third
//! comes from the operating system or the set-up.
enum class Errc : std::uint8_t {
  ok = 0,
  null_pointer,     //!< a buffer is null though the count is not zero
  misaligned,       //!< a buffer is not aligned to its element type
  size_overflow,    //!< count * sizeof(element), or the buffer's end, does not fit the address space
  buffers_overlap,  //!< input and output overlap without being the same, or a rank's output overlaps a peer's
                    //!< buffer
  not_in_window,    //!< the algorithm needs windows and a buffer lies in none
  unknown_window,   //!< a call names a window that this rank has freed or never had
  concurrent_use,   //!< one communicator was used by two threads at once
  timeout,          //!< a peer did not come, or did not answer, within the deadline
  peer_died,        //!< a peer's process ended
  aborted,          //!< a rank called abort()
  count_mismatch,   //!< the ranks called with different counts
  element_mismatch,         //!< the ranks called with different element types
  operation_mismatch,       //!< the ranks called with different reduction operations or epilogues
  algorithm_mismatch,       //!< the ranks called different collectives or algorithms
  table_mismatch,           //!< the ranks use different selection tables
  version_mismatch,         //!< the ranks were compiled with different versions of chevron
  ranks_mismatch,           //!< the ranks were compiled for different rank counts
  lanes_mismatch,           //!< the ranks ask for different numbers of lanes
  mailbox_mismatch,         //!< the ranks ask for different mailbox sizes
  bad_argument,             //!< an option or argument is outside its domain
  duplicate_rank,           //!< two participants joined as the same rank
  wrong_user,               //!< a process of another user tried to take part
  rank_count_not_compiled,  //!< a run-time rank count is not among the compiled ones
  not_compiled_for_device,  //!< a device's architecture is not among those that a selector lists
  no_memory,                //!< memory could not be had
  no_device,                //!< a device does not exist
  no_peer_access,           //!< a device can't reach another one's memory, or a test with data failed
  not_resident,             //!< the lanes of all ranks would not run at the same time on a device
  not_loaded,               //!< a kernel that was not named when the communicator was made
  cuda,                     //!< a CUDA call failed; `native` is its cudaError_t
  system,                   //!< another system call failed; `native` is its errno
};

//! @brief An error in full: what, who, where and during what.
struct Error {
  Errc code = Errc::ok;
  std::int16_t rank = -1;      //!< the rank at fault, or the one waited for; -1 where none is
  std::int16_t reporter = -1;  //!< the rank that noticed
  std::int16_t lane = -1;      //!< the lane that noticed; -1 outside a call
  std::uint32_t epoch = 0;     //!< the step of the communicator at which it was noticed
  int native = 0;              //!< errno, or a cudaError_t where the code is Errc::cuda
  char const* during = "";     //!< what was being done; a string that lives for ever
  std::string detail = {};     //!< more, where there is more to say (the compiled rank counts, an address)

  //! One sentence for people: what went wrong, which rank, during what.
  [[nodiscard]] inline std::string message() const;

  //! The same, but without what only one side knows; for comparing errors of several ranks.
  [[nodiscard]] bool same_cause(Error const& other) const { return code == other.code && rank == other.rank; }
};

//! @brief The words for an error code.
[[nodiscard]] constexpr char const* describe(Errc code) {
  switch (code) {
    case Errc::ok:
      return "no error";
    case Errc::null_pointer:
      return "a null pointer was given for a buffer";
    case Errc::misaligned:
      return "a buffer is not aligned to its element type";
    case Errc::size_overflow:
      return "the count is so large that its bytes overflow the address space";
    case Errc::buffers_overlap:
      return "buffers overlap without being the same buffer";
    case Errc::not_in_window:
      return "the algorithm needs windows and a buffer lies in none";
    case Errc::unknown_window:
      return "a call names a window that was freed or never existed";
    case Errc::concurrent_use:
      return "one communicator was used by two threads at once";
    case Errc::timeout:
      return "a rank did not come within the deadline";
    case Errc::peer_died:
      return "a rank's process ended";
    case Errc::aborted:
      return "a rank aborted the communicator";
    case Errc::count_mismatch:
      return "the ranks called with different counts";
    case Errc::element_mismatch:
      return "the ranks called with different element types";
    case Errc::operation_mismatch:
      return "the ranks called with different operations or epilogues";
    case Errc::algorithm_mismatch:
      return "the ranks called different collectives or algorithms";
    case Errc::table_mismatch:
      return "the ranks use different selection tables";
    case Errc::version_mismatch:
      return "the ranks were compiled with different versions of chevron";
    case Errc::ranks_mismatch:
      return "the ranks were compiled for different rank counts";
    case Errc::lanes_mismatch:
      return "the ranks ask for different numbers of lanes";
    case Errc::mailbox_mismatch:
      return "the ranks ask for different mailbox sizes";
    case Errc::bad_argument:
      return "an argument is outside its domain";
    case Errc::duplicate_rank:
      return "two participants joined as the same rank";
    case Errc::wrong_user:
      return "a process of another user tried to take part";
    case Errc::rank_count_not_compiled:
      return "this rank count was not compiled";
    case Errc::not_compiled_for_device:
      return "the program was not compiled for a device's architecture";
    case Errc::no_memory:
      return "memory could not be had";
    case Errc::no_device:
      return "a device does not exist";
    case Errc::no_peer_access:
      return "a device can't reach the memory of another one";
    case Errc::not_resident:
      return "the lanes of all ranks would not run at the same time on a device";
    case Errc::not_loaded:
      return "the call was not named when the communicator was made, so its kernel is not loaded";
    case Errc::cuda:
      return "a CUDA call failed";
    case Errc::system:
      return "a system call failed";
  }
  return "unknown error";
}

inline std::string Error::message() const {
  std::string text = "chevron: ";
  text += describe(code);
  if (rank >= 0) text += "; rank " + std::to_string(rank);
  if (during[0] != '\0') text += std::string("; during ") + during;
  if (reporter >= 0) text += "; noticed by rank " + std::to_string(reporter);
  if (lane >= 0) text += ", lane " + std::to_string(lane) + ", epoch " + std::to_string(epoch);
  if (native != 0 && code == Errc::cuda) {
    text += "; cudaError_t " + std::to_string(native);
  } else if (native != 0) {
    text += "; the system says: " + std::generic_category().message(native);
  }
  if (!detail.empty()) text += "; " + detail;
  return text;
}

}  // namespace chevron

#endif
