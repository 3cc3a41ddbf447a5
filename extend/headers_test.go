package extend

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestValidateHeaders: each mistake is told at its entry.
func TestValidateHeaders(t *testing.T) {
	text := func(s string) *string { return &s }
	ref := &gatewayv1.SecretObjectReference{Name: "a"}
	for want, e := range map[string]HeaderEdit{
		"":                             {Name: "x-a", SecretRef: ref},
		"set[a b]: \"a b\" is not":     {Name: "a b", Value: text("")},
		"set[:path]: \":path\" is not": {Name: ":path", Value: text("/")},
		"set[Host]: header \"host\"":   {Name: "Host", Value: text("a")},
		"set[CDN-Loop]":                {Name: "CDN-Loop", Value: text("a")},
		"set[Content-Length]: header \"content-length\" can't be stated": {Name: "Content-Length", Value: text("1")},
		"set[x]: 0 of value, secretRef and format":                       {Name: "x"},
		"set[y]: 2 of value, secretRef and format":                       {Name: "y", Value: text("a"), SecretRef: ref},
		"set[x].value: it has a line break":                              {Name: "x", Value: text("a\r\nb: c")},
		"set[x].format: it is empty":                                     {Name: "x", Format: text("")},
		"set[x].format: %FILE(a)%: FILE is not supported":                {Name: "x", Format: text("%FILE(a)%")},
	} {
		checkEdits(t, HeaderEdits{Set: []HeaderEdit{e}}, want)
	}
	checkEdits(t, HeaderEdits{Set: []HeaderEdit{{Name: "a", Value: text("")}}, Remove: []string{"A"}},
		"set[a]: header \"a\" is changed twice")
	checkEdits(t, HeaderEdits{Remove: []string{"connection"}}, "")
	checkEdits(t, HeaderEdits{Remove: []string{"host"}}, "remove[host]: header \"host\" can't")
}

func checkEdits(t *testing.T, edits HeaderEdits, want string) {
	t.Helper()
	got := ""
	for _, p := range ValidateHeaders(edits) {
		got += p.Field + ": " + p.Message + "\n"
	}
	if want == "" && got != "" || strings.Count(got, "\n") > 1 || !strings.HasPrefix(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
}

func TestCheckFormat(t *testing.T) {
	for format, want := range map[string]string{
		"plain 100%%":                         "",
		"%REQ(x-a?:path):10% and %PROTOCOL%":  "",
		"%CEL(request.headers['a'] == '%')%":  "",
		"%CEL(5 % 2)%":                        "",
		"%DYNAMIC_METADATA(a.b:c:d)%":         "",
		"100%":                                "has no end",
		"%REQ(a":                              "has no end",
		"%%%":                                 "has no end",
		"5% of 10%":                           "is not a command",
		"%ENVIRONMENT(SECRET)%":               "ENVIRONMENT is not supported",
		"%REQ()%":                             "can't be its argument",
		"%REQ(a b)%":                          "can't be its argument",
		"%REQ%":                               "can't be its argument",
		"%PROTOCOL(a)%":                       "takes no argument",
		"%PROTOCOL:4%":                        "can't be cut",
		"%RESPONSE_CODE_DETAILS:99%":          "can't be cut",
		"%DOWNSTREAM_PEER_SUBJECT:99%":        "can't be cut",
		"%DYNAMIC_METADATA(a.b:c):9%":         "",
		"%CEL(request.path):9%":               "",
		"%DOWNSTREAM_NOTHING%":                "no such command",
		"%CEL(foo)%":                          "undeclared reference",
		"%CEL([1].map(x, x))%":                "iterates over a list",
		"%REQ(a)%\r\nset-cookie: b":           "line break",
		"%FILTER_STATE(a:PLAIN)%":             "FILTER_STATE is not supported",
		"%UPSTREAM_METADATA(a:b)%":            "UPSTREAM_METADATA is not supported",
		"%START_TIME(%s)%":                    "takes no argument",
		"%DYNAMIC_METADATA(a:%ENVIRONMENT%)%": "can't be its argument",
	} {
		err := CheckFormat(format)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", format, err, want)
		}
	}
	for _, c := range FormatCommands() {
		if err := CheckFormat("%" + c + "%"); err != nil {
			t.Error(err)
		}
	}
}
