package files

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// Nobody is told that something is closed which is not there.
func TestMissingTargets(t *testing.T) {
	for what, c := range map[string]struct{ targets, want string }{
		"there": {
			"[{group: '', kind: Service, name: web}]",
			"it protects Service web, which gets no requests until this is fixed",
		},
		"missing": {
			"[{group: '', kind: Service, name: wob}]",
			"it targets Service wob, which does not exist: nothing is protected",
		},
		"both": {
			"[{group: '', kind: Service, name: web}, {group: '', kind: Service, name: wob}]",
			"it protects Service web, which gets no requests until this is fixed; Service wob does not exist",
		},
		"two": {
			"[{group: '', kind: Service, name: wob}, {group: '', kind: Service, name: wab}]",
			"it targets Service wob, Service wab, which do not exist: nothing is protected",
		},
		"a broken": {
			"[{group: '', kind: Service, name: broken}]",
			"it protects Service broken, which gets no requests until this is fixed",
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newStill(t)
			s.write("z.yaml", service("web")+strings.Replace(service("broken"), "ports", "portz", 1))
			s.write("a.yaml", strings.NewReplacer("[{group: \"\", kind: Service, name: web}]", c.targets, "hostname", "hostnam").
				Replace(overTLS("a", "web")))
			s.look(lookRequest{all: true})
			var list []string
			for i, p := range s.folder.Problems() {
				if !p.Closes {
					continue
				}
				if p.Message != c.want || (p.Severity == model.Warning) != strings.Contains(c.want, "nothing") {
					t.Errorf("%s: %s, want %q", p.Severity, p, c.want)
				}
				if i == 0 || s.folder.Problems()[i-1].File != "a.yaml" {
					t.Errorf("the cause comes later: %v", s.folder.Problems())
				}
				list = append(list, p.Message)
			}
			if len(list) != 1 {
				t.Errorf("told are %q", list)
			}
		})
	}
}
