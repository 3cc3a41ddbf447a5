package main

import (
	"runtime"
	"runtime/debug"
)

// calmly does what is measured without collecting this program's garbage meanwhile: that would take a core from what is
// measured.
func calmly(do func() error) error {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	return do()
}
