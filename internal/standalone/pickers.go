package standalone

import (
	"fmt"
	"os"

	"cardea.dev/cardea/internal/pickerchild"
	"cardea.dev/cardea/internal/world"
)

// newPickers makes what runs the pickers of pools that name none.
func newPickers(o Options, w *world.World, dir string) (*pickerchild.Children, error) {
	program := o.PickerProgram
	if o.Pickers && program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program, which pickers are started from: %w", err)
		}
	}
	return pickerchild.New(pickerchild.Config{
		Graph: w.Graph, Plan: &w.Plan, Sources: w.Sources.Sources, Program: program, Dir: dir, Log: o.logger(),
	}), nil
}
