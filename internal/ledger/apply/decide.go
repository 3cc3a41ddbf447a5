package apply

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/ledger"
)

// Codes of failures that no API server answers.
const (
	codeExists      = "Exists"          // an object that is not the ledger's
	codeAhead       = "ClusterIsAhead"  // the cluster has a later generation than the ledger
	codeUnknownKind = "UnknownKind"     // the cluster has no such kind
	codeScope       = "WrongScope"      // a namespace is missing, or one too many
	codeTimeout     = "Timeout"         // the API server did not answer in time
	codeUnreachable = "Unreachable"     // there is no connection to the API server
	codeConflict    = "Conflict"        // the object changed each time between read and write
	codeUnreadable  = "UnreadableState" // the content in the ledger is not JSON
)

// move is what is done about a claim.
type move int

// The moves.
const (
	doWrite  move = iota // apply the content, fenced by what was read
	doKeep               // it is there already
	doRemove             // delete the object
	doOrphan             // take the ledger's marks from the object, and leave it
	doGone               // it is not there, or not the ledger's, and should not be
	doWait               // until the cluster has finished something
	doRefuse             // say why not
)

// decision is what is done about a claim, and why it is refused or waits.
type decision struct {
	move
	code, message string
	permanent     bool
}

// decider knows what decisions depend on, beside the claim and the object.
type decider struct {
	exact      bool // see exactKind
	fromLedger bool // the ledger counts where the cluster is ahead
}

// decide is what is to be done about a claim, by the object as it is in the cluster; nil: it is not there. want is the
// content with its marks; nil of a deleted object.
func (d decider) decide(c ledger.Claim, want map[string]any, live *unstructured.Unstructured) decision {
	switch {
	case live == nil && c.IsDeleted():
		return decision{move: doGone}
	case live == nil:
		return decision{move: doWrite}
	}
	id := live.GetAnnotations()[ledger.ObjectAnnotation]
	applied := c.Applied != nil && c.Applied.UID != "" && c.Applied.UID == string(live.GetUID())
	ours := id == c.ID || applied && id == ""
	ahead := generationOf(live)
	switch {
	case id == c.ID && ahead > c.Generation && !d.fromLedger:
		return decision{doRefuse, codeAhead, fmt.Sprintf("the cluster has generation %d of it, the ledger only %d: the "+
			"ledger was restored from an older copy; nothing is applied until it is said which of them counts", ahead,
			c.Generation), true}
	case c.IsDeleted() && !ours:
		return decision{move: doGone}
	case live.GetDeletionTimestamp() != nil && (ours || !c.IsDeleted()):
		return decision{doWait, ledger.Waiting, terminating(live), false}
	case c.IsDeleted() && c.Target.Retain:
		return decision{move: doOrphan}
	case c.IsDeleted():
		return decision{move: doRemove}
	case !ours:
		return d.existing(c, live)
	case holds(live, want, d.exact):
		return decision{move: doKeep}
	}
	return decision{move: doWrite}
}

// existing decides about an object that the ledger has not made.
func (d decider) existing(c ledger.Claim, live *unstructured.Unstructured) decision {
	owner := ownerOf(live)
	switch {
	case c.Target.Existing == ledger.ExistingOverwrite:
		return decision{move: doWrite}
	case c.Target.Existing == ledger.ExistingAdopt && owner == "":
		return decision{move: doWrite}
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

// terminating says what a deletion waits for.
func terminating(live *unstructured.Unstructured) string {
	if f := live.GetFinalizers(); len(f) > 0 {
		return "is being deleted, and waits for its finalizers: " + strings.Join(f, ", ")
	}
	return "is being deleted"
}
