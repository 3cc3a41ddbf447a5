package explain

import (
	"fmt"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Live tells how far something got at the proxies of a Gateway.
type Live struct {
	Acknowledged bool `json:"acknowledged"` // by all proxies that are connected, as it is now
	// when the last of them did; nil if that is longer ago than is remembered
	Since *time.Time `json:"since,omitempty"`
	// the proxy's words about it, or about a backend that is named before them
	Refused string  `json:"refused,omitempty"`
	Kept    bool    `json:"kept,omitempty"`    // what was accepted before serves on, in place of what is now
	Proxies int     `json:"proxies"`           // connected
	Proxy   string  `json:"proxy,omitempty"`   // what they are: "Envoy"
	Version string  `json:"version,omitempty"` // the oldest of them
	Each    []Proxy `json:"each,omitempty"`    // of several, by name
	// of proxies that read files: then nothing is acknowledged, and Acknowledged says that it is written as it is now
	Files *Files `json:"files,omitempty"`
}

// Files is what proxies read by themselves.
type Files struct {
	Where    string     `json:"where,omitempty"`
	Written  *time.Time `json:"written,omitempty"`  // when one of them changed last; nil: there are none yet
	TooLarge string     `json:"tooLarge,omitempty"` // why they are not as they should be
}

// Proxy is a connected proxy.
type Proxy struct {
	Name         string `json:"name"` // in a cluster its pod's
	Version      string `json:"version,omitempty"`
	Acknowledged bool   `json:"acknowledged"` // all of the route table, as it is now
}

// live tells it of a fragment of a resource's part.
func (q *asked) live(in resource.Key, part string, f resource.Fragment) Live {
	l := q.proxies(in.Gateway)
	refusal := resource.RefusalKey{Gateway: in.Gateway, Origin: f.Origin, Variant: f.Variant, Hash: f.Hash}
	if refused, found := flow.Get(q.view, q.world.Feedback.Refused.Collection(), refusal); found {
		l.Refused, l.Kept = refused.Message, q.keeps(in, part, f)
		return l
	}
	acked := q.world.Feedback.AckedBy(q.world.DialectOf(q.view, in.Gateway).Name)
	key := resource.AckKey{Resource: in, Origin: f.Origin, Variant: f.Variant}
	if hash, found := flow.Get(q.view, acked, key); !found || hash != f.Hash {
		l.Kept = q.keeps(in, part, f)
		return l
	}
	l.Acknowledged = true
	if turn, known := q.turnOf(flow.ChangedAt(q.view, acked, key)); known {
		l.Since = moment(turn.At)
	}
	return l
}

// proxies begins a Live with the proxies that are connected, or the files that they read.
func (q *asked) proxies(gateway model.ObjectRef) Live {
	l := Live{Proxy: q.world.DialectOf(q.view, gateway).Proxy}
	if q.world.DialectOf(q.view, gateway).Name.ReadsFiles() {
		w, _ := flow.Get(q.view, q.world.Feedback.Written.Collection(), gateway)
		l.Files = &Files{Where: w.Where, Written: moment(w.At), TooLarge: w.TooLarge}
		return l
	}
	proxies, _ := flow.Get(q.view, q.world.Feedback.Proxies.Collection(), gateway)
	l.Proxies, l.Version = proxies.Connected, proxies.Version
	return l
}

// each names the proxies of a rule, if they are several. No View is open.
func (e *Explainer) each(l *Live, table resource.Key) {
	if l.Proxies < 2 || e.config.Each == nil {
		return
	}
	for _, p := range e.config.Each(table) {
		l.Each = append(l.Each, Proxy{Name: p.Node, Version: p.Version, Acknowledged: p.Acknowledged})
	}
}

// names are a few names of the proxies that acknowledged, or of the others.
func (l Live) names(acknowledged bool) string {
	var names []string
	for _, p := range l.Each {
		if p.Acknowledged == acknowledged {
			names = append(names, fmt.Sprintf("%s (%s %s)", p.Name, l.Proxy, p.Version))
		}
	}
	if more := len(names) - nearest; more > 0 {
		names = append(names[:nearest], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// Edit is who changed an object last, when and where.
type Edit struct {
	By      string     `json:"by,omitempty"`
	At      *time.Time `json:"at,omitempty"`
	Latest  bool       `json:"latest,omitempty"` // at that time or before
	Where   string     `json:"where,omitempty"`  // a file
	Change  int64      `json:"change,omitempty"` // of the ledger
	Message string     `json:"message,omitempty"`
}

func editOf(m model.Meta) *Edit {
	if m.Edit == nil || *m.Edit == (model.Edit{}) {
		return nil
	}
	return &Edit{By: m.Edit.By, At: moment(m.Edit.At), Latest: m.Edit.Latest, Where: m.Edit.Where, Change: m.Edit.Change,
		Message: m.Edit.Message}
}
