package standalone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/internal/app/ledgerlive"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/source/files"
	"cardea.dev/cardea/internal/source/ledgerfeed"
	"cardea.dev/cardea/internal/source/validcache"
)

// newSource opens what the objects are read from. The caller calls end when nothing of it runs any more.
func newSource(ctx context.Context, o Options, w *world.World) (objects objectSource, end func() error, err error) {
	if o.Ledger.URL == "" {
		folder, err := newFolder(o, w, nil)
		return folderSource{folder}, func() error { return nil }, err
	}
	if o.Dir != "" {
		return nil, nil, errors.New("name either a folder, or a ledger with --ledger, not both")
	}
	l, err := openLedger(ctx, o, w)
	if err != nil {
		return nil, nil, err
	}
	return l, l.store.Close, nil
}

// ledgerSource is a ledger as a source.
type ledgerSource struct {
	*ledgerfeed.Feed
	store   *store.Store
	tracker *ledgerlive.Tracker
}

func openLedger(ctx context.Context, o Options, w *world.World) (*ledgerSource, error) {
	if strings.HasPrefix(o.Ledger.URL, "http://") || strings.HasPrefix(o.Ledger.URL, "https://") {
		return nil, errors.New("--ledger: proxies are served from the database itself: a file, or " +
			"postgres://USER@HOST/DATABASE")
	}
	db, err := store.Open(ctx, store.Config{URL: o.Ledger.URL, KeyFile: o.Ledger.KeyFile, Log: o.logOrDiscard()})
	if err != nil {
		return nil, err
	}
	target := cmp.Or(o.Ledger.Target, ledger.DefaultTarget)
	name := o.Ledger.Name
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			err = fmt.Errorf("find the host's name: %w; state another one with --ledger-name", err)
			return nil, errors.Join(err, db.Close())
		}
	}
	if err := servedByProxies(ctx, db, target); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &ledgerSource{store: db}
	rules := schema.New(w.Sources.Catalog)
	s.Feed = ledgerfeed.New(ledgerfeed.Config{
		Ledger: db, Target: target, Sources: w.Sources.Sources, Graph: w.Graph, Schema: rules,
		Cache: validcache.New(o.CacheDir, "ledger "+publicURL(o.Ledger.URL)+" "+target, rules),
		Log:   o.logOrDiscard(), OnApplied: func(list []ledger.Object) { s.tracker.AddPending(list) },
	})
	s.tracker = ledgerlive.New(ledgerlive.Config{World: w, Ledger: db, Target: target, Cluster: name,
		WhyNotTaken: s.WhyNotTaken,
		Log:         o.logOrDiscard()})
	return s, nil
}

// publicURL is a ledger's URL without a password.
func publicURL(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		u.User = url.User(u.User.Username())
		return u.String()
	}
	if path, err := filepath.Abs(address); err == nil && !strings.Contains(address, "://") {
		return path
	}
	return address
}

// servedByProxies returns an error unless it is Cardeas themselves that read the objects of a target.
func servedByProxies(ctx context.Context, l ledger.Registry, name string) error {
	targets, err := l.Targets(ctx)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if t.Name == name && t.Server == ledger.Proxies {
			return nil
		}
		if t.Name == name {
			return fmt.Errorf("target %s of the ledger is applied to clusters; this program serves targets of server %s only",
				name, ledger.Proxies)
		}
	}
	return fmt.Errorf("the ledger has no target %s", name)
}

// Problems are the problems of the feed, in the form of a folder's problems. The change that made an object takes the
// place of its file.
func (s *ledgerSource) Problems() (list []files.Problem) {
	for _, p := range s.Feed.Problems() {
		list = append(list, files.Problem{File: changeName(p.Change), Object: p.Object, Ref: p.Ref, Field: p.Field,
			Message: p.Message, Severity: p.Severity, Stale: p.Stale})
		for _, closed := range p.Closes {
			list = append(list, files.Problem{
				File: changeName(p.Change), Object: p.Object, Ref: p.Ref, Message: closed, Closes: true,
			})
		}
	}
	return list
}

// OutdatedObjects are the objects that serve in an older version than the one in the ledger, with why.
func (s *ledgerSource) OutdatedObjects() map[model.ObjectRef]string {
	older := map[model.ObjectRef]string{}
	for _, p := range s.Feed.Problems() {
		if p.Stale {
			older[p.Ref] = "the newest version is not used: " + p.Message
		}
	}
	return older
}

func (s *ledgerSource) newLocator() locateFunc {
	return func(ref model.ObjectRef, _ string) files.Position {
		return files.Position{File: changeName(s.ChangeOf(ref))}
	}
}

func changeName(number int64) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("change %d", number)
}

// trackObjects tells the ledger what is live, and removes what is old from it, until ctx is done.
func (s *ledgerSource) trackObjects(proxies ledgerlive.Proxies) func(context.Context) error {
	s.tracker.Proxies = proxies
	return func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return s.tracker.Run(ctx) })
		group.Go(func() error { return s.store.Run(ctx, store.Retention{}) })
		return group.Wait()
	}
}

// leftOut says that objects are left out of an answer.
func (s *ledgerSource) leftOut(n int) string {
	return fmt.Sprintf("objects that are not valid are left out of this answer (%d); `cardea get findings` shows them", n)
}
