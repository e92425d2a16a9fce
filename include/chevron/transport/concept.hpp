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

//! @brief How ranks reach each other's memory. The models are HostThreads and HostSharedMemory.
template <class Transport>
concept TransportPolicy =
    HasRankCount<Transport> && StatesOffers<Transport> && HasEndpoint<Transport> && HasLane<Transport>;

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
