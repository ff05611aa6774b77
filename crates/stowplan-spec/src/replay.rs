//! Which bag an experiment replays: `BAG[,BAG_TOPIC=TARGET]…` on the command line, a map in files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A bag that sources of the stack replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// An MCAP file, or the folder of a bag with MCAP files; in an experiment file relative to it.
    pub bag: PathBuf,
    /// By topic of the bag: a topic of the stack that one source publishes, or the source as `NODE/CALLBACK`. Topics of the same
    /// name need nothing here.
    #[serde(default)]
    pub topics: BTreeMap<String, String>,
}

impl Replay {
    /// The same with a bag below `base`, if its path is a relative one.
    #[must_use]
    pub fn below(self, base: &Path) -> Self {
        Self {
            bag: base.join(&self.bag),
            ..self
        }
    }
}

impl FromStr for Replay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let bag = parts.next().filter(|bag| !bag.is_empty());
        let bag = bag.ok_or("a bag is due first, as 'drive.mcap'")?.into();
        let mut topics = BTreeMap::new();
        for part in parts {
            let (topic, target) = part.split_once('=').ok_or_else(|| {
                format!("'{part}' is not BAG_TOPIC=TARGET, as /points=/lidar/points")
            })?;
            if topics.insert(topic.to_owned(), target.to_owned()).is_some() {
                return Err(format!("topic '{topic}' is mapped twice"));
            }
        }
        Ok(Self { bag, topics })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bag_and_its_topics_are_one_word() {
        let replay: Replay = "a.mcap,/points=/lidar/points,/imu=imu/tick"
            .parse()
            .unwrap();
        assert_eq!(replay.bag, Path::new("a.mcap"));
        assert_eq!(replay.topics["/imu"], "imu/tick");
        assert_eq!(replay.topics.len(), 2);
        assert_eq!(replay.below(Path::new("/x")).bag, Path::new("/x/a.mcap"));
        for wrong in ["", ",/a=/b", "a.mcap,/a", "a.mcap,/a=/b,/a=/c"] {
            assert!(wrong.parse::<Replay>().is_err(), "{wrong}");
        }
    }
}
