// Package ledgerpreview asks running Cardeas what a draft would change in their proxies, before it is a change of the
// ledger.
//
//	Draft --edits of each target--> diff.Edit --each Cardea of the target--> diff.Report --digest--> ledger.Preview
//
// It owns what a draft is to a diff, and what a commit is bound to. It must never know how a Cardea is reached
// (CardeaAdmin says it), nor databases. A Previewer may be used by many goroutines. Start reading at Previewer.Preview.
package ledgerpreview

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ops/diff"
)

// CardeaAdmin is a Cardea that can be asked, or one that can't.
type CardeaAdmin struct {
	Cluster string
	// Diff tells what an edit would change; nil: it can't be asked, and Why says why not.
	Diff func(ctx context.Context, e diff.Edit) (diff.Report, error)
	Why  string
}

// Ledger is what a Previewer needs of one.
type Ledger interface {
	ledger.Reader
	ledger.Writer
	ledger.Proposals
}

// Previewer makes previews.
type Previewer struct {
	Ledger Ledger
	// IsRead tells whether Cardea reads objects of a kind; others change nothing in proxies.
	IsRead func(ledger.Key) bool
	// CardeasOf lists the Cardeas that serve a target.
	CardeasOf func(ctx context.Context, target string) ([]CardeaAdmin, error)
	Log       *slog.Logger // of what went wrong with a Cardea that was asked; nil: none
}

// Preview tells what a draft would change. A Cardea that does not answer is in the preview, with why.
func (p *Previewer) Preview(ctx context.Context, d ledger.Draft) (ledger.Preview, error) {
	head, err := p.Ledger.Head(ctx)
	if err != nil {
		return ledger.Preview{}, err
	}
	made := ledger.Preview{Head: head.Change, Clusters: []ledger.ClusterPreview{}}
	edits, base, err := p.diffEdits(ctx, d)
	if err != nil {
		return ledger.Preview{}, err
	}
	for _, target := range slices.Sorted(eachTarget(edits)) {
		asked, err := p.CardeasOf(ctx, target)
		if err != nil {
			return ledger.Preview{}, err
		}
		for _, a := range asked {
			made.Clusters = append(made.Clusters, p.previewCluster(ctx, a, target, edits[target]))
		}
	}
	made.Digest = digestPreview(d, base, made.Clusters)
	made.State, made.NotPreviewed = p.previewState(d, made.Clusters)
	return made, nil
}

// previewState tells how much of a draft was previewed, and what was not: objects of kinds that change nothing in
// proxies as far as Cardea knows, and clusters that could not be asked.
func (p *Previewer) previewState(d ledger.Draft, clusters []ledger.ClusterPreview) (ledger.PreviewState, []string) {
	unread := map[string]int{}
	for _, e := range d.Edits {
		if !p.IsRead(e.Key) {
			unread[strings.TrimSuffix(e.Kind+"."+e.Group, ".")]++
		}
	}
	var not []string
	for _, kind := range slices.Sorted(maps.Keys(unread)) {
		not = append(not, fmt.Sprintf("objects of kind %s (%d): Cardea does not read them", kind, unread[kind]))
	}
	asked := 0
	for _, c := range clusters {
		if c.NotPreviewed == "" {
			asked++
			continue
		}
		not = append(not, c.Cluster+": "+c.NotPreviewed)
	}
	switch {
	case len(not) == 0:
		return ledger.Previewed, nil
	case asked == 0:
		return ledger.NotPreviewed, not
	}
	return ledger.PartlyPreviewed, not
}

// diffEdits are what the draft is to a diff, by target, and the generations that it is based on.
func (p *Previewer) diffEdits(ctx context.Context, d ledger.Draft) (map[string]diff.Edit, map[ledger.Key]int64, error) {
	all := make([]ledger.Key, 0, len(d.Edits))
	for _, e := range d.Edits {
		all = append(all, e.Key)
	}
	now, err := p.Ledger.Objects(ctx, ledger.ObjectsQuery{Keys: all, Deleted: true})
	if err != nil {
		return nil, nil, err
	}
	base, is := map[ledger.Key]int64{}, map[ledger.Key]ledger.Object{}
	for _, o := range now.Objects {
		base[o.Key], is[o.Key] = o.Generation, o
	}
	edits := map[string]diff.Edit{}
	for _, e := range d.Edits {
		of := edits[e.Target]
		switch {
		case !p.IsRead(e.Key):
			continue
		case isUnchanged(e, is[e.Key]):
		case e.Delete:
			of.Remove = append(of.Remove, diff.Removal{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name})
		default:
			object, err := p.wantedObject(ctx, e)
			if err != nil {
				return nil, nil, err
			}
			of.Objects = append(of.Objects, object)
		}
		edits[e.Target] = of
	}
	return edits, base, nil
}

// isUnchanged tells whether an edit wants an object as it is. It never says so of a new content of a Secret.
func isUnchanged(e ledger.Edit, is ledger.Object) bool {
	switch {
	case e.Delete:
		return is.IsDeleted()
	case e.Revision != 0:
		return is.Revision == e.Revision
	}
	return !e.IsSecret() && !is.IsDeleted() && e.Content.Hash() == is.Hash
}

// wantedObject is what an edit wants.
func (p *Previewer) wantedObject(ctx context.Context, e ledger.Edit) (map[string]any, error) {
	if e.Revision == 0 {
		return e.Content.DecodeObject()
	}
	history, err := p.Ledger.History(ctx, e.Key, ledger.Page{Limit: 1000})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(history, func(o ledger.Object) bool { return o.Revision == e.Revision && !o.Forgotten })
	if i < 0 {
		return nil, &ledger.Error{Code: ledger.Compacted, Object: e.String(),
			Message: fmt.Sprintf("the content of revision %d is not kept", e.Revision)}
	}
	was, err := p.Ledger.Object(ctx, e.Key, history[i].Change)
	if err != nil {
		return nil, err
	}
	return was.DecodeContent()
}

func (p *Previewer) previewCluster(
	ctx context.Context, a CardeaAdmin, target string, e diff.Edit,
) ledger.ClusterPreview {
	c := ledger.ClusterPreview{Cluster: a.Cluster, Target: target}
	if a.Diff == nil {
		c.NotPreviewed = a.Why
		return c
	}
	report, err := a.Diff(ctx, e)
	if err == nil {
		c.Report, err = json.Marshal(report)
	}
	var text bytes.Buffer
	if err == nil {
		err = report.Print(&text)
	}
	if err != nil {
		if detail := errors.Unwrap(err); detail != nil && p.Log != nil {
			p.Log.Warn("preview failed", "cluster", a.Cluster, "error", err, "detail", detail)
		}
		return ledger.ClusterPreview{Cluster: a.Cluster, Target: target, NotPreviewed: err.Error()}
	}
	c.Text, c.Refused = text.String(), len(report.Refused) > 0
	return c
}

func eachTarget(edits map[string]diff.Edit) func(func(string) bool) {
	return func(yield func(string) bool) {
		for target := range edits {
			if !yield(target) {
				return
			}
		}
	}
}

// digestPreview names a draft's edits, what they are based on, and what comes of it.
func digestPreview(d ledger.Draft, base map[ledger.Key]int64, clusters []ledger.ClusterPreview) string {
	h := sha256.New()
	edits := slices.Clone(d.Edits)
	slices.SortFunc(edits, func(a, b ledger.Edit) int { return a.Compare(b.Key) })
	for _, e := range edits {
		fmt.Fprintf(h, "%q %d %s %d %v\n", []string{e.Target, e.Group, e.Kind, e.Namespace, e.Name}, base[e.Key],
			hashOf(e), e.Revision, e.Delete)
	}
	for _, c := range clusters {
		fmt.Fprintf(h, "%q %q %s\n", []string{c.Cluster, c.Target}, c.NotPreviewed, c.Report)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// maxTries is how often a bound commit is tried while others commit.
const maxTries = 3

// CommitPreviewed commits a draft if it does what a preview said: its digest is computed again, and the change is made
// only while the ledger is as it was then. The error is Conflict if the outcome is another one by now, with the preview
// as it is now, and NotAsked if a cluster could not be asked.
func (p *Previewer) CommitPreviewed(
	ctx context.Context, d ledger.Draft, bound string,
) (ledger.Change, ledger.Preview, error) {
	wanted := d.Head
	for try := 1; ; try++ {
		now, err := p.Preview(ctx, d)
		if err != nil {
			return ledger.Change{}, now, err
		}
		missing := listUnpreviewed(now)
		switch {
		case len(missing) > 0:
			return ledger.Change{}, now, &ledger.Error{Code: ledger.NotAsked,
				Message: "the change is bound to a preview, and could not be previewed for " + strings.Join(missing, ", "),
				Fix:     "try again when they can be asked, or commit without a preview"}
		case now.Digest != bound:
			return ledger.Change{}, now, &ledger.Error{Code: ledger.Conflict,
				Message: "the change would no longer do what its preview showed",
				Fix:     "look at the new preview, and commit that"}
		}
		if wanted == 0 {
			d.Head = now.Head
		}
		change, err := p.Ledger.Commit(ctx, d)
		if ledger.CodeOf(err) != ledger.Conflict || wanted != 0 || try == maxTries || now.Head == 0 {
			return change, now, err
		}
	}
}

// hashOf names the content of an edit; not of a Secret: who sees a digest could try out likely values.
func hashOf(e ledger.Edit) string {
	if e.IsSecret() {
		return "secret"
	}
	return e.Content.Hash()
}
