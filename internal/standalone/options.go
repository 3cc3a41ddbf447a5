package standalone

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/process"
	"cardea.dev/cardea/internal/world"
)

// Options say what to run, check or translate, and how.
type Options struct {
	Dir        string   // the folder of objects
	Envoy      string   // path of the Envoy to run; "" searches one, see process.Find
	PortOffset int      // added to every listener's port to get the port to bind
	Bind       []string // IP addresses to bind for Gateways without spec.addresses
	Admin      string   // host:port of the admin API
	WorkDir    string   // for the proxies' sockets and bootstrap files; "" means a temporary folder
	CacheDir   string   // what Run keeps for the next run; "" means the user's cache folder
	Log        *slog.Logger
	OnAdmin    func(addr string) // is called with the address of the admin API; nil: not called
	Unchecked  bool              // for tests: see gateway.Options
}

// logger is the logger of the options; nil discards.
func (o Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// remembering is the folder in which Run keeps data between runs; "" if this user has no cache folder.
func (o Options) remembering() string {
	if o.CacheDir != "" {
		return o.CacheDir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cardea")
}

// newWorld makes a world for proxies of a version; "" means the Envoy version that Cardea is made for.
func newWorld(o Options, version string) *world.World {
	return world.New(world.Config{Log: o.logger(), Unchecked: o.Unchecked, Environment: model.Environment{
		Version: cmp.Or(version, process.EnvoyVersion), PortOffset: int32(o.PortOffset), Addresses: slices.Clone(o.Bind),
	}})
}
