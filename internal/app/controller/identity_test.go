package controller

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/metadata"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/tokenreview"
	"cardea.dev/cardea/internal/deliver/xds"
	"cardea.dev/cardea/internal/translate/gateway"
)

type reviews map[string]tokenreview.Account

var errAway = errors.New("the API server is away")

func (r reviews) Review(_ context.Context, token string) (tokenreview.Account, error) {
	if token == "away" {
		return tokenreview.Account{}, errAway
	}
	account, ok := r[token]
	if !ok {
		return tokenreview.Account{}, tokenreview.ErrRefused
	}
	return account, nil
}

func TestIdentify(t *testing.T) {
	web, other := model.Ref(model.KindGateway, "shop", "web"), model.Ref(model.KindGateway, "shop", "other")
	who := newIdentifier(reviews{
		"web":    {Namespace: "shop", Name: gateway.ProxyName(web)},
		"moved":  {Namespace: "elsewhere", Name: gateway.ProxyName(web)},
		"pod":    {Namespace: "shop", Name: gateway.ProxyName(web), Pod: "pod", PodUID: "1"},
		"stolen": {Namespace: "shop", Name: gateway.ProxyName(web), Pod: "another-pod", PodUID: "2"},
	})
	for name, c := range map[string]struct {
		header, cluster string
		want            model.ObjectRef
		heard, unknown  bool
		says            string
	}{
		"its own Gateway":             {header: "Bearer web", cluster: "shop/web", want: web, heard: true},
		"another Gateway":             {header: "Bearer web", cluster: "shop/" + other.Name(), heard: true},
		"another namespace's account": {header: "Bearer moved", cluster: "shop/web", heard: true},
		"its own pod":                 {header: "Bearer pod", cluster: "shop/web", want: web, heard: true},
		"another pod": {header: "Bearer stolen", cluster: "shop/web", heard: true,
			says: "the token belongs to pod shop/another-pod, not to the node's id \"pod\""},
		"a token that is refused": {header: "Bearer x", cluster: "shop/web"},
		"no token":                {cluster: "shop/web"},
		"another scheme":          {header: "Basic web", cluster: "shop/web"},
		"no Gateway":              {header: "Bearer web", heard: true},
		"nobody knows now":        {header: "Bearer away", cluster: "shop/web", unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			if c.header != "" {
				ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", c.header))
			}
			claim, err := who(ctx)
			if (err == nil) != c.heard {
				t.Errorf("before a word: %v", err)
			}
			var got model.ObjectRef
			if err == nil {
				got, err = claim(xds.Node{ID: "pod", Cluster: c.cluster})
			}
			if got != c.want || (err == nil) != (c.want != model.ObjectRef{}) || errors.Is(err, xds.ErrUnknown) != c.unknown {
				t.Errorf("%v, %v", got, err)
			}
			if c.says != "" && (err == nil || err.Error() != c.says) {
				t.Errorf("%v, want %s", err, c.says)
			}
		})
	}
}
