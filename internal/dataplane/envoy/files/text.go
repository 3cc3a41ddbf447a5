package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// resourceTexts are resources as JSON in one line each, by name.
type resourceTexts map[string]json.RawMessage

// encodeFile is a DiscoveryResponse with these resources, a line each, in the order of their names.
func (t resourceTexts) encodeFile() []byte {
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	lines, hash := make([]string, len(names)), xxhash.New()
	for i, name := range names {
		lines[i] = string(t[name])
		_, _ = hash.WriteString(lines[i] + "\n")
	}
	version := strconv.FormatUint(hash.Sum64(), 36)
	return fmt.Appendf(nil, "{\"version_info\":%q,\"resources\":[\n%s\n]}\n", version, strings.Join(lines, ",\n"))
}

// parseResourceTexts reads what file made; what somebody else put there has no resources.
func parseResourceTexts(file []byte) resourceTexts {
	var response struct {
		Resources []json.RawMessage `json:"resources"`
	}
	list := resourceTexts{}
	if json.Unmarshal(file, &response) != nil {
		return list
	}
	for _, text := range response.Resources {
		var named struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(text, &named) == nil && named.Name != "" {
			list[named.Name] = text
		}
	}
	return list
}

// textOf prints a resource, with files in place of a server. all is where a cluster's endpoints are found.
func textOf(
	n resource.Name, all map[resource.Name]resource.Resource, at dataplane.FileFolders,
) (json.RawMessage, error) {
	m, err := message.NewMessage(n.Type)
	if err == nil {
		err = proto.Unmarshal(all[n].AppendBytes(nil), m)
	}
	if c, ok := m.(*clusterv3.Cluster); ok && err == nil {
		err = withEndpoints(c, all)
	}
	if err == nil {
		err = replaceSources(m, at)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", xdstypes.Name(n.Type), n.Name, err)
	}
	return marshalLine(m)
}

// withEndpoints puts the endpoints into a cluster that would ask for them.
func withEndpoints(c *clusterv3.Cluster, all map[resource.Name]resource.Resource) error {
	if c.GetType() != clusterv3.Cluster_EDS {
		return nil
	}
	endpoints := &endpointv3.ClusterLoadAssignment{ClusterName: c.Name}
	if r, found := all[resource.Name{Type: xdstypes.Endpoints, Name: c.Name}]; found {
		if err := proto.Unmarshal(r.AppendBytes(nil), endpoints); err != nil {
			return err
		}
	}
	c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
	c.EdsClusterConfig, c.LoadAssignment = nil, endpoints
	return nil
}

// marshalLine prints a message with its type in one line, always the same for the same message: protojson puts in
// spaces at random.
func marshalLine(m proto.Message) (json.RawMessage, error) {
	packed := new(anypb.Any)
	if err := anypb.MarshalFrom(packed, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		return nil, err
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(packed)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, text)
	return out.Bytes(), err
}
