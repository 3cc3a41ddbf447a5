package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"cardea.dev/cardea/internal/model"
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
func tableOf(kind model.Kind, objects []object, now time.Time, wide, namespaces bool) table {
	var t table
	if namespaces {
		t.columns = append(t.columns, "NAMESPACE")
	}
	t.columns = append(t.columns, "NAME")
	columns := slices.DeleteFunc(slices.Clone(columnsOf[kind]), func(c column) bool { return c.wide })
	for _, c := range columns {
		t.columns = append(t.columns, c.title)
	}
	t.columns = append(t.columns, "AGE")
	var further []column
	if wide {
		further = slices.DeleteFunc(slices.Clone(columnsOf[kind]), func(c column) bool { return !c.wide })
	}
	for _, c := range further {
		t.columns = append(t.columns, c.title)
	}
	for _, o := range objects {
		var row []string
		if namespaces {
			row = append(row, o.text("metadata", "namespace"))
		}
		row = append(row, o.text("metadata", "name"))
		for _, c := range columns {
			row = append(row, c.of(o))
		}
		row = append(row, age(o, now))
		for _, c := range further {
			row = append(row, c.of(o))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// age is the time since the object was created, in kubectl's format.
func age(o object, now time.Time) string {
	created, err := time.Parse(time.RFC3339, o.text("metadata", "creationTimestamp"))
	if err != nil || created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(created))
}
