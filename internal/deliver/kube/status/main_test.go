package status

import (
	"testing"

	"cardea.dev/cardea/internal/test/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }
