package ledger

import "encoding/json"

// Preview is what a draft would change in the proxies, before it is a change.
type Preview struct {
	// Digest names the draft and the outcome: the same draft, on the same generations, with the same report has the same
	// one. A commit can be bound to it.
	Digest string `json:"digest"`
	Head   int64  `json:"head"` // the newest change when it was made
	// State tells whether it says all that the draft would do. "": it was made by a program that did not tell.
	State PreviewState `json:"state,omitempty" enum:"Previewed,Partial,NotPreviewed"`
	// NotPreviewed names what it does not say anything about, and why.
	NotPreviewed []string         `json:"notPreviewed,omitempty"`
	Clusters     []ClusterPreview `json:"clusters"`
}

// PreviewState says how much of a draft was previewed.
type PreviewState string

// The states of previews.
const (
	Previewed       PreviewState = "Previewed" // all of it
	PartlyPreviewed PreviewState = "Partial"
	NotPreviewed    PreviewState = "NotPreviewed" // nothing of it
)

// ClusterPreview is a preview of one cluster, or of one Cardea that reads the ledger itself.
type ClusterPreview struct {
	Cluster string `json:"cluster"`
	Target  string `json:"target"`
	// Report is that of `cardea diff -o json`, and Text that of `cardea diff`.
	Report json.RawMessage `json:"report,omitempty"`
	Text   string          `json:"text,omitempty"`
	// Refused: the report has something that would be refused, and is not now.
	Refused bool `json:"refused,omitempty"`
	// NotPreviewed says why the cluster could not be asked; "": it was.
	NotPreviewed string `json:"notPreviewed,omitempty"`
}

// IsWhole tells whether all clusters were asked.
func (p Preview) IsWhole() bool {
	for _, c := range p.Clusters {
		if c.NotPreviewed != "" {
			return false
		}
	}
	return true
}
