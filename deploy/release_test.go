package deploy

import (
	"os"
	"regexp"
	"testing"
)

// TestRelease: the Makefile's version of the next release is that of the image in the manifest, and of the conformance
// reports.
func TestRelease(t *testing.T) {
	find := func(file, pattern string) string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return string(m[1])
	}
	release := find("../Makefile", `(?m)^RELEASE := (\S+)$`)
	for file, pattern := range map[string]string{
		"install.yaml":                              `image: cardea:(\S+)`,
		"../docs/conformance/report.yaml":           `(?m)^  version: (\S+)$`,
		"../docs/conformance/report-configmap.yaml": `(?m)^  version: (\S+)$`,
	} {
		if is := find(file, pattern); is != release {
			t.Errorf("%s is of version %s, the next release is %s", file, is, release)
		}
	}
}
