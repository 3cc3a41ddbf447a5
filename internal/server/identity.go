package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/metadata"

	"cardea.dev/cardea/internal/gateway"
	"cardea.dev/cardea/internal/kube"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/xds"
)

// reviewer says whose a token is.
type reviewer interface {
	Review(ctx context.Context, token string) (kube.Account, error)
}

// identify finds the Gateway of a proxy: the one that its node names, if its token is that of the Gateway's ServiceAccount. So a
// proxy can read its own Gateway and no other.
func identify(tokens reviewer) func(context.Context, *corev3.Node) (model.ObjectRef, error) {
	return func(ctx context.Context, node *corev3.Node) (model.ObjectRef, error) {
		namespace, name, ok := strings.Cut(node.GetCluster(), "/")
		if !ok || namespace == "" || name == "" {
			return model.ObjectRef{}, fmt.Errorf("node cluster %q is not NAMESPACE/NAME of a Gateway", node.GetCluster())
		}
		ref := model.Ref(model.KindGateway, namespace, name)
		token, err := bearer(ctx)
		if err != nil {
			return model.ObjectRef{}, err
		}
		account, err := tokens.Review(ctx, token)
		switch {
		case errors.Is(err, kube.ErrRefused):
			return model.ObjectRef{}, err
		case err != nil:
			return model.ObjectRef{}, fmt.Errorf("%w: %w", xds.ErrUnknown, err)
		case account.Namespace != namespace || account.Name != gateway.ProxyName(ref):
			return model.ObjectRef{}, fmt.Errorf("ServiceAccount %s/%s is not that of %s", account.Namespace, account.Name, ref)
		}
		return ref, nil
	}
}

func bearer(ctx context.Context) (string, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	for _, value := range headers.Get("authorization") {
		if token, ok := strings.CutPrefix(value, "Bearer "); ok && token != "" {
			return token, nil
		}
	}
	return "", errors.New("no bearer token was shown")
}
