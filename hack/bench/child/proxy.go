package child

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"cardea.dev/cardea/hack/bench/proc"
)

// Proxy finds the Envoy that a cardea with its work folder below dir has started under a name.
func Proxy(dir, name string) (pid int, err error) {
	pid, err = proc.Find(func(args []string) bool {
		at := slices.Index(args, "--config-path") + 1
		return at > 0 && strings.HasPrefix(args[at], dir) && filepath.Base(filepath.Dir(args[at])) == name
	})
	if err != nil || pid == 0 {
		return 0, errors.Join(err, fmt.Errorf("there is no Envoy %s", name))
	}
	return pid, nil
}

// FreePorts are ports at which nothing listens.
func FreePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
