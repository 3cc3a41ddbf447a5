package route

import (
	"slices"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/backend"
)

// TestCookiesWithoutNames: where no name of a cookie is stated, rules have different ones, which stay when rules change
// their order, and when others come; two routes never share one.
func TestCookiesWithoutNames(t *testing.T) {
	at := func(path string) []model.Match {
		return []model.Match{{Path: model.PathMatch{Type: model.PathPrefix, Value: path}}}
	}
	cookies := func(route string, name *gatewayv1.SectionName, paths ...string) map[string]string {
		ref := model.Ref(model.KindHTTPRoute, "shop", route)
		specs, matches := make([]gatewayv1.HTTPRouteRule, len(paths)), make([][]model.Match, len(paths))
		for i, path := range paths {
			matches[i] = at(path)
			if path == "/named" {
				specs[i].Name = name
			}
		}
		found := map[string]string{}
		for i, rule := range newRules(ref, specs, matches) {
			s, problems := backend.ReadSession(gatewayv1.SessionPersistence{}, ref.String()+"/"+rule.Key.Name, "")
			if len(problems) > 0 || s.Cookie == "" || s.Path != "/" {
				t.Fatalf("%+v, %v", s, problems)
			}
			found[paths[i]] = s.Cookie
		}
		return found
	}
	name := gatewayv1.SectionName("cart")
	first, other := cookies("a", &name, "/x", "/y", "/named"), cookies("b", &name, "/x", "/y", "/named")
	all := []string{first["/x"], first["/y"], first["/named"], other["/x"], other["/y"], other["/named"]}
	if slices.Sort(all); len(slices.Compact(all)) != 6 {
		t.Errorf("rules share cookies: %v and %v", first, other)
	}
	for path, cookie := range cookies("a", &name, "/new", "/named", "/y", "/x") {
		if path != "/new" && cookie != first[path] {
			t.Errorf("%s: the cookie is another one after an edit of others", path)
		}
	}
}
