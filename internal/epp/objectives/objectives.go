package objectives

import (
	"fmt"
	"strconv"
)

const (
	// Header names an InferenceObjective of the pool's namespace.
	Header = "x-gateway-inference-objective"
	// NumberHeader is a priority by itself, for pools without objectives. It counts if Header is not sent.
	NumberHeader = "x-cardea-priority"
	// maxPriority of numbers, in both directions: that of InferenceObjective's int32 is far more than anyone tells apart.
	maxPriority = 1_000_000
)

// Trust says how far the headers of a request are believed. They come from clients unless the gateway sets them.
type Trust string

// The kinds of trust.
const (
	Any   Trust = "any"   // the published behaviour: a request with a header gets the priority
	Lower Trust = "lower" // a request can make itself less important, never more
	None  Trust = "none"  // headers do not count
)

// ParseTrust reads a flag.
func ParseTrust(text string) (Trust, error) {
	switch t := Trust(text); t {
	case Any, Lower, None:
		return t, nil
	}
	return "", fmt.Errorf("%q is unknown; want %s, %s or %s", text, Any, Lower, None)
}

// Config says how priorities are read; the zero Config believes nothing.
type Config struct{ Trust Trust }

// PriorityOf is how important a request is. 0 is the priority of a request that says nothing, or names an objective
// that does not exist or belongs to another pool.
func (c Config) PriorityOf(header func(name string) string, objectives map[string]int) int {
	priority := 0
	if name := header(Header); name != "" {
		priority = objectives[name]
	} else if n, err := strconv.Atoi(header(NumberHeader)); err == nil {
		priority = max(-maxPriority, min(n, maxPriority))
	}
	switch c.Trust {
	case Any:
		return priority
	case Lower:
		return min(0, priority)
	case None:
	}
	return 0
}
