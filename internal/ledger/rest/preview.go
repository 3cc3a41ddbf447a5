package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

func registerPreviews(s *server, api huma.API) {
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/preview", Summary: "Preview change",
		Description: "What the change would do in the proxies of each cluster. Nothing is written. Who may not read all " +
			"objects of a target gets the digest, and no report.", Metadata: map[string]any{largeKey: true,
			checkKey: anyOf(ledger.MayPropose, ledger.MayWrite, ledger.MayDelete, ledger.MayRollback)}}, s.postPreview)
}

type onePreview struct{ Body wire.Preview }

func (s *server) postPreview(ctx context.Context, in *struct{ Body wire.Draft }) (*onePreview, error) {
	d, err := s.draftFromBody(ctx, in.Body, "")
	if err != nil {
		return nil, err
	}
	if err := s.mayStated(ctx, d, s.mayPreview); err != nil {
		return nil, err
	}
	if d, err = s.prepareDraft(ctx, d, s.mayPreview); err != nil {
		return nil, err
	}
	p, err := s.askPreview(ctx, d)
	if err == nil {
		p, err = s.seenPreview(ctx, p)
	}
	return &onePreview{p}, err
}

// seenPreview is a preview as the caller may see it. A report tells of requests and objects of all namespaces, so it is
// shown to who may read all objects of its target; a commit can be bound to it also by others.
func (s *server) seenPreview(ctx context.Context, p wire.Preview) (wire.Preview, error) {
	p.Clusters = slices.Clone(p.Clusters)
	for i := range p.Clusters {
		c := &p.Clusters[i]
		ok, err := s.isAllowed(ctx, ledger.MayRead, ledger.Key{Target: c.Target})
		if err != nil {
			return p, err
		}
		if !ok && c.NotPreviewed == "" {
			c.Report, c.Text = nil, "not shown: it needs a grant to read all objects of target "+c.Target+"\n"
		}
	}
	return p, nil
}

// mayPreview lets a caller ask what a change would do if they may propose or make it.
func (s *server) mayPreview(ctx context.Context, d ledger.Draft) error {
	if err := s.mayCompare(ctx, d); err != nil {
		return err
	}
	for _, e := range d.Edits {
		ok, err := s.isAllowed(ctx, ledger.MayPropose, e.Key)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		one := d
		one.Edits = []ledger.Edit{e}
		if err := s.mayDraft(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) askPreview(ctx context.Context, d ledger.Draft) (wire.Preview, error) {
	if s.Preview == nil {
		return wire.Preview{}, notAsked
	}
	end, err := s.acquireSlot(ctx, Previews)
	if err != nil {
		return wire.Preview{}, err
	}
	defer end()
	return s.Preview.Preview(ctx, d)
}

var notAsked = &ledger.Error{Code: ledger.NotAsked, Message: "this server can't ask proxies for previews",
	Fix: "start it beside proxies, or register clusters with their admin address"}

// commitPreviewed makes a change only if it would still do what its preview said. If it would not, the problem has the
// preview as it is now.
func (s *server) commitPreviewed(ctx context.Context, d ledger.Draft, digest string) (ledger.Change, error) {
	if out, ok, err := s.findRepeated(ctx, d.Request, changesWithin(d)); ok || err != nil {
		if err != nil {
			return ledger.Change{}, err
		}
		return out.Body, nil
	}
	if s.Preview == nil {
		return ledger.Change{}, notAsked
	}
	if err := s.mayCompare(ctx, d); err != nil {
		return ledger.Change{}, err
	}
	end, err := s.acquireSlot(ctx, Previews)
	if err != nil {
		return ledger.Change{}, err
	}
	defer end()
	c, now, err := s.Preview.CommitPreviewed(ctx, d, digest)
	if e, ok := errors.AsType[*ledger.Error](err); ok && e.Code == ledger.Conflict && now.Digest != digest {
		if now, err = s.seenPreview(ctx, now); err != nil {
			return c, err
		}
		p := wire.ProblemOf(e)
		p.Field, p.Preview = "ifPreview", &now
		err = p
	}
	return c, err
}
