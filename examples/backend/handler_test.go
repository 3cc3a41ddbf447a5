package main

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cardea.dev/cardea/examples/calls"
)

// serveTest starts the backend "web"; do makes a call, written with HOST for its address.
func serveTest(t *testing.T) (do func(call string) error, url string) {
	server := httptest.NewUnstartedServer(handler("web"))
	server.Config.Protocols = protocols()
	server.Start()
	t.Cleanup(server.Close)
	client := calls.NewClient("127.0.0.1", 0)
	client.OpenTimeout = 0
	t.Cleanup(client.Close)
	host := "shop.localhost" + server.URL[strings.LastIndex(server.URL, ":"):]
	return func(call string) error {
		t.Helper()
		list, err := calls.Parse(strings.NewReader(strings.ReplaceAll(call, "HOST", host)))
		if err != nil || len(list) != 1 {
			t.Fatalf("%q: %d calls, %v", call, len(list), err)
		}
		return client.Do(context.Background(), list[0])
	}, server.URL
}

func TestBackendTellsWhatItGot(t *testing.T) {
	do, _ := serveTest(t)
	for _, call := range []string{
		"GET http://HOST/cart?a=b -> 200 web path=/cart query=a=b method=GET host=HOST",
		"DELETE http://HOST/ -H x-one:1 -H x-one:2 -H host:other.example -> 200 web method=DELETE host=other.example " +
			"header.x-one=1,2",
		"GET http://HOST/ -> 200 content-type=application/json x-none= header.x-none=",
		"GET http://HOST/ *10 -> 200 web~100% other~0%",
		"GET http://HOST/slow?seconds=0.001 -> 200 web path=/slow",
		"GET http://HOST/slow?seconds=never -> 400",
		"GRPC http://HOST/shop.Cart/Add -H x-one:1 -> OK web path=/shop.Cart/Add method=POST host=HOST header.x-one=1",
	} {
		if err := do(call); err != nil {
			t.Error(err)
		}
	}
}

func TestCallsThatAreAnsweredOtherwiseFail(t *testing.T) {
	do, _ := serveTest(t)
	for call, want := range map[string]string{
		"GET http://HOST/ -> 404":                     "answered 200, want 404",
		"GET http://HOST/ -> 200 api":                 `"api" answered 0% of 1 calls, want 100%`,
		"GET http://HOST/ *4 -> 200 web~50%":          `"web" answered 100% of 4 calls, want 50%`,
		"GET http://HOST/ *4 -> 200 web~0%":           `"web" answered 100% of 4 calls, want 0%`,
		"GET http://HOST/ -> 200 path=/cart":          `path is "/", want "/cart"`,
		"GET http://HOST/ -> 200 header.x-one=1":      `header.x-one is "", want "1"`,
		"GET http://HOST/ -> 200 content-type=":       `content-type is "application/json", want ""`,
		"GET http://HOST/ -> 200 certificate=a.b":     "not made over TLS",
		"GET http://shop.localhost:1/ -> 200":         "connection refused",
		"GRPC http://HOST/a.B/C -> UNAVAILABLE":       "answered OK, want UNAVAILABLE",
		"GRPC http://HOST/a.B/C -> OK trailer.x=1":    `trailer.x is "", want "1"`,
		"GRPC http://shop.localhost:1/a.B/C -> OK":    "connection refused",
		"GET http://HOST/slow?seconds=never -> 200 x": "seconds must be a number",
	} {
		if err := do(call); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", call, err, want)
		}
	}
}

func TestStreamSendsEventsAtOnce(t *testing.T) {
	_, url := serveTest(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || line != "data: 1\n" || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the stream began with %q (%v, %s), want an event", line, err, response.Header.Get("Content-Type"))
	}
}
