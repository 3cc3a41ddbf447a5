package envoy

import (
	"slices"
	"testing"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// TestRequestsAreCountedWhateverIsLogged: stated logs count in place of Cardea's own, which can be turned off; metrics
// are made of all requests in each case.
func TestRequestsAreCountedWhateverIsLogged(t *testing.T) {
	t.Parallel()
	other := message.MustMarshal(&hcmv3.HttpConnectionManager{AccessLog: []*accesslogv3.AccessLog{{Name: "other"}}})
	counted := []string{"metrics", "model-requests", "model-tokens"}
	for name, test := range map[string]struct {
		stated listenerFields
		want   []string
	}{
		"nothing stated": {listenerFields{}, append([]string{"default"}, counted...)},
		"another log":    {listenerFields{chain: chainFields{Connections: other}}, append([]string{"other"}, counted...)},
		"turned off":     {listenerFields{chain: chainFields{Zero: []string{"access_log"}}}, counted},
	} {
		filter := connectionManager("http", "table", test.stated, accessLogsOf(model.ObjectRef{}, 80, "-"))
		m := new(hcmv3.HttpConnectionManager)
		if err := filter.GetTypedConfig().UnmarshalTo(m); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, log := range m.GetAccessLog() {
			got = append(got, log.GetName())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: logs %q, want %q", name, got, test.want)
		}
	}
}
