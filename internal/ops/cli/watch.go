package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// watchInterval is how often a watch asks again.
const watchInterval = time.Second

// showTable prints a table and, with --watch, each row that comes, changes or goes from then on, until the command is
// ended.
func (o *getOptions) showTable(cmd *cobra.Command, t table, again func() (table, error)) error {
	out := cmd.OutOrStdout()
	if !o.watch {
		return t.print(out)
	}
	p := &rowPrinter{out: out, widths: t.columnWidths()}
	p.printRow(t.columns)
	for _, row := range t.rows {
		p.printRow(row)
	}
	for {
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(watchInterval):
		}
		now, err := again()
		if cmd.Context().Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, row := range now.changedRows(t) {
			p.printRow(row)
		}
		if t = now; p.failed != nil {
			return p.failed
		}
	}
}

// changedRows are the rows that a table has and an earlier one had not, or had other words in than an age; then those
// that it has no more, marked.
func (t table) changedRows(before table) (rows [][]string) {
	was := map[string][]string{}
	for i, key := range before.keys {
		was[key] = before.rows[i]
	}
	for i, key := range t.keys {
		if t.rowWithoutAge(t.rows[i]) != t.rowWithoutAge(was[key]) {
			rows = append(rows, t.rows[i])
		}
		delete(was, key)
	}
	for _, key := range before.keys {
		if row, gone := was[key]; gone {
			rows = append(rows, append(row[:len(row):len(row)], "<gone>"))
		}
	}
	return rows
}

// rowWithoutAge is a row without its age, which always changes.
func (t table) rowWithoutAge(row []string) string {
	var words []string
	for i, word := range row {
		if t.columns[i] != "AGE" {
			words = append(words, word)
		}
	}
	return strings.Join(words, "\t")
}

// columnWidths are the widths of the columns.
func (t table) columnWidths() []int {
	widths := make([]int, len(t.columns))
	for _, row := range append([][]string{t.columns}, t.rows...) {
		for i, word := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(word))
		}
	}
	return widths
}

// rowPrinter prints rows one by one, in columns as wide as those of the first table.
type rowPrinter struct {
	out    io.Writer
	widths []int
	failed error
}

func (p *rowPrinter) printRow(words []string) {
	var b strings.Builder
	for i, word := range words {
		if i < len(words)-1 && i < len(p.widths) {
			word += strings.Repeat(" ", max(0, p.widths[i]-utf8.RuneCountInString(word))+3)
		}
		b.WriteString(word)
	}
	if _, err := fmt.Fprintln(p.out, b.String()); err != nil {
		p.failed = err
	}
}
