package status

import (
	"context"
	"errors"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// permanentError is an error for which the API server can do nothing.
type permanentError struct{ error }

// classifyError tells what an error means, and how long it is at least going to last.
func classifyError(err error) (result, time.Duration) {
	_, ours := errors.AsType[permanentError](err)
	_, unreachable := errors.AsType[*url.Error](err)
	switch {
	case ours, apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return refused, refusedInterval
	case apierrors.IsNotFound(err):
		return gone, 0
	case apierrors.IsTooManyRequests(err):
		seconds, _ := apierrors.SuggestsClientDelay(err)
		return unavailable, time.Duration(seconds) * time.Second
	case unreachable, errors.Is(err, context.DeadlineExceeded), apierrors.IsServiceUnavailable(err),
		apierrors.IsTimeout(err),
		apierrors.IsServerTimeout(err):
		return unavailable, 0
	}
	return failed, 0
}
