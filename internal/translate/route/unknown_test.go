package route

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
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
	read, unread, problems := u.splitMatches(1, list)
	none := func(m model.Match) bool { return m.Path.Type == model.PathNone }
	if len(read) != 5 || read[0].Path.Value != "/a" || !none(read[1]) || !none(read[2]) || !none(read[3]) ||
		!none(read[4]) {
		t.Errorf("read: %+v", read)
	}
	if len(unread) != 5 || !none(unread[0]) || unread[1].Path != list[1].Path || !none(unread[2]) ||
		unread[3].Method != "POST" || unread[3].Path != posted.Path || !none(unread[4]) || unread[4].GRPC != nil {
		t.Errorf("unread: %+v", unread)
	}
	for i, want := range []string{"path.x", "it is ignored", "z", "it is ignored"} {
		if !problems[i].Drops || !strings.Contains(problems[i].Message, want) {
			t.Errorf("problem %+v, want %s", problems[i], want)
		}
	}
	ref := model.Ref(model.KindHTTPRoute, "shop", "web")
	if f := u.warnNoEffect(ref); len(f) != 1 || f[0].Severity != model.Warning ||
		!strings.HasSuffix(f[0].Message, ": rules[1].flavour, else") {
		t.Errorf("findings %+v", f)
	}
	for _, u := range []unknownFields{nil, {"rules[0].matches[0].x"}, {"rules[1].flavour"}} {
		if read, unread, problems := u.splitMatches(1, list); len(read) != len(list) || len(unread)+len(problems) > 0 {
			t.Errorf("%v: %+v, %+v", u, unread, problems)
		}
	}
	if read, _, _ := (unknownFields{"else", model.MoreUnknown}).splitMatches(1, list); read != nil {
		t.Errorf("of a list that was cut off these are read: %+v", read)
	}
}
