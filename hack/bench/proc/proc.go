// Package proc reads what Linux tells of a process in /proc.
//
// It owns the form of these files. It must never know which program runs. Start reading at CPU.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU is the CPU time of a process on all cores, in steps of 10 ms.
func CPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// What follows the name in parentheses begins with the third field.
	words := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system, tick = 14 - 3, 15 - 3, 10 * time.Millisecond
	sum := time.Duration(0)
	for _, field := range []int{user, system} {
		n, err := strconv.ParseInt(words[field], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// Find is a process whose arguments right accepts; 0 if there is none.
func Find(right func(args []string) bool) (pid int, err error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if right(strings.Split(string(line), "\x00")) {
			return strconv.Atoi(strings.Split(path, "/")[2])
		}
	}
	return 0, nil
}
