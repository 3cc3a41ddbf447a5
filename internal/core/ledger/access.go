package ledger

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Access keeps who may do what, and who was not let. It is asked by who answers requests (package rest), not by Writer:
// who can open the database may do everything.
type Access interface {
	Tokens(ctx context.Context) ([]Token, error) // without their hashes
	// Token finds a token that has not expired by its hash; NotFound.
	Token(ctx context.Context, hash string) (Token, error)
	SetToken(ctx context.Context, t Token, by string) error
	DeleteToken(ctx context.Context, name, by string) error
	Grants(ctx context.Context) ([]Grant, error)
	SetGrant(ctx context.Context, g Grant, by string) error
	DeleteGrant(ctx context.Context, name, by string) error
	// Deny notes that somebody was not let do something. Denials are chained as changes are.
	Deny(ctx context.Context, d Denial) error
	Denials(ctx context.Context, q Page) ([]Denial, error)
	// RegistryLog lists who set or deleted targets, clusters, tokens and grants, the newest first.
	RegistryLog(ctx context.Context, q Page) ([]RegistryEntry, error)
	// Verify computes all digests anew: of changes, contents, denials and the registry's log.
	Verify(ctx context.Context) (Verification, error)
}

// Token lets its bearer be somebody.
type Token struct {
	Name    string    `json:"name"`
	Subject string    `json:"subject"`           // who the bearer is
	Groups  []string  `json:"groups,omitempty"`  // that the bearer is in
	Cluster string    `json:"cluster,omitempty"` // if not "", the bearer is this cluster's worker and nothing else
	Hash    string    `json:"-"`                 // SHA-256 of the token, in hexadecimal digits
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// Permission is what a caller may do.
type Permission string

// The permissions.
const (
	MayRead     Permission = "read"
	MayWrite    Permission = "write"  // create and change
	MayDelete   Permission = "delete" //
	MayRollback Permission = "rollback"
	MayHold     Permission = "hold" // hold and release
	MayPropose  Permission = "propose"
	MayApprove  Permission = "approve"
	MayAdmin    Permission = "admin" // targets, clusters, tokens and grants
)

// MayCreate and MayChange are the halves of MayWrite: for what is not there, and for what is. A grant gives both;
// another authority may tell them apart.
const (
	MayCreate Permission = "create"
	MayChange Permission = "change"
)

// Permissions are all that grants give.
var Permissions = []Permission{MayRead, MayWrite, MayDelete, MayRollback, MayHold, MayPropose, MayApprove, MayAdmin}

// Describe says in messages what a permission is for.
func (p Permission) Describe() string {
	return map[Permission]string{
		MayRead: "read it", MayWrite: "write it", MayDelete: "delete it",
		MayRollback: "undo or roll back its changes", MayHold: "hold or release it",
		MayPropose: "propose changes of it", MayApprove: "approve changes of it", MayAdmin: "administer the ledger",
	}[p]
}

// Grant lets subjects do something. In each list, "*" is all; an empty list of kinds, namespaces or targets is all,
// too.
type Grant struct {
	Name        string       `json:"name"`
	Subjects    []string     `json:"subjects"` // "alice", "group:platform", or "*" for everybody who is known
	Permissions []Permission `json:"permissions"`
	// Kinds are "Deployment.apps"; without a group, of Kubernetes' core ("Service"). The reader of a grant adds the group
	// if people left it out (package auth).
	Kinds      []string `json:"kinds,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Targets    []string `json:"targets,omitempty"`
}

// Caller is who asks.
type Caller struct {
	Subject string
	Groups  []string
	Cluster string // see Token
	All     bool   // may do everything: who can open the database
}

// AllowsObject tells whether a grant lets a caller do something with an object. A key without a name stands for all
// objects of what its other fields say: Key{} for all there are. A caller with rights to some objects only is no
// administrator, whatever the grant says.
func (g Grant) AllowsObject(c Caller, p Permission, k Key) bool {
	if !g.HasPermission(c, p) {
		return false
	}
	if p == MayAdmin {
		return isAll(g.Kinds) && isAll(g.Namespaces) && isAll(g.Targets)
	}
	if k.Name == "" && k.Namespace == "" && !isAll(g.Namespaces) {
		return false
	}
	return listContains(g.Kinds, k.kindName()) && listContains(g.Namespaces, k.Namespace) && listContains(g.Targets,
		k.Target)
}

// HasPermission tells whether a grant gives a caller a permission, for whatever objects.
func (g Grant) HasPermission(c Caller, p Permission) bool {
	named := slices.ContainsFunc(g.Subjects, func(s string) bool {
		group, isGroup := strings.CutPrefix(s, "group:")
		return s == "*" || isGroup && slices.Contains(c.Groups, group) || !isGroup && s != "" && s == c.Subject
	})
	if p == MayCreate || p == MayChange {
		p = MayWrite
	}
	return named && (slices.Contains(g.Permissions, p) || slices.Contains(g.Permissions, "*"))
}

func listContains(list []string, word string) bool { return isAll(list) || slices.Contains(list, word) }

func isAll(list []string) bool { return len(list) == 0 || slices.Contains(list, "*") }

// Denial is an attempt that was refused for who made it.
type Denial struct {
	Number     int64      `json:"number"`
	At         time.Time  `json:"at"`
	Subject    string     `json:"subject"`
	Permission Permission `json:"permission"`
	Object     string     `json:"object,omitempty"`
	Request    string     `json:"request"` // "PUT /ledger/v1/..."
	// Missed is how many denials of the subject were not noted since the one before: they were the same, or too many.
	Missed int64  `json:"missed,omitempty"`
	Digest string `json:"digest"`
}

// RegistryEntry is an edit of the registry. Entries are chained as changes are, and never removed.
type RegistryEntry struct {
	Number int64           `json:"number"`
	At     time.Time       `json:"at"`
	By     string          `json:"by"`
	Object string          `json:"object"`          // "Target prod", "Cluster east", "Token ci", "Grant writers"
	Value  json.RawMessage `json:"value,omitempty"` // that it was set to; none: it was deleted
	Digest string          `json:"digest"`
}

// Verification is what Verify found.
type Verification struct {
	Changes  int64  `json:"changes"` // those with a digest that was computed
	Contents int64  `json:"contents"`
	Denials  int64  `json:"denials"`
	Registry int64  `json:"registry"` // entries of the registry's log
	Digest   string `json:"digest"`   // of the newest change: to be compared with one that was noted elsewhere
	// Wrong says what is not as the ledger wrote it; empty: nothing.
	Wrong []string `json:"wrong,omitempty"`
	// Unchecked says what could not be checked, and why: contents of Secrets without the key file. "": all was.
	Unchecked string `json:"unchecked,omitempty"`
}
