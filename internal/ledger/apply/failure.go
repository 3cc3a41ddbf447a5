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

// failed is why a claim failed.
type failed struct {
	code, message string
	permanent     bool
	why           why
}

// why says what has to change before a failed object can succeed.
type why int

// The conditions of a retry.
const (
	time_    why = iota // nothing that could be looked for: it is tried again
	schema_             // the kind, or what it allows
	access              // what the worker may do
	space               // the namespace must be made
	contact             // the API server must be reachable
	deletion            // the object must be gone
)

// permanentReasons are answers of the API server that are the same next time. Forbidden is one unless a quota says it.
var permanentReasons = map[metav1.StatusReason]why{
	metav1.StatusReasonInvalid:               schema_,
	metav1.StatusReasonBadRequest:            schema_,
	metav1.StatusReasonForbidden:             access,
	metav1.StatusReasonMethodNotAllowed:      schema_,
	metav1.StatusReasonNotAcceptable:         schema_,
	metav1.StatusReasonUnsupportedMediaType:  schema_,
	metav1.StatusReasonRequestEntityTooLarge: time_,
	metav1.StatusReasonGone:                  time_,
}

// failureOf sorts an error.
func failureOf(k ledger.Key, err error) failed {
	var status apierrors.APIStatus
	switch {
	case meta.IsNoMatchError(err) || noKind(err):
		return failed{codeUnknownKind, fmt.Sprintf("the cluster has no kind %s of this version in the group %q: %s", k.Kind,
			k.Group, "install its CustomResourceDefinition"), true, schema_}
	case errors.As(err, &status):
		reason, message := status.Status().Reason, err.Error()
		because, permanent := permanentReasons[reason]
		switch {
		case missingNamespace(err) != "":
			because = space
		case reason == metav1.StatusReasonForbidden && (strings.Contains(message, "exceeded quota") ||
			apierrors.HasStatusCause(err, "NamespaceTerminating")):
			permanent, because = false, time_
		case reason == metav1.StatusReasonForbidden:
			because = whyForbidden(message)
		case reason == metav1.StatusReasonServiceUnavailable || reason == metav1.StatusReasonTimeout ||
			reason == metav1.StatusReasonServerTimeout:
			because = contact
		case reason == "" || reason == metav1.StatusReasonUnknown:
			reason = "HTTP" + metav1.StatusReason(fmt.Sprint(status.Status().Code))
			// "field not declared in schema" of an apply has no reason but code 500
			if permanent = strings.Contains(message, "failed to create typed patch object"); permanent {
				reason, because = metav1.StatusReasonInvalid, schema_
			}
		case strings.Contains(message, "failed to create typed patch object"):
			permanent, because = true, schema_
		}
		if k.IsSecret() && because == schema_ {
			message = withoutValues(status)
		}
		return failed{string(reason), message, permanent, because}
	case errors.Is(err, context.DeadlineExceeded):
		return failed{codeTimeout, "the API server did not answer in time", false, contact}
	case unreachable(err):
		return failed{codeUnreachable, err.Error(), false, contact}
	}
	return failed{"Error", err.Error(), false, time_}
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
		return "the API server does not take it; its words may quote the Secret, and are not kept"
	}
	return "the API server does not take " + strings.Join(fields, ", ")
}

// whyForbidden tells what the API server does not let the worker do from what its admission plugins do not let anybody
// do, which no access changes. It has one reason for both.
func whyForbidden(message string) why {
	if strings.Contains(message, ": User \"") && strings.Contains(message, " cannot ") {
		return access
	}
	return time_
}

func (d decision) failed() failed {
	f := failed{d.code, d.message, d.permanent, time_}
	if d.move == doWait {
		f.why = deletion
	}
	return f
}
