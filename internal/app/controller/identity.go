package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/metadata"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/tokenreview"
	"cardea.dev/cardea/internal/deliver/xds"
	"cardea.dev/cardea/internal/translate/gateway"
)

// reviewer returns the account that a token belongs to.
type reviewer interface {
	Review(ctx context.Context, token string) (tokenreview.Account, error)
}

// newIdentifier authenticates a stream by its token alone, and then finds the Gateway: the one that the proxy's node
// names, if the token belongs to that Gateway's ServiceAccount and, where it is bound to a pod, to the pod that the
// node names. So nothing is read from strangers, and a proxy can read its own Gateway and no other.
func newIdentifier(tokens reviewer) func(context.Context) (xds.GatewayResolver, error) {
	return func(ctx context.Context) (xds.GatewayResolver, error) {
		token, err := bearerToken(ctx)
		if err != nil {
			return nil, err
		}
		account, err := tokens.Review(ctx, token)
		switch {
		case errors.Is(err, tokenreview.ErrRefused):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w: %w", xds.ErrUnknown, err)
		}
		return func(node xds.Node) (model.ObjectRef, error) { return claimGateway(account, node) }, nil
	}
}

func claimGateway(account tokenreview.Account, node xds.Node) (model.ObjectRef, error) {
	namespace, name, ok := strings.Cut(node.Cluster, "/")
	if !ok || namespace == "" || name == "" {
		return model.ObjectRef{}, fmt.Errorf("node cluster %q is not NAMESPACE/NAME of a Gateway", node.Cluster)
	}
	ref := model.Ref(model.KindGateway, namespace, name)
	if account.Namespace != namespace || account.Name != gateway.ProxyName(ref) {
		return model.ObjectRef{}, fmt.Errorf("ServiceAccount %s/%s does not belong to %s",
			account.Namespace, account.Name, ref)
	}
	if account.Pod != "" && account.Pod != node.ID {
		return model.ObjectRef{}, fmt.Errorf("the token belongs to pod %s/%s, not to the node's id %q",
			account.Namespace, account.Pod, node.ID)
	}
	return ref, nil
}

func bearerToken(ctx context.Context) (string, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	for _, value := range headers.Get("authorization") {
		if token, ok := strings.CutPrefix(value, "Bearer "); ok && token != "" {
			return token, nil
		}
	}
	return "", errors.New("the stream has no bearer token")
}
