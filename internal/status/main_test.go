package status

import (
	"testing"

	"cardea.dev/cardea/internal/testcluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }
