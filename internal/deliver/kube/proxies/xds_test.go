package proxies_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// xdsServer gives every proxy one listener, at port 80, that answers every request with the proxy's name. A stream
// without a valid token is refused.
type xdsServer struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	client *kubernetes.Clientset

	mu    sync.Mutex
	users map[string]int // streams that each user has opened
}

func (s *xdsServer) DeltaAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	user, err := s.user(stream.Context())
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.users[user]++
	s.mu.Unlock()
	node := ""
	for {
		req, err := stream.Recv()
		if err != nil {
			return nil // the proxy is gone
		}
		if req.Node != nil {
			node = req.Node.Id
		}
		if req.ResponseNonce != "" {
			continue // an acknowledgement
		}
		resp := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: req.TypeUrl, Nonce: "1"}
		if strings.HasSuffix(req.TypeUrl, ".Listener") {
			resp.Resources = []*discoveryv3.Resource{{Name: "80", Version: "1", Resource: pack(listener(node))}}
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

// user is the account of the token of a stream.
func (s *xdsServer) user(ctx context.Context) (string, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	token := strings.TrimPrefix(strings.Join(md.Get("authorization"), ","), "Bearer ")
	review, err := s.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
	}, metav1.CreateOptions{})
	if err == nil && !review.Status.Authenticated {
		err = fmt.Errorf("it is not authenticated: %s", review.Status.Error)
	}
	if err != nil {
		return "", err
	}
	return review.Status.User.Username, nil
}

func (s *xdsServer) streams(user string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users[user]
}

func listener(answer string) *listenerv3.Listener {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: "80",
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			VirtualHosts: []*routev3.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
				Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
					Status: 200, Body: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: answer}},
				}},
			}}}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{{Name: "router",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(&routerv3.Router{})}}},
	}
	return &listenerv3.Listener{
		Name: "80",
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "0.0.0.0", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 80},
		}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(manager)},
		}}}},
	}
}

func pack(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return a
}
