package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// table is rows of texts with titled columns.
type table struct {
	columns []string
	rows    [][]string
	keys    []string // of rows: what a row is about
}

func (t *table) addRow(key string, row []string) {
	t.keys, t.rows = append(t.keys, key), append(t.rows, row)
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
	t.columns = append(t.columns, "STALE", "AGE")
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
			row = append(row, o.TextAt("metadata", "namespace"))
		}
		row = append(row, o.TextAt("metadata", "name"))
		for _, c := range columns {
			row = append(row, c.CellText(o))
		}
		row = append(row, staleCell(o), ageCell(o, now))
		for _, c := range further {
			row = append(row, c.CellText(o))
		}
		t.addRow(o.TextAt("metadata", "namespace")+"/"+o.TextAt("metadata", "name"), row)
	}
	return t
}

// staleCell tells whether an older version of an object serves than the newest one. In a cluster that is what the
// status has: it is of an older version.
func staleCell(o object) string {
	conditions := o.ObjectsAt("status", "conditions")
	for _, l := range o.ObjectsAt("status", "listeners") {
		conditions = append(conditions, l.ObjectsAt("conditions")...)
	}
	for _, p := range o.ObjectsAt("status", "parents") {
		if p.TextAt("controllerName") == model.ControllerName {
			conditions = append(conditions, p.ObjectsAt("conditions")...)
		}
	}
	generation := o.TextAt("metadata", "generation")
	late := func(c object) bool {
		seen := c.TextAt("observedGeneration")
		return seen != "" && seen != generation
	}
	if o.TextAt("metadata", "annotations", kind.StaleAnnotation) != "" || slices.ContainsFunc(conditions, late) {
		return "True"
	}
	return "False"
}

// ageCell is the time since the object was created or, if an object in a file does not say so, since the file was
// edited; in kubectl's format.
func ageCell(o object, now time.Time) string {
	stated := cmp.Or(o.TextAt("metadata", "creationTimestamp"), o.TextAt("metadata", "annotations", kind.EditedAnnotation))
	created, err := time.Parse(time.RFC3339, stated)
	if err != nil || created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(created))
}
