package envoy

// Flags are the command-line flags that every Envoy starts with, besides the path of its bootstrap; docs/adr/0003 says why.
func Flags() []string {
	return []string{
		"--disable-hot-restart",
		"--drain-time-s", "60",
		"--drain-strategy", "gradual",
		"--log-level", "warning",
	}
}
