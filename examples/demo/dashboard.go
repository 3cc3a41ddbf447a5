package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// dashboardPort is the port of Prometheus in the foreground.
const dashboardPort = 9090

// watch has a Prometheus started, if the example has a configuration for one.
func (s *setup) watch(prometheus string, port int) error {
	_, err := os.Stat(s.prometheusFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if prometheus == "" {
		return fmt.Errorf("%s needs Prometheus: name the program with -prometheus (hack/get-prometheus.sh downloads one)",
			s.prometheusFile())
	}
	s.prometheus, s.dashboard = prometheus, port
	return nil
}

func (s *setup) prometheusFile() string { return filepath.Join(s.dir, "prometheus.conf") }

// prometheusCommand is Prometheus with its arguments; it keeps what it reads in the folder data.
func (s *setup) prometheusCommand(data string) []string {
	consoles := filepath.Join(s.dir, "consoles")
	return []string{
		s.prometheus, "--config.file=" + s.prometheusFile(), "--storage.tsdb.path=" + data, "--log.level=error",
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", s.dashboard),
		"--web.console.templates=" + consoles, "--web.console.libraries=" + consoles,
	}
}

func (s *setup) dashboardURL() string {
	return fmt.Sprintf("http://127.0.0.1:%d/consoles/gateway.html", s.dashboard)
}

// dashboardLine tells where the dashboard is, if there is one.
func (s *setup) dashboardLine() string {
	if s.prometheus == "" {
		return ""
	}
	return fmt.Sprintf("  dashboard     %s\n", s.dashboardURL())
}

// dashboardShows waits until the dashboard has a row of a route, if there is a dashboard.
func (s *setup) dashboardShows(ctx context.Context) error {
	if s.prometheus == "" {
		return nil
	}
	return eventually(ctx, func() error {
		status, page, err := get(ctx, s.dashboardURL())
		if err != nil {
			return err
		}
		if !strings.Contains(page, "<td>httproute/") {
			return fmt.Errorf("%s has no row of a route: %d %s", s.dashboardURL(), status, page)
		}
		fmt.Println("ok   the dashboard has a row for each route")
		return nil
	})
}
