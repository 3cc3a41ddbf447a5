// Package cli is Cardea's command line: the commands, their flags and help, and how objects are printed.
//
// It owns words and tables. It must never know how the work is done: a Program does that, and `get` asks a running one
// over its admin API, or a cluster's API server. Main is called once, by package main. Start reading at Main.
package cli
