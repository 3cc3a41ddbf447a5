package compression

import (
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	brotliv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/brotli/compressor/v3"
	gzipv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/gzip/compressor/v3"
	zstdv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/compression/zstd/compressor/v3"
	compressorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/compressor/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
)

// libraries compress, as Envoy does by default.
var libraries = map[Algorithm]proto.Message{
	"Zstd": &zstdv3.Zstd{}, "Brotli": &brotliv3.Brotli{}, "Gzip": &gzipv3.Gzip{},
}

// partial is an answer with a part of what was asked for (206): its ranges are of the content as it is.
const partial = 206

// render adds a filter for each algorithm. Of filters that a client likes alike, Envoy takes the first of the list.
func render(e extend.EnvoyRule, v Value) {
	for _, a := range v.Algorithms {
		e.Filter(extend.SlotCoding, "compression."+strings.ToLower(string(a)), compressor(a, v))
	}
}

func compressor(a Algorithm, v Value) *compressorv3.Compressor {
	config, err := anypb.New(libraries[a])
	if err != nil {
		panic(err) // an empty message
	}
	return &compressorv3.Compressor{
		CompressorLibrary: &corev3.TypedExtensionConfig{Name: strings.ToLower(string(a)), TypedConfig: config},
		ChooseFirst:       a == v.Algorithms[0],
		ResponseDirectionConfig: &compressorv3.Compressor_ResponseDirectionConfig{
			CommonConfig: &compressorv3.Compressor_CommonDirectionConfig{
				MinContentLength: wrapperspb.UInt32(v.MinSize), ContentTypeMatcher: types(v.ContentTypes),
			},
			WeakenEtagOnCompress: true, UncompressibleResponseCodes: []uint32{partial},
		},
	}
}

// types match content types, sorted.
func types(list []string) (matchers []*matcherv3.StringMatcher) {
	for _, t := range slices.Compact(slices.Sorted(slices.Values(list))) {
		matchers = append(matchers, &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: t}})
	}
	return matchers
}
