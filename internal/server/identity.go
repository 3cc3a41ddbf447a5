package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// identify finds out whose proxy has opened a stream, by its token alone, and then the Gateway: the one that its node
// names, if the token is that of the Gateway's ServiceAccount. So nobody else is listened to, and a proxy can read its
// own Gateway and no other.
func identify(tokens reviewer) func(context.Context) (xds.Claim, error) {
	return func(ctx context.Context) (xds.Claim, error) {
		token, err := bearer(ctx)
		if err != nil {
			return nil, err
		}
		account, err := tokens.Review(ctx, token)
		switch {
		case errors.Is(err, kube.ErrRefused):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w: %w", xds.ErrUnknown, err)
		case !gateway.IsProxyName(account.Name):
			return nil, fmt.Errorf("ServiceAccount %s/%s is not that of a Gateway", account.Namespace, account.Name)
		}
		return func(node xds.Node) (model.ObjectRef, error) { return claim(account, node) }, nil
	}
}

func claim(account kube.Account, node xds.Node) (model.ObjectRef, error) {
	namespace, name, ok := strings.Cut(node.Cluster, "/")
	if !ok || namespace == "" || name == "" {
		return model.ObjectRef{}, fmt.Errorf("node cluster %q is not NAMESPACE/NAME of a Gateway", node.Cluster)
	}
	ref := model.Ref(model.KindGateway, namespace, name)
	if account.Namespace != namespace || account.Name != gateway.ProxyName(ref) {
		return model.ObjectRef{}, fmt.Errorf("ServiceAccount %s/%s is not that of %s", account.Namespace, account.Name, ref)
	}
	return ref, nil
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
