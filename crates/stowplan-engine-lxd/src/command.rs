//! The command line of a container, which liblxc ends at blanks (start.c, `split_init_cmd`) and knows no quotes for.

use stowplan_wire::words;

/// Where a container has the agent that becomes its program.
pub(crate) const AGENT: &str = "/.stowplan-agent";

/// `lxc.init.cmd`, and whether the container needs the agent for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) line: String,
    pub(crate) by_agent: bool,
}

impl Command {
    /// The agent sets the loopback up where the network is the container's own: the server leaves that to an init system.
    pub(crate) fn of(arguments: &[String], own_network: bool) -> Self {
        let words: Vec<String> = arguments.iter().map(|word| words::encode(word)).collect();
        let line = words.join(" ");
        if words == arguments && !own_network {
            return Self {
                line,
                by_agent: false,
            };
        }
        let how = if own_network {
            "exec-with-loopback"
        } else {
            "exec"
        };
        Self {
            line: format!("{AGENT} {how} {line}"),
            by_agent: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_stand_for_themselves_and_others_go_through_the_agent() {
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            Command::of(&words, false)
        };
        let plain = of(&["/stowplan-node", "launch", "/run/x/plan.json"]);
        assert_eq!(plain.line, "/stowplan-node launch /run/x/plan.json");
        assert!(!plain.by_agent);
        let other = of(&["/bin/sh", "-c", "echo a", ""]);
        assert_eq!(other.line, "/.stowplan-agent exec /bin/sh -c echo%20a %");
        assert!(other.by_agent);
    }

    #[test]
    fn in_a_network_of_its_own_the_agent_goes_first() {
        let made = Command::of(&["/x".to_owned()], true);
        assert_eq!(made.line, "/.stowplan-agent exec-with-loopback /x");
        assert!(made.by_agent);
    }
}
