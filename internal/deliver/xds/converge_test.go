package xds

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestConverges: proxies of two versions judge what they are sent, always in the same way, while objects are edited and
// proxies come and go; the graph puts substitutes in the place of what was refused. When the edits end, everything
// comes to rest, and whatever no proxy refuses is live everywhere.
func TestConverges(t *testing.T) {
	for seed := range *seeds {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { converge(t, seed) }) {
			return
		}
	}
}

// scene is a set, its proxies, and the graph behind it.
type scene struct {
	*rand.Rand
	t       *testing.T
	set     *gatewaySet
	now     time.Time
	content map[resource.Name]map[string]map[string]uint64 // by part, by the name of the fragment's origin: a hash
	refused map[resource.RefusalKey]bool                   // as the graph knows it
	peers   map[string]*judge
	sent    int
}

// judge is a proxy.
type judge struct {
	*scene
	st      *stream
	has     map[resource.Name]*resource.Resource
	last    map[resource.Name]*resource.Resource // extensions as they were sent last, also those that it refused
	asked   map[resource.Name]bool               // tables and extensions
	pending []*response
}

func converge(t *testing.T, seed uint64) {
	s := &scene{
		Rand: rand.New(rand.NewPCG(seed, 7)), t: t, set: newSet(gateway, storyProtocol()), now: time.Unix(1e6, 0),
		content: map[resource.Name]map[string]map[string]uint64{}, refused: map[resource.RefusalKey]bool{},
		peers: map[string]*judge{},
	}
	for _, n := range sceneNames() {
		s.content[n] = map[string]map[string]uint64{}
		for _, id := range sceneParts(n) {
			s.content[n][id] = map[string]uint64{}
			for _, origin := range sceneOrigins(n, id) {
				s.content[n][id][origin] = 0
			}
		}
	}
	s.render(sceneNames())
	for range 80 {
		switch s.IntN(8) {
		case 0:
			s.connect()
		case 1:
			if s.IntN(4) == 0 {
				s.disconnect()
			}
		case 2, 3:
			s.edit()
		default:
			s.round(s.IntN(3) == 0)
		}
		s.now = s.now.Add(time.Duration(s.IntN(3)) * time.Second)
	}
	for len(s.peers) == 0 {
		s.connect()
	}
	s.rest()
	s.check()
}

func sceneNames() (names []resource.Name) {
	for _, t := range []resource.Type{xdstypes.Cluster, xdstypes.Listener, xdstypes.Routes, xdstypes.Extension} {
		for i := range 2 {
			names = append(names, resource.Name{Type: t, Name: xdstypes.Name(t) + strconv.Itoa(i)})
		}
	}
	return names
}

func sceneParts(n resource.Name) []string {
	switch n.Type {
	case xdstypes.Listener:
		return []string{"e", "h1", "h2"} // e is its address
	case xdstypes.Routes:
		return []string{"h1", "h2", "h3"}
	case xdstypes.Extension:
		return []string{"r1", "r2"}
	}
	return []string{"c"}
}

// sceneOrigins are the rules of a host; the first rule of a table serves at all its hosts.
func sceneOrigins(n resource.Name, part string) []string {
	if n.Type == xdstypes.Routes {
		return []string{n.Name + "-all", n.Name + "-" + part}
	}
	return []string{n.Name + "-" + part}
}

// bad tells whether a proxy of a version refuses content. What is 0 is good.
func bad(version string, hash uint64) bool { return hash%5 == 4 || hash%7 == 6 && version == "2.0.0" }

// substituted tells whether the graph has something else to put in the place of what is refused.
func substituted(n resource.Name, part string) bool {
	return n.Type == xdstypes.Routes || n.Type == xdstypes.Extension || n.Type == xdstypes.Listener && part != "e"
}

func (s *scene) edit() {
	n := sceneNames()[s.IntN(len(sceneNames()))]
	parts := s.content[n]
	ids := sceneParts(n)
	id := ids[s.IntN(len(ids))]
	origins := sceneOrigins(n, id)
	origin, hash := origins[s.IntN(len(origins))], s.Uint64N(100)
	for _, part := range parts {
		if _, found := part[origin]; found {
			part[origin] = hash
		}
	}
	s.render([]resource.Name{n})
}

// render has the graph tell of resources.
func (s *scene) render(names []resource.Name) {
	var updates []update
	for _, n := range names {
		r := resource.Resource{}
		if n.Type == xdstypes.Listener {
			r.Binds = []string{n.Name}
		}
		if n.Type == xdstypes.Extension {
			r.Parts = append(r.Parts, s.set.spec(n.Type).Head(n.Name, make([]*resource.Part, 2)))
		}
		for _, id := range sceneParts(n) {
			p := &resource.Part{ID: id, Hash: 1}
			switch {
			case n.Type == xdstypes.Listener && id == "e":
				p.Needs = []resource.Name{{Type: xdstypes.Extension, Name: "Extension" + n.Name[len("Listener"):]}}
			case n.Type == xdstypes.Routes:
				i := s.content[n][id][n.Name+"-"+id] % 2
				p.Needs = []resource.Name{{Type: xdstypes.Extension, Name: fmt.Sprint("Extension", i)}}
			}
			if n.Type == xdstypes.Listener && id != "e" {
				p.Needs = []resource.Name{{Type: xdstypes.Routes,
					Name: xdstypes.Name(xdstypes.Routes) + strconv.Itoa(int(id[1]-'1'))}}
				p.Claims = []string{id}
			}
			for _, origin := range sceneOrigins(n, id) {
				f := resource.Fragment{Origin: storyOrigin(n.Type, origin), Hash: s.content[n][id][origin]}
				f.Refused = substituted(n, id) && s.refused[s.set.refusalKey(f)]
				p.Fragments = append(p.Fragments, f)
				p.Bytes = append(p.Bytes, storyPiece(origin, f.Hash))
				p.Hash = p.Hash*1000 + 2*f.Hash
				if f.Refused {
					p.Hash++
				}
			}
			r.Parts = append(r.Parts, p)
			r.Version += fmt.Sprint(id, p.Hash, " ")
		}
		updates = append(updates, update{n, &r})
	}
	for _, u := range updates {
		s.say("turn %s", show(u))
	}
	s.set.applyUpdates(updates, s.now)
}

func (s *scene) say(format string, args ...any) {
	if *telling {
		s.t.Logf(format, args...)
	}
}

func (s *scene) connect() {
	id := "p" + strconv.Itoa(s.IntN(3))
	if s.peers[id] != nil {
		return
	}
	p := &judge{
		scene: s, st: newStream(s.set, id, []string{"1.0.0", "2.0.0"}[s.IntN(2)]),
		has: map[resource.Name]*resource.Resource{}, last: map[resource.Name]*resource.Resource{},
		asked: map[resource.Name]bool{},
	}
	s.peers[id] = p
	s.say("%s of %s connects", id, p.st.proxy)
	p.st.now = s.now
	for _, t := range []resource.Type{xdstypes.Cluster, xdstypes.Listener} {
		p.st.onRequest(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(t)})
	}
}

func (s *scene) disconnect() {
	for _, id := range s.names() {
		s.peers[id].st.now = s.now
		s.say("%s goes", id)
		s.peers[id].st.close()
		delete(s.peers, id)
		return
	}
}

func (s *scene) names() (ids []string) {
	for id := range s.peers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// round has every proxy take what it is sent and answer some of it, or one thing only; and the graph take what they
// refused. It tells whether anything happened.
func (s *scene) round(one bool) (busy bool) {
	checkStates(s.t, s.set)
	for _, id := range s.names() {
		p := s.peers[id]
		p.st.now = s.now
		out, _ := p.st.runStep()
		for _, r := range out {
			s.say("%s <- %s", id, describe(r))
		}
		p.pending = append(p.pending, out...)
		s.sent += len(out)
		busy = busy || len(p.pending) > 0
		if one && len(p.pending) > 1 {
			p.answer(p.pending[0])
			p.pending = p.pending[1:]
			continue
		}
		for _, r := range p.pending {
			p.answer(r)
		}
		p.pending = nil
	}
	n := s.set.feedback
	s.set.feedback = pendingFeedback{}
	changed := map[string]bool{}
	for k := range n.ended {
		delete(s.refused, k)
		changed[k.Origin.Object.Name()] = true
	}
	for k := range n.refused {
		s.refused[k] = true
		changed[k.Origin.Object.Name()] = true
	}
	if len(changed) > 0 {
		s.render(slices.DeleteFunc(sceneNames(), func(n resource.Name) bool {
			for origin := range changed {
				if strings.HasPrefix(origin, n.Name+"-") {
					return false
				}
			}
			return true
		}))
		busy = true
	}
	return busy
}

// answer judges a response as Envoy does: of listeners and clusters it takes what is good, and names what is not.
func (p *judge) answer(r *response) {
	req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(r.typ), ResponseNonce: r.nonce}
	var wrong []string
	for _, item := range r.items {
		switch bad := p.refuses(item.v.res, r.group != nil) || r.typ == xdstypes.Listener && p.frozen(item.v.res, r); {
		case r.typ == xdstypes.Extension && (!p.asked[item.name] || p.last[item.name] != nil &&
			p.last[item.name].Version == item.v.res.Version): // it drops what nobody names, and takes no notice of the same
		case bad:
			wrong = append(wrong, item.name.Name+": bad")
			p.last[item.name] = &item.v.res
		case r.trial == nil:
			p.has[item.name], p.last[item.name] = &item.v.res, &item.v.res
		}
	}
	for _, name := range r.removed {
		n := resource.Name{Type: r.typ, Name: name}
		if r.typ == xdstypes.Extension && p.last[n] == nil {
			p.t.Fatalf("%v: the first answer about %v is that it does not exist", p.st.id, n)
		}
		delete(p.has, n)
		delete(p.last, n)
	}
	if len(wrong) > 0 {
		prefix, between := wording(r.typ)
		req.ErrorDetail = &statuspb.Status{Message: prefix + strings.Join(wrong, between)}
	}
	p.say("%s answers %s: %s", p.st.id, r.nonce, req.GetErrorDetail().GetMessage())
	p.st.onRequest(req)
	if r.trial != nil {
		if r.group == nil && r.typ == xdstypes.Listener {
			p.st.onRequest(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(xdstypes.Routes),
				ResourceNamesSubscribe: []string{r.trial.name}})
		}
		return
	}
	if r.typ == xdstypes.Listener {
		p.follow()
	}
}

// frozen tells whether an extension that a listener needs is one that was refused: then the listener is, too. A trial
// of a listener's filter chains needs all of them, one of an extension's entries none.
func (p *judge) frozen(l resource.Resource, r *response) bool {
	for n, last := range p.last {
		needed := r.group != nil && r.group[0].fragment.Origin.Object.Kind() == model.KindGateway
		for _, part := range l.Parts {
			needed = needed || slices.Contains(part.Needs, n)
		}
		if n.Type == xdstypes.Extension && needed && p.has[n] != last {
			return true
		}
	}
	return false
}

// follow asks for the tables and extensions that its listeners name, and no others.
func (p *judge) follow() {
	named := map[resource.Name]bool{}
	for n, l := range p.has {
		if n.Type != xdstypes.Listener {
			continue
		}
		for _, part := range l.Parts {
			for _, need := range part.Needs {
				named[need] = true
			}
		}
	}
	before := p.asked
	p.asked = named
	for _, t := range []resource.Type{xdstypes.Extension, xdstypes.Routes} {
		req := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(t)}
		for n := range named {
			if n.Type == t && !before[n] {
				req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, n.Name)
			}
		}
		for n := range before {
			if n.Type == t && !named[n] {
				req.ResourceNamesUnsubscribe = append(req.ResourceNamesUnsubscribe, n.Name)
				delete(p.has, n)
				delete(p.last, n)
			}
		}
		slices.Sort(req.ResourceNamesSubscribe)
		slices.Sort(req.ResourceNamesUnsubscribe)
		if len(req.ResourceNamesSubscribe)+len(req.ResourceNamesUnsubscribe) > 0 {
			p.st.onRequest(req)
		}
	}
}

// refuses tells whether something in a resource is bad; of a trial, by its text.
func (p *judge) refuses(r resource.Resource, trial bool) bool {
	for _, part := range r.Parts {
		if trial {
			for piece := range strings.FieldsSeq(string(part.Bytes[0])) {
				_, hash, _ := strings.Cut(piece, ".")
				h, err := strconv.ParseUint(hash, 10, 64)
				if err != nil {
					panic(err)
				}
				if bad(p.st.proxy, h) {
					return true
				}
			}
		}
		for _, f := range part.Fragments {
			if !f.Refused && bad(p.st.proxy, f.Hash) {
				return true
			}
		}
	}
	return false
}

// rest lets time pass until nothing happens any more, be it in two minutes.
func (s *scene) rest() {
	s.sent = 0
	for quiet := 0; quiet < 120; quiet++ {
		if s.round(false) {
			quiet = 0
		}
		s.now = s.now.Add(time.Second)
		if s.sent > 500 {
			s.t.Fatalf("%d responses were sent since the last edit, and there are more", s.sent)
		}
	}
}

// check holds what proxies have against what the graph wants.
func (s *scene) check() {
	for _, n := range sceneNames() {
		if !substituted(n, "h1") && s.anyBad(s.content[n]["c"]) || s.anyBad(s.content[n]["e"]) {
			continue // it is refused as a whole
		}
		for _, id := range s.names() {
			p := s.peers[id]
			has := p.has[n]
			if has == nil && (n.Type == xdstypes.Routes || n.Type == xdstypes.Extension) && !p.asked[n] {
				continue
			}
			if has == nil {
				s.t.Fatalf("%s has no %v", id, n)
			}
			for part, fragments := range s.content[n] {
				for origin, hash := range fragments {
					if !s.badFor(hash) && !liveIn(*has, part, origin, hash) {
						s.t.Fatalf("%s, %v, part %s: %s=%d is not live", id, n, part, origin, hash)
					}
				}
			}
		}
	}
}

// badFor tells whether a proxy that is there refuses content.
func (s *scene) badFor(hash uint64) bool {
	for _, p := range s.peers {
		if bad(p.st.proxy, hash) {
			return true
		}
	}
	return false
}

func (s *scene) anyBad(fragments map[string]uint64) bool {
	for _, hash := range fragments {
		if s.badFor(hash) {
			return true
		}
	}
	return false
}

func liveIn(r resource.Resource, part, origin string, hash uint64) bool {
	for _, p := range r.Parts {
		for _, f := range p.Fragments {
			if p.ID == part && f.Origin.Object.Name() == origin && f.Hash == hash && !f.Refused {
				return true
			}
		}
	}
	return false
}
