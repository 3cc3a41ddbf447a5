package apply

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/core/ledger"
)

// Codes of failures that no API server answers.
const (
	codeExists      = "Exists"          // an object that is not the ledger's
	codeAhead       = "ClusterIsAhead"  // the cluster has later changes than the ledger
	codeUnknownKind = "UnknownKind"     // the cluster has no such kind
	codeScope       = "WrongScope"      // a namespace is missing, or one too many
	codeTimeout     = "Timeout"         // the API server did not answer in time
	codeUnreachable = "Unreachable"     // there is no connection to the API server
	codeConflict    = "Conflict"        // the object changed each time between read and write
	codeUnreadable  = "UnreadableState" // the content in the ledger is not JSON
)

// action is what is done about a claim.
type action int

// The moves.
const (
	doWrite  action = iota // apply the content, fenced by what was read
	doKeep                 // it is there already
	doRemove               // delete the object
	doOrphan               // take the ledger's marks from the object, and leave it
	doGone                 // it is not there, or not the ledger's, and should not be
	doWait                 // until the cluster has finished something
	doRefuse               // say why not
)

// decision is what is done about a claim, and why it is refused or waits.
type decision struct {
	action
	code, message string
	permanent     bool
}

// restoredSuffix ends the words of why nothing is applied to a cluster that is ahead.
const restoredSuffix = " than the ledger, which was restored from an older backup; nothing is applied until you " +
	"confirm the backup with `cardea ledger restored`"

// decideClaim is what is to be done about a claim, by the object as it is in the cluster; nil: it is not there. want is
// the content with its marks; nil of a deleted object. exact: see exactKind.
func decideClaim(c ledger.Claim, want map[string]any, live *unstructured.Unstructured, exact bool) decision {
	switch {
	case live == nil && c.IsDeleted():
		return decision{action: doGone}
	case live == nil:
		return decision{action: doWrite}
	}
	id := live.GetAnnotations()[ledger.ObjectAnnotation]
	applied := c.Applied != nil && c.Applied.UID != "" && c.Applied.UID == string(live.GetUID())
	ours := id == c.ID || applied && id == ""
	switch {
	case id == c.ID && isAhead(live, c):
		return decision{doRefuse, codeAhead, fmt.Sprintf("the cluster has generation %d of change %d", generationOf(live),
			numberOf(live, ledger.ChangeAnnotation)) + ", a later one" + restoredSuffix, true}
	case c.IsDeleted() && !ours:
		return decision{action: doGone}
	case live.GetDeletionTimestamp() != nil && (ours || !c.IsDeleted()):
		return decision{doWait, ledger.Waiting, describeDeletion(live), false}
	case c.IsDeleted() && c.Target.Retain:
		return decision{action: doOrphan}
	case c.IsDeleted():
		return decision{action: doRemove}
	case !ours:
		return decideExisting(c, live)
	case hasContent(live, keepEpoch(want, live), exact):
		return decision{action: doKeep}
	}
	return decision{action: doWrite}
}

// decideExisting decides about an object that the ledger has not made.
func decideExisting(c ledger.Claim, live *unstructured.Unstructured) decision {
	owner := ownerOf(live)
	switch {
	case c.Target.Existing == ledger.ExistingOverwrite:
		return decision{action: doWrite}
	case c.Target.Existing == ledger.ExistingAdopt && owner == "":
		return decision{action: doWrite}
	}
	message := "exists already"
	if owner != "" {
		message += ", and belongs to " + owner
	}
	if names := managersOf(live); len(names) > 0 {
		message += ", written by " + strings.Join(names, ", ")
	}
	fix := "; have the target adopt or overwrite what exists, or delete it"
	if c.Target.Existing == ledger.ExistingAdopt {
		fix = "; have the target overwrite what exists, or take it from its owner first"
	}
	return decision{doRefuse, codeExists, message + fix, true}
}

// describeDeletion says what a deletion waits for.
func describeDeletion(live *unstructured.Unstructured) string {
	if f := live.GetFinalizers(); len(f) > 0 {
		return "is being deleted, and waits for its finalizers: " + strings.Join(f, ", ")
	}
	return "is being deleted"
}
