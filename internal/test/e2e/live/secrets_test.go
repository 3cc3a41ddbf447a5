package live

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/app/builtin"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/cli"
	"cardea.dev/cardea/internal/test/testcert"
)

// TestNoPageShowsASecret: whatever refers to a Secret, its content is in no page of the admin API, no line of the log
// and no output of a command, as it is or encoded; not even if the proxy refuses the configuration and quotes it. A
// field that may name a Secret and is not in secretFields fails the test.
func TestNoPageShowsASecret(t *testing.T) {
	t.Parallel()
	broken, err := world.ExtensionsOf(append(builtin.Plugins(), brokenScript.Plug()))
	if err != nil {
		t.Fatal(err)
	}
	for field := range referencesIn(world.NewCatalog(broken...)) {
		if _, known := secretFields[field]; !known {
			t.Errorf("%s may name a Secret: state one in secretFields, with what must not be shown of it", field)
		}
	}
	secrets := makeSecrets(t)
	s := prepare(t, t.TempDir(), archive("objects.yaml", secretsFolder, "secrets.yaml", secrets.yaml.String(),
		"blue.yaml", serviceFile("blue", "blue"), "green.yaml", serviceFile("green", "green")))
	s.start(func(o *standalone.Options) {
		o.Extensions = broken
		o.Log = slog.New(slog.NewJSONHandler(s.book, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	s.Ready(t)
	s.says("httproute/shop/script", rejected) // and the words of the proxy are there
	s.expect("GET http://shop.example/key -> 401")

	var findings []admin.Finding
	if err := s.Program.Read("/findings", &findings); err != nil {
		t.Fatal(err)
	}
	for _, f := range findings { // what is not served shows nothing
		if f.Severity == "error" && f.Object != "HTTPRoute shop/script" {
			t.Errorf("%s: %s", f.Object, f.Message)
		}
	}

	shown := map[string]string{}
	for _, path := range s.allPages() {
		body, err := s.Get(path)
		if err != nil && !strings.Contains(err.Error(), "404") {
			t.Errorf("%s: %v", path, err)
		}
		shown[path] = string(body)
	}
	s.book.mu.Lock()
	for _, r := range s.book.list {
		shown["log"] += r.text + "\n"
	}
	s.book.mu.Unlock()
	maps.Copy(shown, s.commands(broken))
	if !strings.Contains(fmt.Sprint(shown), "[redacted]") || !strings.Contains(shown["log"], "rejected") {
		t.Error("nothing is redacted, or nothing was refused")
	}
	size := 0
	for name, text := range shown {
		size += len(text)
		for _, secret := range secrets.leaks(text) {
			t.Errorf("%s shows %s", name, secret)
		}
	}
	t.Logf("%d texts, %d bytes, %d secrets", len(shown), size, len(secrets.sentinels))
}

// secretFields are the fields that may name a Secret, with the Secret that secretsFolder states there; "": such a
// field of another kind of object, which no Secret can be.
var secretFields = map[string]string{
	"Gateway.spec.listeners[].tls.certificateRefs[]":                    "listener",
	"ListenerSet.spec.listeners[].tls.certificateRefs[]":                "listener-of-set",
	"Gateway.spec.tls.backend.clientCertificateRef":                     "client",
	"XBackend.spec.tls.clientCertificateRef":                            "xclient",
	"ClientPolicy.spec.tls.clientValidation.caCertificateRefs[]":        "ca",
	"ClientPolicy.spec.tls.clientValidation.crl.refs[]":                 "crl",
	"SecurityPolicy.spec.apiKey.keysRefs[]":                             "keys",
	"SecurityPolicy.spec.basicAuth.usersRef":                            "users",
	"SecurityPolicy.spec.jwt.providers[].jwks.secretRef":                "jwks",
	"TrafficPolicy.spec.directResponse.headers.add[].secretRef":         "direct-add",
	"TrafficPolicy.spec.directResponse.headers.addIfAbsent[].secretRef": "direct-absent",
	"TrafficPolicy.spec.directResponse.headers.set[].secretRef":         "direct-set",
	"TrafficPolicy.spec.headers.request.add[].secretRef":                "request-add",
	"TrafficPolicy.spec.headers.request.addIfAbsent[].secretRef":        "request-absent",
	"TrafficPolicy.spec.headers.request.set[].secretRef":                "request-set",
	"TrafficPolicy.spec.headers.response.add[].secretRef":               "response-add",
	"TrafficPolicy.spec.headers.response.addIfAbsent[].secretRef":       "response-absent",
	"TrafficPolicy.spec.headers.response.set[].secretRef":               "response-set",
	"TrafficPolicy.spec.extensions.e2e.example/broken.secretRef":        "script",
	"BackendPolicy.spec.credentials.header.secretRef":                   "credential",

	"GatewayClass.spec.parametersRef":                                        "",
	"Gateway.spec.infrastructure.parametersRef":                              "",
	"Gateway.spec.listeners[].filters.requests[].extensionRef":               "",
	"ListenerSet.spec.listeners[].filters.requests[].extensionRef":           "",
	"ListenerSet.spec.parentRef":                                             "",
	"Gateway.spec.tls.frontend.default.validation.caCertificateRefs[]":       "",
	"Gateway.spec.tls.frontend.perPort[].tls.validation.caCertificateRefs[]": "",
	"HTTPRoute.spec.rules[].backendRefs[].filters[].extensionRef":            "",
	"HTTPRoute.spec.rules[].filters[].extensionRef":                          "",
	"GRPCRoute.spec.rules[].backendRefs[].filters[].extensionRef":            "",
	"GRPCRoute.spec.rules[].filters[].extensionRef":                          "",
	"ReferenceGrant.spec.to[]":                                               "",
	"XBackend.spec.tls.validation.caCertificateRefs[]":                       "",
	"BackendTLSPolicy.spec.validation.caCertificateRefs[]":                   "",
	"InferenceObjective.spec.poolRef":                                        "",
	"InferenceModelRewrite.spec.poolRef":                                     "",
}

// referencesIn finds the fields of all kinds that name an object of a kind that is stated, by their schemas.
func referencesIn(catalog *kind.Catalog) map[string]bool {
	found := map[string]bool{}
	var walk func(path string, schema map[string]any)
	walk = func(path string, schema map[string]any) {
		fields, _ := schema["properties"].(map[string]any)
		names := strings.Join(e2e.SortedKeys(fields), " ")
		found[path] = found[path] || names == "group kind name" || names == "group kind name namespace"
		for name, field := range fields {
			if field, is := field.(map[string]any); is {
				walk(path+"."+name, field)
			}
		}
		for key, mark := range map[string]string{"items": "[]", "additionalProperties": "{}"} {
			if of, is := schema[key].(map[string]any); is {
				walk(path+mark, of)
			}
		}
	}
	for _, k := range catalog.All() {
		var schema map[string]any
		if k.Definition != nil && json.Unmarshal(k.Definition.Schema, &schema) == nil {
			walk(k.String(), schema)
		}
	}
	maps.DeleteFunc(found, func(_ string, is bool) bool { return !is })
	return found
}

// secretsFolder states each field of secretFields.
const secretsFolder = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: cardea
  tls: {backend: {clientCertificateRef: {name: client}}}
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: listener}]}}
  allowedListeners: {namespaces: {from: Same}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: shop}
spec:
  parentRef: {name: web}
  listeners:
  - {name: more, port: 444, protocol: HTTPS, tls: {certificateRefs: [{name: listener-of-set}]}}
---
apiVersion: cardea.dev/v1alpha1
kind: ClientPolicy
metadata: {name: callers, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: https}]
  tls:
    clientValidation:
      caCertificateRefs: [{group: "", kind: Secret, name: ca}]
      crl: {refs: [{group: "", kind: Secret, name: crl}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: web}]
  hostnames: [shop.example]
  rules:
  - {name: key, matches: [{path: {value: /key}}], backendRefs: [{name: blue, port: 80}]}
  - {name: users, matches: [{path: {value: /users}}], backendRefs: [{name: blue, port: 80}]}
  - {name: token, matches: [{path: {value: /token}}], backendRefs: [{name: blue, port: 80}]}
  - {name: headers, matches: [{path: {value: /headers}}], backendRefs: [{name: green, port: 80}]}
  - name: out
    matches: [{path: {value: /out}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: out}]
  - name: direct
    matches: [{path: {value: /direct}}]
    filters: [{type: ExtensionRef, extensionRef: {group: cardea.dev, kind: TrafficPolicy, name: direct}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: script, namespace: shop}
spec:
  parentRefs: [{name: web}]
  hostnames: [script.example]
  rules: [{backendRefs: [{name: blue, port: 80}]}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: out, namespace: shop}
spec:
  type: ExternalHostname
  port: {number: 443}
  externalHostname: {hostname: out.example}
  tls:
    mode: ClientAndServer
    clientCertificateRef: {name: xclient}
    validation: {hostname: out.example, wellKnownCACertificates: System}
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: key, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: key}]
  apiKey: {keysRefs: [{name: keys}]}
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: users, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: users}]
  basicAuth: {usersRef: {name: users}}
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: token, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: token}]
  jwt: {providers: [{name: corp, issuer: "https://corp", jwks: {secretRef: {name: jwks}}}]}
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: headers, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web, sectionName: headers}]
  headers:
    request:
      set: [{name: x-set, secretRef: {name: request-set}}]
      add: [{name: x-add, secretRef: {name: request-add}}]
      addIfAbsent: [{name: x-absent, secretRef: {name: request-absent}}]
    response:
      set: [{name: x-set, secretRef: {name: response-set}}]
      add: [{name: x-add, secretRef: {name: response-add}}]
      addIfAbsent: [{name: x-absent, secretRef: {name: response-absent}}]
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: direct, namespace: shop}
spec:
  directResponse:
    status: 200
    headers:
      set: [{name: x-set, secretRef: {name: direct-set}}]
      add: [{name: x-add, secretRef: {name: direct-add}}]
      addIfAbsent: [{name: x-absent, secretRef: {name: direct-absent}}]
---
apiVersion: cardea.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: script, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: script}]
  extensions: {e2e.example/broken: {secretRef: {name: script}}}
---
apiVersion: cardea.dev/v1alpha1
kind: BackendPolicy
metadata: {name: credential, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: green}]
  credentials: {header: {name: x-key, secretRef: {name: credential}}}
`

// brokenScript is a feature of somebody else with a mistake: its script ends in the middle of a text, which is a
// Secret's.
var brokenScript = extend.Feature[brokenSpec, brokenValue]{
	Kind: extend.TrafficPolicy, Name: "e2e.example/broken",
	Schema: []byte(`{"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"secretRef": {"type": "object",
		"x-kubernetes-map-type": "atomic", "required": ["name"], "properties": {"group": {"type": "string"},
		"kind": {"type": "string"}, "name": {"type": "string"}, "namespace": {"type": "string"}}}}}`),
	Levels: extend.AtRule, OnInvalid: extend.Deny,
	Read: func(r extend.Reader, s brokenSpec) (v brokenValue) {
		data, _ := r.Field("secretRef").Secret(s.SecretRef)
		return brokenValue{data["value"]}
	},
	Renders: extendenvoy.Render(extendenvoy.Funcs[brokenValue]{Rule: func(e extendenvoy.Rule, v brokenValue) {
		e.Filter(extend.SlotCustom3, extendenvoy.SecretFilter("e2e.example/broken"), &luav3.Lua{
			DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{
				InlineString: "local key = '" + string(v.Key),
			}},
		})
	}}),
}

type brokenSpec struct {
	SecretRef gatewayv1.SecretObjectReference `json:"secretRef"`
}

type brokenValue struct{ Key extend.Bytes }

// sentinels are what must not be shown, by the Secret and what it is.
type sentinels struct {
	yaml      strings.Builder // the Secrets
	sentinels map[string][]byte
}

func makeSecrets(t *testing.T) *sentinels {
	t.Helper()
	s, ca := &sentinels{sentinels: map[string][]byte{}}, signer("callers")
	word := func(of string) string { // as a key of an API looks, without what encodings would change
		sum := sha1.Sum([]byte("sentinel of " + of))
		text := "s3nt" + hex.EncodeToString(sum[:])
		s.sentinels[of] = []byte(text)
		return text
	}
	add := func(name, kind string, data map[string]string) {
		data["unused"] = word(name + ", an entry that nobody reads") // it is in the Secret all the same
		text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "type": kind,
			"metadata": map[string]any{"name": name, "namespace": "shop"}, "stringData": data})
		if err != nil {
			t.Fatal(err)
		}
		s.yaml.WriteString(string(text) + "\n---\n")
	}
	for _, name := range secretFields {
		switch name {
		case "":
		case "listener", "listener-of-set", "client", "xclient":
			pair := testcert.SelfSigned("shop.example")
			block, _ := pem.Decode(pair.PrivateKey)
			s.sentinels[name+", the key"] = block.Bytes[len(block.Bytes)/2:]
			s.sentinels[name+", a line of the key"] = bytes.Split(pair.PrivateKey, []byte("\n"))[1]
			add(name, "kubernetes.io/tls", map[string]string{"tls.crt": string(pair.Certificate),
				"tls.key": string(pair.PrivateKey)})
		case "ca":
			add(name, "Opaque", map[string]string{"ca.crt": string(ca.Certificate), "ca.key": word(name)})
		case "crl":
			add(name, "Opaque", map[string]string{"ca.crl": string(crl(t, ca)), "ca.key": word(name)})
		case "keys":
			add(name, "Opaque", map[string]string{"ann": word(name), "bob": word(name + ", another")})
		case "users":
			sum := sha1.Sum([]byte("password"))
			hash := base64.StdEncoding.EncodeToString(sum[:])
			s.sentinels[name] = []byte(hash)
			add(name, "Opaque", map[string]string{".htpasswd": "ann:{SHA}" + hash})
		case "jwks":
			add(name, "Opaque", map[string]string{"jwks": `{"keys": [{"kty": "EC", "kid": "a", "alg": "ES256", "crv": "P-256",` +
				`"x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",` +
				`"d": "` + word(name) + `"}, {"kty": "oct", "alg": "HS256", "k": "` + word(name+", symmetric") + `"}]}`})
		default:
			add(name, "Opaque", map[string]string{"value": word(name)})
		}
	}
	return s
}

var (
	runOfBase64 = regexp.MustCompile(`[A-Za-z0-9+/_-]{20,}`)
	ofURLs      = strings.NewReplacer("-", "+", "_", "/")
)

// leaks names the secrets that a text has, as they are, in base64, in hexadecimal or as lists of numbers.
func (s *sentinels) leaks(text string) (names []string) {
	var decoded bytes.Buffer
	decoded.WriteString(text)
	tried := map[string]bool{}
	for _, run := range runOfBase64.FindAllString(text, -1) { // wherever in a run something begins
		if tried[run] {
			continue
		}
		tried[run] = true
		run = ofURLs.Replace(run)
		for skip := range 4 {
			end := len(run)
			if (end-skip)%4 == 1 { // no encoding ends so
				end--
			}
			if b, err := base64.RawStdEncoding.DecodeString(run[skip:end]); err == nil {
				decoded.WriteByte(0)
				decoded.Write(b)
			}
		}
	}
	lower := strings.ToLower(text)
	for name, secret := range s.sentinels {
		numbers := strings.Trim(fmt.Sprint(secret), "[]")
		if bytes.Contains(decoded.Bytes(), secret) || strings.Contains(lower, hex.EncodeToString(secret)) ||
			strings.Contains(text, numbers) || strings.Contains(text, strings.ReplaceAll(numbers, " ", ",")) ||
			strings.Contains(text, url.QueryEscape(string(secret))) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestLeaksAreFound: as it is, in base64 wherever it begins, in hexadecimal, as numbers.
func TestLeaksAreFound(t *testing.T) {
	const secret = "s3nt0123456789abcdef"
	s := &sentinels{sentinels: map[string][]byte{"it": []byte(secret), "other": []byte("s3ntother")}}
	for _, text := range []string{
		secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), fmt.Sprint([]byte("in " + secret + " it")),
		base64.StdEncoding.EncodeToString([]byte("\x0a\x14" + secret + "more")),
		base64.StdEncoding.EncodeToString([]byte("a" + secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
		`{"Value":"xyz` + base64.RawStdEncoding.EncodeToString([]byte("1"+secret)) + `"}`,
	} {
		if got := s.leaks(text); !slices.Equal(got, []string{"it"}) {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := s.leaks("s3nt and 115 51 110 116"); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// allPages are all paths of the admin API, with each kind, object and collection.
func (s *stage) allPages() (paths []string) {
	s.t.Helper()
	var kinds []admin.KindCount
	var collections []struct{ Name string }
	if err := s.Program.Read("/objects", &kinds); err != nil {
		s.t.Fatal(err)
	}
	if err := s.Program.Read("/debug/flow", &collections); err != nil {
		s.t.Fatal(err)
	}
	var words, objects, named []string
	for _, k := range kinds {
		words = append(words, k.Name)
		var list struct {
			Items []struct {
				Metadata struct{ Namespace, Name string }
			}
		}
		if err := s.Program.Read("/objects/"+k.Name, &list); err != nil {
			s.t.Fatal(err)
		}
		for _, o := range list.Items {
			if o.Metadata.Namespace != "" {
				named = append(named, o.Metadata.Namespace+"/"+o.Metadata.Name)
				objects = append(objects, k.Name+"/"+named[len(named)-1])
			}
		}
	}
	slices.Sort(named)
	fill := map[string][]string{"{kind}": words, "{kind}/{name}": {"gatewayclasses/cardea"},
		"{kind}/{namespace}/{name}": objects, "{namespace}/{name}": slices.Compact(named)}
	for _, c := range collections {
		fill["{collection...}"] = append(fill["{collection...}"], url.PathEscape(c.Name))
	}
	hole := regexp.MustCompile(`\{[a-z].*\}`)
	for _, path := range admin.ListPaths() {
		switch {
		case path == "/diff": // it takes a body: a command asks it
		case path == "/debug/pprof/profile" || path == "/debug/pprof/trace": // names of functions, for half a minute
		case path == "/debug/pprof/":
			paths = append(paths, path, path+"goroutine?debug=2", path+"heap?debug=1")
		case path == "/explain":
			for _, rule := range []string{"key", "users", "token", "headers", "out", "direct"} {
				paths = append(paths, path+"?url="+url.QueryEscape("http://shop.example/"+rule))
			}
			paths = append(paths, path+"?url="+url.QueryEscape("http://script.example/"))
		case hole.MatchString(path):
			values := fill[hole.FindString(path)]
			if len(values) == 0 {
				s.t.Errorf("nothing is known for %s", path)
			}
			for _, value := range values {
				paths = append(paths, hole.ReplaceAllLiteralString(path, value))
			}
		default:
			paths = append(paths, strings.TrimSuffix(path, "{$}"))
		}
	}
	return paths
}

// commands is what commands print of the folder, and of the program that serves it.
func (s *stage) commands(extensions []world.Extension) map[string]string {
	s.t.Helper()
	program := cli.Program{
		Catalog: world.NewCatalog(extensions...), Extensions: extensions, Dialects: e2e.DataPlanes(s.t),
		Check: standalone.Check, Translate: standalone.Translate, Gateways: standalone.ListGateways,
		Explainer: standalone.NewExplainer, Objects: standalone.ListObjects, Differ: standalone.NewDiffer,
	}
	other := s.t.TempDir() // other values: a diff tells what they change
	text, err := os.ReadFile(filepath.Join(s.Dir, "secrets.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(text), `"unused":"`, `"unused":"x`)
	changed = strings.ReplaceAll(strings.ReplaceAll(changed, `"value":"`, `"value":"x`), `"ann":"`, `"ann":"x`)
	if err := os.WriteFile(filepath.Join(other, "secrets.yaml"), []byte(changed), 0o600); err != nil {
		s.t.Fatal(err)
	}
	db := filepath.Join(s.t.TempDir(), "ledger.db")
	shown := map[string]string{}
	for _, words := range [][]string{
		{"translate", s.Dir, "--port-offset", fmt.Sprint(e2e.Offset)},
		{"check", s.Dir},
		{"get", "secrets", "-A", "-o", "yaml", "--server", s.Admin},
		{"get", "findings", "--server", s.Admin},
		{"explain", "http://shop.example/key", "-o", "json", "--server", s.Admin},
		{"explain", "http://shop.example/users", "--dir", s.Dir},
		{"explain", "secret/keys", "-n", "shop", "--dir", s.Dir},
		{"diff", other, "--server", s.Admin, "-o", "json"},
		{"diff", other, "--dir", s.Dir},
		{"ledger", "apply", s.Dir, "--ledger", db, "-m", "all"},
		{"ledger", "history", "--ledger", db},
		{"ledger", "show", "1", "--ledger", db, "-o", "json"},
		{"ledger", "diff", other, "--ledger", db, "--server", s.Admin},
	} {
		var out bytes.Buffer
		cli.Main(s.t.Context(), words, program, &out, &out) // of some, the exit code says that something differs
		shown[strings.Join(words, " ")] = out.String()
	}
	for _, file := range []string{db, db + "-wal"} {
		content, err := os.ReadFile(file)
		if err != nil && file == db {
			s.t.Error(err)
		}
		shown["the ledger file"] += string(content)
	}
	for name, text := range shown {
		if text == "" {
			s.t.Errorf("%s printed nothing", name)
		}
	}
	return shown
}
