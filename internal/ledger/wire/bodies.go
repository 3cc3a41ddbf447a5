package wire

import (
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// Draft is the body of POST /changes and POST /preview.
type Draft struct {
	Edits     []Edit      `json:"edits,omitzero" doc:"What is wanted of each object; all of it is done or nothing"`
	Message   string      `json:"message,omitempty" maxLength:"4096" doc:"Why"`
	Via       string      `json:"via,omitempty" maxLength:"200" doc:"The program that sends it; else the User-Agent"`
	Verb      ledger.Verb `json:"verb,omitempty" enum:"apply,delete,undo,rollback,import,hold,release"`
	Of        int64       `json:"of,omitempty" minimum:"0" doc:"The change that undo and rollback are about"`
	Back      *Back       `json:"back,omitempty" doc:"In place of edits: what verb (undo, rollback) and of say goes back"`
	Head      int64       `json:"head,omitempty" minimum:"0" doc:"Refuse it if another change is the newest"`
	Release   bool        `json:"release,omitempty" doc:"End holds of the edited objects"`
	Hold      *HoldBody   `json:"hold,omitempty" doc:"Hold the edited objects from then on"`
	DryRun    bool        `json:"dryRun,omitempty" doc:"Write nothing; answer the change that it would be"`
	Deletions int         `json:"deletions,omitempty" minimum:"0" doc:"Confirms how many objects are deleted, if many are"`
	IfPreview string      `json:"ifPreview,omitempty" doc:"The digest of the preview that the change must still have"`
}

// Edit is what a Draft wants of one object. The key may be left out where the content states it.
type Edit struct {
	Target    string         `json:"target,omitempty" doc:"Else \"default\""`
	Group     string         `json:"group,omitempty"`
	Kind      string         `json:"kind,omitempty"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name,omitempty"`
	Content   ledger.Content `json:"content,omitempty" doc:"The whole object"`
	Revision  int64          `json:"revision,omitempty" minimum:"0" doc:"Go back to this revision's content"`
	Delete    bool           `json:"delete,omitempty" doc:"Delete the object"`
	Expect    *int64         `json:"expect,omitempty" minimum:"0" doc:"The generation it must have; 0: it must not be"`
}

// HoldBody is a hold as its owner states it. The server knows the owner.
type HoldBody struct {
	Why   string    `json:"why,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// EpochHeader tells a watch's epoch: see ledger.Head.
const EpochHeader = "Cardea-Epoch"

// ChangePage is a page of changes.
type ChangePage struct {
	Changes []ledger.Change `json:"changes"`
	More    bool            `json:"more,omitempty"`
	Next    int64           `json:"next,omitempty" doc:"What to send as after, for the next page"`
}

// ObjectPage is a page of objects. All pages of one list show one change.
type ObjectPage struct {
	ledger.Objects
	Next string `json:"next,omitempty" doc:"What to send as cursor, for the next page"`
}

// ObjectsQuery is the body of POST /objects/query.
type ObjectsQuery struct {
	Target    string       `json:"target,omitempty"`
	Group     string       `json:"group,omitempty"`
	Kind      string       `json:"kind,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	ID        string       `json:"id,omitempty"`
	Keys      []ledger.Key `json:"keys,omitempty"`
	At        int64        `json:"at,omitempty" minimum:"0"`
	Limit     int          `json:"limit,omitempty" minimum:"0"`
	After     *ledger.Key  `json:"after,omitempty"`
	Contents  bool         `json:"contents,omitempty"`
	Deleted   bool         `json:"deleted,omitempty"`
}

// ObjectList is the answer to an ObjectsQuery.
type ObjectList struct {
	ledger.Objects
	After *ledger.Key `json:"after,omitempty" doc:"What to send as after, for the next page"`
}

// History is what became of an object.
type History struct {
	Generations []ledger.Object `json:"generations"` // the newest first, without contents
	// Status is of the newest generation: what was tried, what failed, what is live.
	Status *ledger.Status `json:"status,omitempty"`
}

// Back is what goes back.
type Back struct {
	Objects []ObjectName `json:"objects,omitempty" doc:"Of a rollback; of a Gateway, all that belongs to it goes back"`
	Shared  bool         `json:"shared,omitempty" doc:"Also what other Gateways use"`
}

// ObjectName names an object.
type ObjectName struct {
	Target    string `json:"target,omitempty" doc:"Else \"default\""`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// UndoBody is the body of POST /changes/{number}/undo.
type UndoBody struct {
	Deletions int       `json:"deletions,omitempty" minimum:"0" doc:"How many objects are deleted, if more than 20"`
	Message   string    `json:"message,omitempty" maxLength:"4096"`
	Hold      *HoldBody `json:"hold,omitempty" doc:"Hold the objects from then on, against pipelines"`
	Release   bool      `json:"release,omitempty"`
	DryRun    bool      `json:"dryRun,omitempty"`
	IfPreview string    `json:"ifPreview,omitempty" doc:"The digest of the preview that the change must still have"`
}

// RollbackBody is the body of POST /gateways/{namespace}/{name}/rollback.
type RollbackBody struct {
	UndoBody
	To     int64  `json:"to" minimum:"1" doc:"The change after which all was as it is to be"`
	Target string `json:"target,omitempty" doc:"Else \"default\""`
	Shared bool   `json:"shared,omitempty" doc:"Also objects that other Gateways use"`
}

// Preview is what a draft would do in the proxies.
type Preview = ledger.Preview

// ClusterPreview is what a draft would do in one cluster.
type ClusterPreview = ledger.ClusterPreview

// ChangeStatus is what became of a change.
type ChangeStatus struct {
	Change  int64           `json:"change"`
	State   ledger.Stage    `json:"state" enum:"committed,applied,live,refused,superseded"`
	Why     string          `json:"why,omitempty" doc:"Who refused it, also if it is superseded, or what it waits for"`
	Objects []ledger.Status `json:"objects"`
	Hidden  int             `json:"hidden,omitempty" doc:"How many objects of it the caller may not read"`
}

// StatusQuery is the body of POST /status/query.
type StatusQuery struct {
	Change  int64        `json:"change,omitempty" minimum:"0"`
	Keys    []ledger.Key `json:"keys,omitempty"`
	Cluster string       `json:"cluster,omitempty"`
	Pending bool         `json:"pending,omitempty"`
	Limit   int          `json:"limit,omitempty" minimum:"0"`
}

// RetryBody is the body of POST /retry.
type RetryBody struct {
	Cluster string       `json:"cluster,omitempty" doc:"Else all clusters"`
	Keys    []ledger.Key `json:"keys,omitempty" doc:"Else all objects"`
}

// ClaimBody is the body of POST /clusters/{cluster}/claims.
type ClaimBody struct {
	Worker       string `json:"worker"`
	Max          int    `json:"max,omitempty" minimum:"0" maximum:"1000"`
	LeaseSeconds int    `json:"leaseSeconds,omitempty" minimum:"0" maximum:"3600"`
	// Seen is what the cluster knows of ledgers.
	Seen []ledger.Seen `json:"seen,omitempty" maxItems:"1000"`
}

// Claim is an object that a worker is to apply. Secrets travel with their values here, and only here.
type Claim struct {
	Object   ledger.Object   `json:"object"`
	Lease    int64           `json:"lease"`
	Attempts int             `json:"attempts"`
	Applied  *ledger.Applied `json:"applied,omitempty"`
	Target   ledger.Target   `json:"target"`
	Until    time.Time       `json:"until,omitzero"`
	Head     ledger.Head     `json:"head"`
	Ahead    bool            `json:"ahead,omitempty" doc:"The cluster has seen changes that the ledger does not have"`
}

// Token is a token as an administrator sees it.
type Token struct {
	Name    string    `json:"name"`
	Subject string    `json:"subject,omitempty"`
	Groups  []string  `json:"groups,omitempty"`
	Cluster string    `json:"cluster,omitempty" doc:"The token is of this cluster's worker, and lets it do nothing else"`
	Made    time.Time `json:"made,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
}

// TokenBody is the body of PUT /tokens/{name}.
type TokenBody struct {
	Subject string    `json:"subject,omitempty"`
	Groups  []string  `json:"groups,omitempty"`
	Cluster string    `json:"cluster,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// Hash is the SHA-256 of a token that the caller made. Without it, the server makes the token and answers it, once.
	Hash string `json:"hash,omitempty"`
}

// DenialBody is the body of POST /denials.
type DenialBody struct {
	Subject    string            `json:"subject"`
	Permission ledger.Permission `json:"permission"`
	Object     string            `json:"object,omitempty"`
	Request    string            `json:"request"`
	Missed     int64             `json:"missed,omitempty" minimum:"0" doc:"How many were not noted since the one before"`
}

// ReadingBody is the body of PUT /clusters/{cluster}/reads/{target}.
type ReadingBody struct {
	Instance string `json:"instance" minLength:"1" maxLength:"200" doc:"Another one after each start"`
}
