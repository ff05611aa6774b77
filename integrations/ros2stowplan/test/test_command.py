"""Needs neither ROS nor Stowplan: `python3 -m unittest discover -s test` in the package's folder."""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ros2stowplan import command  # noqa: E402


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name, body):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return str(path)

    def test_the_program_is_found_by_variable_then_on_path(self):
        on_path = self.program("stowplan", "")
        other = self.program("other", "")
        path = {"PATH": str(self.folder)}
        self.assertEqual(command.find(path), on_path)
        self.assertEqual(command.find({"STOWPLAN": other, **path}), other)
        self.assertIsNone(command.find({"PATH": "/nonexistent"}))

    def test_what_is_set_is_passed_on_and_what_is_not_is_what_ros_takes(self):
        set_by_user = {"ROS_DOMAIN_ID": "7", "RMW_IMPLEMENTATION": "rmw_fastrtps_cpp", "A": "b"}
        self.assertEqual(command.environment(set_by_user, lambda: "other"), set_by_user)
        passed = command.environment({}, lambda: "rmw_cyclonedds_cpp")
        self.assertEqual(
            passed, {"ROS_DOMAIN_ID": "0", "RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}
        )
        self.assertEqual(command.environment({}, lambda: None), {"ROS_DOMAIN_ID": "0"})

    def test_arguments_environment_and_exit_code_go_through(self):
        told = self.folder / "told"
        program = self.program("stowplan", f'echo "$ROS_DOMAIN_ID $*" > {told}; exit 6')
        environ = {**os.environ, "STOWPLAN": program, "ROS_DOMAIN_ID": "42"}
        self.assertEqual(command.call(["plan", "a b", "--json"], environ), 6)
        self.assertEqual(told.read_text(), "42 plan a b --json\n")
        killed = self.program("killed", "kill -9 $$")
        self.assertEqual(command.call([], {**environ, "STOWPLAN": killed}), 137)

    def test_a_missing_program_is_told(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(command.call([], {"PATH": "/nonexistent"}), command.NOT_FOUND)
        self.assertIn("hint: put it on PATH", err.getvalue())

    def test_the_command_takes_all_arguments(self):
        parser = argparse.ArgumentParser()
        extension = command.StowplanCommand()
        extension.add_arguments(parser, "ros2 stowplan")
        args = parser.parse_args(["trace", "info", "DIR", "--json"])
        with mock.patch.object(command, "call", return_value=3) as call:
            self.assertEqual(extension.main(parser=parser, args=args), 3)
        self.assertEqual(call.call_args.args[0], ["trace", "info", "DIR", "--json"])


if __name__ == "__main__":
    unittest.main()
