package xds

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

var rewrite = flag.Bool("update", false, "rewrite testdata")

// TestCore runs the stories in testdata/core: a command, "----", what came of it. Commands:
//
//	turn                                  one turn of the graph; each line that follows is a change
//	  Cluster a=1 needs=Endpoints/a warms binds=:80 parts=h1:11,h2:r.12+s.13
//	  -Cluster a
//	connect p                             a proxy connects
//	p asks Cluster a=1 b                  its request: names, with the versions that it brought along
//	p leaves Endpoints a                  it unsubscribes
//	p acks 1 2                            nonces
//	p nacks 1 message                     "\n" stands for a new line
//	p goes
//	wait 5s
//
// A part "h:11" has one fragment of rule h with hash 11; "!" before a hash marks a substitute. "h@x:11" claims x,
// "h^t:11" needs Routes/t, "h>c:11" Secret/c. Parts are in the order of their IDs. Of a listener's parts those are
// filter chains that begin with "h", of an extension's those are entries that begin with "r". "trial/1(h.11 i.2)" is a
// trial's table, or listener, with what it tries.
func TestCore(t *testing.T) {
	files, err := filepath.Glob("testdata/core/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := tell(t, string(b))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(b) {
				t.Errorf("the story is another one now (-update rewrites it):\n%s", got)
			}
		})
	}
}

// tell runs a story and returns it with what came of its commands.
func tell(t *testing.T, story string) string {
	c := newCore()
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimRight(story, "\n"), "\n\n") {
		command, _, _ := strings.Cut(block, "\n----")
		var lines []string
		for l := range strings.SplitSeq(command, "\n") {
			if strings.HasPrefix(l, "#") {
				continue
			}
			lines = append(lines, l)
		}
		result := ""
		if len(lines) > 0 {
			result = c.run(t, lines)
		}
		out.WriteString(command)
		if len(lines) > 0 {
			out.WriteString("\n----\n" + result)
		} else {
			out.WriteString("\n")
		}
		out.WriteString("\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// core is a set with its streams, and a clock.
type core struct {
	set     *gatewaySet
	streams map[string]*stream
	now     time.Time
}

func newCore() *core {
	return &core{set: newSet(gateway, storyProtocol()), streams: map[string]*stream{}, now: time.Unix(1_000_000, 0)}
}

func (c *core) run(t *testing.T, lines []string) string {
	words := strings.Fields(lines[0])
	switch words[0] {
	case "turn":
		var updates []update
		for _, l := range lines[1:] {
			updates = append(updates, parseUpdate(t, l))
		}
		c.set.applyUpdates(updates, c.now)
	case "connect":
		c.streams[words[1]] = newStream(c.set, words[1], "1.40.0")
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			t.Fatal(err)
		}
		c.now = c.now.Add(d)
	default:
		st := c.streams[words[0]]
		if st == nil {
			t.Fatalf("no such proxy or command: %s", lines[0])
		}
		st.now = c.now
		switch words[1] {
		case "asks", "leaves":
			st.onRequest(parseRequest(t, words[1:]))
		case "acks":
			for _, nonce := range words[2:] {
				st.onRequest(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: c.url(st, nonce), ResponseNonce: nonce})
			}
		case "nacks":
			st.onRequest(&discoveryv3.DeltaDiscoveryRequest{
				TypeUrl: c.url(st, words[2]), ResponseNonce: words[2],
				ErrorDetail: &statuspb.Status{Message: strings.ReplaceAll(strings.Join(words[3:], " "), `\n`, "\n")},
			})
		case "goes":
			st.close()
			delete(c.streams, words[0])
		default:
			t.Fatalf("unknown command: %s", lines[0])
		}
	}
	return c.outcome()
}

func (c *core) url(st *stream, nonce string) string {
	if r := st.inflight[nonce]; r != nil {
		return xdstypes.URL(r.typ)
	}
	return xdstypes.URL(xdstypes.Cluster)
}

// outcome steps every stream and writes what they send and what is news.
func (c *core) outcome() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.streams)) {
		st := c.streams[name]
		st.now = c.now
		out, wait := st.runStep()
		for _, r := range out {
			fmt.Fprintf(&b, "%s <- %s\n", name, describe(r))
		}
		if !wait.IsZero() {
			fmt.Fprintf(&b, "%s waits %s\n", name, wait.Sub(c.now))
		}
	}
	n := c.set.feedback
	c.set.feedback = pendingFeedback{}
	var lines []string
	for k, h := range n.acked {
		if k == resource.TableAckKey(k.Resource) {
			lines = append(lines, fmt.Sprintf("arrived %s/%s", xdstypes.Name(k.Resource.Type), k.Resource.Name))
			continue
		}
		lines = append(lines, fmt.Sprintf("acked %s/%s %s=%d", xdstypes.Name(k.Resource.Type),
			k.Resource.Name, k.Origin.Object.Name(), h))
	}
	for k := range n.removed {
		if k == resource.TableAckKey(k.Resource) {
			lines = append(lines, fmt.Sprintf("removed %s/%s itself", xdstypes.Name(k.Resource.Type), k.Resource.Name))
			continue
		}
		lines = append(lines, fmt.Sprintf("removed %s/%s %s", xdstypes.Name(k.Resource.Type),
			k.Resource.Name, k.Origin.Object.Name()))
	}
	for k, r := range n.refused {
		lines = append(lines, fmt.Sprintf("refused %s=%d by %s/%s: %s", k.Origin.Object.Name(), k.Hash,
			xdstypes.Name(r.Type), r.Name,
			strings.ReplaceAll(r.Message, "\n", `\n`)))
	}
	for k := range n.ended {
		lines = append(lines, fmt.Sprintf("ended %s=%d", k.Origin.Object.Name(), k.Hash))
	}
	for _, r := range n.unattributed {
		lines = append(lines, fmt.Sprintf("unattributed %s/%s: %s", xdstypes.Name(r.Type), r.Name, r.Message))
	}
	for _, r := range n.trials {
		lines = append(lines, fmt.Sprintf("tried: %d of %d rejected in %d rounds", r.rejected, r.suspects, r.rounds))
	}
	slices.Sort(lines)
	if n.proxies != nil {
		lines = append(lines, fmt.Sprintf("proxies %d, acknowledged %d", n.proxies.Connected, n.proxies.Acknowledged))
	}
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
	return b.String()
}

func describe(r *response) string {
	if r.unknownType != "" {
		return fmt.Sprintf("%s %s removed %v", r.nonce, r.unknownType, r.removed)
	}
	words := []string{r.nonce, xdstypes.Name(r.typ)}
	for _, s := range r.items {
		w := "+" + s.name.Name + "=" + s.v.res.Version
		if r.group != nil {
			w = "+" + s.name.Name + "(" + string(s.v.res.AppendBytes(nil)) + ")"
		} else if r.trial != nil {
			w = "+" + s.name.Name
		}
		words = append(words, w)
	}
	for _, n := range r.placeholders {
		if r.pending {
			n += ":waiting"
		}
		words = append(words, "empty:"+n)
	}
	for _, n := range r.removed {
		words = append(words, "-"+n)
	}
	return strings.Join(words, " ")
}

func typeNamed(t *testing.T, name string) resource.Type {
	for _, typ := range xdstypes.All() {
		if xdstypes.Name(typ) == name {
			return typ
		}
	}
	t.Fatalf("no type %s", name)
	return 0
}

func parseRequest(t *testing.T, words []string) *discoveryv3.DeltaDiscoveryRequest {
	req := &discoveryv3.DeltaDiscoveryRequest{InitialResourceVersions: map[string]string{}}
	if strings.Contains(words[1], ".") {
		req.TypeUrl = words[1]
	} else {
		req.TypeUrl = xdstypes.URL(typeNamed(t, words[1]))
	}
	for _, w := range words[2:] {
		name, version, has := strings.Cut(w, "=")
		if words[0] == "leaves" {
			req.ResourceNamesUnsubscribe = append(req.ResourceNamesUnsubscribe, name)
			continue
		}
		if has {
			req.InitialResourceVersions[name] = version
		}
		if typ, ok := xdstypes.OfURL(req.TypeUrl); !ok || !storyProtocol().isWildcard(typ) {
			req.ResourceNamesSubscribe = append(req.ResourceNamesSubscribe, name)
		}
	}
	return req
}

func parseUpdate(t *testing.T, line string) update {
	words := strings.Fields(line)
	kind, gone := strings.CutPrefix(words[0], "-")
	name, version, _ := strings.Cut(words[1], "=")
	u := update{name: resource.Name{Type: typeNamed(t, kind), Name: name}}
	if gone {
		return u
	}
	r := resource.Resource{Version: version}
	var needs []resource.Name
	parts := name + ":" + strconv.FormatUint(hashOf([]byte(version))%1000, 10)
	for _, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "needs":
			for n := range strings.SplitSeq(value, ",") {
				typ, name, _ := strings.Cut(n, "/")
				needs = append(needs, resource.Name{Type: typeNamed(t, typ), Name: name})
			}
		case "warms":
			r.Warms = true
		case "binds":
			r.Binds = strings.Split(value, ",")
		case "parts":
			parts = value
		default:
			t.Fatalf("unknown word %s", w)
		}
	}
	r.Parts = append(r.Parts, &resource.Part{ID: "", Hash: hashOf([]byte(fmt.Sprint(needs))) % 1000, Needs: needs})
	for p := range strings.SplitSeq(parts, ",") {
		r.Parts = append(r.Parts, parsePart(t, u.name.Type, p))
	}
	u.value = &r
	return u
}

// storyOrigin is a rule's; of a listener, a filter chain's.
func storyOrigin(t resource.Type, name string) resource.Origin {
	if t == xdstypes.Listener {
		return resource.Origin{Object: model.Ref(model.KindGateway, "test", name)}
	}
	return resource.Origin{Object: model.Ref(model.KindHTTPRoute, "test", name)}
}

func parsePart(t *testing.T, typ resource.Type, s string) *resource.Part {
	id, rest, _ := strings.Cut(s, ":")
	id, need, needs := strings.Cut(id, ">")
	id, table, named := strings.Cut(id, "^")
	id, claim, claims := strings.Cut(id, "@")
	p := &resource.Part{ID: id}
	if claims {
		p.Claims = []string{claim}
	}
	if needs {
		p.Needs = []resource.Name{{Type: xdstypes.Secret, Name: need}}
	}
	if named {
		p.Needs = append(p.Needs, resource.Name{Type: xdstypes.Routes, Name: table})
	}
	for f := range strings.SplitSeq(rest, "+") {
		name, hash, ok := strings.Cut(f, ".")
		if !ok {
			name, hash = id, f
		}
		hash, refused := strings.CutPrefix(hash, "!")
		h, err := strconv.ParseUint(hash, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		p.Fragments = append(p.Fragments, resource.Fragment{
			Origin: storyOrigin(typ, name), Hash: h, Refused: refused,
		})
		p.Bytes = append(p.Bytes, storyPiece(name, h))
		p.Hash = p.Hash*31 + h
		if refused {
			p.Hash += 1_000_000
		}
	}
	return p
}

// storyProtocol is Envoy's, but for what is tried.
func storyProtocol() *protocol {
	p := envoy.Protocol()
	p.Trials = storyTrials{}
	out, err := newProtocol(withHead(p, func(_ string, rest []*resource.Part) *resource.Part {
		return &resource.Part{Hash: uint64(len(rest))}
	}))
	if err != nil {
		panic(err)
	}
	return out
}

// withHead has the first part of extensions made in another way.
func withHead(p resource.Protocol, head func(string, []*resource.Part) *resource.Part) resource.Protocol {
	p.Types = slices.Clone(p.Types)
	p.Types[xdstypes.Extension].Head = head
	return p
}

// wording is how Envoy names resources of a type that it refuses: a prefix, and what stands between them.
func wording(t resource.Type) (prefix, between string) {
	switch t {
	case xdstypes.Cluster:
		return "Error adding/updating cluster(s) ", ", "
	case xdstypes.Listener:
		return "Error adding/updating listener(s) ", "\n"
	}
	return "", ""
}

// storyTrials makes trials of parts whose pieces are "rule.hash".
type storyTrials struct{}

func (storyTrials) BuildListener(string, string) resource.Resource {
	return resource.Resource{Version: "1"}
}

func (storyTrials) BuildTrial(_ resource.Type, _ string, pieces [][]byte) resource.Resource {
	text := bytes.Join(pieces, []byte(" "))
	return resource.Resource{Version: string(text), Parts: []*resource.Part{{Bytes: [][]byte{text}, Size: len(text)}}}
}

func (storyTrials) SplitPieces(t resource.Type, p *resource.Part) map[resource.Origin][][]byte {
	pieces := map[resource.Origin][][]byte{}
	prefix := map[resource.Type]string{xdstypes.Listener: "h", xdstypes.Extension: "r"}[t]
	if !strings.HasPrefix(p.ID, prefix) {
		return pieces
	}
	for _, b := range p.Bytes {
		name, _, _ := strings.Cut(string(b), ".")
		o := storyOrigin(t, name)
		pieces[o] = append(pieces[o], b)
	}
	return pieces
}

func storyPiece(rule string, hash uint64) []byte { return fmt.Appendf(nil, "%s.%d", rule, hash) }
