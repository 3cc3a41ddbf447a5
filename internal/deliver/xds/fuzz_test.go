package xds

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

var (
	telling = flag.Bool("tell", false, "print what the random core tests do")
	seeds   = flag.Uint64("seeds", 3000, "how many random stories the core tests run")
)

// FuzzCore feeds the core with random turns and random requests of two proxies. It must not panic, and what it sends
// must keep the rules.
func FuzzCore(f *testing.F) {
	f.Add([]byte("a0b1c2d3e4"))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 200, 201, 202, 203, 204, 205})
	f.Add([]byte("turnturnasksasksacksacksnacksturngoesasks0123456789ABCDEFGHIJ"))
	f.Fuzz(runCore)
}

// storyTypes are the types by the numbers that bytes of an input have for them. Another order makes other stories.
var storyTypes = []resource.Type{
	xdstypes.Cluster, xdstypes.Endpoints, xdstypes.Secret, xdstypes.Listener, xdstypes.Routes, xdstypes.Extension,
}

// TestCoreRandom is the same with inputs that are long enough for whole stories.
func TestCoreRandom(t *testing.T) {
	for seed := range *seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		in := make([]byte, 1500)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { runCore(t, in) }) {
			return
		}
	}
}

func runCore(t *testing.T, in []byte) {
	z := &fuzzer{in: in, t: t, set: newSet(gateway, storyProtocol()), now: time.Unix(1e6, 0),
		rows: map[resource.AckKey]uint64{}}
	for len(z.in) > 0 {
		z.move()
	}
	z.calm()
	z.checkRows()
}

type fuzzer struct {
	in      []byte
	t       *testing.T
	set     *gatewaySet
	now     time.Time
	streams [2]*watched
	rows    map[resource.AckKey]uint64
}

// watched is a stream, and what a proxy behind it would see.
type watched struct {
	st      *stream
	sent    map[resource.Name]bool // it was sent and not removed
	pending []*response            // not answered
	routes  map[string]int         // in flight, by table
	refused map[string]bool        // versions of routes that it refused
	again   map[string]bool        // tables that it asked for while they were in flight: they are sent once more
}

func (z *fuzzer) byte() int {
	if len(z.in) == 0 {
		return 0
	}
	b := z.in[0]
	z.in = z.in[1:]
	return int(b)
}

func (z *fuzzer) name() string { return string(rune('a' + z.byte()%4)) }

func (z *fuzzer) move() {
	z.now = z.now.Add(time.Duration(z.byte()%4) * time.Second)
	i := z.byte() % 2
	w := z.streams[i]
	switch op := z.byte() % 10; {
	case op < 3:
		z.turn()
	case op == 3 && w != nil:
		w.st.now = z.now
		w.st.close()
		z.streams[i] = nil
		if other := z.streams[1-i]; other != nil {
			clear(other.refused) // it is asked again what the one that left refused, too
		}
	case w == nil:
		z.streams[i] = &watched{
			st: newStream(z.set, fmt.Sprint(z.byte()%3), "1.40.0"), sent: map[resource.Name]bool{}, routes: map[string]int{},
			refused: map[string]bool{}, again: map[string]bool{},
		}
	case op < 6 && len(w.pending) > 0:
		z.answer(w)
	default:
		z.ask(w)
	}
	z.step()
}

func (z *fuzzer) turn() {
	var updates []update
	for range 1 + z.byte()%4 {
		typ := storyTypes[z.byte()%len(storyTypes)]
		u := update{name: resource.Name{Type: typ, Name: z.name()}}
		if z.byte()%4 > 0 {
			u.value = z.resource(typ)
		}
		updates = append(updates, u)
	}
	if *telling {
		for _, u := range updates {
			z.t.Logf("turn %v", show(u))
		}
	}
	for _, w := range z.streams {
		if w != nil {
			clear(w.refused) // what was refused may come back by way of something else
		}
	}
	z.set.applyUpdates(updates, z.now)
}

func show(u update) string {
	if u.value == nil {
		return fmt.Sprint(u.name, " leaves")
	}
	text := fmt.Sprint(u.name, "=", u.value.Version)
	for _, p := range u.value.Parts {
		text += fmt.Sprint(" ", p.ID, p.Fragments)
	}
	return text
}

func (z *fuzzer) resource(typ resource.Type) *resource.Resource {
	r := &resource.Resource{Warms: z.byte()%8 == 0}
	if typ == xdstypes.Listener {
		r.Binds = []string{z.name()}
	}
	for _, id := range []string{"", "h1", "h2", "h3"}[:1+z.byte()%4] {
		h := uint64(z.byte() % 5)
		p := &resource.Part{ID: id, Hash: h, Needs: []resource.Name{{Type: storyTypes[h], Name: string(rune('a' +
			h%4))}}}
		if id != "" {
			p.Bytes, p.Claims = [][]byte{storyPiece(id, h)}, []string{fmt.Sprint(h)}
			p.Fragments = []resource.Fragment{{
				Origin: storyOrigin(typ, id), Hash: h, Refused: z.byte()%8 == 0,
			}}
		}
		r.Version += fmt.Sprint(h)
		if isSubstitute(p) {
			p.Hash += 10
			r.Version += "!"
		}
		r.Parts = append(r.Parts, p)
	}
	return r
}

func (z *fuzzer) ask(w *watched) {
	types := append(slices.Clone(storyTypes), xdstypes.Cluster)
	req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(types[z.byte()%len(types)]),
		InitialResourceVersions: map[string]string{}}
	if z.byte()%16 == 0 {
		req.TypeUrl = "other"
	}
	for range z.byte() % 4 {
		n := z.name()
		switch z.byte() % 4 {
		case 0:
			req.ResourceNamesUnsubscribe = append(req.ResourceNamesUnsubscribe, n)
		case 1:
			req.InitialResourceVersions[n] = fmt.Sprint(z.byte())
			fallthrough
		default:
			req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, n)
		}
	}
	if z.byte()%8 == 0 {
		req.ResponseNonce = "zzz"
	}
	if req.TypeUrl == xdstypes.URL(xdstypes.Routes) {
		for _, n := range req.ResourceNamesUnsubscribe {
			delete(w.routes, n)
		}
		for _, n := range req.ResourceNamesSubscribe { // it is told again what it asks for again
			w.again[n] = w.routes[n] > 0
			maps.DeleteFunc(w.refused, func(content string, _ bool) bool { return strings.HasPrefix(content, n+" ") })
		}
	}
	if *telling {
		z.t.Logf("%p asks %v", w.st, req)
	}
	w.st.now = z.now
	w.st.onRequest(req)
}

func (z *fuzzer) answer(w *watched) {
	r := w.pending[0]
	w.pending = w.pending[1:]
	req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(r.typ), ResponseNonce: r.nonce}
	nack := z.byte()%3 == 0
	if nack {
		prefix, between := wording(r.typ)
		why := ": bad"
		if z.byte()%2 == 0 {
			why = ": cannot bind '" + z.name() + "': in use"
		}
		req.ErrorDetail = &statuspb.Status{Message: prefix + z.name() + why + between + z.name() + ": bad"}
	}
	for _, s := range r.items {
		if r.typ == xdstypes.Routes && r.trial == nil {
			delete(w.routes, s.name.Name)
			// what is not offered any more is not looked into
			if e := z.set.lookup(s.name); nack && !w.again[s.name.Name] && e != nil && e.offer.sameAs(s.v) {
				w.refused[s.name.Name+" "+s.v.res.Version] = true
			}
		}
	}
	if *telling {
		z.t.Logf("%p answers %v", w.st, req)
	}
	w.st.now = z.now
	w.st.onRequest(req)
	w.subscribe(r)
}

// subscribe asks for a trial's table after its listener was answered.
func (w *watched) subscribe(r *response) {
	if r.trial != nil && r.group == nil {
		w.st.onRequest(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(xdstypes.Routes),
			ResourceNamesSubscribe: []string{r.trial.name}})
	}
}

// step returns whether a stream waits for a time.
func (z *fuzzer) step() (waits bool) {
	checkStates(z.t, z.set)
	for _, w := range z.streams {
		if w == nil {
			continue
		}
		w.st.now = z.now
		out, wait := w.st.runStep()
		if !wait.IsZero() && !wait.After(z.now) {
			z.t.Fatalf("waits for the past")
		}
		waits = waits || !wait.IsZero()
		for _, r := range out {
			if *telling {
				z.t.Logf("%p <- %s", w.st, describe(r))
			}
			if r.unknownType == "" {
				z.check(w, r)
				w.pending = append(w.pending, r)
			}
		}
	}
	n := z.set.feedback
	for k := range n.removed {
		delete(z.rows, k)
	}
	maps.Copy(z.rows, n.acked)
	z.set.feedback = pendingFeedback{}
	return waits
}

// checkRows holds the rows against what proxies have: none for a fragment or a table that left, and one for each that
// all of them took.
func (z *fuzzer) checkRows() {
	for k := range z.rows {
		e := z.set.lookup(resource.Name{Type: k.Resource.Type, Name: k.Resource.Name})
		if e != nil && k == resource.TableAckKey(z.set.resourceKey(e)) {
			continue
		}
		if e == nil || z.set.fragments[keyOf(e, k.Origin, k.Variant)] == 0 {
			z.t.Fatalf("a row of what left: %v", k)
		}
	}
	for _, byName := range z.set.entries {
		for _, e := range byName {
			used, settled := false, e.offer == e.current
			z.set.eachCountingStream(func(st *stream) {
				_, uses := st.acceptedVersion(e)
				used = used || uses
				settled = settled && st.items[e.name.Type][e.name.Name] == nil
			})
			if !used || !settled {
				continue
			}
			if _, arrived := z.rows[resource.TableAckKey(z.set.resourceKey(e))]; arrived != (e.name.Type == xdstypes.Routes) {
				z.t.Fatalf("%v: the row of its arrival: %v", e.name, arrived)
			}
			for _, p := range e.current.parts() {
				for _, f := range p.Fragments {
					if got := z.rows[z.set.ackKey(e, f)]; !f.Refused && got != f.Hash {
						z.t.Fatalf("%v: the row of %v is %d", e.name, f, got)
					}
				}
			}
		}
	}
}

// check holds a response against the rules.
func (z *fuzzer) check(w *watched, r *response) {
	if r.typ == xdstypes.Cluster && len(r.items) > 0 && len(r.removed) > 0 {
		z.t.Fatalf("adds and removals of clusters in one response")
	}
	if (r.typ == xdstypes.Routes || r.typ == xdstypes.Secret || r.typ == xdstypes.Extension) && len(r.items) > 1 {
		z.t.Fatalf("%s don't travel alone", xdstypes.Name(r.typ))
	}
	if r.typ == xdstypes.Routes && len(r.removed) > 0 {
		z.t.Fatalf("a route table is removed")
	}
	if !w.st.subs[r.typ].open {
		z.t.Fatalf("%s were not asked for", xdstypes.Name(r.typ))
	}
	if r.trial != nil {
		return
	}
	for _, s := range r.items {
		w.sent[s.name] = true
		z.checkClaims(s)
		if r.typ != xdstypes.Routes {
			continue
		}
		delete(w.again, s.name.Name)
		if w.routes[s.name.Name]++; w.routes[s.name.Name] > 1 {
			z.t.Fatalf("two responses of a table are in flight")
		}
		if w.refused[s.name.Name+" "+s.v.res.Version] {
			z.t.Fatalf("refused content is sent again unchanged")
		}
		for _, p := range s.v.parts() {
			for _, n := range p.Needs {
				if e := z.set.lookup(n); slices.Contains(z.set.spec(xdstypes.Routes).Awaits, n.Type) && e != nil &&
					e.offer != nil && w.st.subs[n.Type].open {
					if w.st.pending[n.Type][n.Name] != nil {
						z.t.Fatalf("a table leaves before its %s", xdstypes.Name(n.Type))
					}
				}
			}
		}
	}
	for _, n := range r.removed {
		if z.set.needs[resource.Name{Type: r.typ, Name: n}] > 0 && r.typ == xdstypes.Cluster {
			z.t.Fatalf("a cluster is removed though it is named")
		}
		name := resource.Name{Type: r.typ, Name: n}
		if r.typ == xdstypes.Extension && !w.sent[name] {
			z.t.Fatalf("an extension is removed though none was sent")
		}
		delete(w.sent, name)
	}
}

// checkClaims: what is kept of a listener is in nobody's way.
func (z *fuzzer) checkClaims(s sentResource) {
	e := z.set.lookup(s.name)
	if e == nil || s.name.Type != xdstypes.Listener || e.current == s.v || e.offer != s.v || e.state != serving {
		return
	}
	for _, p := range s.v.parts() {
		now := e.current.part(p.ID)
		if now != nil && now != p && isSubstitute(now) && (resource.ClaimsConflict(p, e.current.parts()) ||
			resource.ClaimsConflict(p,
				s.v.parts())) {
			z.t.Fatalf("%v: the kept part %v claims what another one does", s.name, p.ID)
		}
	}
}

// calm lets every proxy acknowledge everything. Then nothing may be left to do but what waits for a proxy's word.
func (z *fuzzer) calm() {
	for range 200 {
		z.now = z.now.Add(time.Second)
		quiet := !z.step()
		for _, w := range z.streams {
			if w == nil {
				continue
			}
			for _, r := range w.pending {
				quiet = false
				for _, s := range r.items {
					delete(w.routes, s.name.Name)
				}
				w.st.now = z.now
				w.st.onRequest(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(r.typ), ResponseNonce: r.nonce})
				w.subscribe(r)
			}
			w.pending = nil
		}
		if quiet {
			break
		}
	}
	if z.set.trial != nil || len(z.set.queue) > 0 {
		z.t.Fatalf("the trial is never over")
	}
	for e := range z.set.allEntries() {
		if e.state == serving && !e.offer.sameAs(z.set.composeOffer(e)) {
			z.t.Fatalf("%v: %v is offered, not %v", e.name, e.offer.res.Version, z.set.composeOffer(e).res.Version)
		}
	}
	for _, w := range z.streams {
		if w == nil {
			continue
		}
		for t, items := range w.st.items {
			for name, it := range items {
				if it.entry != nil && it.wantedVersion() != nil && !it.unknown && it.state == pending {
					z.t.Fatalf("%s %s is never sent", xdstypes.Name(xdstypes.All()[t]), name)
				}
				if len(it.sent) > 0 && w.st.set.isWildcard(xdstypes.All()[t]) {
					z.t.Fatalf("%s %s is in flight for ever", xdstypes.Name(xdstypes.All()[t]), name)
				}
			}
		}
	}
}
