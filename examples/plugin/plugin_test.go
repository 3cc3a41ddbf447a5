package plugin

import (
	"testing"

	"cardea.dev/cardea/extendtest"
)

// TestBehaviourFiles runs the files of testdata. After a change: go test . -extendtest.update, then read the diff.
func TestBehaviourFiles(t *testing.T) { extendtest.Run(t, "testdata/*.txtar", Plugins()...) }
