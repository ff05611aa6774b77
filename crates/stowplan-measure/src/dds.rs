//! The CycloneDDS configuration of a run: generated, complete, equal in all deployments, kept with the run.

use stowplan_model::DdsProfile;

/// Participant indices beyond the number of participants, so that a port that somebody else takes does not
/// leave a participant without one.
const SPARE_INDICES: u32 = 16;

/// Highest index whose ports still belong to the domain (DDSI-RTPS 2.5 §9.6.2.3: 250 ports a domain).
const LAST_INDEX: u32 = 119;

/// Receive buffer that Autoware's configuration of CycloneDDS asks for. The kernel gives at most `net.core.rmem_max`.
const RECEIVE_BUFFER_BYTES: u32 = 10 << 20;

/// Time between heartbeats for each participant that they go to, and the least and the most of it, ms. The least is CycloneDDS's
/// own.
const HEARTBEAT_MS: u32 = 10;
const HEARTBEATS_MS: std::ops::RangeInclusive<u32> = 100..=1000;

/// What the generated configuration is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DdsConfig {
    /// Where its settings are from.
    pub profile: DdsProfile,
    /// How participants find each other.
    pub discovery: Discovery,
    /// Participants that may be there.
    pub participants: u32,
    /// The domain; `None` is any. A program that asks for the default domain, as most tools do, joins the first
    /// one that its configuration names, or 0.
    pub domain: Option<u32>,
}

/// How participants find each other on loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovery {
    /// By multicast.
    Multicast,
    /// Every participant asks every index up to this one.
    Unicast {
        /// Highest participant index that is tried and addressed.
        max_participant_index: u32,
    },
}

impl DdsConfig {
    /// For a run with this many participants, on a loopback with or without multicast. Profiles but the default one need
    /// multicast (the plan refuses them without).
    #[must_use]
    pub fn new(profile: DdsProfile, participants: usize, multicast: bool) -> Self {
        let participants = u32::try_from(participants).unwrap_or(u32::MAX);
        let discovery = if multicast {
            Discovery::Multicast
        } else {
            Discovery::Unicast {
                max_participant_index: participants
                    .saturating_add(SPARE_INDICES)
                    .min(LAST_INDEX.max(participants)),
            }
        };
        Self {
            profile,
            discovery,
            participants,
            domain: None,
        }
    }
}

/// The CycloneDDS XML, for loopback only. A machine's own `lo` has no multicast flag as a rule; one of a run's own has.
///
/// What decides over sizes, buffers, flow control and threads is written out where a profile leaves it open, too, as CycloneDDS 11
/// has it by default (<https://github.com/eclipse-cyclonedds/cyclonedds/blob/master/docs/manual/options.md>), so that the file says what ran and another release of it would do the same.
#[must_use]
pub fn cyclonedds_xml(config: DdsConfig) -> String {
    let DdsConfig {
        profile,
        discovery,
        participants,
        domain,
    } = config;
    let multicast = discovery == Discovery::Multicast;
    let domain = domain.map_or_else(|| "any".to_owned(), |id| id.to_string());
    let settings = match profile {
        DdsProfile::Stowplan => of_stowplan(discovery, participants),
        DdsProfile::Autoware => of_autoware(),
        DdsProfile::RmwHumble => of_rmw("<ParticipantIndex>none</ParticipantIndex>"),
        DdsProfile::RmwJazzy => of_rmw(
            "<ParticipantIndex>auto</ParticipantIndex>
      <MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>",
        ),
    };
    let Settings {
        general,
        discovery,
        internal,
    } = settings;
    format!(
        r#"<?xml version="1.0" encoding="UTF-8" ?>
<CycloneDDS xmlns="https://cdds.io/config">
  <Domain Id="{domain}">
    <General>
      <Interfaces>
        <NetworkInterface name="lo" multicast="{multicast}" />
      </Interfaces>
      {general}
      <MaxRexmitMessageSize>1456B</MaxRexmitMessageSize>
    </General>
    <Discovery>
      {discovery}
    </Discovery>
    <Internal>
      {internal}
      <SocketSendBufferSize min="64KiB" max="default" />
      <Watermarks>
        <WhcLow>1kB</WhcLow>
        <WhcHigh>500kB</WhcHigh>
        <WhcHighInit>30kB</WhcHighInit>
        <WhcAdaptive>true</WhcAdaptive>
      </Watermarks>
      <MultipleReceiveThreads>false</MultipleReceiveThreads>
    </Internal>
    <Tracing>
      <Verbosity>warning</Verbosity>
      <OutputFile>stderr</OutputFile>
    </Tracing>
  </Domain>
</CycloneDDS>
"#
    )
}

/// What a profile sets, section by section.
struct Settings {
    general: String,
    discovery: String,
    internal: String,
}

/// Data in a multicast would wake every participant: only announcements are sent so.
///
/// A lease of 60 s instead of 10 s, announced as often as with 10 s: on a machine with more work than cores a
/// receive thread can wait longer than ten seconds, and a lost lease makes everything be discovered again.
/// Heartbeats are the rarer the more participants there are. One goes to all of them, by unicast, as long as one of them has
/// not answered; while nodes load that is always so, since most of them wait for a CPU. With 95 participants on two
/// cores and heartbeats every 100 ms those were most of 50,000 datagrams a second, buffers overflowed, and discovery stood still;
/// with a second between them everywhere, twelve participants found each other up to a second late.
/// The message size is one at which loopback UDP does not fragment.
fn of_stowplan(discovery: Discovery, participants: u32) -> Settings {
    let heartbeat = participants
        .saturating_mul(HEARTBEAT_MS)
        .clamp(*HEARTBEATS_MS.start(), *HEARTBEATS_MS.end());
    let (least, scheduled) = (heartbeat / 10, heartbeat / 5);
    let (allow, participants) = match discovery {
        Discovery::Multicast => (
            "spdp",
            "<ParticipantIndex>none</ParticipantIndex>".to_owned(),
        ),
        Discovery::Unicast {
            max_participant_index,
        } => (
            "false",
            format!(
                r#"<ParticipantIndex>auto</ParticipantIndex>
      <MaxAutoParticipantIndex>{max_participant_index}</MaxAutoParticipantIndex>
      <Peers>
        <Peer Address="127.0.0.1" />
      </Peers>"#
            ),
        ),
    };
    Settings {
        general: format!(
            "<AllowMulticast>{allow}</AllowMulticast>
      <MaxMessageSize>65500B</MaxMessageSize>
      <FragmentSize>65000B</FragmentSize>"
        ),
        discovery: format!(
            "<LeaseDuration>60s</LeaseDuration>
      <SPDPInterval>8s</SPDPInterval>
      {participants}"
        ),
        internal: format!(
            r#"<HeartbeatInterval min="{least}ms" minsched="{scheduled}ms" max="8s">{heartbeat}ms</HeartbeatInterval>
      <SocketReceiveBufferSize min="default" max="{RECEIVE_BUFFER_BYTES}B" />"#
        ),
    }
}

/// Autoware's documentation, "DDS settings". It asks for a receive buffer of at least 10 MB, without which no participant
/// comes up; here it gets what the kernel gives (`net.core.rmem_max`), which the fingerprint of a run has. Its write cache of
/// 500 kB is CycloneDDS's default, and so is the size of its fragments.
fn of_autoware() -> Settings {
    Settings {
        general: "<AllowMulticast>default</AllowMulticast>
      <MaxMessageSize>65500B</MaxMessageSize>
      <FragmentSize>1344B</FragmentSize>"
            .to_owned(),
        discovery: "<ParticipantIndex>none</ParticipantIndex>".to_owned(),
        internal: r#"<SocketReceiveBufferSize min="default" max="10MB" />"#.to_owned(),
    }
}

/// `rmw_cyclonedds_cpp` (`check_create_domain` in `rmw_node.cpp`) leaves all but participant indices to CycloneDDS; message
/// and fragment sizes are the defaults of all its releases in ROS 2.
fn of_rmw(participants: &str) -> Settings {
    Settings {
        general: "<AllowMulticast>default</AllowMulticast>
      <MaxMessageSize>14720B</MaxMessageSize>
      <FragmentSize>1344B</FragmentSize>"
            .to_owned(),
        discovery: participants.to_owned(),
        internal: r#"<SocketReceiveBufferSize min="default" max="default" />"#.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_multicast_nobody_needs_an_index() {
        let xml = cyclonedds_xml(DdsConfig::new(DdsProfile::Stowplan, 500, true));
        assert!(xml.contains(r#"<NetworkInterface name="lo" multicast="true" />"#));
        assert!(xml.contains("<ParticipantIndex>none</ParticipantIndex>"));
        assert!(!xml.contains("Peer"));
    }

    #[test]
    fn profiles_are_those_of_their_sources() {
        let of = |profile| cyclonedds_xml(DdsConfig::new(profile, 20, true));
        let autoware = of(DdsProfile::Autoware);
        assert!(autoware.contains("<MaxMessageSize>65500B</MaxMessageSize>"));
        let (humble, jazzy) = (of(DdsProfile::RmwHumble), of(DdsProfile::RmwJazzy));
        assert!(humble.contains("<ParticipantIndex>none</ParticipantIndex>"));
        assert!(jazzy.contains("<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"));
        for profile in [autoware, humble, jazzy] {
            assert!(profile.contains("<AllowMulticast>default</AllowMulticast>"));
            assert!(!profile.contains("HeartbeatInterval"), "CycloneDDS's own");
        }
    }

    /// docs/measuring.md §1: interface, multicast, participant index, message and fragment sizes, buffers, watermarks, threads.
    #[test]
    fn every_profile_says_all_that_decides() {
        let profiles = [
            DdsProfile::Stowplan,
            DdsProfile::Autoware,
            DdsProfile::RmwHumble,
            DdsProfile::RmwJazzy,
        ];
        for profile in profiles {
            let xml = cyclonedds_xml(DdsConfig::new(profile, 20, true));
            for element in [
                "NetworkInterface",
                "AllowMulticast",
                "MaxMessageSize",
                "MaxRexmitMessageSize",
                "FragmentSize",
                "ParticipantIndex",
                "SocketReceiveBufferSize",
                "SocketSendBufferSize",
                "WhcLow",
                "WhcHigh",
                "WhcHighInit",
                "WhcAdaptive",
                "MultipleReceiveThreads",
            ] {
                let begins = |after| xml.matches(&format!("<{element}{after}")).count();
                assert_eq!(begins('>') + begins(' '), 1, "{element}: {xml}");
            }
        }
    }

    #[test]
    fn heartbeats_are_the_rarer_the_more_participants_there_are() {
        let of = |participants| {
            let xml = cyclonedds_xml(DdsConfig::new(DdsProfile::Stowplan, participants, true));
            let (_, rest) = xml.split_once("<HeartbeatInterval ").unwrap();
            rest.split_once('<').unwrap().0.to_owned()
        };
        assert_eq!(of(4), r#"min="10ms" minsched="20ms" max="8s">100ms"#);
        assert_eq!(of(40), r#"min="40ms" minsched="80ms" max="8s">400ms"#);
        assert_eq!(of(500), r#"min="100ms" minsched="200ms" max="8s">1000ms"#);
    }

    #[test]
    fn without_it_the_configuration_addresses_every_participant() {
        let xml = cyclonedds_xml(DdsConfig {
            domain: Some(110),
            ..DdsConfig::new(DdsProfile::Stowplan, 80, false)
        });
        assert!(xml.contains("<Domain Id=\"110\">"));
        assert!(xml.contains("<MaxAutoParticipantIndex>96</MaxAutoParticipantIndex>"));
    }
}
