//! DDS domains with nobody in them, in the network of this process.

use std::net::UdpSocket;

use stowplan_wire::agent::FailureKind;

use crate::error::HostError;

/// Domains that Stowplan draws from, probed to be empty. They end where Linux's ephemeral ports (32768 to
/// 60999) begin: sockets that send would else take ports that participants listen on.
const DOMAINS: std::ops::RangeInclusive<u32> = 61..=100;

/// Ports of a participant index in a domain, DDSI-RTPS 2.5 §9.6.2.3: metatraffic and data, unicast.
fn unicast_ports(domain: u32, index: u32) -> [u32; 2] {
    let base = 7400 + 250 * domain + 2 * index;
    [base + 10, base + 11]
}

/// A domain of the reserved range in which no participant listens on loopback, beginning the
/// search at a place that depends on `salt` so that two experiments at once rarely meet.
///
/// # Errors
/// When every domain of the range has a port in use.
pub fn free(salt: u64, participants: usize) -> Result<u32, HostError> {
    let participants = u32::try_from(participants).unwrap_or(u32::MAX).min(120);
    let size = DOMAINS.end() - DOMAINS.start() + 1;
    let first = u32::try_from(salt % u64::from(size)).unwrap_or_default();
    (0..size)
        .map(|step| DOMAINS.start() + (first + step) % size)
        .find(|domain| is_empty(*domain, participants))
        .ok_or_else(|| {
            let (first, last) = (DOMAINS.start(), DOMAINS.end());
            let message = format!(
                "no DDS domain from {first} to {last} has its first {participants} participants' ports free on loopback"
            );
            HostError::new(message).of_kind(FailureKind::Refused)
        })
}

fn is_empty(domain: u32, participants: u32) -> bool {
    (0..participants)
        .flat_map(|index| unicast_ports(domain, index))
        .all(|port| {
            u16::try_from(port).is_ok_and(|port| UdpSocket::bind(("127.0.0.1", port)).is_ok())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_of_the_standard() {
        assert_eq!(unicast_ports(0, 0), [7410, 7411]);
        assert_eq!(unicast_ports(1, 2), [7664, 7665]);
    }

    #[test]
    fn a_domain_in_use_is_passed_over() {
        let domain = free(3, 4).unwrap();
        let port = u16::try_from(unicast_ports(domain, 1)[0]).unwrap();
        let _held = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        assert_ne!(free(3, 4).unwrap(), domain);
    }
}
