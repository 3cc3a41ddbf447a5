package jwt

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// renderRule puts providers and what is required of them into the filter that all of a Gateway share, under names that
// their content has, and chooses the requirement here. Keys that are fetched are no part of a name: when they change,
// the filter's configuration does, and no route table.
func renderRule(e envoy.Rule, v Value) {
	shared := &jwtv3.JwtAuthentication{Providers: map[string]*jwtv3.JwtProvider{}}
	var each []*jwtv3.JwtRequirement
	for _, p := range v.Providers {
		provider := p.renderProvider()
		name := p.providerID(provider)
		p.Keys.setKeys(e, provider)
		shared.Providers[name] = provider
		each = append(each, &jwtv3.JwtRequirement{RequiresType: &jwtv3.JwtRequirement_ProviderName{ProviderName: name}})
	}
	switch v.Mode {
	case Optional:
		each = append(each, &jwtv3.JwtRequirement{
			RequiresType: &jwtv3.JwtRequirement_AllowMissing{AllowMissing: &emptypb.Empty{}},
		})
	case Permissive:
		each = append(each, &jwtv3.JwtRequirement{
			RequiresType: &jwtv3.JwtRequirement_AllowMissingOrFailed{AllowMissingOrFailed: &emptypb.Empty{}},
		})
	}
	required := each[0]
	if len(each) > 1 {
		required = &jwtv3.JwtRequirement{RequiresType: &jwtv3.JwtRequirement_RequiresAny{
			RequiresAny: &jwtv3.JwtRequirementOrList{Requirements: each},
		}}
	}
	e.Filter(extend.SlotAuthn, "jwt.providers", envoy.ProvidersFilter(v.providerNames()))
	id := hashMessage(required)
	shared.RequirementMap = map[string]*jwtv3.JwtRequirement{id: required}
	e.Shared(extend.SlotJWT, id, shared)
	e.Set(extend.SlotJWT, &jwtv3.PerRouteConfig{
		RequirementSpecifier: &jwtv3.PerRouteConfig_RequirementName{RequirementName: id},
	}, id)
}

func (v Value) providerNames() (list []string) {
	for _, p := range v.Providers {
		list = append(list, p.Name)
	}
	return list
}

// listIdentityHeaders are the headers of claims.
func listIdentityHeaders(v Value) (h extend.IdentityHeaders) {
	for _, p := range v.Providers {
		for _, c := range p.Claims {
			h.Only = append(h.Only, c.Header)
		}
	}
	return h
}

func (a ResolvedProvider) renderProvider() *jwtv3.JwtProvider {
	p := &jwtv3.JwtProvider{
		Issuer: a.Issuer, Audiences: a.Audiences, Forward: a.Forward, PayloadInMetadata: a.Name,
		RequireExpiration: a.RequireExpiration, ClockSkewSeconds: uint32(a.Skew / time.Second),
	}
	if a.Subjects != nil {
		p.Subjects = envoy.Text(*a.Subjects)
	}
	if a.MaxLifetime > 0 {
		p.MaxLifetime = durationpb.New(a.MaxLifetime)
	}
	for _, s := range a.From {
		switch {
		case s.Query != "":
			p.FromParams = append(p.FromParams, s.Query)
		case s.Cookie != "":
			p.FromCookies = append(p.FromCookies, s.Cookie)
		default:
			p.FromHeaders = append(p.FromHeaders, &jwtv3.JwtHeader{Name: s.Header, ValuePrefix: s.Prefix})
		}
	}
	for _, c := range a.Claims {
		p.ClaimToHeaders = append(p.ClaimToHeaders, c.renderClaim())
	}
	return p
}

// providerID names a provider. Its keys are not put yet.
func (a ResolvedProvider) providerID(provider *jwtv3.JwtProvider) string {
	of := a.Keys.Document
	if of == (extend.Document{}) {
		return hashMessage(provider, a.Keys.Text)
	}
	if a.Keys.Text == "" {
		return hashMessage(provider, of.URL, of.Through.Describe(), of.Refresh.String())
	}
	return hashMessage(provider, of.URL, of.Through.Describe())
}

// setKeys puts keys into a provider.
func (k Keys) setKeys(e envoy.Rule, p *jwtv3.JwtProvider) {
	if k.Text != "" {
		p.JwksSourceSpecifier = &jwtv3.JwtProvider_LocalJwks{LocalJwks: &corev3.DataSource{
			Specifier: &corev3.DataSource_InlineString{InlineString: k.Text},
		}}
		return
	}
	p.JwksSourceSpecifier = &jwtv3.JwtProvider_RemoteJwks{RemoteJwks: &jwtv3.RemoteJwks{
		HttpUri: &corev3.HttpUri{
			Uri: k.Document.URL, Timeout: durationpb.New(fetchTimeout),
			HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: e.Cluster(k.Document.Through)},
		},
		CacheDuration: durationpb.New(k.Document.Refresh), AsyncFetch: &jwtv3.JwksAsyncFetch{},
	}}
}

// renderClaim names the claim by its parts only where a part has a dot.
func (c Claim) renderClaim() *jwtv3.JwtClaimToHeader {
	to := &jwtv3.JwtClaimToHeader{HeaderName: c.Header}
	if !slices.ContainsFunc(c.Path, func(part string) bool { return strings.Contains(part, ".") }) {
		to.ClaimName = strings.Join(c.Path, ".")
		return to
	}
	for _, part := range c.Path {
		to.ClaimPath = append(to.ClaimPath, &jwtv3.JwtClaimToHeader_PathSegment{Key: part})
	}
	return to
}

// hashMessage names a message by its content, and by texts that belong to it.
func hashMessage(m proto.Message, texts ...string) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	for _, text := range texts {
		b = append(append(b, 0), text...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule, Agents: envoy.AddResource})
