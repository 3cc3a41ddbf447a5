// Command ledger prints what a ledger costs, as a table of counts, CPU times and times: commits and claims in SQLite
// and in PostgreSQL, the way of a change into an Envoy and into a cluster, and a ledger of 100,000 objects. It asserts
// nothing: on a shared machine, wall time alone is misleading.
//
// It owns the ledgers that are measured. The PostgreSQL is a real one, with its usual settings, on the same machine;
// without its programs, its rows are left out. `make bench PART=ledger` runs it. Start reading at main.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/test/kubetest"
)

// bench is what the measurements have in common.
type bench struct {
	ctx           context.Context
	cardea, envoy string // programs
	dir           string // for files
	databases     []*database
	lasting       time.Duration // how long clients commit
	edits         int           // of each way into a proxy or a cluster
	routes        int           // of the ledger in which those are made
	objects       int           // of a ledger with many
	dirty         int           // objects that are due in a cluster
	on            string        // the databases, and "folder"
}

// part is a part of the tables.
type part struct {
	name    string
	measure func(*bench) error
}

var parts = []part{
	{"commits", (*bench).commits}, {"claims", (*bench).claims}, {"live", (*bench).live}, {"many", (*bench).many},
	{"clusters", (*bench).clusters},
}

func main() {
	if writes() {
		return
	}
	kubetest.Enter()
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	b := bench{ctx: context.Background()}
	flag.StringVar(&b.on, "on", "folder,SQLite,PostgreSQL",
		"the databases, and whether a folder with many objects is measured")
	only := flag.String("only", strings.Join(names, ","), "the parts to measure")
	flag.StringVar(&b.cardea, "cardea", "bin/cardea", "the program to measure")
	flag.DurationVar(&b.lasting, "for", 10*time.Second, "how long clients commit")
	flag.IntVar(&b.edits, "edits", 200, "edits of each way into a proxy or a cluster")
	flag.IntVar(&b.routes, "routes", 1000, "routes of the ledger in which those are made")
	flag.IntVar(&b.objects, "objects", 100_000, "objects of a ledger with many")
	flag.IntVar(&b.dirty, "dirty", 100_000, "objects that are due in a cluster")
	flag.Parse()
	if err := b.run(strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(only []string) (err error) {
	if b.cardea, err = filepath.Abs(b.cardea); err != nil {
		return err
	}
	if b.envoy, err = process.FindPath(bootstrap.Program()); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	end, err := b.findDatabases()
	if err != nil {
		return err
	}
	defer end()
	table.Begin(os.Stdout)
	for _, p := range parts {
		if !slices.Contains(only, p.name) {
			continue
		}
		if err := p.measure(b); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// row prints a row that is not about a number of routes.
func row(what, cost, more, target string) {
	line := "| " + what + " "
	for _, cell := range []string{cost, more, target} {
		line += strings.TrimRight("| "+cell, " ") + " "
	}
	fmt.Println(line + "|")
}

// progress says on standard error what is being done; the table goes to standard output.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
