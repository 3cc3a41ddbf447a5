#!/usr/bin/env bash
# Starts three simulated model servers and a gateway in front of them, and holds conversations with them. Each line of
# the output tells which server answered, how much of the prompt it had cached, and by which scores the picker chose it. PORT is that
# of the gateway (8080); the servers have 9011 to 9013, or the ports in SERVERS.
set -euo pipefail
cd "$(dirname "$0")/../.."
port=${PORT:-8080}
read -ra servers <<<"${SERVERS:-9011 9012 9013}"
work=$(mktemp -d)
pids=()
end() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap end EXIT

go build -o "$work/" ./examples/inference/modelserver ./examples/inference/client
mkdir "$work/objects"
cp examples/inference/folder/*.yaml "$work/objects"
for i in 1 2 3; do
  at=${servers[i - 1]}
  "$work/modelserver" -listen "127.0.0.1:$at" >"$work/server-$i.log" & pids+=($!)
  sed -i.before "s/number: 901$i}/number: $at}/" "$work/objects/pool.yaml"
done

mkfifo "$work/admin"
"${CARDEA:-bin/cardea}" standalone "$work/objects" --port-offset $((port - 8080)) --bind 127.0.0.1 --admin 127.0.0.1:0 \
  --log-format json 2> >(tee "$work/log" |
  sed -u -n 's/.*"admin API listens","address":"\([^"]*\)".*/\1/p' >"$work/admin") & pids+=($!)
fail() { cat "$work/log" >&2; exit 1; }
read -r admin <"$work/admin" || fail

"$work/client" -gateway "http://127.0.0.1:$port" -admin "http://$admin" || fail
