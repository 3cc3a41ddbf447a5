#!/usr/bin/env bash
# Serves the quickstart from a ledger, makes a change with a preview, shows the history, and undoes the change; after
# each step a request shows where the traffic goes. PORT is that of the gateway (8080), LEDGER the ledger: a new file,
# or postgres://... of an empty database.
set -euo pipefail
cd "$(dirname "$0")/../.."
port=${PORT:-8080}
cardea=$(realpath "${CARDEA:-bin/cardea}")
backend=$(realpath "${BACKEND:-bin/backend}")
work=$(mktemp -d)
pids=()
end() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap end EXIT
export CARDEA_LEDGER=${LEDGER:-$work/ledger.db}

blue=${BLUE:-9001} green=${GREEN:-9002}
"$backend" -listen "localhost:$blue" -name blue 2>"$work/blue.log" & pids+=($!)
"$backend" -listen "localhost:$green" -name green 2>"$work/green.log" & pids+=($!)

mkfifo "$work/admin"
"$cardea" standalone --ledger "$CARDEA_LEDGER" --port-offset $((port - 8080)) --admin 127.0.0.1:0 --log-format json \
  2> >(tee "$work/log" | sed -u -n 's/.*"admin API listens","address":"\([^"]*\)".*/\1/p' >"$work/admin") & pids+=($!)
read -r CARDEA_SERVER <"$work/admin"
export CARDEA_SERVER

# step shows a command as a shell takes it.
step() {
  printf '\n$'
  for word; do
    case $word in *[!a-zA-Z0-9_./:=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  echo
}
ledger() { step cardea ledger "$@"; "$cardea" ledger "$@"; }
request() {
  step curl "http://quickstart.localhost:$port/"
  curl -s --resolve "quickstart.localhost:$port:127.0.0.1" "http://quickstart.localhost:$port/" | grep '"name"'
}

echo "The ledger is $CARDEA_LEDGER, the gateway http://quickstart.localhost:$port, and the backends are blue and green (ports $blue and $green)."

# What is wanted: the quickstart, in a folder of its own.
mkdir "$work/objects"
for file in examples/quickstart/*.yaml; do
  sed "s/9001/$blue/; s/9002/$green/" "$file" >"$work/objects/$(basename "$file")"
done
cd "$work"
ledger apply objects -m "the quickstart" --wait
request

# Everything goes to green; before that, which requests it would move.
sed -i '0,/name: blue/s//name: green/' objects/routes.yaml
ledger apply objects -m "green takes all" --preview --wait
request

ledger history
ledger show 2

# Back.
ledger undo 2 --wait
request
ledger history
