//! Which part of a name belongs to one start of a program only.
//!
//! Some programs put an address, their process number or a random number into the names of their nodes, and so into those
//! of processes, services and symbols. Such a part is another one at the next start.

/// What stands for the part that is left out.
const LEFT_OUT: &str = "*";

/// Names that these programs end with their process number: `ros2 launch`, `ros2 …` and rqt.
const BEFORE_PROCESS: [&str; 4] = [
    "launch_ros_",
    "_ros2cli_",
    "rqt_gui_py_node_",
    "rqt_gui_cpp_node_",
];

/// Names that tf2 ends with 16 random letters and digits.
const BEFORE_RANDOM: &str = "static_transform_publisher_";
const RANDOM: usize = 16;

/// Fewest digits of a number that is an address or a time and no index: addresses of user space have 14 or 15.
const LONG_NUMBER: usize = 10;

/// Fewest digits of a process number that is recognised as such after any name: shorter ones count things.
const PROCESS_NUMBER: usize = 3;

/// Lengths of addresses and random numbers in hexadecimal.
const HEXADECIMAL: std::ops::RangeInclusive<usize> = 8..=32;

/// A name without the parts that belong to one start only; each is replaced by `*`. A name of a node, topic, service,
/// process or function will do: every word of letters, digits and `_` is looked at. `vpid` is the number of the process
/// that gave the name, where that is known.
#[must_use]
pub fn lasting_name(name: &str, vpid: Option<i64>) -> String {
    let mut lasting = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !in_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match start_of_passing(word, vpid) {
            Some(at) => {
                lasting.push_str(&word[..at]);
                lasting.push_str(LEFT_OUT);
            }
            None => lasting.push_str(word),
        }
        let next = after.find(in_word).unwrap_or(after.len());
        lasting.push_str(&after[..next]);
        rest = &after[next..];
    }
    lasting
}

/// Whether something was left out of a name.
#[must_use]
pub fn is_shortened(lasting: &str) -> bool {
    lasting.contains(LEFT_OUT)
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Where in a word the part begins that belongs to one start only.
fn start_of_passing(word: &str, vpid: Option<i64>) -> Option<usize> {
    let at = word.rfind('_')? + 1;
    let (before, last) = word.split_at(at);
    let digits = last.bytes().filter(u8::is_ascii_digit).count();
    let passes = if digits == last.len() && digits > 0 {
        let own = vpid.is_some_and(|vpid| last.parse() == Ok(vpid));
        BEFORE_PROCESS.contains(&before) || digits >= LONG_NUMBER || own && digits >= PROCESS_NUMBER
    } else {
        let hexadecimal = last.strip_prefix("0x").unwrap_or(last);
        let is_hexadecimal = hexadecimal.bytes().all(|b| b.is_ascii_hexdigit());
        let length = hexadecimal.len();
        is_hexadecimal && digits > 0 && HEXADECIMAL.contains(&length)
            || before == BEFORE_RANDOM && length == RANDOM
    };
    // Of a word that is nothing else there would be no name left.
    (passes && before.len() > 1).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_one_start_is_left_out() {
        for (name, lasting) in [
            (
                "/transform_listener_impl_55815b6f3c40",
                "/transform_listener_impl_*",
            ),
            (
                "/sim/transform_listener_impl_aaaaf83c91e0",
                "/sim/transform_listener_impl_*",
            ),
            ("/launch_ros_12345", "/launch_ros_*"),
            ("/launch_ros_7", "/launch_ros_*"),
            ("/_ros2cli_4711", "/_ros2cli_*"),
            (
                "/_ros2cli_daemon_0_2a43380bfe90493e9a922f28c326d5bc",
                "/_ros2cli_daemon_0_*",
            ),
            ("/rqt_gui_py_node_123", "/rqt_gui_py_node_*"),
            (
                "/rqt_gui_cpp_node_24120/get_parameters",
                "/rqt_gui_cpp_node_*/get_parameters",
            ),
            ("/moveit_94163022343328", "/moveit_*"),
            (
                "/static_transform_publisher_yXgBMQcLXvPYqxoI",
                "/static_transform_publisher_*",
            ),
            ("/play_1732218976941353811", "/play_*"),
            (
                "transform_listener_impl_55d0c3a1b2f0::on/tf",
                "transform_listener_impl_*::on/tf",
            ),
            ("viewer_0x7ffd5a", "viewer_0x7ffd5a"),
            ("viewer_0x7ffd5a102030", "viewer_*"),
        ] {
            assert_eq!(lasting_name(name, None), lasting);
        }
    }

    #[test]
    fn what_tells_things_of_one_start_apart_stays() {
        for name in [
            "/lidar_1",
            "/talker",
            "/_ros2cli_daemon_0",
            "/launch_ros_hello",
            "/camera_12345",
            "/map_20240101",
            "/node_deadbeef",
            "/static_transform_publisher_map_to_odom",
            "/_1732218976941353811",
            "/é_ü/ñ",
            "",
        ] {
            assert_eq!(lasting_name(name, Some(7)), name);
            assert!(!is_shortened(name));
        }
    }

    #[test]
    fn the_number_of_the_own_process_is_left_out_behind_any_name() {
        assert_eq!(lasting_name("/viewer_12345", Some(12345)), "/viewer_*");
        assert_eq!(lasting_name("/viewer_12345", Some(1234)), "/viewer_12345");
        // In a container processes have small numbers, as things that are counted.
        assert_eq!(lasting_name("/lidar_2", Some(2)), "/lidar_2");
    }
}
