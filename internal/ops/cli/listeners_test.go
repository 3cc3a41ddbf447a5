package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cardea.dev/cardea/internal/ops/ledgercmd"
)

// TestListenersAreInTheDocs: docs/hardening.md lists each address at which a command listens, with its default.
func TestListenersAreInTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/hardening.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{} // defaults, by command and flag
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) > 3 && strings.HasPrefix(cells[1], " `cardea ") && strings.Contains(cells[1], " --") {
			documented[strings.Trim(cells[1], " `")] = strings.Trim(cells[2], " `")
		}
	}
	root := &cobra.Command{Use: "cardea"}
	root.AddCommand(standaloneCommand(Program{}), controllerCommand(Program{}), pickerCommand(),
		ledgercmd.NewCommand(ledgercmd.Program{}))
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.HasPrefix(f.Usage, "host:port ") && !strings.HasPrefix(f.Usage, "address of the picker") &&
				!strings.HasPrefix(f.Usage, "address of metrics") {
				return
			}
			name, want := cmd.CommandPath()+" --"+f.Name, f.DefValue
			if want == "" {
				want = "none"
			}
			if got, is := documented[name]; !is || got != want {
				t.Errorf("docs/hardening.md says %q of %s, whose default is %q", got, name, want)
			}
			delete(documented, name)
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
	for name := range documented {
		t.Errorf("docs/hardening.md has %s, which is no address of a listener", name)
	}
}
