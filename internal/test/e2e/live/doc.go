// Package live tests what a running Cardea does with a real Envoy: edits while requests go on, restarts, certificates,
// agents, pickers, ledgers.
//
// Each test starts the program with package e2e and makes its calls. It must never know how the program works inside;
// what only translates files is tested in package e2e and in the packages themselves. Start reading at prepare, which
// makes a folder with a Gateway and a route (stage_test.go).
package live
