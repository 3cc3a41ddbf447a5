#!/usr/bin/env bash
# Builds the programs of the test cluster (docs/testcluster.md) into the cache folder, and prints that folder. Programs that are
# there are not built again. Their versions are in the go.mod files under hack/cluster.
set -euo pipefail

modules="$(cd "$(dirname "$0")" && pwd)/cluster"

fail() {
  printf 'get-cluster: %s\n' "$@" >&2
  exit 1
}

# version MODULE PATH: the version of PATH that hack/cluster/MODULE/go.mod requires.
version() {
  awk -v path="$2" '$1 == "require" && $2 == path { print $3 } $1 == path && $2 ~ /^v/ { print $2 }' "$modules/$1/go.mod"
}
etcd=$(version etcd go.etcd.io/etcd/server/v3)
kubernetes=$(version kubernetes k8s.io/kubernetes)
echo=$(version echo sigs.k8s.io/gateway-api-conformance-images)
[ -n "$etcd" ] && [ -n "$kubernetes" ] && [ -n "$echo" ] || fail "a version is missing in the go.mod files under $modules"

folder="${XDG_CACHE_HOME:-$HOME/.cache}/cardea/cluster-etcd-${etcd#v}-kubernetes-${kubernetes#v}-echo-${echo#v}"
programs=(etcd kube-apiserver kube-controller-manager echo)
complete() {
  local program
  for program in "${programs[@]}"; do [ -x "$folder/$program" ] || return 1; done
}
if complete; then
  printf '%s\n' "$folder"
  exit 0
fi
command -v go >/dev/null || fail "Go is needed to build the test cluster's programs."

# One build at a time: who comes second waits, and finds everything there. The lock goes with this process.
mkdir -p "$folder"
exec 9>"$folder/.lock"
if ! flock --nonblock 9; then
  echo "get-cluster: waiting for another build of the same programs" >&2
  flock 9
fi

export GOTOOLCHAIN=auto CGO_ENABLED=0 GOWORK=off
# build NAME MODULE PACKAGE [LINKER FLAGS]: the program appears under its name when it is whole.
build() {
  [ ! -x "$folder/$1" ] || return 0
  echo "get-cluster: building $1" >&2
  (cd "$modules/$2" && go build -p 2 -trimpath -buildvcs=false -ldflags "-s -w ${4:-}" -o "$folder/.$1.$$" "$3" >&2) ||
    fail "$1 can't be built (Go's words are above): is the Go module proxy reachable?"
  mv -f "$folder/.$1.$$" "$folder/$1"
}
trap 'rm -f "$folder"/.*.$$' EXIT
trap 'exit 130' INT TERM

complete || echo "get-cluster: building the programs of the test cluster, once: about 7 minutes on 2 cores" >&2
build echo echo sigs.k8s.io/gateway-api-conformance-images/echo-basic
build etcd etcd go.etcd.io/etcd/server/v3
# Kubernetes learns its own version from the linker.
IFS=. read -r major minor _ <<<"${kubernetes#v}"
stamp="-X k8s.io/component-base/version.gitVersion=$kubernetes"
stamp+=" -X k8s.io/component-base/version.gitMajor=$major -X k8s.io/component-base/version.gitMinor=$minor"
build kube-apiserver kubernetes k8s.io/kubernetes/cmd/kube-apiserver "$stamp"
build kube-controller-manager kubernetes k8s.io/kubernetes/cmd/kube-controller-manager "$stamp"
printf '%s\n' "$folder"
