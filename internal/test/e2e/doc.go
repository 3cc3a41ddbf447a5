// Package e2e runs the whole program for tests: a folder in, a real Envoy, calls through it.
//
// It owns Program, which starts `cardea standalone` inside the test, and the backends that answer. It must never know
// how the program works inside: it writes files, asks the admin API and makes calls. Only tests import it.
//
// Start reading at Start; testdata holds one txtar file for each behaviour.
package e2e
