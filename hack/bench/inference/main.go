// Command inference prints what inference pools cost, as four tables of counts, CPU times, ratios and times:
//
//	a  what the picker adds to a request, beside an external processor that does nothing
//	b  the time to the first token of simulated model servers, with Cardea's picker and without one
//	c  what one pod's change costs Cardea among many pools
//	d  the memory that the picker takes for what it knows of prompts
//
// It asserts nothing: on a shared machine, wall time alone is misleading. The only error is an answer that is not 200.
//
// It owns the requests, the servers and the pools that are measured. `make bench PART=inference` runs it. It needs
// Linux, for the CPU time of processes. Start reading at main.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
)

// bench is what the measurements have in common.
type bench struct {
	cardea, envoy string // programs
	dir           string // for files
	requests      int    // of a round of part a
	load          load   // of part b
	prompts       []int  // numbers of system prompts in part b
}

// part is one of the tables.
type part struct {
	name, title string
	measure     func(*bench) error
}

var parts = []part{
	{"a", "What the picker adds to a request", (*bench).added},
	{"b", "Time to the first token", (*bench).first},
	{"c", "One pod's change", (*bench).pods},
	{"d", "Memory of the picker", (*bench).memory},
}

func main() {
	beEmpty()
	b := bench{load: defaults(), prompts: []int{16, 64}}
	flag.StringVar(&b.cardea, "cardea", "bin/cardea", "the program to measure")
	only := flag.String("only", "a,b,c,d", "the tables to print")
	flag.IntVar(&b.requests, "requests", 2_000, "a: the number of requests of a round")
	b.load.flags(flag.CommandLine)
	flag.Func("prompts", "b: numbers of system prompts, separated by commas: rows for each (default 16,64)",
		func(text string) (err error) {
			b.prompts, err = table.Numbers(text)
			return err
		})
	flag.Parse()
	if runtime.GOOS != "linux" {
		fmt.Println("The part about inference pools was skipped: it needs Linux.")
		return
	}
	if err := b.run(strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(only []string) (err error) {
	if err := b.load.check(); err != nil {
		return err
	}
	for _, name := range only {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return fmt.Errorf("-only %q: want some of a,b,c,d", name)
		}
	}
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
	between := ""
	for _, p := range parts {
		if !slices.Contains(only, p.name) {
			continue
		}
		fmt.Printf("%s### %s\n\n", between, p.title)
		table.Begin(os.Stdout)
		before := loadAverage()
		if err := p.measure(b); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Printf("\nThe machine's load average was %s before and %s after.\n", before, loadAverage())
		between = "\n"
	}
	return nil
}

// loadAverage is that of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	last, _, _ := strings.Cut(string(text), " ")
	return last
}

// row prints a row.
func row(what, cost, more, target string) {
	line := "| " + what + " "
	for _, cell := range []string{cost, more, target} {
		line += strings.TrimRight("| "+cell, " ") + " "
	}
	fmt.Println(line + "|")
}
