package resolve

import (
	"fmt"
	"time"
)

// ParseDuration reads a duration as GEP-2257 writes them, which is a subset of Go's; wrong is why it is none.
func ParseDuration(text *string) (d time.Duration, wrong string) {
	if text == nil {
		return 0, ""
	}
	d, err := time.ParseDuration(string(*text))
	if err != nil || d < 0 {
		return 0, fmt.Sprintf("%q is not a duration, such as 1m30s", *text)
	}
	return d, ""
}
