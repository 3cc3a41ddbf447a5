package live

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/ops/diff"
)

// first is the status of the first answer that a call gets from a proxy that starts.
func (s *stage) first(call string) (status int) {
	s.t.Helper()
	list, err := calls.Parse(strings.NewReader(call + " -> 500"))
	if err != nil {
		s.t.Fatal(err)
	}
	e2e.Eventually(s.t, func() error {
		answers, err := s.client.Ask(s.t.Context(), list[0])
		if err == nil {
			status = answers[0].Status
		}
		return err
	})
	return status
}

// keysPolicy asks route web for keys, by a field that is spelt right or not.
func keysPolicy(field string) string {
	return "apiVersion: cardea.dev/v1alpha1\nkind: SecurityPolicy\nmetadata: {name: keys, namespace: shop}\nspec:\n" +
		"  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]\n  apiKey: {" + field +
		": [{name: keys}]}\n"
}

// TestClosedFromTheFirstAnswer: a policy that protects has a mistake when the program starts. The very first answer is
// 500; findings and /readyz say why, other routes serve. What mends the mistake opens it; the same mistake while the
// program runs changes nothing, since the last good version serves.
func TestClosedFromTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	s.write("second.yaml", routeFile("second", "second.example", to("blue")))
	s.write("keys.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: shop}\n"+
		"stringData: {alice: one}\n")
	s.write("policy.yaml", keysPolicy("keyRefs"))
	s.opens(keysPolicy("keysRefs"))
	s.start()
	if status := s.first("GET http://shop.example/"); status != 500 {
		t.Errorf("the first answer is %d", status)
	}
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 500\nGET http://second.example/ -> 200 blue")
	const closed = "SecurityPolicy shop/keys: it protects HTTPRoute web, which answers 500 until this is fixed"
	if body, err := s.Get("/readyz"); err != nil || !strings.Contains(string(body), closed) {
		t.Errorf("/readyz says %q, %v", body, err)
	}
	s.reads("problem in the folder", closed)

	s.write("policy.yaml", keysPolicy("keysRefs"))
	s.soon("GET http://shop.example/ -> 401")
	s.expect("GET http://shop.example/ -t one -> 200 blue\nGET http://second.example/ -> 200 blue")
	if body, err := s.Get("/readyz"); err != nil || strings.Contains(string(body), "closed") {
		t.Errorf("/readyz says %q, %v", body, err)
	}

	s.write("policy.yaml", keysPolicy("keyRefs"))
	s.write("second.yaml", routeFile("second", "second.example", to("green")))
	s.soon("GET http://second.example/ -> 200 green")
	s.expect("GET http://shop.example/ -> 401\nGET http://shop.example/ -t one -> 200 blue")
}

// opens tells by `cardea diff` that an object that is mended opens what is closed.
func (s *stage) opens(text string) {
	s.t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		s.t.Fatal(err)
	}
	differ, err := standalone.NewDiffer(s.t.Context(), e2e.Options(s.Dir))
	if err != nil {
		s.t.Fatal(err)
	}
	report, err := differ.Diff(diff.Edit{Objects: []map[string]any{object}})
	if err != nil || len(report.Requests) == 0 || !strings.Contains(report.Requests[0].Before, "500") ||
		strings.Contains(report.Requests[0].After, "500") {
		s.t.Errorf("the diff is %+v, %v", report, err)
	}
}

// TestClosedByAFile: a file that can't be read when the program starts may protect anything, so every Gateway answers
// 500 until it can be read; `cardea check` says so. One that comes later closes nothing.
func TestClosedByAFile(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	const bad = "# \xff\n"
	s.write("secret.yaml", bad)
	link := filepath.Join(s.Dir, "link.yaml")
	if err := os.Symlink(filepath.Join(t.TempDir(), "not-mounted.yaml"), link); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	_, err := standalone.Check(t.Context(), e2e.Options(s.Dir), &out)
	for _, file := range []string{"secret.yaml", "link.yaml"} {
		if err != nil || !strings.Contains(out.String(), file+": it may protect anything, so every Gateway answers 500") {
			t.Errorf("check says %v\n%s", err, out.String())
		}
	}
	s.start()
	if status := s.first("GET http://shop.example/"); status != 500 {
		t.Errorf("the first answer is %d", status)
	}
	s.write("secret.yaml", "# nothing\n")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	s.soon("GET http://shop.example/ -> 200 blue")
	s.write("secret.yaml", bad)
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.soon("GET http://shop.example/ -> 200 green")
}

// TestClosedByALink: a link whose target is not there at the start may be one to what protects, unless its name is that
// of what is not read.
func TestClosedByALink(t *testing.T) {
	t.Parallel()
	for link, closes := range map[string]bool{
		"policy.yaml": true, "policies": true, "notes.txt": false, ".#a.yaml": false,
	} {
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(dir, "nothing"), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		_, err := standalone.Check(t.Context(), e2e.Options(dir), &out)
		says := link + ": it may protect anything, so every Gateway answers 500"
		if err != nil || strings.Contains(out.String(), says) != closes {
			t.Errorf("%s: check says %v\n%s", link, err, out.String())
		}
	}
}

// TestWhatIsIndentedWronglyCloses: limits are found in a text whose lines do not stand where they should, and so is the
// namespace; timeouts protect nothing.
func TestWhatIsIndentedWronglyCloses(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: cardea.dev/v1alpha1\nkind: TrafficPolicy\n"
	const meta = "metadata: {name: p, namespace: shop}\n"
	const refs = "  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]\n"
	const limits = "rateLimits: [{name: all, requests: 1, per: minute}]\n"
	for what, c := range map[string]struct {
		text   string
		closes bool
	}{
		"limits beside the spec":   {head + meta + "spec:\n" + refs + limits, true},
		"limits after a tab":       {head + meta + "spec:\n" + refs + "\t" + limits, true},
		"limits one space more":    {head + meta + "spec:\n" + refs + "   " + limits, true},
		"limits one space less":    {head + meta + "spec:\n" + refs + " " + limits, true},
		"no spec, below metadata":  {head + meta + "  " + refs + "    " + limits, true},
		"timeouts one space more":  {head + meta + "spec:\n" + refs + "   timeouts: {request: 1s}\n", false},
		"timeouts beside the spec": {head + meta + "spec:\n" + refs + "timeouts: {request: 1s}\n", false},
	} {
		s := prepare(t, t.TempDir(), shop())
		s.write("policy.yaml", c.text)
		var out strings.Builder
		if _, err := standalone.Check(t.Context(), e2e.Options(s.Dir), &out); err != nil {
			t.Fatal(err)
		}
		says := out.String()
		if closes := strings.Contains(says, "500"); closes != c.closes || !strings.Contains(says, "policy.yaml") ||
			strings.Contains(says, "namespace default") {
			t.Errorf("%s: check says\n%s", what, says)
		}
	}
}

// TestWhatIsClosedIsTranslated: `cardea translate` prints the answer 500 at what is closed: at a route whose policy has
// a mistake, at all routes if a file can't be read, whoever asks; nowhere if nothing is closed.
func TestWhatIsClosedIsTranslated(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	s.write("second.yaml", routeFile("second", "second.example", to("blue")))
	const tables, hosts, web = "\nroutes:\n", "virtual_hosts:", "name: httproute/shop/web/"
	answer := regexp.MustCompile(`name: denied/\$closed\s+typed_config:[^$]*?http_status: 500`)
	for _, c := range []struct {
		name, text   string // of the policy's file; a text "" is a link in a circle
		want         int
		after, until string // between which words the answer stands
	}{
		{"nothing", keysPolicy("keysRefs"), 0, "", ""},
		{"a policy with a mistake", keysPolicy("keyRefs"), 1, web, ""},
		{"a file that is no text", "# \xff\n", 1, tables, hosts},
		{"a link in a circle", "", 1, tables, hosts},
	} {
		if c.text != "" {
			s.write("policy.yaml", c.text)
		} else if err := os.Symlink("policy.yaml", filepath.Join(s.Dir, "policy.yaml")); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := standalone.Translate(t.Context(), e2e.Options(s.Dir), "", "yaml", &out); err != nil {
			t.Fatal(err)
		}
		s.remove("policy.yaml")
		_, part, _ := strings.Cut(out.String(), c.after)
		if c.until != "" {
			part, _, _ = strings.Cut(part, c.until)
		}
		n, all := len(answer.FindAllString(part, -1)), len(answer.FindAllString(out.String(), -1))
		if n != c.want || all != c.want {
			t.Errorf("%s: %d answers 500 there, and %d in all, want %d", c.name, n, all, c.want)
		}
	}
}
