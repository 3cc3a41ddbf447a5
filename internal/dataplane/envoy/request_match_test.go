package envoy

import (
	"bufio"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	headertometadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	jwtauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/protobuf/types/known/emptypb"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// matchCase is a match, and requests: "GET shop.example /path", then headers, each behind a bar. A header "token: NAME"
// stands for an accepted token of testTokens.
type matchCase struct {
	match extend.RequestMatch
	hits  []string // requests that it takes
	other []string // requests that it does not take
	fails []string // requests for which its expression can't be evaluated
	moved []string // requests that are redirected to their plain path before anybody looks at them
}

// matchForms are the ways in which a match stands in an RBAC filter. A request that a match takes passes the first, and
// is refused by the others.
func matchForms(m extend.RequestMatch) map[string]*rbacconfigv3.RBAC {
	unless := map[string]*rbacconfigv3.Policy{}
	for i, p := range extendenvoy.MismatchPolicies(m, "corp", "other") {
		unless[fmt.Sprint(i)] = p
	}
	one := map[string]*rbacconfigv3.Policy{"one": extendenvoy.MatchPolicy(m, "corp", "other")}
	return map[string]*rbacconfigv3.RBAC{
		"allow":  {Action: rbacconfigv3.RBAC_ALLOW, Policies: one},
		"deny":   {Action: rbacconfigv3.RBAC_DENY, Policies: one},
		"unless": {Action: rbacconfigv3.RBAC_ALLOW, Policies: unless},
	}
}

// testMatches starts an Envoy with a route for each case and form, and makes the calls.
func testMatches(t *testing.T, cases map[string]matchCase) {
	t.Helper()
	w, bind := newStatedWorld(t), freePort(t)
	key, authn := testTokens(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.addMatches(t, b, 80, "http", cases, authn)
	})
	startProxy(t, w.resources())
	for name, c := range cases {
		expect := func(requests []string, want map[string]int) {
			for form, status := range want {
				for _, request := range requests {
					if got := send(t, bind, key, request, name+" "+form); got != status {
						t.Errorf("%s, %s: %s: status %d, want %d", name, form, request, got, status)
					}
				}
			}
		}
		expect(c.hits, map[string]int{"allow": 200, "deny": 403, "unless": 403})
		expect(c.other, map[string]int{"allow": 403, "deny": 200, "unless": 200})
		expect(c.fails, map[string]int{"allow": 403, "unless": 403})
		expect(c.moved, map[string]int{"allow": 307, "deny": 307, "unless": 307})
	}
}

// addMatches adds a route for each case and form, which a header chooses.
func (w *world) addMatches(
	t *testing.T, b *flow.Batch, port int32, section string, cases map[string]matchCase, authn []plan.Setting,
) {
	t.Helper()
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		if problems := extend.ValidateMatch(cases[name].match); len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems)
		}
		for form, rules := range matchForms(cases[name].match) {
			route := fmt.Sprintf("case%d-%s", i, form)
			to := model.Match{Headers: []model.ValueMatch{{Name: "x-case", Value: name + " " + form}}}
			w.serve(b, i, port, section, "*", forward(route, to))
			settings := append(slices.Clone(authn), httpfilters.NewSetting(httpfilters.Authz, "match",
				&rbacv3.RBAC{Rules: rules}))
			for i := range settings {
				settings[i].From = testGateway
			}
			w.stated.routes.Set(b, testRuleKey(route).Route, plan.RouteSettings{Own: settings})
		}
	}
}

// send makes a call as it is written: no client tidies it up.
func send(t *testing.T, port int32, key *rsa.PrivateKey, request, route string) int {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	parts := strings.Split(request, " | ")
	line := strings.SplitN(parts[0], " ", 3)
	text := fmt.Sprintf(
		"%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nx-case: %s\r\n",
		line[0], line[2], line[1], route,
	)
	for _, header := range parts[1:] {
		if name, ok := strings.CutPrefix(header, "token: "); ok {
			header = "Authorization: Bearer " + signedToken(t, key, name)
		}
		text += header + "\r\n"
	}
	if _, err := conn.Write([]byte(text + "\r\n")); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// tokens are claims; the issuer is the provider.
var tokens = map[string]map[string]any{
	"dev": {"iss": "corp", "sub": "ann", "team": "dev", "level": 5, "staff": true, "realm": map[string]any{
		"roles": []string{"reader", "editor"}}, "https://example.com/roles": []string{"owner"}, "sizes": []any{1, 7}},
	"ops": {"iss": "corp", "sub": "bob", "team": "ops",
		"level": 50, "staff": false, "realm": map[string]any{"roles": "reader"}},
	"other": {"iss": "other", "sub": "cid", "team": "dev"},
	// Names of claims that look like paths.
	"flat": {"iss": "corp", "sub": "eve", "realm.roles": []string{"editor"}, "team.x": "dev", "Team": "dev"},
}

// testTokens are filters that accept tokens of two issuers, signed by a key, and that take the name of a user from a
// header.
func testTokens(t *testing.T) (*rsa.PrivateKey, []plan.Setting) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	e := binary.BigEndian.AppendUint32(nil, uint32(key.E))
	keys, err := json.Marshal(map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k",
		"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(e[1:]),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	config := &jwtauthnv3.JwtAuthentication{Providers: map[string]*jwtauthnv3.JwtProvider{}}
	any := &jwtauthnv3.JwtRequirementOrList{Requirements: []*jwtauthnv3.JwtRequirement{{
		RequiresType: &jwtauthnv3.JwtRequirement_AllowMissing{AllowMissing: &emptypb.Empty{}},
	}}}
	for _, name := range []string{"corp", "other"} {
		config.Providers[name] = &jwtauthnv3.JwtProvider{
			Issuer: name, PayloadInMetadata: name,
			JwksSourceSpecifier: &jwtauthnv3.JwtProvider_LocalJwks{LocalJwks: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: string(keys)},
			}},
		}
		any.Requirements = append(any.Requirements, &jwtauthnv3.JwtRequirement{
			RequiresType: &jwtauthnv3.JwtRequirement_ProviderName{ProviderName: name},
		})
	}
	config.Rules = []*jwtauthnv3.RequirementRule{{
		Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		RequirementType: &jwtauthnv3.RequirementRule_Requires{Requires: &jwtauthnv3.JwtRequirement{
			RequiresType: &jwtauthnv3.JwtRequirement_RequiresAny{RequiresAny: any},
		}},
	}}
	user := &headertometadatav3.Config{RequestRules: []*headertometadatav3.Config_Rule{{
		Header: "test-user", Remove: true,
		OnHeaderPresent: &headertometadatav3.Config_KeyValuePair{
			MetadataNamespace: extendenvoy.UserMetadata, Key: extendenvoy.UserKey,
		},
	}}}
	return key, []plan.Setting{httpfilters.NewSetting(httpfilters.Authn, "jwt", config),
		httpfilters.NewSetting(httpfilters.Authn,
			"user", user)}
}

func signedToken(t *testing.T, key *rsa.PrivateKey, name string) string {
	t.Helper()
	encode := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := encode(map[string]string{"alg": "RS256", "kid": "k"}) + "." + encode(tokens[name])
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}
