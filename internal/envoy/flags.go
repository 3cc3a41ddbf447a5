package envoy

import "cmp"

// Flags are the command-line flags that every Envoy starts with, besides the path of its bootstrap; docs/adr/0003 says
// why.
func Flags() []string { return flagsAt("") }

// flagsAt is Flags for another level of the log than warning.
func flagsAt(level string) []string {
	return []string{
		"--disable-hot-restart",
		"--drain-time-s", "60",
		"--drain-strategy", "gradual",
		"--log-level", cmp.Or(level, "warning"),
	}
}
