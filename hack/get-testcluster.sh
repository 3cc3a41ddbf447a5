#!/usr/bin/env bash
# Builds bin/testcluster from internal/test/cluster, and prints its path. If the program is unchanged, so is the file: `go
# test` runs tests again whose files have changed.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin/.testcluster
exec 9>bin/.testcluster/lock
flock 9 # one build at a time
GOTOOLCHAIN=auto GOWORK=off go build -C internal/test/cluster -ldflags "-s -w" -o ../../../bin/.testcluster/new ./testcluster >&2
if ! cmp -s bin/.testcluster/new bin/testcluster; then
  cp bin/.testcluster/new bin/.testcluster/whole
  mv -f bin/.testcluster/whole bin/testcluster
fi
printf '%s\n' "$PWD/bin/testcluster"
