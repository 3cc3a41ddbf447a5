package compression

import (
	"slices"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	brotliv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/brotli/compressor/v3"
	gzipv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/gzip/compressor/v3"
	zstdv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/zstd/compressor/v3"
	compressorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/compressor/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// libraries compress, as Envoy does by default.
var libraries = map[Algorithm]proto.Message{
	"Zstd": &zstdv3.Zstd{}, "Brotli": &brotliv3.Brotli{}, "Gzip": &gzipv3.Gzip{},
}

// partialContent is an answer with a part of what was asked for (206): its ranges are of the content as it is.
const partialContent = 206

// renderRule adds a filter for each algorithm. If a client likes several alike, Envoy takes the one with choose_first,
// else the first that the client names. If several have choose_first, Envoy takes the last that the client names.
func renderRule(e envoy.Rule, v Value) {
	e.Filter(extend.SlotCoding, "compression", headerCorrections()) // answers pass it after those below
	for _, a := range v.Algorithms {
		e.Filter(extend.SlotCoding, "compression."+strings.ToLower(string(a)), compressorConfig(a, v))
	}
}

// uncompressedHeaders are headers of answers that are not true of what is compressed: it has no ranges, since it is
// compressed anew for each request, and another digest (RFC 9530; RFC 1864).
var uncompressedHeaders = []string{"accept-ranges", "content-digest", "repr-digest", "digest", "content-md5"}

// headerCorrections takes headers off answers that are compressed. The header of Envoy's that tells which are is taken
// off all.
func headerCorrections() *headermutationv3.HeaderMutation {
	const said, kept = "x-envoy-compression-status", "x-cardea-plain"
	set := func(name, value string) *mutationv3.HeaderMutation {
		return &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: name, Value: value},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}}}
	}
	remove := func(name string) *mutationv3.HeaderMutation {
		return &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}}
	}
	// They are done one after another, and one with an empty value is left out.
	var list []*mutationv3.HeaderMutation
	for _, header := range uncompressedHeaders {
		plain := "%CEL('" + said + "' in response.headers && response.headers['" + said + "'].contains(';Compressed') ? '' " +
			": response.headers['" + header + "'])%"
		list = append(list, remove(kept), set(kept, plain), remove(header), set(header, "%RESP("+kept+")%"))
	}
	return &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
		ResponseMutations: append(list, remove(kept), remove(said)),
	}}
}

func compressorConfig(a Algorithm, v Value) *compressorv3.Compressor {
	config, err := anypb.New(libraries[a])
	if err != nil {
		panic(err) // an empty message
	}
	return &compressorv3.Compressor{
		CompressorLibrary: &corev3.TypedExtensionConfig{Name: strings.ToLower(string(a)), TypedConfig: config},
		ChooseFirst:       a == v.Algorithms[0],
		ResponseDirectionConfig: &compressorv3.Compressor_ResponseDirectionConfig{
			CommonConfig: &compressorv3.Compressor_CommonDirectionConfig{
				MinContentLength: wrapperspb.UInt32(v.MinSize), ContentTypeMatcher: typeMatchers(v.ContentTypes),
			},
			WeakenEtagOnCompress: true, StatusHeaderEnabled: true, UncompressibleResponseCodes: []uint32{partialContent},
		},
	}
}

// typeMatchers match content types, sorted.
func typeMatchers(list []string) (matchers []*matcherv3.StringMatcher) {
	for _, t := range slices.Compact(slices.Sorted(slices.Values(list))) {
		matchers = append(matchers, &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: t}})
	}
	return matchers
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})
