package standalone

import (
	"cardea.dev/cardea/internal/app/dataplanes"
)

// dialects are the data planes of these tests.
var dialects = dataplanes.All()
