from setuptools import setup

NAME = "ros2stowplan"

setup(
    name=NAME,
    version="0.1.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    license="Apache-2.0",
    entry_points={"ros2cli.command": [f"stowplan = {NAME}.command:StowplanCommand"]},
)
