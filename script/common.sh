# Shared by script/test, script/demo and .ci/run: what has to be installed, and time per stage.
# shellcheck shell=bash

# What a build needs, and what tests run beside it (Debian 12 and Ubuntu 24.04 package names).
BUILD_PACKAGES="build-essential cmake clang libclang-dev libseccomp-dev pkg-config"
TEST_PACKAGES="babeltrace2 zstd cyclonedds-tools chromium git iproute2 jq lttng-tools liblttng-ust-dev python3"
# Engines that are not built in. runc for Podman too: crun does not take control groups of version 1. LXD is cold on btrfs alone. mmdebstrap
# makes the root of a real program. openssl, curl and the plugins of CNI are what the Kubernetes of tests needs beside
# containerd. docker-registry is what it pulls images from.
ENGINE_PACKAGES="systemd-container lxc docker.io containerd runc crun podman uidmap lxd lxd-client btrfs-progs mmdebstrap openssl curl containernetworking-plugins docker-registry"
# What --full needs beside that: a guest with cgroup v2, and a peer (Ubuntu 24.04 has docker-compose-v2 in its place).
FULL_TEST_PACKAGES="qemu-system-x86 busybox-static docker-compose"

root_dir() { cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd; }

has_package() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# Ubuntu's chromium package only points to a snap: there, a browser test is skipped with its reason.
available_package() { [ "$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p')" != "(none)" ] && apt-cache show "$1" >/dev/null 2>&1; }

missing_packages() {
  for package in "$@"; do has_package "$package" || printf '%s ' "$package"; done
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# ask_to_install YES PACKAGE... [-- PACKAGE...]: lists what would be installed, asks once, installs. What stands behind -- is installed
# while the caller goes on, until it calls await_packages.
ask_to_install() {
  local yes=$1 missing later rust="" now=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do now+=("$1"); shift; done
  missing=$(missing_packages "${now[@]}")
  later=$(missing_packages "${@:2}")
  command -v cargo >/dev/null || [ -x "$HOME/.cargo/bin/cargo" ] || rust=yes
  [ -x "$HOME/.cargo/bin/cargo" ] && PATH="$HOME/.cargo/bin:$PATH"
  [ -n "$missing$later$rust" ] || return 0
  echo "This installs:"
  [ -n "$missing$later" ] && echo "  packages: $missing$later"
  [ -n "$rust" ] && echo "  the Rust toolchain named in rust-toolchain.toml, by rustup, into $HOME/.cargo"
  if [ "$yes" != yes ]; then
    read -r -p "Go on? [y/N] " answer || answer=n
    case "$answer" in y | Y | yes) ;; *) echo "nothing was installed"; exit 1 ;; esac
  fi
  [ -z "$missing" ] || install_packages $missing
  [ -z "$rust" ] || install_rust
  [ -n "$later" ] || return 0
  LATER_LOG=$(mktemp)
  install_packages $later >"$LATER_LOG" 2>&1 &
  LATER=$!
}

# await_packages: waits until all that was asked for is installed.
LATER="" LATER_LOG=""
await_packages() { [ -z "$LATER" ] || wait "$LATER" || { tail -n 20 "$LATER_LOG"; return 1; }; }

install_packages() {
  as_root apt-get update -qq
  local wanted=()
  for package in "$@"; do
    if available_package "$package"; then wanted+=("$package"); else echo "not to be had here: $package"; fi
  done
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}"
}

install_rust() {
  has_package curl || install_packages curl ca-certificates
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain none
  PATH="$HOME/.cargo/bin:$PATH"
}

# stage NAME COMMAND...: runs it, prints how long it took, ends the script when it fails.
STAGE_TIMES=""
stage() {
  local name=$1 begin=$SECONDS
  shift
  echo "== $name"
  "$@" || { echo "== $name failed after $((SECONDS - begin)) s: $*"; print_stage_times; exit 1; }
  STAGE_TIMES="$STAGE_TIMES$(printf '%6d s  %s' $((SECONDS - begin)) "$name")
"
}

# Daemons that this script has started, by process.
STARTED_DAEMONS=""

answers() {
  python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1" 2>/dev/null
}

# start_daemon SOCKET COMMAND...: starts it where nobody answers on the socket, and waits until it does.
start_daemon() {
  local socket=$1 log pid
  shift
  command -v "$1" >/dev/null && ! answers "$socket" || return 0
  mkdir -p target "$(dirname "$socket")"
  log=$PWD/target/$1.log
  # Some leave files where they are started.
  env --chdir=/ setsid "$@" >"$log" 2>&1 &
  pid=$!
  STARTED_DAEMONS="$STARTED_DAEMONS $pid"
  until answers "$socket"; do
    kill -0 "$pid" 2>/dev/null || { echo "$1 does not run here:"; tail -n 5 "$log"; return 0; }
    sleep 0.2
  done
}

# Where containerd is by default, and the one that this script starts: the engine of a user would find the first by itself.
CONTAINERD_SOCKET=/run/containerd/containerd.sock
OWN_CONTAINERD=""

# serves_pods SOCKET: whether a containerd with its CRI plugin answers there. Docker's packages switch the plugin off.
serves_pods() { ctr --address "$1" plugins ls 2>/dev/null | grep -q '^io.containerd.grpc.v1 *cri .*ok'; }

# start_containerd: one with root, state and socket of its own, where none that serves pods runs already. It has no image of a pause
# process and no registry to get one from: stowplan gives it one.
start_containerd() {
  [ -z "${CONTAINER_RUNTIME_ENDPOINT:-}" ] || return 0
  command -v containerd >/dev/null && ! serves_pods "$CONTAINERD_SOCKET" || return 0
  OWN_CONTAINERD=$(mktemp -d)
  cat >"$OWN_CONTAINERD/config.toml" <<TOML
version = 2
root = "$OWN_CONTAINERD/root"
state = "$OWN_CONTAINERD/state"
[grpc]
  address = "$OWN_CONTAINERD/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/stowplan-pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun]
    runtime_type = "io.containerd.runc.v2"
    options = {BinaryName = "crun"}
TOML
  start_daemon "$OWN_CONTAINERD/containerd.sock" containerd --config "$OWN_CONTAINERD/config.toml"
  export CONTAINER_RUNTIME_ENDPOINT="unix://$OWN_CONTAINERD/containerd.sock"
}

# A Kubernetes of one node (tests/fixtures/kube-lab), where no cluster is named. Its program takes ten minutes to build, once: it is
# built where it is missing and `kube` is required.
KUBE_LAB=""
start_kube() {
  [ -z "${STOWPLAN_KUBECONFIG:-}" ] || return 0
  local lab=$PWD/tests/fixtures/kube-lab/lab.sh
  case ",${STOWPLAN_REQUIRE_ENGINES:-}," in *,kube,*) "$lab" build || return 0 ;; esac
  "$lab" is-built || return 0
  LAB=$(mktemp -d)/lab
  export LAB
  KUBE_LAB=$lab
  "$lab" up || { echo "the Kubernetes of tests does not run here"; return 0; }
  export STOWPLAN_KUBECONFIG=$LAB/admin.kubeconfig
}

# start_engines: what the engines with a daemon need, where it does not run already; it ends with this script.
start_engines() {
  [ "$(id -u)" = 0 ] || { echo "dockerd, podman, containerd, lxd and Kubernetes are not started: that needs root"; return 0; }
  local runtime=""
  [ -f /sys/fs/cgroup/cgroup.controllers ] || runtime="--runtime runc"
  trap stop_engines EXIT
  local before=$STARTED_DAEMONS
  start_daemon /var/run/docker.sock dockerd
  # That of a daemon which runs already is its user's to make.
  [ "$STARTED_DAEMONS" = "$before" ] || start_swarm
  # shellcheck disable=SC2086
  start_daemon /run/podman/podman.sock podman $runtime system service --time=0 unix:///run/podman/podman.sock
  start_containerd
  start_lxd
  start_kube
}

# start_swarm: makes one of this machine alone, where the daemon is in none. It listens on one address: swarms of tests have others.
OWN_SWARM=""
start_swarm() {
  command -v docker >/dev/null || return 0
  [ "$(docker info --format '{{.Swarm.LocalNodeState}}' 2>/dev/null)" = inactive ] || return 0
  docker swarm init --advertise-addr 127.0.0.1 --listen-addr 127.0.0.1:2377 >/dev/null || { echo "there is no swarm here"; return 0; }
  OWN_SWARM=yes
  # Its gateway comes a moment later with a link of its own, and both are there as long as the daemon.
  for _ in $(seq 50); do
    case "$(docker network inspect --format '{{len .Containers}}' docker_gwbridge 2>/dev/null)" in '' | 0) ;; *) break ;; esac
    sleep 0.2
  done
}

stop_swarm() {
  [ -n "$OWN_SWARM" ] || return 0
  OWN_SWARM=""
  docker swarm leave --force >/dev/null || true
  docker network rm docker_gwbridge >/dev/null 2>&1 || true
}

# LXD where none answers, in a folder of its own, which its clients find by LXD_DIR.
LXD_FOLDER=""
start_lxd() {
  command -v lxd >/dev/null && ! answers "${LXD_DIR:-/var/lib/lxd}/unix.socket" || return 0
  # The path of a socket has at most 107 characters.
  LXD_FOLDER=$(mktemp -d /tmp/stowplan-lxd.XXXXXX)
  export LXD_DIR=$LXD_FOLDER
  start_daemon "$LXD_DIR/unix.socket" lxd --group root
  # Its socket is there before its database is.
  lxd waitready --timeout=60 || echo "lxd is not ready; see target/lxd.log"
}

stop_engines() {
  stop_swarm
  for pid in $STARTED_DAEMONS; do
    kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
  done
  STARTED_DAEMONS=""
  [ -z "$OWN_CONTAINERD" ] || rm -rf "$OWN_CONTAINERD"
  OWN_CONTAINERD=""
  if [ -n "$KUBE_LAB" ]; then
    "$KUBE_LAB" down
    rmdir "$(dirname "$LAB")"
    KUBE_LAB=""
    unset LAB STOWPLAN_KUBECONFIG
  fi
  [ -n "$LXD_FOLDER" ] || return 0
  # A killed LXD leaves its mounts; one that was asked to end does not.
  { grep -o " $LXD_FOLDER/[^ ]*" /proc/mounts || true; } | tac | xargs --no-run-if-empty umount --lazy
  rm -rf --one-file-system "$LXD_FOLDER"
  LXD_FOLDER=""
  unset LXD_DIR
}

# leftovers: what a run can leave on this machine and in its daemons, a line each.
leftovers() (
  # A client without its daemon, or a folder that is not there, has nothing.
  set +e +o pipefail
  socket=${CONTAINER_RUNTIME_ENDPOINT:-$CONTAINERD_SOCKET}
  {
    for client in docker podman; do
      command -v "$client" >/dev/null || continue
      "$client" ps --all --format "$client container {{.Names}}"
      "$client" images --format "$client image {{.Repository}}:{{.Tag}} {{.ID}}"
    done
    command -v docker >/dev/null && docker service ls --format "swarm service {{.Name}}"
    if command -v ctr >/dev/null; then
      for what in containers images; do
        ctr --address "${socket#unix://}" --namespace k8s.io "$what" list --quiet | sed "s/^/containerd $what /"
      done
    fi
    if [ -n "$KUBE_LAB" ]; then
      "$KUBE_LAB" kubectl get pods,namespaces --all-namespaces --selector app.kubernetes.io/managed-by=stowplan --output name
      ctr --address "$LAB/node1/cd.sock" --namespace k8s.io images list --quiet | sed "s/^/kube image /"
    fi
    for client in lxc incus; do
      command -v "$client" >/dev/null || continue
      "$client" list --format csv --columns n | sed "s/^/$client instance /"
      "$client" image list --format csv --columns f | sed "s/^/$client image /"
    done
    find /sys/fs/cgroup -type d -name '*stowplan*'
    find /var/tmp /tmp -mindepth 1 -maxdepth 1 \( -path '/var/*' -o -name 'nspawn-*' \)
    find /dev/shm /run/stowplan -mindepth 1 -maxdepth 1 \( -path '/run/*' -o -name '*stowplan*' \)
    find /sys/class/net /run/netns -mindepth 1 -maxdepth 1
    # LXD mounts things in its own folder as it needs them.
    grep stowplan /proc/mounts | grep -v " ${LXD_FOLDER:-/none}/"
    ps -e -o comm=,pid=,args= | grep '^stowplan'
  } 2>/dev/null | sort
)

# nothing_new: prints what `leftovers` finds now and $LEFT_BEFORE does not have, and fails if that is something.
LEFT_BEFORE=""
nothing_new() {
  local new
  new=$(comm -13 <(printf '%s\n' "$LEFT_BEFORE") <(leftovers))
  [ -z "$new" ] || { printf '%s\n' "$new"; return 1; }
}

print_stage_times() { printf '\nTime per stage:\n%s' "$STAGE_TIMES"; }
