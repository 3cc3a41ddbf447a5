package standalone

import (
	"cardea.dev/cardea/internal/dataplanes"
)

// dialects are the data planes of these tests.
var dialects = dataplanes.All()
