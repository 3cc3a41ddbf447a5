package rest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Prefix is where all paths begin.
const Prefix = "/ledger/v1"

// Config is what the API is made of.
type Config struct {
	Ledger  ledger.Ledger
	Callers Callers
	// Kind finds the kind that a word without a group means; nil: a kind of the core group.
	Kind func(word string) (group, kind string, known bool)
	// Groups finds the groups of a kind that a grant names without its group; nil: those of Kubernetes' own kinds.
	Groups  func(kind string) []string
	Admit   Admitter  // nil: every object is admitted
	Preview Previewer // nil: previews are answered with NotAsked
	// Proposer previews and commits proposals; nil: proposing and committing them is answered with NotAsked.
	Proposer Proposer
	Limits   *Limits // nil: its own
	Log      *slog.Logger
	Version  string // of the program, for the OpenAPI document
	// Heartbeat is how often a watch that has nothing to send sends a comment, and asks whether its caller is still
	// known; 0: 15 s.
	Heartbeat time.Duration
	// Unknown, if not nil, is called for each request from an unknown caller. Such requests are counted and not noted:
	// else anybody could fill the disk.
	Unknown func()
}

// Callers knows who asks, and what they may do.
type Callers interface {
	// Caller identifies the sender of a request; an error of code Unknown if that is nobody known.
	IdentifyCaller(r *http.Request) (ledger.Caller, error)
	May(ctx context.Context, c ledger.Caller, p ledger.Permission, k ledger.Key) (bool, error)
	// MayAny tells whether a caller may have one of some permissions for some object.
	MayAny(ctx context.Context, c ledger.Caller, list ...ledger.Permission) (bool, error)
}

// Admitter checks objects before a change is made of them, and fills in defaults.
type Admitter interface {
	// Admit answers the draft to commit; errors of code Invalid name object and field.
	Admit(ctx context.Context, d ledger.Draft) (ledger.Draft, error)
}

// Previewer asks what a draft would do in the proxies.
type Previewer interface {
	Preview(ctx context.Context, d ledger.Draft) (wire.Preview, error)
	// CommitPreviewed commits a draft if it still does what the preview of a digest said: else Conflict, or NotAsked. It
	// answers the preview as it is now, too.
	CommitPreviewed(ctx context.Context, d ledger.Draft, bound string) (ledger.Change, wire.Preview, error)
}

// server is the API. Its fields are set by New.
type server struct {
	Config
	mux     *http.ServeMux
	openapi []byte // the document
	// redactionKey keys the digests that stand in place of Secrets' values. Each process has its own, so that nobody can
	// find out a value by computing digests of likely ones.
	redactionKey [32]byte
}

// New makes the API. It starts nothing.
func New(c Config) (http.Handler, error) {
	s := &server{Config: c, mux: http.NewServeMux()}
	if s.Heartbeat == 0 {
		s.Heartbeat = heartbeat
	}
	if s.Limits == nil {
		s.Limits = NewLimits(0)
	}
	if s.Groups == nil {
		s.Groups = auth.KindGroups
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if _, err := rand.Read(s.redactionKey[:]); err != nil {
		return nil, err
	}
	api := s.newAPI()
	for _, add := range []func(*server, huma.API){registerObjects, registerLists, registerChanges, registerBack,
		registerPreviews, registerWatch, registerStatuses, registerClusters,
		registerWork, registerWorker, registerAccess, registerProposals} {
		add(s, api)
	}
	text, err := json.Marshal(publishDocument(api))
	if err != nil {
		return nil, err
	}
	s.openapi = text
	return s, nil
}
