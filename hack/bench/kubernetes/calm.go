package main

import (
	"runtime"
	"runtime/debug"
)

// calmly runs do without garbage collection of this program, which would take a core from what is measured.
func calmly(do func() error) error {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	return do()
}
