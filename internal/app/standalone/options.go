package standalone

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/workload"
	"cardea.dev/cardea/internal/ops/admin"
)

// Options say what to run, check or translate, and how.
type Options struct {
	Dialects   []dataplane.Dialect // the data planes, at least one
	Extensions []world.Extension   // kinds that are read besides Cardea's own
	Dir        string              // the folder of objects; "": they are in a ledger
	Ledger     LedgerOptions       // for Run only
	Namespace  string              // of objects that state none; "": "default"
	// ProxyProgram is the path of the proxy's program to run; "" looks for one, see process.Find.
	ProxyProgram string
	Memory       int64    // that each proxy may take, in bytes; 0: no bound
	PortOffset   int      // added to every listener's port to get the port to bind
	Bind         []string // IP addresses that ListGateways bind where they state none
	// Pickers: a picker runs for each InferencePool that names none, as `PickerProgram picker`. "" is this executable.
	Pickers       bool
	PickerProgram string
	// TrustDomain is the trust domain of ServiceAccounts' SPIFFE IDs; "": model.DefaultTrustDomain.
	TrustDomain string
	// Identities are the identities that programs on this machine get certificates for; IdentityBundle is the file that
	// gets their ClusterTrustBundle, "" for none.
	Identities     []workload.Identity
	IdentityBundle string
	Admin          string       // host:port of the admin API
	AdminAccess    admin.Access // who may ask it
	Probes         string       // host:port of health, readiness and metrics; "": none
	WorkDir        string       // for the proxies' sockets and bootstraps; "" makes a temporary one
	// ConfigMapSync is the time between the steps of an edit of files that proxies read by themselves.
	ConfigMapSync time.Duration
	Strict        bool   // Run does not start if something of the folder can't be read
	AccessLog     string // the file that proxies log requests to; "": none
	CacheDir      string // what Run remembers for the next run; "" is the user's cache folder
	Log           *slog.Logger
	OnAdmin       func(addr string) // is called with the address of the admin API; nil: not called
	// CheckBeside, if not nil, tells Check what is wrong with the folder's objects beside other objects: those of a
	// cluster.
	CheckBeside func(context.Context, []input.ObjectContent) ([]model.Finding, error)
	Unchecked   bool // for tests: see gateway.Options
	// machine: the proxies run on this machine, or would.
	machine bool
	Budgets model.Budgets // of what is rendered for a Gateway; the zero Budgets bound nothing
}

// LedgerOptions say which ledger has the objects.
type LedgerOptions struct {
	URL     string // a file, or postgres://...; "": none
	KeyFile string // that Secrets are sealed with; "": the store's default
	Target  string // the target to serve; "": ledger.DefaultTarget
	Name    string // this Cardea's name in the ledger; "": the host's name
}

// logOrDiscard is the logger of the options; nil discards.
func (o Options) logOrDiscard() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// cacheFolder is the folder in which Run keeps data between runs; "" if this user has no cache folder.
func (o Options) cacheFolder() string {
	if o.CacheDir != "" {
		return o.CacheDir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cardea")
}

// newWorld makes a world for proxies of a version; "" means the version that Cardea is made for. See
// world.Config.NoPods.
func newWorld(o Options, version string, noPods bool) *world.World {
	environment := model.Environment{
		Version: cmp.Or(version, o.Dialects[0].Version), PortOffset: int32(o.PortOffset), Addresses: slices.Clone(o.Bind),
		AccessLog: o.AccessLog, TrustDomain: o.TrustDomain, Pickers: o.Pickers, Machine: o.machine,
	}
	return world.New(world.Config{
		Dialects: o.Dialects, Extensions: o.Extensions, Log: o.logOrDiscard(), Unchecked: o.Unchecked,
		Environment: environment,
		Budgets:     o.Budgets, NoPods: noPods,
	})
}
