package xds

import (
	"slices"
	"strings"
	"time"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"cardea.dev/cardea/internal/core/resource"
)

// onAnswer takes an acknowledgement (no detail) or a refusal of a response.
func (st *stream) onAnswer(t resource.Type, nonce string, detail *statuspb.Status) {
	r := st.inflight[nonce]
	if r == nil || r.typ != t {
		return
	}
	delete(st.inflight, nonce)
	if open := st.set.trial; open != nil && open.proxy == st && !open.sent { // it waits for an extension, or a secret
		open.lastActivity = st.now
	}
	if r.trial != nil {
		st.onTrialAnswer(r, detail != nil, st.safeMessage(r, detail))
		return
	}
	for _, name := range r.removed {
		n := resource.Name{Type: t, Name: name}
		st.recordArrival(n, nil)
		if e := st.set.lookup(n); e != nil { // it is back
			st.set.confirmAcked(e)
		}
	}
	if detail != nil {
		st.onNack(r, st.safeMessage(r, detail))
		return
	}
	for _, s := range r.items {
		it := st.items[t][s.name.Name]
		isNew := it != nil && s.v.seq > st.joined && !s.v.sameAs(it.acknowledged)
		if st.recordArrival(s.name, s.v) == nil {
			continue
		}
		if isNew {
			st.ackLatencies = append(st.ackLatencies, ackLatency{t, st.now.Sub(s.v.editedAt)})
		}
		if it.entry != nil {
			st.onBound(it.name)
			st.set.confirmAcked(it.entry)
		}
	}
}

// safeMessage are what a proxy said of a response, without what must not be shown.
func (st *stream) safeMessage(r *response, detail *statuspb.Status) string {
	said := strings.TrimSpace(detail.GetMessage())
	if said == "" {
		return ""
	}
	for _, s := range r.items {
		var was *version
		if it := st.items[r.typ][s.name.Name]; it != nil {
			was = it.acknowledged
		}
		said = st.set.Refusals.RedactMessage(r.typ, was.parts(), s.v.parts(), said)
	}
	return said
}

func (st *stream) recordArrival(n resource.Name, v *version) *item {
	it := st.items[n.Type][n.Name]
	if it == nil {
		return nil
	}
	if !it.removeInFlight(v) {
		return nil
	}
	if v != nil {
		it.refused = nil
	}
	it.acknowledged, it.unknown, it.unbound, it.bindFailures = v, false, nil, 0
	st.refreshItem(it)
	return it
}

// removeInFlight takes a version out of those that are in flight.
func (it *item) removeInFlight(v *version) bool {
	i := slices.Index(it.sent, v)
	if i >= 0 {
		it.sent = slices.Delete(it.sent, i, i+1)
	}
	return i >= 0
}

// onNack takes a refusal of the resources that the proxy's words name. The other resources of the response are sent
// again, even if they are now as before: the proxy applied most of them, but has no version for them.
func (st *stream) onNack(r *response, message string) {
	names := make([]string, 0, len(r.items))
	for _, s := range r.items {
		names = append(names, s.name.Name)
	}
	named := st.set.Refusals.ParseRefusal(r.typ, names, message)
	for _, s := range r.items {
		it := st.items[s.name.Type][s.name.Name]
		if it == nil {
			continue
		}
		it.removeInFlight(s.v)
		st.forgetFirst(r.typ, s.v)
		reason, isNamed := named[s.name.Name]
		switch {
		case !isNamed:
			it.unknown, it.travelsAlone = true, len(named) == 0 // what is bad is found when it travels alone
		case it.entry == nil:
		case !it.entry.offer.sameAs(s.v): // something else is on its way
			st.queuePlaceholder(it)
		case reason.Kind != resource.ContentRefused && slices.Contains(s.v.res.Binds, reason.Address):
			st.postponeBind(it, s.v, reason)
		default:
			it.bindFailures = 0
			st.onRefusal(it, reason.Message)
			st.queuePlaceholder(it)
		}
		st.restoreAccepted(it)
		st.refreshItem(it)
	}
}

// restoreAccepted sends again at once what a proxy accepted of an embedded resource, since it uses what it refused. If
// it has accepted none it goes back to the default; not if it may have one that it brought along.
func (st *stream) restoreAccepted(it *item) {
	t := st.set.spec(it.name.Type)
	if len(t.Embedded) == 0 || it.entry == nil || len(it.sent) > 0 {
		return
	}
	v := it.wantedVersion()
	if v.sameAs(it.refused) { // others accepted it
		v = nil
	}
	if v != nil || t.HasDefault && !it.unknown {
		r := &response{typ: t.Type}
		st.addToResponse(r, it, v)
		st.pushResponse(r)
	}
}

// forgetFirst has what was sent behind a resource for the first time be sent again: a proxy that refused the resource
// dropped it.
func (st *stream) forgetFirst(t resource.Type, v *version) {
	for _, e := range st.followersOf(t, v) {
		if n := e.name; st.set.spec(n.Type).Push == resource.FirstUser && !st.subs[n.Type].asked.contains(e.slot) {
			st.unsubscribe(n)
		}
	}
}

// A listener that a proxy could not bind is sent again after firstTry, and then later each time, up to lastTry: another
// process has the port, or the machine not yet the address. This concerns one proxy and its machine: other proxies are
// offered the listener as before. The listener's address is rejected until this proxy binds it, or is gone.
const (
	firstTry = time.Second
	lastTry  = 15 * time.Second
)

func (st *stream) postponeBind(it *item, v *version, why resource.RefusalReason) {
	s, e := st.set, it.entry
	it.unbound, it.retryAt = v, st.now.Add(min(firstTry<<it.bindFailures, lastTry))
	it.bindFailures = min(it.bindFailures+1, 10)
	said := resource.Refusal{Kind: why.Kind, Type: it.name.Type, Name: it.name.Name, Version: st.proxy,
		Message: why.Message}
	s.rejectWithoutSubstitutes(&refusal{stream: st, details: said}, untriableSuspects(s.findSuspects(e, nil, v)))
}

func (st *stream) retryUnbound() {
	for _, it := range st.items[st.set.listeners] {
		switch {
		case it.state != unbound:
		case st.now.Before(it.retryAt):
			st.wakeAt(it.retryAt)
		default:
			it.unbound = nil
			st.refreshItem(it)
		}
	}
}

// onBound ends that a listener's address is rejected because of this proxy, which has the listener now.
func (st *stream) onBound(n resource.Name) {
	if len(st.set.rejections) == 0 || n.Type != st.set.listeners {
		return
	}
	st.set.endRejections(func(_ resource.RefusalKey, r *rejection) bool {
		return r.details.Kind != resource.ContentRefused && r.proxy == st.proxyID() && r.details.Name == n.Name
	})
}
