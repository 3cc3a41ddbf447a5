package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/test/e2e"
)

// TestEveryCallIsAnsweredAsItSays runs each example with a real Envoy, and backends on free ports in place of 9001 and
// 9002.
func TestEveryCallIsAnsweredAsItSays(t *testing.T) {
	files, err := filepath.Glob("*/calls.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no calls (%v)", err)
	}
	for _, file := range files {
		example := filepath.Dir(file)
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			list, err := calls.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := e2e.Start(t, copyExample(t, example))
			p.Ready(t)
			client := calls.NewClient(p.Address, e2e.Offset)
			defer client.Close()
			for _, call := range list {
				if err := client.Do(t.Context(), call); err != nil {
					t.Errorf("%s:%d: %v", file, call.Line, err)
				}
			}
		})
	}
}

// copyExample copies an example's objects, with ports of backends that it starts.
func copyExample(t *testing.T, example string) (dir string) {
	t.Helper()
	blue, green := e2e.Backend(t, "blue"), e2e.Backend(t, "green")
	ports := strings.NewReplacer(
		"number: 9001", fmt.Sprintf("number: %d", blue), "number: 9002", fmt.Sprintf("number: %d", green),
		"port: 9001", fmt.Sprintf("port: %d", blue), "port: 9002", fmt.Sprintf("port: %d", green),
	)
	files, err := filepath.Glob(filepath.Join(example, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found no objects (%v)", err)
	}
	dir = t.TempDir()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(ports.Replace(string(data))),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
