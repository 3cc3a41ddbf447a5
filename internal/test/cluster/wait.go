package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollInterval is the pause between two looks at something that does not tell when it is ready.
const pollInterval = 50 * time.Millisecond

// final wraps an error after which waiting is no use.
type final struct{ error }

// wait asks until the answer is nil or final, or ctx ends. The error is the last answer.
func wait(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if end := (final{}); err == nil || errors.As(err, &end) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(pollInterval):
		}
	}
}
