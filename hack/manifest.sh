#!/usr/bin/env bash
# Prints deploy/install.yaml with another image of the controller: hack/manifest.sh registry.example/cardea:v0.1.0
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -eq 1 ] || {
  echo "usage: hack/manifest.sh IMAGE" >&2
  exit 2
}
awk -v image="$1" '
  /^        image: cardea:/ || /^          value: cardea:/ { sub(/cardea:.*/, ""); $0 = $0 image; found++ }
  { print }
  END { if (found != 2) { print "manifest: deploy/install.yaml names the image " found + 0 " times" > "/dev/stderr"; exit 1 } }
' deploy/install.yaml
