package policy

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// fetchRequest is a document that something depends on.
type fetchRequest struct {
	Key       model.FetchKey
	Refresh   time.Duration
	Namespace string // of the object that names it
}

// Fetch implements extend.Reader. The document is asked for because it is noted here, whatever becomes of the rest. A
// host that names what is in the cluster is not: that leads past ReferenceGrants.
func (r reader) Fetch(of extend.Document, check func(content []byte) error) ([]byte, extend.State) {
	key := model.FetchKey{URL: of.URL, Through: of.Through, RequiredMember: of.Member}
	if why := r.hostProblem(of); why != "" {
		r.Refuse(why)
		return nil, extend.Pending
	}
	r.problemCollector.fetches = append(r.problemCollector.fetches, fetchRequest{key, of.Refresh,
		r.ownerRef().Namespace()})
	known, _ := flow.Fetch(r.c, r.m.inputs.Sources.Fetched.Collection(), key)
	switch {
	case known.Known && known.Failure != "":
		r.Warn(fmt.Sprintf("it can't be fetched any more: %s; the last fetched version stays in use", known.Failure))
	case known.Known:
	case known.Missing:
		return nil, extend.Absent
	case known.Failure != "":
		r.Pending(fmt.Sprintf("it can't be fetched: %s; requests get 503 until it is", known.Failure))
	default:
		r.Pending("it is not fetched yet; until then, requests get 503")
	}
	if !known.Known {
		return nil, extend.Pending
	}
	return r.lastFetched(key, []byte(known.Content), check), extend.Known
}

// lastFetched is a document that was fetched, or the one before that passed. It is the policy's own: what another one
// asks of a document of that URL may be something else.
func (r reader) lastFetched(key model.FetchKey, content []byte, check func(content []byte) error) []byte {
	use := fmt.Sprintf("%s/%s of %s", r.feature, key.URL, key.Through.Describe())
	read := usedMaterial{Key: model.MaterialKey{Object: r.ownerRef(), Use: use}}
	read.Text = content
	if err := check(content); err != nil {
		last, kept := r.lastGood(read, fmt.Sprintf("the response of its server can't be used: %v", err), check)
		if !kept {
			return content
		}
		r.Warn(last.Problem)
		read = last
	}
	r.keepMaterial(read)
	return read.Text
}

// hostProblem says why the host of a URL is not asked; "": it is, or a backend is asked in its place.
func (r reader) hostProblem(of extend.Document) string {
	e, _ := flow.Fetch(r.c, r.m.inputs.Sources.Environment.Collection(), model.ObjectRef{})
	u, err := url.Parse(of.URL)
	if err != nil || of.Through != (model.BackendKey{}) || e.ClusterDomain == "" {
		return ""
	}
	return model.HostProblem(u.Hostname(), e.ClusterDomain, "controller", "state backendRef, which names the Service")
}

// newFetches has each document once: it is asked for as often as who wants it most often says.
func (m *Translator) newFetches(
	all *flow.Collection[settingsKey, notedNeeds],
) *flow.Collection[model.FetchKey, model.FetchSpec] {
	byKey := flow.Group(all, "policy/fetches-by-key", func(_ settingsKey, n notedNeeds) (keys []model.FetchKey) {
		for _, f := range n.Fetches {
			keys = append(keys, f.Key)
		}
		return keys
	}, flow.ByKey)
	return flow.Map(byKey, "plan/fetches",
		func(c *flow.Ctx, k model.FetchKey, members flow.Members[settingsKey, notedNeeds]) (out model.FetchSpec, _ bool) {
			for _, n := range members.All() {
				for _, f := range n.Fetches {
					if f.Key != k {
						continue
					}
					if out.Refresh == 0 || f.Refresh < out.Refresh {
						out.Refresh = f.Refresh
					}
					if i, found := slices.BinarySearch(out.Namespaces, f.Namespace); !found {
						out.Namespaces = slices.Insert(out.Namespaces, i, f.Namespace)
					}
				}
			}
			if k.Through != (model.BackendKey{}) {
				b, _ := m.lookups.Through(c, k.Through)
				out.Backend = &b
			}
			return out, true
		})
}
