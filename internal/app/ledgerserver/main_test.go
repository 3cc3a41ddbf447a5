package ledgerserver

import (
	"fmt"
	"os"
	"testing"

	"cardea.dev/cardea/internal/test/kubetest"
	"cardea.dev/cardea/internal/test/postgrestest"
)

func TestMain(m *testing.M) { kubetest.Main(withDatabase{m}) }

// withDatabase ends the database that tests began.
type withDatabase struct{ *testing.M }

func (m withDatabase) Run() int {
	code := m.M.Run()
	if err := postgrestest.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}
