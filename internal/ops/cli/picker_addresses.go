package cli

import (
	"os"

	"cardea.dev/cardea/internal/epp"
)

// writeAddresses writes where a picker listens to a file, a line each, whole or not at all; "" is no file.
func writeAddresses(path string, at epp.Listeners) error {
	if path == "" {
		return nil
	}
	text := at.GRPC.Addr().String() + "\n"
	if at.Admin != nil {
		text += at.Admin.Addr().String() + "\n"
	}
	if err := os.WriteFile(path+".draft", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".draft", path)
}
