package status

import (
	"testing"

	"cardea.dev/cardea/internal/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
