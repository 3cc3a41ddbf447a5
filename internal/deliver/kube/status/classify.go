package status

import (
	"context"
	"errors"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// mistake is an error for which the API server can do nothing.
type mistake struct{ error }

// classify tells what an error means, and how long it is at least going to last.
func classify(err error) (result, time.Duration) {
	_, ours := errors.AsType[mistake](err)
	_, unreachable := errors.AsType[*url.Error](err)
	switch {
	case ours, apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return refused, refusedPace
	case apierrors.IsNotFound(err):
		return gone, 0
	case apierrors.IsTooManyRequests(err):
		seconds, _ := apierrors.SuggestsClientDelay(err)
		return away, time.Duration(seconds) * time.Second
	case unreachable, errors.Is(err, context.DeadlineExceeded), apierrors.IsServiceUnavailable(err),
		apierrors.IsTimeout(err),
		apierrors.IsServerTimeout(err):
		return away, 0
	}
	return failed, 0
}
