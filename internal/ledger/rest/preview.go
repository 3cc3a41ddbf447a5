package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// previewTries is how often a bound change is previewed again because the ledger moved on meanwhile.
const previewTries = 3

func previews(s *server, api huma.API) {
	handle(s, api, huma.Operation{Method: http.MethodPost, Path: "/preview", Summary: "Preview change",
		Description: "What the change would do in the proxies of each cluster. Nothing is written."}, s.postPreview)
}

type onePreview struct{ Body wire.Preview }

func (s *server) postPreview(ctx context.Context, in *struct{ Body wire.Draft }) (*onePreview, error) {
	a := askedOf(ctx)
	d, err := draftOf(in.Body, a.caller.Subject, a.agent, "")
	if err != nil {
		return nil, err
	}
	if err := s.mayPreview(ctx, d); err != nil {
		return nil, err
	}
	if d, err = s.admit(ctx, d, s.mayPreview); err != nil {
		return nil, err
	}
	p, err := s.preview(ctx, d)
	return &onePreview{p}, err
}

// mayPreview: who may propose or make a change may ask what it would do.
func (s *server) mayPreview(ctx context.Context, d ledger.Draft) error {
	for _, e := range d.Edits {
		ok, err := s.lets(ctx, ledger.MayPropose, e.Key)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		one := d
		one.Edits = []ledger.Edit{e}
		if err := s.mayDraft(ctx, one, false); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) preview(ctx context.Context, d ledger.Draft) (wire.Preview, error) {
	if s.Preview == nil {
		return wire.Preview{}, &ledger.Error{Code: ledger.NotAsked, Message: "this server can't ask proxies for previews",
			Fix: "start it beside proxies, or register clusters with their admin address"}
	}
	return s.Preview.Preview(ctx, d)
}

// commitPreviewed makes a change only if it would still do what its preview said, in clusters that could all be asked.
// The commit is bound to the change that the ledger was at then: whatever comes in between has it previewed again.
func (s *server) commitPreviewed(ctx context.Context, d ledger.Draft, digest string) (ledger.Change, error) {
	if out, ok, err := s.repeated(ctx, d.Request, within(d)); ok || err != nil {
		if err != nil {
			return ledger.Change{}, err
		}
		return out.Body, nil
	}
	wanted := d.Head
	for try := 1; ; try++ {
		now, err := s.preview(ctx, d)
		if err != nil {
			return ledger.Change{}, err
		}
		for _, c := range now.Clusters {
			if c.NotPreviewed != "" {
				return ledger.Change{}, &ledger.Error{Code: ledger.NotAsked, Object: "cluster " + c.Cluster,
					Message: "could not be asked for a preview: " + c.NotPreviewed,
					Fix:     "make it reachable, or commit without ifPreview"}
			}
		}
		if now.Digest != digest {
			p := wire.ProblemOf(&ledger.Error{Code: ledger.Conflict, Field: "ifPreview",
				Message: "the change would do something else now than the preview said",
				Fix:     "look at the new preview, and commit with its digest"})
			p.Preview = &now
			return ledger.Change{}, p
		}
		if wanted == 0 {
			d.Head = now.Head
		}
		c, err := s.Ledger.Commit(ctx, d)
		if ledger.CodeOf(err) != ledger.Conflict || wanted != 0 || try == previewTries {
			return c, err
		}
	}
}
