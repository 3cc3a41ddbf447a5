package policy

import "testing"

// TestFilesOfPods: in a pod files can be written where a volume is mounted, and nowhere else.
func TestFilesOfPods(t *testing.T) {
	t.Parallel()
	const mounted = `{"spec": {"containers": [{"volumeMounts": [{"name": "logs", "mountPath":"/logs/"}]}]}}`
	const open = `{"spec": {"containers": [{"name": "proxy", "securityContext": {"readOnlyRootFilesystem": false}}]}}`
	for _, c := range []struct {
		name, patch string
		writable    bool
	}{
		{"/tmp/access.log", "", true}, {"/dev/null", "", true}, {"/dev/shm/log", "", true},
		{"/tmp/folder/access.log", "", false}, {"/tmp", "", false}, {"/tmp/../access.log", "", false},
		{"/logs/access.log", "", false}, {"/logs/access.log", mounted, true}, {"/logs/a/access.log", mounted, true},
		{"/logs", mounted, false}, {"/logs2/access.log", mounted, false}, {"/logs/../access.log", mounted, false},
		{"/var/log/access.log", open, true},
	} {
		if wrong := inPods(c.name, []string{c.patch}); (wrong == "") != c.writable {
			t.Errorf("%s with patch %q: %q", c.name, c.patch, wrong)
		}
	}
}
