// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CONCEPT_HPP
#define CHEVRON_TRANSPORT_CONCEPT_HPP

//! @file
//! What a transport is, and which algorithms run on it.

#include <chevron/core/rank.hpp>
#include <chevron/core/requirements.hpp>

#include <concepts>

namespace chevron {

//! @brief Knows its rank count when it is compiled.
template <class Transport>
concept HasRankCount = requires {
  { Transport::ranks } -> std::convertible_to<int>;
}
&&RankCountInRange<Transport::ranks>;

//! @brief Says what it offers to algorithms.
template <class Transport>
concept StatesOffers = requires {
  { Transport::offers } -> std::convertible_to<Requirements>;
};

//! @brief Has an endpoint: one rank's state, shared by its communicator and its windows.
template <class Transport>
concept HasEndpoint = requires {
  typename Transport::Endpoint;
};

//! @brief Has a lane to run bodies on.
template <class Transport>
concept HasLane = requires {
  typename Transport::template Lane<>;
};

//! @brief Where the buffers of a transport's ranks lie, and so where its bodies run.
enum class MemorySpace : unsigned char { host, device };

//! @brief Says where its buffers lie, and whether it is known when the program is compiled that each lies in a window.
template <class Transport>
concept StatesMemory = requires {
  { Transport::memory_space } -> std::convertible_to<MemorySpace>;
  { Transport::every_pointer_is_in_a_window } -> std::convertible_to<bool>;
};

//! @brief How ranks reach each other's memory. The models are HostThreads and HostSharedMemory, CudaPeer and CudaIpc.
template <class Transport>
concept TransportPolicy =
    HasRankCount<Transport> && StatesOffers<Transport> && StatesMemory<Transport> && HasEndpoint<Transport>;

template <class Transport>
concept HostTransport =
    TransportPolicy<Transport> && Transport::memory_space == MemorySpace::host&& HasLane<Transport>;
template <class Transport>
concept DeviceTransport = TransportPolicy<Transport> && Transport::memory_space == MemorySpace::device;

//! @brief One concept per capability, so that a wrong pair is refused by the name of what is missing.
template <class Algorithm, class Transport>
concept DirectAccessIsOffered = !Algorithm::needs.direct_access || Transport::offers.direct_access;
template <class Algorithm, class Transport>
concept PacketsAreOffered = !Algorithm::needs.packets || Transport::offers.packets;
template <class Algorithm, class Transport>
concept MailboxIsOffered = !Algorithm::needs.mailbox || Transport::offers.mailbox;
template <class Algorithm, class Transport>
concept MulticastIsOffered = !Algorithm::needs.multicast || Transport::offers.multicast;

//! @brief The transport offers all that the algorithm needs.
template <class Algorithm, class Transport>
concept RunsOn = TransportPolicy<Transport> && DirectAccessIsOffered<Algorithm, Transport> &&
    PacketsAreOffered<Algorithm, Transport> && MailboxIsOffered<Algorithm, Transport> &&
    MulticastIsOffered<Algorithm, Transport>;

}  // namespace chevron

#endif
