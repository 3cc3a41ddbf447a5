#!/usr/bin/env bash
# Puts the reference server of MCP and clients of other languages into the cache folder, and prints that folder. Does nothing if
# they are there. In the folder are node_modules, with the server "server-everything" and the TypeScript SDK, and python, a virtual
# environment with the Python SDK. Their versions are pinned in internal/test/e2e/parts/typescript and internal/test/e2e/parts/python.
set -euo pipefail

fail() {
  printf 'get-mcp: %s\n' "$@" >&2
  exit 1
}

parts="$(cd "$(dirname "$0")/../internal/test/e2e/parts" && pwd)"
pinned=("$parts/typescript/package-lock.json" "$parts/python/requirements.txt")
cache="${XDG_CACHE_HOME:-$HOME/.cache}/cardea"
folder="$cache/mcp-$(cat "${pinned[@]}" | sha256sum | cut -c1-12)"
if [ -d "$folder" ]; then
  echo "$folder"
  exit 0
fi
for program in node npm python3; do
  command -v "$program" >/dev/null || fail "$program is needed (Debian: apt-get install nodejs npm python3 python3-venv)."
done

# Everything happens in a folder of our own, and one rename puts it in place: so several of these may run at once, and one that
# is interrupted leaves nothing half done.
mkdir -p "$cache"
work=$(mktemp -d "$cache/.mcp.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
# run WHAT COMMAND...: the command's output is shown if it fails.
run() {
  echo "get-mcp: $1" >&2
  "${@:2}" >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    fail "$1: failed (the words of ${2##*/} are above): are the package indexes reachable?"
  }
}
mkdir "$work/mcp"
cp "$parts/typescript/package.json" "$parts/typescript/package-lock.json" "$work/mcp/"
run "installing the server and the TypeScript SDK" npm ci --prefix "$work/mcp" --ignore-scripts --no-audit --no-fund \
  --fetch-retries 1
(cd "$work/mcp" && node -e 'require("undici"); require("@modelcontextprotocol/sdk/client/index.js"); require("@modelcontextprotocol/client")') ||
  fail "the TypeScript SDK does not run on this machine: it needs Node.js 20.18 or later."
run "making an environment of Python" python3 -m venv "$work/mcp/python"
run "installing the Python SDK" "$work/mcp/python/bin/python" -m pip install --disable-pip-version-check --no-deps \
  --only-binary=:all: -r "$parts/python/requirements.txt"
"$work/mcp/python/bin/python" -c 'import mcp' || fail "the Python SDK does not run on this machine."
mv -T "$work/mcp" "$folder" 2>/dev/null || [ -d "$folder" ] || fail "it can't be moved to $folder."
echo "$folder"
