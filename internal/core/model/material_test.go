package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestMaterialIsNotShown: neither what prints values nor what dumps them shows what is secret, wherever it is held.
func TestMaterialIsNotShown(t *testing.T) {
	t.Parallel()
	held := struct{ Of Material }{Material{Text: []byte("sentinel"), PrivateKey: []byte("sentinel"), Until: time.Now()}}
	text, err := json.Marshal(held)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(text), fmt.Sprint(held), fmt.Sprintf("%+v", held), held.Of.DescribeFallback()} {
		if strings.Contains(shown, "sentinel") || strings.Contains(shown, "115 101") || strings.Contains(shown, "c2Vud") {
			t.Errorf("it is shown: %s", shown)
		}
	}
}
