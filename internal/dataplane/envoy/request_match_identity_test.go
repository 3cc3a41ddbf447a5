package envoy

import (
	"testing"

	"cardea.dev/cardea/extend"
)

func onClaim(name, provider string, t extend.MatchType, values ...string) extend.RequestMatch {
	return parts(extend.RequestParts{Claims: []extend.ClaimMatch{
		{Claim: name, Provider: provider, Type: t, Values: values},
	}})
}

func onCEL(expr string) extend.RequestMatch { return parts(extend.RequestParts{CEL: expr}) }

// TestMatchClaims: claims are those of accepted tokens; of a list, one element has to match.
func TestMatchClaims(t *testing.T) {
	const none = "GET x / | team: dev | x-team: dev"
	const dev, ops = "GET x / | token: dev", "GET x / | token: ops"
	const other, flat = "GET x / | token: other", "GET x / | token: flat"
	testMatches(t, map[string]matchCase{
		"of a provider": {match: onClaim("team", "corp", extend.Exact, "dev"), hits: []string{dev},
			other: []string{ops, other, none, flat}},
		"of any": {match: onClaim("team", "", extend.Exact, "dev", "qa"), hits: []string{dev, other},
			other: []string{ops, none}},
		"prefix": {match: onClaim("team", "", extend.Prefix, "o"), hits: []string{ops},
			other: []string{dev, none}},
		"suffix":   {match: onClaim("team", "", extend.Suffix, "ps"), hits: []string{ops}, other: []string{dev}},
		"contains": {match: onClaim("team", "", extend.Contains, "p"), hits: []string{ops}, other: []string{dev}},
		"regex": {match: onClaim("team", "", extend.RegularExpression, "d.*|p"), hits: []string{dev},
			other: []string{ops}},
		"present": {match: onClaim("level", "", extend.Present), hits: []string{dev, ops},
			other: []string{other, none}},
		"an object": {match: onClaim("realm", "", extend.Present), hits: []string{dev, ops},
			other: []string{other, flat}},
		"list": {match: onClaim("realm.roles", "corp", extend.Exact, "editor"), hits: []string{dev},
			other: []string{ops, other, flat, none}},
		"list or one": {match: onClaim("realm.roles", "corp", extend.Prefix, "read"), hits: []string{dev, ops},
			other: []string{flat}},
		"url": {match: onClaim(`https://example\.com/roles`, "corp", extend.Exact, "owner"), hits: []string{dev},
			other: []string{ops}},
		"dot in a name": {match: onClaim(`realm\.roles`, "corp", extend.Exact, "editor"), hits: []string{flat},
			other: []string{dev}},
		"number": {match: onClaim("level", "corp", extend.Exact, "5"), hits: []string{dev},
			other: []string{ops, flat}},
		"numbers": {match: onClaim("sizes", "corp", extend.Exact, "7"), hits: []string{dev}, other: []string{ops}},
		"true": {match: onClaim("staff", "corp", extend.Exact, "true"), hits: []string{dev},
			other: []string{ops, flat}},
		"not": {match: not(onClaim("team", "corp", extend.Exact, "dev").RequestParts),
			hits:  []string{ops, other, none},
			other: []string{dev}},
		"of nobody": {match: onClaim("team", "unknown", extend.Exact, "dev"), other: []string{dev, none}},
	})
}

// TestMatchUsers: a user is who authentication found, by whichever way.
func TestMatchUsers(t *testing.T) {
	m := parts(extend.RequestParts{Users: []string{"ann", "cid"}})
	const none, forged = "GET x /", "GET x / | x-user: ann | user: ann"
	testMatches(t, map[string]matchCase{
		"users": {match: m, hits: []string{"GET x / | token: dev", "GET x / | token: other",
			"GET x / | test-user: ann"},
			other: []string{"GET x / | token: ops", "GET x / | test-user: Ann", none, forged}},
		"not": {match: not(m.RequestParts), hits: []string{none, "GET x / | test-user: bob"},
			other: []string{"GET x / | test-user: ann", "GET x / | token: dev"}},
	})
}

// TestMatchExpressions: an expression that can't be evaluated allows no request, and lets none pass where it denies.
func TestMatchExpressions(t *testing.T) {
	const none, one, two = "GET x /", "GET x / | x-level: 1", "GET x /b?a=c | x-level: 20"
	with := func(cel string, p extend.RequestParts) extend.RequestMatch {
		p.CEL = cel
		return parts(p)
	}
	testMatches(t, map[string]matchCase{
		"header": {match: onCEL("request.headers['x-level'] == '1' // one"), hits: []string{one},
			other: []string{two}, fails: []string{none}},
		"guarded": {match: onCEL("'x-level' in request.headers && request.headers['x-level'] == '1'"),
			hits: []string{one}, other: []string{two, none}},
		"number": {match: onCEL("int(request.headers['x-level']) > 10"), hits: []string{two}, other: []string{one},
			fails: []string{none, "GET x / | x-level: many"}},
		"has": {match: onCEL("has(request.headers.accept) || request.path == '/b?a=c'"), hits: []string{two},
			other: []string{one}},
		"list": {match: onCEL("request.method in ['PUT', 'POST'] || request.url_path in ['/b']"),
			hits: []string{two, "PUT x /"}, other: []string{one}},
		"texts": {match: onCEL("request.path.startsWith('/b') && request.query.contains('a=') && " +
			"request.path.endsWith('c') && request.host.size() == 1"), hits: []string{two}, other: []string{one}},
		"regex": {match: onCEL("request.url_path.matches('^/[ab]$')"), hits: []string{two}, other: []string{one}},
		"large regex": {match: onCEL("request.url_path.matches('(/[b-k]{16}|/b)')"),
			hits: []string{two}, other: []string{one}},
		"functions": {match: onCEL("-1 < 0 && 7 % 2 == 1 && 6 / 2 - 1 == 2 && uint(3) == 3u && double('1.5') == 1.5 && " +
			"duration('1s') < duration('2s') && request.time.getMonth() >= 0 && request.time.getDayOfWeek() >= 0 && " +
			"request.time.getDate() > 0 && request.time.getHours() >= 0 && request.time.getMinutes() >= 0 && " +
			"request.host != 'a' && request.host > 'a' && 1 <= 1 && 1 >= 1"), hits: []string{one}},
		"header twice": {match: onCEL("request.headers['x-level'] == '1,2'"),
			hits: []string{"GET x / | x-level: 1 | x-level: 2"}, other: []string{one}},
		"source": {match: onCEL("source.address.startsWith('127.0.0.1:') && source.port > 0"), hits: []string{one}},
		"choice": {match: onCEL("(request.method == 'GET' ? 1 + 2 * 3 : 0) == 7 && !connection.mtls"),
			hits: []string{one}},
		"time": {match: onCEL("request.time > timestamp('2020-01-01T00:00:00Z') && request.time.getFullYear() > 2020"),
			hits: []string{one}},
		"claim": {match: onCEL("metadata.filter_metadata['envoy.filters.http.jwt_authn']['corp']['level'] >= 10.0"),
			hits:  []string{"GET x / | token: ops"},
			other: []string{"GET x / | token: dev"}, fails: []string{none, "GET x / | token: flat"}},
		"claim in a list": {
			match: onCEL("'editor' in metadata.filter_metadata['envoy.filters.http.jwt_authn']['corp']['realm']['roles']"),
			hits:  []string{"GET x / | token: dev"}, fails: []string{none}},
		"beside others": {match: with("request.headers['x-level'] == '1'", extend.RequestParts{Methods: []string{"GET"}}),
			hits: []string{one}, other: []string{two, "PUT x / | x-level: 1"}, fails: []string{none}},
	})
}
