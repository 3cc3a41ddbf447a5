package store

import (
	"fmt"
	"path/filepath"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// TestDenialsThatAreKept: the newest denials are kept, and what is kept can be verified.
func TestDenialsThatAreKept(t *testing.T) {
	for name, url := range map[string]func() string{
		"file":     func() string { return filepath.Join(t.TempDir(), "ledger.db") },
		"postgres": func() string { return postgrestest.New(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Config{URL: url()})
			s.mostDenials = 10
			for i := range 25 {
				err := s.Deny(t.Context(), ledger.Denial{Subject: "eve", Permission: ledger.MayRead, Missed: int64(i),
					Request: fmt.Sprint("GET /", i)})
				if err != nil {
					t.Fatal(err)
				}
			}
			list, err := s.Denials(t.Context(), ledger.Page{})
			if err != nil || len(list) != 10 || list[0].Number != 25 || list[9].Number != 16 || list[0].Missed != 24 {
				t.Fatalf("kept are %d, %+v, %v", len(list), list, err)
			}
			if v, err := s.Verify(t.Context()); err != nil || len(v.Wrong) > 0 || v.Denials != 10 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}
