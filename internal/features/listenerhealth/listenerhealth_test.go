package listenerhealth

import "testing"

func TestCheck(t *testing.T) {
	t.Parallel()
	for path, good := range map[string]bool{
		"/": true, "/healthz": true, "/a/b.c/": true, "/.well-known/health": true, "/a:b@c": true,
		"": false, "healthz": false, "/a?b": false, "/a#b": false, "//a": false, "/a//b": false, "/a%20b": false,
		"/a/../b": false, "/.": false, "/a b": false, "/a\n": false, "/a\\b": false,
	} {
		if got := checkPath(path); (got == "") != good {
			t.Errorf("%q: %q", path, got)
		}
	}
}
