package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"cardea.dev/cardea/internal/kind"
)

// table is rows of texts with titled columns.
type table struct {
	columns []string
	rows    [][]string
}

func (t table) print(w io.Writer) error {
	aligned := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	for _, row := range append([][]string{t.columns}, t.rows...) {
		fmt.Fprintln(aligned, strings.Join(row, "\t"))
	}
	return aligned.Flush()
}

// tableOf is objects of one kind as `kubectl get` prints them.
func tableOf(k *kind.Kind, objects []object, now time.Time, wide, namespaces bool) table {
	var t table
	if namespaces {
		t.columns = append(t.columns, "NAMESPACE")
	}
	t.columns = append(t.columns, "NAME")
	columns := slices.DeleteFunc(slices.Clone(k.Columns), func(c kind.Column) bool { return c.Wide })
	for _, c := range columns {
		t.columns = append(t.columns, c.Title)
	}
	t.columns = append(t.columns, "AGE")
	var further []kind.Column
	if wide {
		further = slices.DeleteFunc(slices.Clone(k.Columns), func(c kind.Column) bool { return !c.Wide })
	}
	for _, c := range further {
		t.columns = append(t.columns, c.Title)
	}
	for _, o := range objects {
		var row []string
		if namespaces {
			row = append(row, o.Text("metadata", "namespace"))
		}
		row = append(row, o.Text("metadata", "name"))
		for _, c := range columns {
			row = append(row, c.Of(o))
		}
		row = append(row, age(o, now))
		for _, c := range further {
			row = append(row, c.Of(o))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// age is the time since the object was created, in kubectl's format.
func age(o object, now time.Time) string {
	created, err := time.Parse(time.RFC3339, o.Text("metadata", "creationTimestamp"))
	if err != nil || created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(created))
}
