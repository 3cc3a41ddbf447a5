package live

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/lastgood"
	"cardea.dev/cardea/internal/test/testcert"
)

// keeping is a world whose last good versions are kept.
type keeping struct {
	t      *testing.T
	world  *world.World
	keeper *lastgood.Keeper
	now    time.Time
}

func keep(t *testing.T, objects string) *keeping {
	t.Helper()
	k := &keeping{t: t, world: e2e.Own().WorldOf(t, e2e.ReadDocs(objects)), now: time.Now()}
	k.keeper = lastgood.New(lastgood.Config{
		Graph: k.world.Graph, Used: k.world.Plan.Materials, Kept: k.world.Sources.LastGood,
		Now: func() time.Time { return k.now },
	})
	k.settle()
	return k
}

// settle runs turns until nothing changes any more.
func (k *keeping) settle() {
	k.t.Helper()
	for range 10 {
		k.world.Graph.Settle()
		if !k.keeper.Step() {
			return
		}
	}
	k.t.Fatal("what is used and what is kept go back and forth")
}

func (k *keeping) edit(put, drop string) {
	k.t.Helper()
	k.queue(put, drop)
	k.settle()
}

// queue makes an edit of which the keeper does not hear yet.
func (k *keeping) queue(put, drop string) {
	k.t.Helper()
	k.world.Graph.Apply("test", func(b *flow.Batch) {
		for _, doc := range e2e.ReadDocs(put) {
			e2e.Own().Put(b, k.world, doc)
		}
		for _, doc := range e2e.ReadDocs(drop) {
			e2e.Own().Drop(b, k.world, doc)
		}
	})
}

// used is what a test looks at in a View.
func (k *keeping) used(of func(flow.View, *world.World) string) (text string) {
	k.world.Graph.View(func(v flow.View) { text = of(v, k.world) })
	return text
}

// says tells whether there is a finding with a text.
func (k *keeping) says(text string) bool {
	for _, f := range k.world.Findings() {
		if strings.Contains(f.Message, text) {
			return true
		}
	}
	return false
}

// kept is how much is kept.
func (k *keeping) kept() (n int) {
	k.world.Graph.View(func(v flow.View) { n = flow.Len(v, k.world.Sources.LastGood.Collection()) })
	return n
}

const keepingGateway = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: cardea
  tls: {TLS}
  listeners: [{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: SECRET}]}}]
---
`

func keepingGatewayFile(tls, secret string) string {
	return strings.NewReplacer("TLS", tls, "SECRET", secret).Replace(keepingGateway)
}

var shopListener = model.ListenerKey{Parent: model.Ref(model.KindGateway, "shop", "web"), Section: "https"}

// shownPair is the certificate of a listener; "": it does not serve.
func shownPair(v flow.View, w *world.World) string {
	l, served := flow.Get(v, w.Plan.Listeners, shopListener)
	if !served {
		return ""
	}
	pair, _ := flow.Get(v, w.Plan.Materials, model.CertificateKey(l.Certificates[0]))
	return string(pair.Text)
}

// askedCA is who may sign the certificates of a listener's clients; "": it does not serve.
func askedCA(v flow.View, w *world.World) string {
	if l, served := flow.Get(v, w.Plan.Listeners, shopListener); served {
		return l.Clients.CA
	}
	return ""
}

// sentTo is by whose CA a backend is judged, and what it is shown; "": nothing is sent there.
func sentTo(v flow.View, w *world.World) string {
	for _, b := range flow.All(v, w.Plan.Backends) {
		if b.TLS != nil && b.TLS.Closed == "" {
			pair, _ := flow.Get(v, w.Plan.Materials, model.CertificateKey(b.TLS.Certificate))
			return b.TLS.CA + string(pair.Text)
		}
	}
	return ""
}

// statedAt is what a SecurityPolicy or ClientPolicy comes to; "": requests or connections are refused.
func statedAt(v flow.View, w *world.World) string {
	for _, l := range flow.All(v, w.Policies.Levels) {
		if l.Piece.PublicJSON != "" && l.Piece.Status == 0 {
			return l.Piece.PublicJSON
		}
	}
	for _, p := range flow.All(v, w.Policies.Ports) {
		for _, piece := range p.Chains[0].Pieces {
			if !piece.Piece.Rendered.OfListener().Closed {
				return strings.ReplaceAll(piece.Piece.PublicJSON, `\n`, "\n")
			}
		}
	}
	return ""
}

const (
	keepingRoute = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: blue, port: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: blue, namespace: shop}
spec: {ports: [{port: 80}]}
---
`
	keepingPolicy = `apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: blue, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: blue}]
  validation: {hostname: blue.example, caCertificateRefs: [{group: "", kind: ConfigMap, name: NAME}]}
---
`
	keepingXBackend = `apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: far, namespace: shop}
spec:
  type: ExternalHostname
  externalHostname: {hostname: far.example}
  port: {number: 443}
  tls:
    mode: ClientAndServer
    clientCertificateRef: {name: shown}
    validation: {hostname: far.example, caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: far}]}]
---
`
	keepingClients = `apiVersion: cardea.dev/v1alpha1
kind: ClientPolicy
metadata: {name: tls, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  tls: {clientValidation: {caCertificateRefs: [{group: "", kind: KIND, name: ca}]}}
---
`
	keepingJWT = `apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: jwt, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  jwt: {providers: [{name: corp, issuer: "https://corp.example", audiences: [shop], jwks: {JWKS}}]}
---
`
)

func caFile(name, text string) string { return configMapFile(name, "ca.crt", []byte(text)) }

func opaqueFile(name, key, text string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: shop}\nstringData: {%s: %q}\n", name,
		key, text)
}

func pairFile(name string, certificate, key []byte) string {
	return strings.Replace(secretFile(certificate, key), "name: shop,", "name: "+name+",", 1)
}

// jwks is a key set with a key, and what of it is in what is shown.
func jwks() (text, key string) {
	pub := testcert.SelfSigned("key").Leaf.PublicKey
	raw, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		panic(err)
	}
	point := raw[len(raw)-64:]
	encode := base64.RawURLEncoding.EncodeToString
	return fmt.Sprintf(`{"keys":[{"kty":"EC","crv":"P-256","x":%q,"y":%q}]}`, encode(point[:32]), encode(point[32:])),
		encode(point[:32])
}

// TestLastGoodVersions: what is read of an object as a certificate, authorities or a key set serves on as it was while
// the object has a mistake, or is gone; then the next good one does.
func TestLastGoodVersions(t *testing.T) {
	t.Parallel()
	one, two := testcert.SelfSigned("shop.example"), testcert.SelfSigned("shop.example")
	first, second := string(one.Certificate), string(two.Certificate)
	shop := pairFile("shop", one.Certificate, one.PrivateKey) + "---\n"
	firstKeys, firstKey := jwks()
	secondKeys, secondKey := jwks()
	jwt := func(keys string) string { return strings.Replace(keepingJWT, "JWKS", keys, 1) }
	plain := keepingGatewayFile("", "shop") + shop
	for name, c := range map[string]struct {
		rest                string
		good, broken, other string // versions of the object
		first, second       string // what is used of the good ones
		used                func(flow.View, *world.World) string
		wrong, gone         string // findings
		also                string // beside each of these; "": nothing is told
	}{
		"the certificate of a listener": {
			rest:   keepingGatewayFile("", "pair"),
			good:   pairFile("pair", one.Certificate, one.PrivateKey),
			broken: pairFile("pair", one.Certificate, two.PrivateKey), other: pairFile("pair", two.Certificate, two.PrivateKey),
			first: first, second: second, used: shownPair,
			wrong: "private key does not match", gone: "Secret shop/pair does not exist",
		},
		"the CA of clients in a ConfigMap": {
			rest: keepingGatewayFile(`frontend: {default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, `+
				`name: ca}]}}}`, "shop") + shop,
			good: caFile("ca", first), broken: caFile("ca", "none"), other: caFile("ca", second),
			first: first, second: second, used: askedCA,
			wrong: "ca.crt of ConfigMap shop/ca: there is no certificate in PEM", gone: "ConfigMap shop/ca does not exist",
		},
		"the CA of clients in a ClusterTrustBundle": {
			rest: keepingGatewayFile(`frontend: {default: {validation: {caCertificateRefs: [{group: certificates.k8s.io, `+
				`kind: ClusterTrustBundle, name: ca}]}}}`, "shop") + shop,
			good: bundleFile("ca", []byte(first)), broken: bundleFile("ca", []byte("none")),
			other: bundleFile("ca", []byte(second)),
			first: first, second: second, used: askedCA,
			wrong: "there is no certificate in PEM", gone: "ClusterTrustBundle ca does not exist",
		},
		"the CA of a BackendTLSPolicy": {
			rest: plain + keepingRoute + strings.Replace(keepingPolicy, "NAME", "ca", 1),
			good: caFile("ca", first), broken: caFile("ca", "none"), other: caFile("ca", second),
			first: first, second: second, used: sentTo,
			wrong: "there is no certificate in PEM", gone: "ConfigMap shop/ca does not exist",
			also: "none of its CAs is valid",
		},
		"the certificate that a Gateway shows": {
			rest: keepingGatewayFile("backend: {clientCertificateRef: {name: shown}}", "shop") + shop + keepingRoute +
				strings.Replace(keepingPolicy, "NAME", "fixed", 1) + caFile("fixed", first),
			good:   pairFile("shown", one.Certificate, one.PrivateKey),
			broken: pairFile("shown", one.Certificate, two.PrivateKey),
			other:  pairFile("shown", two.Certificate, two.PrivateKey),
			first:  first + first, second: first + second, used: sentTo,
			wrong: "private key does not match", gone: "Secret shop/shown does not exist",
		},
		"the CA of an XBackend": {
			rest: plain + keepingXBackend + pairFile("shown", one.Certificate, one.PrivateKey),
			good: caFile("ca", first), broken: caFile("ca", "none"), other: caFile("ca", second),
			first: first + first, second: second + first, used: sentTo,
			wrong: "there is no certificate in PEM", gone: "ConfigMap shop/ca does not exist",
		},
		"the certificate that an XBackend is shown": {
			rest:   plain + keepingXBackend + caFile("ca", first),
			good:   pairFile("shown", one.Certificate, one.PrivateKey),
			broken: pairFile("shown", one.Certificate, two.PrivateKey),
			other:  pairFile("shown", two.Certificate, two.PrivateKey),
			first:  first + first, second: first + second, used: sentTo,
			wrong: "private key does not match", gone: "Secret shop/shown does not exist",
		},
		"the CA of a ClientPolicy in a ConfigMap": {
			rest: plain + strings.Replace(keepingClients, "KIND", "ConfigMap", 1),
			good: caFile("ca", first), broken: caFile("ca", "none"), other: caFile("ca", second),
			first: first, second: second, used: statedAt,
			wrong: "there is no PEM block of type CERTIFICATE", gone: "ConfigMap shop/ca does not exist",
		},
		"the CA of a ClientPolicy in a Secret": {
			rest: plain + strings.Replace(keepingClients, "KIND", "Secret", 1),
			good: opaqueFile("ca", "ca.crt", first), broken: opaqueFile("ca", "ca.crl", first),
			other: opaqueFile("ca", "ca.crt", second), first: first, second: second, used: statedAt,
			wrong: "the Secret has no entry ca.crt", gone: "Secret shop/ca does not exist",
		},
		"a key set in a ConfigMap": {
			rest: plain + jwt("configMapRef: {name: keys, key: set}"),
			good: configMapFile("keys", "set", []byte(firstKeys)), broken: configMapFile("keys", "set", []byte("{")),
			other: configMapFile("keys", "set", []byte(secondKeys)), first: firstKey, second: secondKey, used: statedAt,
			wrong: "it is not a key set", gone: "ConfigMap shop/keys does not exist",
		},
		"a key set in a Secret": {
			rest: plain + jwt("secretRef: {name: keys}"),
			good: opaqueFile("keys", "jwks", firstKeys), broken: opaqueFile("keys", "jwks", `{"keys":[{"kty":"RSA"}]}`),
			other: opaqueFile("keys", "jwks", secondKeys), first: firstKey, second: secondKey, used: statedAt,
			wrong: "it has no key that can be used", gone: "Secret shop/keys does not exist",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := keep(t, c.rest+"---\n"+c.good)
			is := func(step, want, says string) {
				t.Helper()
				if got := k.used(c.used); want == "" && got != "" || want != "" && !strings.Contains(got, want) {
					t.Errorf("%s: used is %q, want %q", step, got, want)
				}
				if says != "" && !k.says(says) {
					t.Errorf("%s: no finding has %q: %v", step, says, k.world.Findings())
				}
				if says != "" && !k.says(c.also) || says == "" && c.also != "" && k.says(c.also) {
					t.Errorf("%s: findings on %q: %v", step, c.also, k.world.Findings())
				}
				if older := k.says("the last good version stays in use until"); older != (says != "" && want != "") {
					t.Errorf("%s: an older version is told of: %v", step, older)
				}
			}
			is("good", c.first, "")
			k.edit(c.broken, "")
			is("broken", c.first, c.wrong)
			k.edit("", c.broken)
			is("gone", c.first, c.gone)
			k.edit(c.other, "")
			is("another good one", c.second, "")

			k = keep(t, c.rest+"---\n"+c.broken)
			is("broken from the start", "", c.wrong)
		})
	}
}

// TestTheLastGoodKeySetOfAServer: what a server says of its keys serves on while it says what can't be used, for as
// long as it is named.
func TestTheLastGoodKeySetOfAServer(t *testing.T) {
	t.Parallel()
	const url, unusable = "https://corp.example/keys", `{"keys":[{"kty":"AKP"}]}`
	firstKeys, firstKey := jwks()
	secondKeys, secondKey := jwks()
	pair := testcert.SelfSigned("shop.example")
	policy := func(url string) string {
		return strings.Replace(keepingJWT, "JWKS", fmt.Sprintf("remote: {url: %q}", url), 1)
	}
	k := keep(t, keepingGatewayFile("", "shop")+pairFile("shop", pair.Certificate, pair.PrivateKey)+"---\n"+policy(url))
	answers := func(url string, known model.FetchState) {
		t.Helper()
		k.world.Graph.Apply("fetch", func(b *flow.Batch) {
			k.world.Sources.Fetched.Set(b, model.FetchKey{URL: url, RequiredMember: "keys"}, known)
		})
		k.settle()
	}
	is := func(step, want, says string) {
		t.Helper()
		if got := k.used(statedAt); want == "" && got != "" || want != "" && !strings.Contains(got, want) {
			t.Errorf("%s: used is %q, want %q", step, got, want)
		}
		if says != "" && !k.says(says) {
			t.Errorf("%s: no finding has %q: %v", step, says, k.world.Findings())
		}
		if older := k.says("the last good version stays in use"); older != (says != "" && want != "") {
			t.Errorf("%s: an older version is told of: %v", step, older)
		}
	}

	answers(url, model.FetchState{Known: true, Content: unusable})
	is("none was good", "", "kty is none of RSA, EC and OKP")
	answers(url, model.FetchState{Known: true, Content: firstKeys})
	is("good", firstKey, "")
	answers(url, model.FetchState{Known: true, Content: unusable})
	is("keys of other types only", firstKey, "kty is none of RSA, EC and OKP")
	answers(url, model.FetchState{Known: true, Content: unusable, Failure: "the connection failed"})
	is("and then no answer", firstKey, "the connection failed")
	answers(url, model.FetchState{Known: true, Content: `{"keys":"soon"}`})
	is("no list", firstKey, "it is not a key set")
	answers(url, model.FetchState{Known: true, Content: secondKeys})
	is("another good one", secondKey, "")
	answers(url+"2", model.FetchState{Known: true, Content: unusable})
	k.edit(policy(url+"2"), "")
	is("another URL is named", "", "kty is none of RSA, EC and OKP")
	answers(url, model.FetchState{Known: true, Content: unusable})
	k.edit(policy(url), "")
	is("the first one is named again", "", "kty is none of RSA, EC and OKP")
}

// TestWhatEndsAtOnce: an older version is for a mistake in what is referred to. What takes a reference back, or says
// that something is good no more, ends it at once.
func TestWhatEndsAtOnce(t *testing.T) {
	t.Parallel()
	pair := testcert.SelfSigned("shop.example")
	secret := pairFile("shop", pair.Certificate, pair.PrivateKey)
	gateway := keepingGatewayFile("", "shop")
	serves := func(k *keeping, step string, want bool) {
		t.Helper()
		if got := k.used(shownPair) != ""; got != want {
			t.Errorf("%s: serves: %v, want %v; %v", step, got, want, k.world.Findings())
		}
	}

	k := keep(t, gateway+secret)
	k.edit(keepingGatewayFile("", "unknown"), "")
	serves(k, "another Secret is named, which is not there", false)
	k.edit(gateway, secret)
	serves(k, "the first one is named again, and is gone by now", false)
	k.edit(secret, "")
	serves(k, "it is there again", true)
	k.edit("", secret)
	serves(k, "it is gone", true)
	k.edit("", gateway)
	if n := k.kept(); n > 0 {
		t.Errorf("the Gateway is gone, and %d materials are kept", n)
	}
	k.edit(gateway, "")
	serves(k, "the Gateway is made anew", false)

	elsewhere := strings.ReplaceAll(secret, "namespace: shop", "namespace: store")
	gateway = strings.Replace(gateway, "{name: shop}", "{name: shop, namespace: store}", 1)
	grant := grantFile("certificates", "Gateway", "Secret")
	k = keep(t, gateway+elsewhere+"---\n"+grant)
	k.edit("", elsewhere)
	serves(k, "a Secret of another namespace is gone", true)
	k.edit("", grant)
	serves(k, "the grant is revoked", false)
	k.edit(grant, "")
	serves(k, "it is granted again", false)

	gateway = keepingGatewayFile("", "shop")
	k = keep(t, gateway+secret)
	k.edit("", secret)
	k.now = pair.Leaf.NotAfter.Add(-time.Second)
	k.settle()
	serves(k, "the certificate has a second left", true)
	k.now = pair.Leaf.NotAfter
	k.settle()
	serves(k, "the certificate has expired", false)
	k.edit(secret, "")
	serves(k, "one that has expired is stated", true)

	// A good version that is there for a moment only may be missed. It never comes and goes.
	k = keep(t, gateway)
	k.queue(secret, "")
	k.world.Graph.Settle()
	k.queue("", secret)
	k.settle()
	k.settle()
}

// passwords are ann's, as htpasswd -s writes them.
const passwords = "ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="

// TestCredentialsHaveNoLastVersion: who takes keys or passwords of clients out of a Secret takes their rights.
func TestCredentialsHaveNoLastVersion(t *testing.T) {
	t.Parallel()
	pair := testcert.SelfSigned("shop.example")
	k := keep(t, keepingGatewayFile("", "shop")+pairFile("shop", pair.Certificate, pair.PrivateKey)+"---\n"+`
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: keys, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  apiKey: {keysRefs: [{name: keys}]}
---
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: shop}
stringData: {alice: one, bob: two}
---
apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: users, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  basicAuth: {usersRef: {name: users}}
---
`+opaqueFile("users", ".htpasswd", passwords))
	for _, c := range []struct{ feature, secret, key, good, broken string }{
		{"apiKey", "keys", "alice", "one", "a key with spaces"},
		{"basicAuth", "users", ".htpasswd", passwords, "ann:in the clear"},
	} {
		answers := func(step string, want int) {
			t.Helper()
			found := false
			k.world.Graph.View(func(v flow.View) {
				for key, l := range flow.All(v, k.world.Policies.Levels) {
					if key.Feature == c.feature {
						found = true
						if l.Piece.Status != want {
							t.Errorf("%s, %s: status %d, want %d", c.feature, step, l.Piece.Status, want)
						}
					}
				}
			})
			if !found {
				t.Errorf("%s, %s: nobody asks", c.feature, step)
			}
		}
		good := opaqueFile(c.secret, c.key, c.good)
		answers("good", 0)
		k.edit(opaqueFile(c.secret, c.key, c.broken), "")
		answers("broken", 500)
		k.edit(good, "")
		answers("mended", 0)
		k.edit("", good)
		answers("gone", 500)
	}

	text, _ := jwks()
	k.edit(strings.Replace(keepingJWT, "JWKS", "configMapRef: {name: set, key: set}", 1)+
		configMapFile("set", "set", []byte(text)), `apiVersion: cardea.dev/v1alpha1
kind: SecurityPolicy
metadata: {name: keys, namespace: shop}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]}
`)
	if k.used(statedAt) == "" {
		t.Error("a key set is not used")
	}
	k.edit(configMapFile("set", "set", []byte(`{"keys":[]}`)), "")
	if got := k.used(statedAt); got != "" {
		t.Errorf("an empty set is stated, and %s counts", got)
	}
}
