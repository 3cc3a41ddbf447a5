package envoy

import (
	"cmp"
	"strings"
)

// Flags are the command-line flags that every Envoy starts with, besides the path of its bootstrap; docs/adr/0003 says
// why.
func Flags() []string { return flagsAt("") }

// flagsAt is Flags for another level of the log than warning, with levels of components ("config:error").
func flagsAt(level string, components ...string) []string {
	flags := []string{
		"--disable-hot-restart",
		"--drain-time-s", "60",
		"--drain-strategy", "gradual",
		"--log-level", cmp.Or(level, "warning"),
	}
	if level != "debug" && level != "trace" {
		// Envoy warns of each message of filters that are new to it, so a table with tools has hundreds of lines each time.
		components = append([]string{"misc:error"}, components...)
	}
	if len(components) > 0 {
		flags = append(flags, "--component-log-level", strings.Join(components, ","))
	}
	return flags
}
