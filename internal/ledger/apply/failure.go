package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/ledger"
)

// claimFailure is why a claim failed.
type claimFailure struct {
	code, message string
	permanent     bool
	retryOn       retryCondition
}

// retryCondition says what has to change before a failed object can succeed.
type retryCondition int

// The conditions of a retry.
const (
	retryAfterDelay  retryCondition = iota // nothing that could be looked for: it is tried again
	retryOnSchema                          // the kind, or what it allows
	retryOnAccess                          // what the worker may do
	retryOnNamespace                       // the namespace must be made
	retryOnContact                         // the API server must be reachable
	retryOnDeletion                        // the object must be gone
)

// permanentReasons are answers of the API server that are the same next time. Forbidden is one unless a quota says it.
var permanentReasons = map[metav1.StatusReason]retryCondition{
	metav1.StatusReasonInvalid:               retryOnSchema,
	metav1.StatusReasonBadRequest:            retryOnSchema,
	metav1.StatusReasonForbidden:             retryOnAccess,
	metav1.StatusReasonMethodNotAllowed:      retryOnSchema,
	metav1.StatusReasonNotAcceptable:         retryOnSchema,
	metav1.StatusReasonUnsupportedMediaType:  retryOnSchema,
	metav1.StatusReasonRequestEntityTooLarge: retryAfterDelay,
	metav1.StatusReasonGone:                  retryAfterDelay,
}

// failureOf sorts an error.
func failureOf(k ledger.Key, err error) claimFailure {
	var status apierrors.APIStatus
	switch {
	case meta.IsNoMatchError(err) || noKind(err):
		return claimFailure{codeUnknownKind, fmt.Sprintf("the cluster has no kind %s of this version in the group %q: %s",
			k.Kind,
			k.Group, "install its CustomResourceDefinition"), true, retryOnSchema}
	case errors.As(err, &status):
		reason, message := status.Status().Reason, err.Error()
		because, permanent := permanentReasons[reason]
		switch {
		case missingNamespace(err) != "":
			because = retryOnNamespace
		case reason == metav1.StatusReasonForbidden && (strings.Contains(message, "exceeded quota") ||
			apierrors.HasStatusCause(err, "NamespaceTerminating")):
			permanent, because = false, retryAfterDelay
		case reason == metav1.StatusReasonForbidden:
			because = retryConditionOfForbidden(message)
		case reason == metav1.StatusReasonServiceUnavailable || reason == metav1.StatusReasonTimeout ||
			reason == metav1.StatusReasonServerTimeout:
			because = retryOnContact
		case reason == "" || reason == metav1.StatusReasonUnknown:
			reason = "HTTP" + metav1.StatusReason(fmt.Sprint(status.Status().Code))
			// "field not declared in schema" of an apply has no reason but code 500
			if permanent = strings.Contains(message, "failed to create typed patch object"); permanent {
				reason, because = metav1.StatusReasonInvalid, retryOnSchema
			}
		case strings.Contains(message, "failed to create typed patch object"):
			permanent, because = true, retryOnSchema
		}
		if k.IsSecret() && because == retryOnSchema {
			message = withoutValues(status)
		}
		return claimFailure{string(reason), message, permanent, because}
	case errors.Is(err, context.DeadlineExceeded):
		return claimFailure{codeTimeout, "the API server did not answer in time", false, retryOnContact}
	case isUnreachable(err):
		return claimFailure{codeUnreachable, err.Error(), false, retryOnContact}
	}
	return claimFailure{"Error", err.Error(), false, retryAfterDelay}
}

// withoutValues says what is wrong with a Secret: the API server's words may quote it.
func withoutValues(status apierrors.APIStatus) string {
	var fields []string
	if d := status.Status().Details; d != nil {
		for _, cause := range d.Causes {
			if cause.Field != "" {
				fields = append(fields, cause.Field+" ("+string(cause.Type)+")")
			}
		}
	}
	if len(fields) == 0 {
		return "the API server rejects it; its message may quote the Secret, and is not kept"
	}
	return "the API server does not take " + strings.Join(fields, ", ")
}

// retryConditionOfForbidden tells what the API server does not let the worker do from what its admission plugins do not
// let anybody do, which no access changes. It has one reason for both.
func retryConditionOfForbidden(message string) retryCondition {
	if strings.Contains(message, ": User \"") && strings.Contains(message, " cannot ") {
		return retryOnAccess
	}
	return retryAfterDelay
}

func (d decision) asFailure() claimFailure {
	f := claimFailure{d.code, d.message, d.permanent, retryAfterDelay}
	if d.action == doWait {
		f.retryOn = retryOnDeletion
	}
	return f
}
