package live

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// textsBehind are the texts behind a key.
func textsBehind(o e2e.Object, key string) (all []string) {
	for _, n := range o[key] {
		if n.Text != nil {
			all = append(all, *n.Text)
		}
	}
	return all
}

// beyond tells why some server could take a body for more than what sessions need and a call of get-sum; "" if none
// could. What proxies let pass is one object and nothing else, in which no key stands twice.
func beyond(body []byte) string {
	all := e2e.DocumentsIn(body)
	if len(all) != 1 || all[0].Object == nil {
		return "it is not one message"
	}
	if o := bytes.Trim(body, " \t\r\n\v\f"); o[0] != '{' || o[len(o)-1] != '}' {
		return "something is around the message"
	}
	if key := all[0].Twice(); key != "" {
		return fmt.Sprintf("the key %q stands twice", key)
	}
	message := all[0].Object
	for key := range message {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, key) {
			return fmt.Sprintf("it has the key %q", key)
		}
	}
	answers := message["result"] != nil || message["error"] != nil
	switch methods := textsBehind(message, "method"); {
	case answers && message["method"] == nil && message["params"] == nil:
		return ""
	case answers:
		return "it is a request and an answer"
	case len(methods) == 0:
		return "it has neither a method nor a result"
	case methods[0] == "tools/call":
		return otherCall(message)
	case !isBase(methods[0]):
		return fmt.Sprintf("its method is %q", methods[0])
	}
	return ""
}

// otherCall tells which other tool than get-sum could be called.
func otherCall(o e2e.Object) string {
	named := false
	for _, params := range o["params"] {
		for _, name := range textsBehind(params.Object, "name") {
			if named = true; name != "get-sum" {
				return fmt.Sprintf("it calls %q", name)
			}
		}
	}
	if !named {
		return "it calls a tool without a name"
	}
	return ""
}

// isBase tells what sessions need.
func isBase(method string) bool {
	sessions := []string{"initialize", "server/discover", "ping", "tools/list", "subscriptions/listen"}
	return slices.Contains(sessions, method) ||
		slices.ContainsFunc([]string{"notifications/", "completion/", "logging/"}, func(family string) bool {
			return strings.HasPrefix(method, family)
		})
}

// TestReading: each attack is seen, and what is harmless is not taken for one.
func TestReading(t *testing.T) {
	for _, c := range [][2]string{
		{"", allowed},
		{"", " \n" + allowed + "\n"},
		{"", `{"method":"tools/call","params":{"name":"get-sum","arguments":{"name":"get-env"}}}`},
		{"", `{"id":1,"result":{}}`},
		{`it calls "get-env"`, forbidden},
		{`it calls "get-env"`, `{"method":"tools/call","params":{"n\u0061me":"get\u002denv",}}`},
		{`it calls "get-env"`, `{'method':'tools/call','params':{'name':'get-env'}}`},
		{"it is a request and an answer", `{"result":{},"method":["x"],"id":1}`},
		{"it is a request and an answer", `{"result":null,"params":{},"id":1}`},
		{`the key "method" stands twice`, `{"method":"ping","method":["tools/call"]}`},
		{`the key "name" stands twice`, `{"method":"tools/call","params":{"name":"get-sum","Name":"get-env"}}`},
		{`the key "params" stands twice`, `{"method":"ping","params":{},"param\u017f":{"name":"get-env"}}`},
		{`the key "a" stands twice`, `{"method":"ping","params":{"arguments":[{"y":{"a":1,"A":[2]}}]}}`},
		{`the key "a" stands twice`, `{"method":"ping","params":{"x":[{"y":{"a":1,"a":[2]}}]}}`},
		{"", `{"method":"ping","params":{"x":[{"y":{"a":1,"A":[2]}}]}}`},
		{`it calls "get-env"`, `{"METHOD":"tools/call","params":{"name":"get-env"}}`},
		{"it calls a tool without a name", `{"method":"tools/call","params":{"name":["x"]}}`},
		{`the key "name" stands twice`, `{"method":"tools/call","params":{"name":"get-sum","n\u0061me":"get-env"}}`},
		{`the key "method" stands twice`, `{"method":"ping","method":"tools/call","params":{"name":"get-env"}}`},
		{`the key "params" stands twice`, `{"method":"ping","params":{"name":"get-env"},"params":{"name":"get-sum"}}`},
		{`its method is "prompts/get"`, `{"method":"prompts/get"}`},
		{"it has neither a method nor a result", `{"id":1}`},
		{`it has the key "x"`, `{"method":"ping","x":1}`},
		{"it is not one message", ""},
		{"it is not one message", "[" + allowed + "]"},
		{"it is not one message", "[" + allowed + "," + forbidden},
		{"it is not one message", allowed + forbidden},
		{"something is around the message", "\xef\xbb\xbf" + allowed},
		{"something is around the message", allowed + "//"},
		{"something is around the message", `{"method":"tools/call","params":{"name":"get-env"`},
	} {
		if got := beyond([]byte(c[1])); got != c[0] {
			t.Errorf("%s: %q, want %q", c[1], got, c[0])
		}
	}
}
