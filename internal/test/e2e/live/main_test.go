package live

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"cardea.dev/cardea/internal/test/postgrestest"
)

// TestMain holds that nothing of the programs that the tests ran is left in this process.
func TestMain(m *testing.M) {
	code := m.Run()
	cleanUpBinary()
	if err := postgrestest.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		code = 1
	}
	os.Exit(code)
}
