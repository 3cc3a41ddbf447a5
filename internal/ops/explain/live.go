package explain

import (
	"fmt"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// LiveState tells how far something got at the proxies of a Gateway.
type LiveState struct {
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

// findLive tells it of a fragment of a resource's part.
func (q *inquiry) findLive(in resource.Key, part string, f resource.Fragment) LiveState {
	l := q.newLive(in.Gateway)
	refusal := resource.RefusalKey{Gateway: in.Gateway, Origin: f.Origin, Variant: f.Variant, Hash: f.Hash}
	if refused, found := flow.Get(q.view, q.world.Feedback.Refused.Collection(), refusal); found {
		l.Refused, l.Kept = refused.Message, q.keepsAccepted(in, part, f)
		return l
	}
	acked := q.world.Feedback.AckedBy(q.world.DialectOf(q.view, in.Gateway).Name)
	key := resource.AckKey{Resource: in, Origin: f.Origin, Variant: f.Variant}
	if hash, found := flow.Get(q.view, acked, key); !found || hash != f.Hash {
		l.Kept = q.keepsAccepted(in, part, f)
		return l
	}
	l.Acknowledged = true
	if turn, known := q.turnOf(flow.ChangedAt(q.view, acked, key)); known {
		l.Since = optionalTime(turn.At)
	}
	return l
}

// newLive begins a LiveState with the proxies that are connected, or the files that they read.
func (q *inquiry) newLive(gateway model.ObjectRef) LiveState {
	l := LiveState{Proxy: q.world.DialectOf(q.view, gateway).Proxy}
	if q.world.DialectOf(q.view, gateway).Name.ReadsFiles {
		w, _ := flow.Get(q.view, q.world.Feedback.Written.Collection(), gateway)
		l.Files = &Files{Where: w.Where, Written: optionalTime(w.At), TooLarge: w.TooLarge}
		return l
	}
	proxies, _ := flow.Get(q.view, q.world.Feedback.Proxies.Collection(), gateway)
	l.Proxies, l.Version = proxies.Connected, proxies.Version
	return l
}

// addProxies names the proxies of a rule, if they are several. No View is open.
func (e *Explainer) addProxies(l *LiveState, table resource.Key) {
	if l.Proxies < 2 || e.config.Each == nil {
		return
	}
	for _, p := range e.config.Each(table) {
		l.Each = append(l.Each, Proxy{Name: p.Node, Version: p.Version, Acknowledged: p.Acknowledged})
	}
}

// proxyNames are a few names of the proxies that acknowledged, or of the others.
func (l LiveState) proxyNames(acknowledged bool) string {
	var names []string
	for _, p := range l.Each {
		if p.Acknowledged == acknowledged {
			names = append(names, fmt.Sprintf("%s (%s %s)", p.Name, l.Proxy, p.Version))
		}
	}
	if more := len(names) - maxNear; more > 0 {
		names = append(names[:maxNear], fmt.Sprintf("%d more", more))
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
	if m.LastEdit == nil || *m.LastEdit == (model.LastEdit{}) {
		return nil
	}
	return &Edit{By: m.LastEdit.By, At: optionalTime(m.LastEdit.At), Latest: m.LastEdit.Latest, Where: m.LastEdit.Where,
		Change:  m.LastEdit.Change,
		Message: m.LastEdit.Message}
}
