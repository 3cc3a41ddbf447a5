package arrival

import (
	"testing"

	"cardea.dev/cardea/internal/kind"
	"cardea.dev/cardea/internal/model"
)

// present is a world of objects with parts.
type present map[model.ObjectRef][]kind.Part

func (p present) Has(r kind.Reference) bool {
	parts, there := p[r.To]
	return there && (parts == nil || r.Finds(parts))
}

func TestLoses(t *testing.T) {
	shop, web := model.Ref(model.KindService, "a", "shop"), model.Ref(model.KindGateway, "a", "web")
	missing := kind.Reference{To: model.Ref(model.KindXBackend, "a", "app")}
	world := present{shop: {{Port: 80}}, web: {{Port: 80, Section: "http"}, {Port: 443, Section: "https"}}}
	for _, c := range []struct {
		name        string
		before, now []kind.Reference
		want        bool
	}{
		{"names nothing", nil, nil, false},
		{"names what is there", nil, []kind.Reference{{To: shop, Part: kind.Part{Port: 80}}, {To: web},
			{To: web, Part: kind.Part{Section: "https"}}}, false},
		{"names what is not there", nil, []kind.Reference{missing}, true},
		{"named it before", []kind.Reference{missing}, []kind.Reference{{To: web}, missing}, false},
		{"names another port", []kind.Reference{{To: shop, Part: kind.Part{Port: 80}}},
			[]kind.Reference{{To: shop, Part: kind.Part{Port: 81}}}, true},
		{"names another listener", nil, []kind.Reference{{To: web, Part: kind.Part{Section: "more"}}}, true},
		{"names no listener whole", nil, []kind.Reference{{To: web, Part: kind.Part{Port: 443, Section: "http"}}}, true},
	} {
		if got := Loses(world, c.before, c.now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
