package e2e

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage seldom. These tests make thousands of short worlds: with Go's default, a third of their CPU
// time is garbage collection.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
