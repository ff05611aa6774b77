"""`ros2 stowplan …` is `stowplan …` with the domain and middleware that ros2 itself would use."""

import argparse
import os
import shutil
import subprocess
import sys

try:
    from ros2cli.command import CommandExtension
except ImportError:  # without ROS, for the unit tests
    CommandExtension = object

NOT_FOUND = 127


def find(environ):
    """Path of the program: $STOWPLAN, else the one on PATH; None where there is none."""
    named = environ.get("STOWPLAN")
    return shutil.which(named or "stowplan", path=environ.get("PATH", os.defpath))


def default_rmw():
    """The middleware that ROS takes where RMW_IMPLEMENTATION is not set; None without ROS."""
    try:
        from rclpy.utilities import get_rmw_implementation_identifier
    except ImportError:
        return None
    return get_rmw_implementation_identifier()


def environment(environ, rmw=default_rmw):
    """The environment of the program: what is set stays, what is not gets the value that ROS would take."""
    passed = dict(environ)
    passed.setdefault("ROS_DOMAIN_ID", "0")
    if not passed.get("RMW_IMPLEMENTATION"):
        name = rmw()
        if name:
            passed["RMW_IMPLEMENTATION"] = name
    return passed


def call(arguments, environ):
    """Runs the program to its end and returns its exit code; 128 + N where signal N ended it."""
    program = find(environ)
    if program is None:
        print(
            "error: the program 'stowplan' is not found\n"
            "hint: put it on PATH, or name it in STOWPLAN",
            file=sys.stderr,
        )
        return NOT_FOUND
    code = subprocess.call([program, *arguments], env=environment(environ))
    return code if code >= 0 else 128 - code


class StowplanCommand(CommandExtension):
    """Measure where each part of a vehicle's software should run."""

    def add_arguments(self, parser, cli_name, *, argv=None):
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of stowplan")

    def main(self, *, parser, args):
        return call(args.arguments, os.environ)
