package table

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Milli is a time in milliseconds.
func Milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Median is the middle one of figures; of an even number, the upper of the two in the middle.
func Median[T cmp.Ordered](figures []T) T {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[len(sorted)/2]
}

// BesideFloor compares a time with its lower bound.
func BesideFloor(is, floor time.Duration) string {
	return fmt.Sprintf("floor %.1f ms, ratio %.2f", Milli(floor), float64(is)/float64(floor))
}
