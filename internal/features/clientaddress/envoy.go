package clientaddress

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	customv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/original_ip_detection/custom_header/v3"
	xffv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/original_ip_detection/xff/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

// Names of what the connection manager runs.
const (
	detectionName = "client-address"
	sanitizerName = "client-address-unforged"
)

// forgeableHeaders are the headers that Envoy takes off what clients send only if it takes the address from the
// connection (use_remote_address).
var forgeableHeaders = []string{
	"x-envoy-decorator-operation", "x-envoy-downstream-service-cluster", "x-envoy-downstream-service-node",
	"x-envoy-external-address", "x-envoy-original-host", "x-envoy-original-path",
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Listener: renderListener})

// rejectStatus is the status of requests without an address in the header.
const rejectStatus = typev3.StatusCode_Forbidden

func renderListener(e envoy.Listener, v Value) {
	switch {
	case v.Hops > 0:
		e.Connections(&hcmv3.HttpConnectionManager{XffNumTrustedHops: uint32(v.Hops), SkipXffAppend: !v.Append})
	case len(v.CIDRs) > 0:
		config := &xffv3.XffConfig{
			XffTrustedCidrs: &xffv3.XffTrustedCidrs{}, SkipXffAppend: wrapperspb.Bool(!v.Append),
		}
		for _, cidr := range v.CIDRs {
			config.XffTrustedCidrs.Cidrs = append(config.XffTrustedCidrs.Cidrs, envoy.CIDR(cidr))
		}
		renderDetection(e, config)
	case v.Header != "":
		config := &customv3.CustomHeaderConfig{HeaderName: v.Header}
		if v.Reject {
			config.RejectWithStatus = &typev3.HttpStatus{Code: rejectStatus}
		}
		renderDetection(e, config)
	}
}

// renderDetection finds the address by an extension, which can't be together with use_remote_address.
func renderDetection(e envoy.Listener, by proto.Message) {
	removals := &earlyv3.HeaderMutation{}
	for _, name := range forgeableHeaders {
		removals.Mutations = append(removals.Mutations, &mutationv3.HeaderMutation{
			Action: &mutationv3.HeaderMutation_Remove{Remove: name},
		})
	}
	e.Connections(&hcmv3.HttpConnectionManager{
		UseRemoteAddress:              wrapperspb.Bool(false),
		OriginalIpDetectionExtensions: []*corev3.TypedExtensionConfig{typedExtension(detectionName, by)},
		EarlyHeaderMutationExtensions: []*corev3.TypedExtensionConfig{typedExtension(sanitizerName, removals)},
	})
}

func typedExtension(name string, config proto.Message) *corev3.TypedExtensionConfig {
	packed, err := anypb.New(config)
	if err != nil {
		panic(err) // it is made above
	}
	return &corev3.TypedExtensionConfig{Name: name, TypedConfig: packed}
}
