package files

import (
	"fmt"
	"path"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// dataLink is the link in a folder that leads to all files as they are now, in volumes of Kubernetes. A path through it
// is whole at any time; the links beside it, one for each file, are made later.
const dataLink = "..data"

// pathSource is a file that is read again whenever a link in its folder is renamed.
func pathSource(dir, file string) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{
			Path: path.Join(dir, dataLink, file), WatchedDirectory: &corev3.WatchedDirectory{Path: dir},
		}},
		ResourceApiVersion: corev3.ApiVersion_V3,
	}
}

// replaceSources has a message name files where it names a server's resources: route tables, certificates and
// extensions, also in what it packs.
func replaceSources(m proto.Message, at dataplane.FileFolders) error {
	switch m := m.(type) {
	case *hcmv3.Rds:
		m.ConfigSource = pathSource(at.Dir, fileOf(resource.Name{Type: xdstypes.Routes, Name: m.RouteConfigName}))
		return nil
	case *hcmv3.HttpFilter:
		if d := m.GetConfigDiscovery(); d != nil {
			replaceExtension(d, m.Name, at)
			return nil
		}
	case *listenerv3.Filter:
		if d := m.GetConfigDiscovery(); d != nil {
			replaceExtension(d, m.Name, at)
			return nil
		}
	case *tlsv3.SdsSecretConfig:
		m.SdsConfig = pathSource(at.Keys, fileOf(resource.Name{Type: xdstypes.Secret, Name: m.Name}))
		return nil
	case *anypb.Any:
		return replacePackedSources(m, at)
	}
	var err error
	m.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		for _, inner := range fieldMessages(field, v) {
			if err = replaceSources(inner.Interface(), at); err != nil {
				return false
			}
		}
		return true
	})
	return err
}

// replaceExtension has a filter name the file of its configuration.
func replaceExtension(d *corev3.ExtensionConfigSource, name string, at dataplane.FileFolders) {
	wait := d.GetConfigSource().GetInitialFetchTimeout()
	d.ConfigSource = pathSource(at.Dir, fileOf(resource.Name{Type: xdstypes.Extension, Name: name}))
	d.ConfigSource.InitialFetchTimeout = wait
}

// replacePackedSources does so in a packed message. One of no type is nothing.
func replacePackedSources(packed *anypb.Any, at dataplane.FileFolders) error {
	if packed.GetTypeUrl() == "" {
		return nil
	}
	m, err := packed.UnmarshalNew()
	if err != nil {
		return fmt.Errorf("unpack %s: %w", packed.GetTypeUrl(), err)
	}
	if err := replaceSources(m, at); err != nil {
		return err
	}
	return anypb.MarshalFrom(packed, m, proto.MarshalOptions{Deterministic: true})
}

// fieldMessages are those that a field has.
func fieldMessages(field protoreflect.FieldDescriptor, v protoreflect.Value) (list []protoreflect.Message) {
	switch {
	case field.IsMap() && field.MapValue().Message() != nil:
		v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			list = append(list, v.Message())
			return true
		})
	case field.IsMap() || field.Message() == nil:
	case field.IsList():
		for i := range v.List().Len() {
			list = append(list, v.List().Get(i).Message())
		}
	default:
		list = append(list, v.Message())
	}
	return list
}
