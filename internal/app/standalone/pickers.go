package standalone

import (
	"fmt"
	"os"

	"cardea.dev/cardea/internal/app/eppchild"
	"cardea.dev/cardea/internal/app/world"
)

// newPickers makes what runs the pickers of pools that name none.
func newPickers(o Options, w *world.World, dir string) (*eppchild.Children, error) {
	program := o.PickerProgram
	if o.Pickers && program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program, which pickers are started from: %w", err)
		}
	}
	return eppchild.New(eppchild.Config{
		Graph: w.Graph, Plan: &w.Plan, Sources: w.Sources.Sources, Program: program, Dir: dir, Log: o.logOrDiscard(),
	}), nil
}
