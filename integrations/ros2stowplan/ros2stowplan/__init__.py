"""ros2 stowplan."""
