#!/bin/bash
# First program of the guest of guest_engines.rs: a machine with control groups of version 2 alone, the daemons of engines, and
# each engine's own conformance tests. /settings says where the repository is, and which engines the guest has.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
say() { printf '\nguest: %s\n' "$*"; }

# An initial root cannot be pivoted away by a container: the root is a mount on it.
if [ "${1:-}" != moved ]; then
  mount --no-mtab --bind / /mnt && cd /mnt && mount --no-mtab --move . / && exec chroot . /init moved
fi
mount -t proc proc /proc
# Its complaints would be in the middle of lines.
dmesg --console-off
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
mount -t securityfs securityfs /sys/kernel/security
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for module in /modules/*.ko; do [ ! -e "$module" ] || insmod "$module"; done
ip link set lo up

. /settings
cd "$ROOT"
. script/common.sh
start_engines
# The static programs are there: the testkit has nothing to build.
export CARGO=true STOWPLAN_REQUIRE_ENGINES=$ENGINES
for program in /programs/*; do
  for test in $("$program" --list --format terse | sed -n 's/: test$//p'); do
    outcome=failed
    "$program" --exact "$test" --nocapture >/run/said 2>&1 && outcome=passed
    cat /run/said
    reason=$(sed -n 's/.*\(skip: .*\)/\1/p' /run/said | head -n 1)
    # Absent where it is required is failed, and says so, too.
    [ $outcome = passed ] || reason=
    say "test ${program##*-} $test: ${reason:-$outcome}"
  done
done
stop_engines
say "end"
echo o >/proc/sysrq-trigger
# The kernel panics when its first program ends, and this takes a moment.
sleep infinity
