package gateway

import (
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/model"
)

// TestUnknownFields: a match with a field that this version does not know is taken out of its rule, with what is known
// of it; without anything known it takes no request. Other fields are warned of.
func TestUnknownFields(t *testing.T) {
	prefix := func(path string) model.Match {
		return model.Match{Path: model.PathMatch{Type: model.PathPrefix, Value: path}}
	}
	posted := prefix("/")
	posted.Method = "POST"
	list := []model.Match{prefix("/a"), prefix("/b"), prefix("/"), posted, {GRPC: &model.GRPCMatch{}}}
	u := unknownFields{"rules[10].matches[0].x", "rules[1].matches[10].x", "rules[1].matches[1].path.x",
		"rules[1].matches[2].y", "rules[1].matches[3].z", "rules[1].matches[4].z", "rules[1].flavour", "else"}
	read, unread, problems := u.split(1, list)
	if len(read) != 1 || read[0].Path.Value != "/a" {
		t.Errorf("read: %+v", read)
	}
	if len(unread) != 4 || unread[0].Path != list[1].Path || unread[1].Path.Type != model.PathNone ||
		unread[2].Method != "POST" || unread[2].Path != posted.Path || unread[3].GRPC != nil ||
		unread[3].Path.Type != model.PathNone {
		t.Errorf("unread: %+v", unread)
	}
	for i, want := range []string{"path.x", "it takes no request", "z", "it takes no request"} {
		if !problems[i].drops || !strings.Contains(problems[i].message, want) {
			t.Errorf("problem %+v, want %s", problems[i], want)
		}
	}
	ref := model.Ref(model.KindHTTPRoute, "shop", "web")
	if f := u.finding(ref); len(f) != 1 || f[0].Severity != model.Warning ||
		!strings.HasSuffix(f[0].Message, ": rules[1].flavour, else") {
		t.Errorf("findings %+v", f)
	}
	for _, u := range []unknownFields{nil, {"rules[0].matches[0].x"}, {"rules[1].flavour"}} {
		if read, unread, problems := u.split(1, list); len(read) != len(list) || len(unread)+len(problems) > 0 {
			t.Errorf("%v: %+v, %+v", u, unread, problems)
		}
	}
	if read, _, _ := (unknownFields{"else", model.MoreUnknown}).split(1, list); len(read) > 0 {
		t.Errorf("of a list that was cut off these are read: %+v", read)
	}
}

// TestUnknownFieldsApart: the rule goes on with the matches that can be read, and one beside it answers for the others.
func TestUnknownFieldsApart(t *testing.T) {
	route := model.ObjectRef{}
	specs := []gatewayv1.HTTPRouteRule{{Name: new(gatewayv1.SectionName("one"))}}
	rules := newRules(route, specs, [][]model.Match{{{}, {}}})
	s := ruleScope{route: model.Ref(model.KindHTTPRoute, "shop", "web")}
	apart := s.apart(rules[0], rules[0].Matches[1:])
	if apart.Key.Name != "one~unread" || apart.Error != 500 || !slices.Equal([]int{len(apart.Matches)}, []int{1}) {
		t.Errorf("%+v", apart)
	}
}
