#!/usr/bin/env bash
# Starts the server of tools and a gateway in front of it, lets two agents call tools, and prints what they got. PORT is
# that of the gateway (8443).
set -euo pipefail
cd "$(dirname "$0")/../.."
port=${PORT:-8443}
work=$(mktemp -d)
pids=()
end() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap end EXIT

go build -C examples/agents/mcp -o "$work/mcp" .
mkfifo "$work/address"
"$work/mcp" serve >"$work/address" &
pids+=($!)
read -r address <"$work/address"

mkdir "$work/objects"
for file in examples/agents/*.yaml; do
  sed "s/9003/${address##*:}/" "$file" >"$work/objects/$(basename "$file")"
done
"${CARDEA:-bin/cardea}" standalone "$work/objects" --port-offset $((port - 8443)) --bind 127.0.0.1 --admin 127.0.0.1:0 \
  >"$work/log" 2>&1 &
pids+=($!)

echo "the server's tools, and the rules that name them:"
"${CARDEA:-bin/cardea}" mcp inventory tools -n agents --dir "$work/objects"

agent() { # its name; what it does stands in the input
  echo "$1:"
  while read -r line; do
    echo "  $line"
    echo "$line" >&3
  done 3>"$work/lines"
  certificates=examples/agents/certificates
  CA=$certificates/ca.crt CERT=$certificates/$1.crt KEY=$certificates/$1.key ADDRESS=127.0.0.1:$port WAIT=60s \
    "$work/mcp" call https://tools.localhost:8443/mcp <"$work/lines" | sed 's/^/  -> /' || { cat "$work/log" >&2; exit 1; }
}

agent accountant <<'LINES'
list
call get-sum {"a":1,"b":2}
call order {"item":"tea","amount":1}
call get-env {}
LINES
agent buyer <<'LINES'
list
call get-sum {"a":1,"b":2}
call order {"item":"tea","amount":10}
call order {"item":"tea","amount":11}
LINES
