package calls

import (
	"strings"
	"testing"
)

func TestParseSkipsCommentsAndNumbersLines(t *testing.T) {
	list, err := Parse(strings.NewReader("# a comment\n\n" +
		"GET  http://a/  -> 200 web\nPUT https://b:8443/x -H a:b:c -d x=1 *7 -> 301 location=http://c/?d=e\n"))
	if err != nil || len(list) != 2 {
		t.Fatalf("%d calls, %v, want 2", len(list), err)
	}
	if c := list[0]; c.Line != 3 || c.Text != "GET http://a/ -> 200 web" || c.Times != 1 ||
		c.Shares[0] != (Share{"web", 100}) {
		t.Errorf("the first call is %+v", c)
	}
	c := list[1]
	if c.Line != 4 || c.Method != "PUT" || c.URL.Host != "b:8443" || c.Header.Get("a") != "b:c" || c.Body != "x=1" ||
		c.Times != 7 || c.Status != 301 ||
		len(c.Shares) != 0 || c.Expects[0] != (Expectation{"location", "http://c/?d=e"}) {
		t.Errorf("the second call is %+v", c)
	}
}

func TestParseRefusesWhatIsNoCall(t *testing.T) {
	for text, want := range map[string]string{
		"GET http://a/":                  "1: want METHOD URL",
		"GET -> 200":                     "1: want METHOD URL",
		"GET http://a/ ->":               "1: want METHOD URL",
		"\nGET /cart -> 200":             "2: want a whole URL",
		"GET ftp://a/ -> 200":            "1: want a whole URL",
		"GET http://a/ -H x -> 200":      "1: want -H name:value",
		"GET http://a/ -H -> 200":        "1: want -H name:value, -u user:password, -t token, -d body, -E certificate or *N",
		"GET http://a/ *0 -> 200":        "1: want *N",
		"GET http://a/ 5 -> 200":         "1: want -H name:value, -u user:password, -t token, -d body, -E certificate or *N",
		"GET http://a/ -> ok":            "1: want a status",
		"GRPC http://a/ -> 200":          "1: want a status of gRPC",
		"GET http://a/ -> 200 web~many%": "1: want backend~N%",
		"SEND http://a/ -> web":          "1: want a whole URL",
		"GET tcp://a:1 -> 200":           "1: want a whole URL",
		"SEND tcp://a -> web":            "1: want a port",
		"SEND tcp://a:1 -H x:y -> web":   "1: want -d body or *N",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
