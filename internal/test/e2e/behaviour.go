package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/app/standalone"
)

// Behaviour runs a txtar file: files of objects, then what must come of them. Only the sections that are there are
// checked.
//
//	-- NAME.yaml --   a file of the folder; ${x} is the port of a backend named x, ${ca} the authority of those that
//	                  speak TLS, ${client-cert} and ${client-key} what it signed for a client called gateway,
//	                  ${server-cert} and ${server-key} for a server at localhost; ${other-ca} signed for a stranger
//	-- findings --    what `cardea check` prints
//	-- status --      the objects' conditions, before any proxy is there
//	-- config.yaml -- what `cardea translate` prints
//	-- calls --       made through a real Envoy, and through a simulation that must agree with it; see examples/calls
//
// With update, expectations but for the calls are rewritten. simulated counts the calls; nil: none are made.
func (p *Plugged) Behaviour(t *testing.T, path string, simulated *Comparison, update bool) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ports := writeFolder(t, dir, archive)
	changed := false
	for i, section := range archive.Files {
		var got string
		switch section.Name {
		case "findings":
			got = p.findings(t, dir)
		case "status":
			got = p.status(t, dir)
		case "config.yaml":
			got = p.config(t, dir)
		default:
			continue
		}
		// Ports of backends differ from run to run.
		for name, port := range ports {
			got = regexp.MustCompile(fmt.Sprintf(`\b%d\b`, port)).ReplaceAllLiteralString(got, "${"+name+"}")
		}
		if want := string(section.Data); got != want {
			if update {
				archive.Files[i].Data, changed = []byte(got), true
				continue
			}
			t.Errorf("%s:\n%s\nwant:\n%s", section.Name, got, want)
		}
	}
	if changed {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "calls" })
	if i >= 0 && simulated != nil {
		p.makeCalls(t, dir, string(archive.Files[i].Data), simulated.of(t, p.world(t, dir), ports))
	}
}

var Placeholder = regexp.MustCompile(`\$\{([a-z0-9-]+)\}`)

// isObjects tells whether a section is a file of objects.
func isObjects(name string) bool { return strings.HasSuffix(name, ".yaml") && name != "config.yaml" }

// writeFolder writes the archive's YAML files with the ports of the backends that they name.
func writeFolder(t *testing.T, dir string, archive *txtar.Archive) (ports map[string]int) {
	t.Helper()
	ports = map[string]int{}
	for _, f := range archive.Files {
		if !isObjects(f.Name) {
			continue
		}
		text := Placeholder.ReplaceAllStringFunc(string(f.Data), func(s string) string {
			name := Placeholder.FindStringSubmatch(s)[1]
			if text := certificateText(name); text != nil {
				return strconv.Quote(string(text))
			}
			if ports[name] == 0 {
				ports[name] = Backend(t, name)
			}
			return fmt.Sprint(ports[name])
		})
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return ports
}

func (p *Plugged) makeCalls(t *testing.T, dir, text string, simulated *simulatedFolder) {
	t.Helper()
	list, err := calls.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("calls:%v", err)
	}
	program := Start(t, dir, func(o *standalone.Options) { o.Extensions = p.Extensions })
	program.Ready(t)
	client := calls.NewClient(program.Address, Offset)
	defer client.Close()
	client.Show("gateway", ClientCertificate().TLSCertificate())
	client.Show("stranger", StrangerCertificate().TLSCertificate())
	for _, call := range list {
		answers, err := client.Ask(t.Context(), call)
		if err != nil {
			t.Errorf("calls:%d: %v", call.Line, err)
			continue
		}
		if err := calls.Check(call, answers); err != nil {
			t.Errorf("calls:%d: %v", call.Line, err)
		}
		simulated.compare(t, call, answers)
	}
}
