package explain

import (
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
)

// Live tells how far something got at the proxies of a Gateway.
type Live struct {
	Acknowledged bool       `json:"acknowledged"`      // by all proxies that are connected, as it is now
	Since        *time.Time `json:"since,omitempty"`   // when the last of them did; nil if that is longer ago than is remembered
	Refused      string     `json:"refused,omitempty"` // the proxy's words
	Proxies      int        `json:"proxies"`           // connected
	Version      string     `json:"version,omitempty"` // the oldest of them
}

// live tells it of a fragment of a resource.
func (q *asked) live(in resource.Key, f resource.Fragment) Live {
	var l Live
	proxies, _ := flow.Get(q.view, q.world.Feedback.Proxies.Collection(), in.Gateway)
	l.Proxies, l.Version = proxies.Connected, proxies.Version
	refusal := resource.RefusalKey{Gateway: in.Gateway, Origin: f.Origin, Variant: f.Variant, Hash: f.Hash}
	if refused, found := flow.Get(q.view, q.world.Feedback.Refused.Collection(), refusal); found {
		l.Refused = refused.Message
		return l
	}
	acked, key := q.world.Feedback.Acked.Collection(), resource.AckKey{Resource: in, Origin: f.Origin, Variant: f.Variant}
	if hash, found := flow.Get(q.view, acked, key); !found || hash != f.Hash {
		return l
	}
	l.Acknowledged = true
	if turn, known := q.turnOf(flow.ChangedAt(q.view, acked, key)); known {
		l.Since = moment(turn.At)
	}
	return l
}

// Edit is who changed an object last, when and where.
type Edit struct {
	By    string     `json:"by,omitempty"`
	At    *time.Time `json:"at,omitempty"`
	Where string     `json:"where,omitempty"` // a file
}

func editOf(m model.Meta) *Edit {
	if m.Edit == nil || *m.Edit == (model.Edit{}) {
		return nil
	}
	return &Edit{By: m.Edit.By, At: moment(m.Edit.At), Where: m.Edit.Where}
}
