package standalone

import (
	"cardea.dev/cardea/internal/dataplane/all"
)

// dialects are the data planes of these tests.
var dialects = all.All()
