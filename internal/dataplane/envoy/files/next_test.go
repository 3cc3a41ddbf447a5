package files

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	jwtauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	localratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

var start = dataplane.FileFolders{Dir: "/files", Keys: "/keys"}

// world is what proxies should have, in short.
type world struct {
	tables    map[string][]string // the clusters that each names, and the entries of extensions
	listeners map[string][]string // the table, and secrets
	clusters  map[string]string   // the secret that each shows, or ""
	secrets   map[string]int      // the version of each
	timeout   int                 // of all clusters, and the version of all entries
}

// An entry of the extensions is known by how its name begins.
const entryPrefix = "entry-"

// entries are those that tables name.
func (w world) entries() map[string]bool {
	all := map[string]bool{}
	for _, names := range w.tables {
		for _, n := range names {
			if strings.HasPrefix(n, entryPrefix) {
				all[n] = true
			}
		}
	}
	return all
}

// extensions has an entry in a map, and one in a list.
func (w world) extensions() (*jwtauthnv3.JwtAuthentication, *localratelimitv3.LocalRateLimit) {
	tokens := &jwtauthnv3.JwtAuthentication{RequirementMap: map[string]*jwtauthnv3.JwtRequirement{}}
	limits := &localratelimitv3.LocalRateLimit{StatPrefix: "limits"}
	for _, e := range slices.Sorted(maps.Keys(w.entries())) {
		tokens.RequirementMap[e] = &jwtauthnv3.JwtRequirement{
			RequiresType: &jwtauthnv3.JwtRequirement_ProviderName{ProviderName: fmt.Sprint("v", w.timeout)},
		}
		limits.Descriptors = append(limits.Descriptors, &ratelimitv3.LocalRateLimitDescriptor{
			Entries:     []*ratelimitv3.RateLimitDescriptor_Entry{{Key: "id", Value: e}},
			TokenBucket: &typev3.TokenBucket{MaxTokens: uint32(1 + w.timeout), FillInterval: durationpb.New(time.Minute)},
		})
	}
	return tokens, limits
}

// fromServer is a filter that asks a server for its configuration.
func fromServer(name string, source *corev3.ConfigSource) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_ConfigDiscovery{
		ConfigDiscovery: &corev3.ExtensionConfigSource{ConfigSource: source},
	}}
}

func pack(t testing.TB, m proto.Message) *anypb.Any {
	t.Helper()
	packed, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// resources are those of package envoy, as far as it matters here.
func (w world) resources(t testing.TB) map[resource.Name]resource.Resource {
	t.Helper()
	all := map[resource.Name]resource.Resource{}
	add := func(kind resource.Type, name string, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		all[resource.Name{Type: kind, Name: name}] = resource.JoinParts(&resource.Part{Bytes: [][]byte{b}})
	}
	ads := &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}
	tls := func(secrets ...string) *tlsv3.CommonTlsContext {
		c := &tlsv3.CommonTlsContext{}
		for _, s := range secrets {
			c.TlsCertificateSdsSecretConfigs = append(c.TlsCertificateSdsSecretConfigs,
				&tlsv3.SdsSecretConfig{Name: s, SdsConfig: ads})
		}
		return c
	}
	for name, clusters := range w.tables {
		host := &routev3.VirtualHost{Name: "*", Domains: []string{"*"}}
		for _, c := range clusters {
			if strings.HasPrefix(c, entryPrefix) {
				host.Routes = append(host.Routes, &routev3.Route{TypedPerFilterConfig: map[string]*anypb.Any{
					"jwt": pack(t, &jwtauthnv3.PerRouteConfig{
						RequirementSpecifier: &jwtauthnv3.PerRouteConfig_RequirementName{RequirementName: c},
					}),
				}})
				continue
			}
			host.Routes = append(host.Routes, &routev3.Route{Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: c},
			}}})
		}
		add(xdstypes.Routes, name, &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{host}})
	}
	for name, needs := range w.listeners {
		manager := &hcmv3.HttpConnectionManager{RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{
			Rds: &hcmv3.Rds{ConfigSource: ads, RouteConfigName: needs[0]},
		}, HttpFilters: []*hcmv3.HttpFilter{fromServer("jwt", ads), fromServer("limits", ads)}}
		add(xdstypes.Listener, name, &listenerv3.Listener{Name: name, FilterChains: []*listenerv3.FilterChain{{
			Filters: []*listenerv3.Filter{{
				ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(t, manager)},
			}},
			TransportSocket: &corev3.TransportSocket{ConfigType: &corev3.TransportSocket_TypedConfig{
				TypedConfig: pack(t, &tlsv3.DownstreamTlsContext{CommonTlsContext: tls(needs[1:]...)}),
			}},
		}}})
	}
	for name, secret := range w.clusters {
		c := &clusterv3.Cluster{
			Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			ConnectTimeout: durationpb.New(1e9 * 1), EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads},
		}
		c.ConnectTimeout.Seconds += int64(w.timeout)
		if secret != "" {
			c.TransportSocket = &corev3.TransportSocket{ConfigType: &corev3.TransportSocket_TypedConfig{
				TypedConfig: pack(t, &tlsv3.UpstreamTlsContext{CommonTlsContext: tls(secret)}),
			}}
		}
		add(xdstypes.Cluster, name, c)
		add(xdstypes.Endpoints, name, &endpointv3.ClusterLoadAssignment{ClusterName: name})
	}
	tokens, limits := w.extensions()
	for name, m := range map[string]proto.Message{"jwt": tokens, "limits": limits} {
		add(xdstypes.Extension, name, &corev3.TypedExtensionConfig{Name: name, TypedConfig: pack(t, m)})
	}
	for name, version := range w.secrets {
		add(xdstypes.Secret, name, &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{
			TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: fmt.Sprint(version)},
			}},
		}})
	}
	return all
}

func small() world {
	return world{
		tables:    map[string][]string{"80/0": {"a"}},
		listeners: map[string][]string{"0.0.0.0:80": {"80/0", "secret/x/tls"}},
		clusters:  map[string]string{"a": ""}, secrets: map[string]int{"secret/x/tls": 1},
	}
}

func step(t testing.TB, written dataplane.FileSet, w world) dataplane.FileStep {
	t.Helper()
	s, err := nextStep(start, written, w.resources(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStages: each kind of edit takes the stages that it needs, and no others.
func TestStages(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*world)
		want string
	}{
		"nothing": {func(*world) {}, ""},
		"a table": {func(w *world) { w.tables["80/0"] = []string{"a", "a"} }, "switch"},
		"a new entry of an extension in a table": {func(w *world) {
			w.tables["80/0"] = []string{"a", "entry-1"}
		}, "add, switch"},
		"a cluster that is there": {func(w *world) { w.timeout = 9 }, "update"},
		"a certificate":           {func(w *world) { w.secrets["secret/x/tls"] = 2 }, "update"},
		"a new cluster in a table": {func(w *world) {
			w.clusters["b"], w.tables["80/0"] = "", []string{"a", "b"}
		}, "add, switch"},
		"another cluster in a table": {func(w *world) {
			w.clusters, w.tables["80/0"] = map[string]string{"b": ""}, []string{"b"}
		}, "add, switch, remove"},
		"a new listener with a certificate": {func(w *world) {
			w.listeners["0.0.0.0:443"], w.tables["443/0"] = []string{"443/0", "secret/x/new"}, nil
			w.secrets["secret/x/new"] = 1
		}, "add keys, switch"},
		"a listener less": {func(w *world) { *w = world{} }, "switch, remove"},
		"a cluster gets a certificate": {func(w *world) {
			w.clusters["a"], w.secrets["client/secret/x/c"] = "client/secret/x/c", 1
		}, "add keys, add"},
	} {
		w := small()
		written := step(t, dataplane.FileSet{}, w).Files
		c.edit(&w)
		var stages []string
		for {
			s := step(t, written, w)
			if s.Stage == dataplane.FilesCurrent {
				if len(s.Missing) > 0 {
					t.Errorf("%s: at the end %v is missing", name, s.Missing)
				}
				break
			}
			stages, written = append(stages, s.Stage.String()), s.Files
		}
		if got := strings.Join(stages, ", "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestEntriesThatLeave: an entry of an extension stays until no table names it, as it was or, if it changes, as it is.
func TestEntriesThatLeave(t *testing.T) {
	w := small()
	w.tables["80/0"] = []string{"a", "entry-1", "entry-2"}
	written := step(t, dataplane.FileSet{}, w).Files
	w.tables["80/0"] = []string{"a", "entry-2", "entry-3"}
	w.timeout = 1
	var got []string
	for s := step(t, written, w); s.Stage != dataplane.FilesCurrent; s = step(t, written, w) {
		written = s.Files
		tokens, limits := readExtensions(t, written)
		var list []string
		for name, r := range tokens.RequirementMap {
			list = append(list, name+" "+r.GetProviderName())
		}
		for _, d := range limits.Descriptors {
			list = append(list, fmt.Sprint(d.Entries[0].Value, " ", d.TokenBucket.MaxTokens))
		}
		slices.Sort(list)
		got = append(got, s.Stage.String()+": "+strings.Join(list, ", "))
	}
	former := "entry-1 1, entry-1 v0, "
	now := "entry-2 2, entry-2 v1, entry-3 2, entry-3 v1"
	want := []string{
		"update: entry-1 1, entry-1 v0, entry-2 1, entry-2 v0", // the cluster's timeout
		"add: " + former + now, "switch: " + former + now, "remove: " + now,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func readExtensions(t testing.TB, s dataplane.FileSet) (*jwtauthnv3.JwtAuthentication,
	*localratelimitv3.LocalRateLimit) {
	t.Helper()
	tokens, limits := new(jwtauthnv3.JwtAuthentication), new(localratelimitv3.LocalRateLimit)
	for name, m := range map[string]proto.Message{"jwt": tokens, "limits": limits} {
		packed, e := new(anypb.Any), new(corev3.TypedExtensionConfig)
		text := parseResourceTexts(s.Plain[fileOf(resource.Name{Type: xdstypes.Extension, Name: name})])[name]
		err := protojson.Unmarshal(text, packed)
		if err == nil {
			err = packed.UnmarshalTo(e)
		}
		if err == nil {
			err = e.GetTypedConfig().UnmarshalTo(m)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return tokens, limits
}

// TestMissing: what is not written as it is now is told.
func TestMissing(t *testing.T) {
	w := small()
	written := step(t, dataplane.FileSet{}, w).Files
	w.clusters["b"], w.tables["80/0"] = "", []string{"a", "b"}
	for _, want := range []string{
		"Cluster b, Endpoints b, Routes 80/0", // nothing of it is written
		"Routes 80/0",                         // the cluster is
		"",
	} {
		s := step(t, written, w)
		var missing []string
		for _, n := range s.Missing {
			missing = append(missing, xdstypes.Name(n.Type)+" "+n.Name)
		}
		slices.Sort(missing)
		if got := strings.Join(missing, ", "); got != want {
			t.Errorf("%q is missing, want %q", got, want)
		}
		written = s.Files
	}
}

// TestWrittenByOthers: what somebody else wrote into the files is replaced.
func TestWrittenByOthers(t *testing.T) {
	written := step(t, dataplane.FileSet{}, small()).Files
	for name := range written.Plain {
		broken := dataplane.FileSet{Plain: maps.Clone(written.Plain), Keys: written.Keys}
		broken.Plain[name] = []byte("rubbish")
		for range 5 {
			if s := step(t, broken, small()); s.Stage != dataplane.FilesCurrent {
				broken = s.Files
			}
		}
		if !broken.Equal(written) {
			t.Errorf("%s is not mended", name)
		}
	}
}

// names finds what files name: by tables the clusters, by listeners the tables, by both lists the keys.
func names(s dataplane.FileSet, in, before, after string) map[string]bool {
	list := map[string]bool{}
	for name, text := range s.Plain {
		if !strings.HasPrefix(name, in) {
			continue
		}
		for _, rest := range strings.Split(string(text), before)[1:] {
			found, _, _ := strings.Cut(rest, after)
			list[found] = true
		}
	}
	return list
}

// TestEveryStepNamesWhatIsThere: two folders change at different moments, and files of one are read in any order. So
// between a step and the next, all that either names is in both.
func TestEveryStepNamesWhatIsThere(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var written dataplane.FileSet
		for range 12 {
			w := anyWorld(r)
			for range r.IntN(6) { // edits overtake steps
				s := step(t, written, w)
				checkStep(t, written, s.Files)
				written = s.Files
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func checkStep(t *testing.T, before, after dataplane.FileSet) {
	t.Helper()
	if len(before.Plain) == 0 {
		before = after
	}
	for _, named := range []dataplane.FileSet{before, after} {
		for _, there := range []dataplane.FileSet{before, after} {
			clusters := parseResourceTexts(there.Plain[clustersFile])
			tokens, limits := readExtensions(t, there)
			for table := range names(named, "lds", `"path":"/files/..data/`, `"`) {
				for name := range names(named, table, `"cluster":"`, `"`) {
					if clusters[name] == nil {
						t.Errorf("table %s names cluster %s, which is not there", table, name)
					}
				}
				for name := range names(named, table, `"requirement_name":"`, `"`) {
					if tokens.RequirementMap[name] == nil || !slices.ContainsFunc(limits.Descriptors,
						func(d *ratelimitv3.LocalRateLimitDescriptor) bool { return d.Entries[0].Value == name }) {
						t.Errorf("table %s names an entry %s, which is not there", table, name)
					}
				}
			}
			for name := range names(named, "lds", `"path":"/keys/..data/`, `"`) {
				if there.Keys[name] == nil {
					t.Errorf("a listener names key %s, which is not there", name)
				}
			}
		}
		for name := range names(named, "lds", `"path":"/files/..data/`, `"`) {
			if after.Plain[name] == nil {
				t.Errorf("a listener names table %s, which is not there", name)
			}
		}
	}
	for name := range names(after, "cds", `"path":"/keys/..data/`, `"`) {
		if before.Keys[name] == nil || after.Keys[name] == nil {
			t.Errorf("a cluster names key %s, which is not there", name) // one that leaves may lose its key before
		}
	}
}

// anyWorld is whole: all that it names is there.
func anyWorld(r *rand.Rand) world {
	w := world{map[string][]string{}, map[string][]string{}, map[string]string{}, map[string]int{}, r.IntN(2)}
	secret := func(prefix string) string {
		name := fmt.Sprintf("%ssecret/x/%d", prefix, r.IntN(3))
		w.secrets[name] = r.IntN(2)
		return name
	}
	for port := range r.IntN(3) {
		table := fmt.Sprintf("%d/0", port)
		w.listeners[fmt.Sprintf("0.0.0.0:%d", port)] = []string{table, secret("")}
		w.tables[table] = nil
		for range r.IntN(3) {
			w.tables[table] = append(w.tables[table], fmt.Sprint(entryPrefix, r.IntN(5)))
		}
		for range r.IntN(4) {
			cluster := fmt.Sprintf("c%d", r.IntN(5))
			w.tables[table] = append(w.tables[table], cluster)
			if _, known := w.clusters[cluster]; !known {
				w.clusters[cluster] = ""
				if r.IntN(3) == 0 {
					w.clusters[cluster] = secret("client/")
				}
			}
		}
	}
	return w
}

// TestFileNames: no two resources have one file, and every name is a key of a ConfigMap.
func TestFileNames(t *testing.T) {
	long := strings.Repeat("x", 300)
	seen := map[string]bool{}
	names := []string{"80/0", "8/00", "443/https/0", "443/https-0", "443/a.b/0", "443/a/b/0", long, long + "y"}
	for _, name := range names {
		file := fileOf(resource.Name{Type: xdstypes.Routes, Name: name})
		if seen[file] || len(file) > maxNameLength || strings.Trim(file, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			t.Errorf("%s: %s", name, file)
		}
		seen[file] = true
	}
}

// TestConnectionFilterReadsFile: a filter of a chain names the file of its configuration, by a name that a ConfigMap
// can have.
func TestConnectionFilterReadsFile(t *testing.T) {
	f := &listenerv3.Filter{Name: "connections/tls/*.a.ex", ConfigType: &listenerv3.Filter_ConfigDiscovery{
		ConfigDiscovery: &corev3.ExtensionConfigSource{ConfigSource: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
			InitialFetchTimeout:   durationpb.New(time.Minute),
		}},
	}}
	if err := replaceSources(f, dataplane.FileFolders{Dir: "/files"}); err != nil {
		t.Fatal(err)
	}
	source := f.GetConfigDiscovery().GetConfigSource()
	const want = "/files/..data/ecds_connections_tls_-.a.ex.json"
	if got := source.GetPathConfigSource().GetPath(); got != want ||
		source.GetInitialFetchTimeout().AsDuration() != time.Minute {
		t.Errorf("it reads %s within %s, want %s", got, source.GetInitialFetchTimeout().AsDuration(), want)
	}
}
