package examples

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/test/e2e"
)

// TestNoPageShowsAPrivateKey asks the admin API for everything that it can tell about an example with certificates.
func TestNoPageShowsAPrivateKey(t *testing.T) {
	p := e2e.Start(t, copyExample(t, "https"))
	p.Ready(t)
	var pages []string
	for _, kind := range kinds.All() {
		pages = append(pages, "/objects/"+kind.Plural)
	}
	var collections []struct{ Name string }
	if err := json.Unmarshal(page(t, p.Admin+"/debug/flow"), &collections); err != nil || len(collections) == 0 {
		t.Fatalf("%d collections, %v", len(collections), err)
	}
	for _, c := range collections {
		pages = append(pages, "/debug/flow/"+url.PathEscape(c.Name))
	}
	seen := 0
	for _, path := range pages {
		var value any
		if err := json.Unmarshal(page(t, p.Admin+path), &value); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		eachText(value, func(text string) {
			if strings.Contains(text, "BEGIN CERTIFICATE") {
				seen++
			}
			if bytes, err := base64.StdEncoding.DecodeString(text); err == nil {
				text += string(bytes)
			}
			if strings.Contains(text, "PRIVATE KEY") {
				t.Errorf("%s shows a private key", path)
			}
		})
	}
	if seen == 0 {
		t.Error("no page shows a certificate either: this test looks in the wrong places")
	}
}

func page(t *testing.T, url string) []byte {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s (%v)", url, response.Status, body, err)
	}
	return body
}

// eachText visits every text in a JSON value, names of fields too.
func eachText(value any, visit func(string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []any:
		for _, item := range v {
			eachText(item, visit)
		}
	case map[string]any:
		for name, item := range v {
			visit(name)
			eachText(item, visit)
		}
	}
}
