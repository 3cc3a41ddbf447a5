package builtin

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
)

// TestConnectionsTable: docs/policies.md tells of each feature what of it can be served where connections are decided.
func TestConnectionsTable(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, p := range Plugins() {
		if p.Feature == nil || len(p.Feature.ServedAt) == 0 {
			continue
		}
		row := "| " + p.Feature.Kind + " `" + p.Feature.Name + "` |"
		for _, at := range []extend.ConnectionKinds{
			extend.OverTCP, extend.OverTLS, extend.OverPassthrough, extend.OverUDP,
		} {
			row += " " + describeServed(p.Feature.Connections, at) + " |"
		}
		if rows++; !strings.Contains(string(doc), row+"\n") {
			t.Errorf("docs/policies.md has no line\n%s", row)
		}
	}
	if rows == 0 {
		t.Error("no feature can be served where connections are decided")
	}
}

func describeServed(c extend.Connections, at extend.ConnectionKinds) string {
	if c.Serves("", at) {
		return "all"
	}
	var fields []string
	for _, field := range slices.Sorted(maps.Keys(c.ServedAt)) {
		if c.Serves(field, at) {
			fields = append(fields, "`"+field+"`")
		}
	}
	if len(fields) == 0 {
		return "-"
	}
	return strings.Join(fields, ", ")
}
