package model

import "testing"

// TestDescribeListener: a Gateway's own listener is named by its section, one of a ListenerSet with the set.
func TestDescribeListener(t *testing.T) {
	gateway := Ref(KindGateway, "shop", "web")
	for want, parent := range map[string]ObjectRef{
		"tcp": gateway, "tcp of ListenerSet shop/web": Ref(KindListenerSet, "shop", "web"),
	} {
		if got := (ListenerKey{parent, "tcp"}).Describe(gateway); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
