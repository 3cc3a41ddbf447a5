package standalone

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestClashes(t *testing.T) {
	gateway := func(name, addresses, listeners string) string {
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s}\n"+
			"spec: {gatewayClassName: cardea, addresses: [%s], listeners: [%s]}\n", name, addresses, listeners)
	}
	const http80 = "{name: a, port: 80, protocol: HTTP}"
	at := func(ip string) string { return "{value: '" + ip + "'}" }
	for name, story := range map[string]struct {
		gateways []string
		want     []string // the beginnings of the lines
	}{
		"no addresses are the default ones": {[]string{gateway("a", "", http80), gateway("b", "", http80)},
			[]string{"error: all.yaml:9: Gateway default/b: spec.listeners[0].port: 127.0.0.1:1080 can't be bound: Gateway " +
				"default/a binds 127.0.0.1:1080; "}},
		"the default one, stated": {[]string{gateway("a", at("127.0.0.1"), http80), gateway("b", "", http80)},
			[]string{"error: all.yaml:9: Gateway default/b: spec.listeners[0].port: 127.0.0.1:1080 can't"}},
		"another address": {[]string{gateway("a", at("127.0.0.2"), http80), gateway("b", "", http80)}, nil},
		"another port":    {[]string{gateway("a", "", http80), gateway("b", "", "{name: a, port: 81, protocol: HTTP}")}, nil},
		"every address": {[]string{gateway("a", at("0.0.0.0"), http80), gateway("b", at("127.0.0.2"), http80)},
			[]string{"error: all.yaml:9: Gateway default/b: spec.listeners[0].port: 127.0.0.2:1080 can't be bound: Gateway " +
				"default/a binds 0.0.0.0:1080; "}},
		"every address of the other family": {[]string{gateway("a", at("::"), http80), gateway("b", "", http80)}, nil},
		"within a Gateway": {[]string{gateway("a", at("0.0.0.0")+", "+at("127.0.0.1"), http80)},
			[]string{"error: all.yaml:4: Gateway default/a: spec.addresses[1].value: 127.0.0.1 can't be bound together with " +
				"0.0.0.0 " +
				"(spec.addresses[0]); "}},
		"within a Gateway, the other way round": {[]string{gateway("a", at("127.0.0.1")+", "+at("0.0.0.0"), http80)},
			[]string{"error: all.yaml:4: Gateway default/a: spec.addresses[1].value: 0.0.0.0 can't be bound together with " +
				"127.0.0.1 " +
				"(spec.addresses[0]); "}},
		"within a Gateway, written in two ways": {[]string{gateway("a", at("127.0.0.1")+", "+at("::ffff:127.0.0.1"), http80)},
			[]string{"error: all.yaml:4: Gateway default/a: spec.addresses[1].value: ::ffff:127.0.0.1 can't be bound " +
				"together with " +
				"127.0.0.1 (spec.addresses[0]); "}},
		"within a Gateway, beside every one of the other family": {[]string{gateway("a", at("127.0.0.1")+", "+at("::"),
			http80)}, nil},
		"who loses is in nobody's way": {
			[]string{gateway("a", at("127.0.0.1"), http80), gateway("b", at("0.0.0.0"), http80),
				gateway("c", at("127.0.0.2"), http80)},
			[]string{"error: all.yaml:9: Gateway default/b: spec.listeners[0].port: 0.0.0.0:1080 can't be bound: Gateway " +
				"default/a binds"},
		},
		"each listener of the port, and no other": {[]string{
			gateway("a", "",
				"{name: one, port: 80, protocol: HTTP}, {name: two, port: 80, protocol: HTTP, hostname: y.example}"),
			gateway("b", "",
				"{name: one, port: 81, protocol: HTTP}, {name: two, port: 80, protocol: HTTP, hostname: y.example}, "+
					"{name: three, port: 80, protocol: HTTP}, {name: bad, port: 80, protocol: tcp}"),
		}, []string{
			"error: all.yaml:9: Gateway default/b: spec.listeners[3].protocol: ",
			"error: all.yaml:9: Gateway default/b: spec.listeners[1].port: 127.0.0.1:1080 can't",
			"error: all.yaml:9: Gateway default/b: spec.listeners[2].port: 127.0.0.1:1080 can't",
		}},
		"a Gateway that is not served": {[]string{gateway("a", "{type: Hostname, value: no.example}", http80),
			gateway("b", "", http80)},
			[]string{"error: all.yaml:4: Gateway default/a: spec.addresses[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(strings.Join(story.gateways, "---\n")),
				0o644); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			o := Options{Dialects: dialects, Dir: dir, Bind: []string{"127.0.0.1"}, PortOffset: 1000}
			n, err := Check(t.Context(), o, &out)
			if err != nil || n != len(story.want) {
				t.Fatalf("%d errors, want %d (%v):\n%s", n, len(story.want), err, out.String())
			}
			lines := strings.Split(out.String(), "\n")
			for i, want := range story.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("got  %s\nwant %s", lines[i], want)
				}
			}
		})
	}
}
