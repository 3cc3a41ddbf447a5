// Package cli is Cardea's command line: the commands, their flags and help, and how objects are printed.
//
// It owns the texts and tables that users see. It must never know how the work is done: a Program does the work. `get`
// asks the admin API of a running Cardea, or a cluster's API server. Package main calls Main once. Start reading at
// Main.
package cli
