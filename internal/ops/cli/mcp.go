package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/ops/explain"
	"cardea.dev/cardea/internal/ops/mcpclient"
)

func mcpCommand(p Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Ask servers of MCP",
	}
	cmd.AddCommand(inventoryCommand(p))
	return cmd
}

// inventoryOptions say where a server is, and how it is asked.
type inventoryOptions struct {
	address, path string
	headers       []string
	timeout       time.Duration
}

func inventoryCommand(p Program) *cobra.Command {
	o := explainOptions{offline: standalone.Options{Dialects: p.Dialects, Extensions: p.Extensions}}
	var to inventoryOptions
	cmd := &cobra.Command{
		Use:   "inventory XBACKEND",
		Short: "Show which tools a server has, and which rules name tools that it has not",
		Long: `Ask the server behind an XBackend (of either API) once which tools it has. For each tool, the rules of access
policies are shown that name it; then the rules that name tools that the server does not have.

The server is asked from here, at the first address that the proxies send requests to, without a proxy in between. If
that can't be reached from here, such as the address of a pod, name another one with --address (kubectl port-forward).

The running Cardea at --server is asked where the server is, and for the rules. With --dir, the files of a folder are
read instead; with --kube, the objects of the cluster that kubectl would ask.

Exit codes: 0 if each tool that rules name exists, 1 if not, 2 if that can't be told.`,
		Example: `  cardea mcp inventory tools -n shop

  # For the files of a folder
  cardea mcp inventory tools -n agents --dir examples/agents

  # A server in a cluster, from outside
  kubectl port-forward -n shop service/tools 9003:80 &
  cardea mcp inventory tools -n shop --kube --address 127.0.0.1:9003`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return takeInventory(cmd, p, &o, to, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&to.address, "address", "", "HOST:PORT of the server (default: where the proxies send requests)")
	f.StringVar(&to.path, "path", "", "path of the server (default: the XBackend's, or /mcp)")
	f.StringArrayVarP(&to.headers, "header", "H", nil,
		"header for the server, 'name: value', such as a token; may be given several times")
	f.DurationVar(&to.timeout, "timeout", 30*time.Second, "how long the server may take")
	bindReading(cmd, p, &o)
	return cmd
}

// toolInventory is what a server has, and what rules name.
type toolInventory struct {
	Backend string        `json:"backend"`
	Tools   []toolRules   `json:"tools"`
	Missing []missingTool `json:"missing,omitempty"`
}

// toolRules is a tool of a server, and the rules that name it.
type toolRules struct {
	mcpclient.Tool
	Rules []string `json:"rules,omitempty"`
}

// missingTool is what a rule names and a server has not.
type missingTool struct {
	Tool string `json:"tool"` // "get-*"
	Rule string `json:"rule"`
}

func takeInventory(cmd *cobra.Command, p Program, o *explainOptions, to inventoryOptions, name string) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	all, err := readAccess(cmd, p, o, name)
	if err != nil {
		return exitError{err, 2}
	}
	of := all[0]
	for _, other := range all[1:] {
		if to.address == "" {
			return exitError{fmt.Errorf("%s and %s have this name; name the address of one with --address", of.Backend,
				other.Backend), 2}
		}
		of.Places = append(of.Places, other.Places...)
	}
	if kind, _, _ := strings.Cut(of.Backend, " "); kind == "Service" && to.address == "" {
		return exitError{fmt.Errorf("%s does not speak MCP: its tools are those that MCPTools state", of.Backend), 2}
	}
	server, err := to.serverOf(of)
	if err != nil {
		return exitError{err, 2}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), to.timeout)
	defer cancel()
	tools, err := mcpclient.ListTools(ctx, server, cmd.Root().Version)
	if err != nil {
		return exitError{err, 2}
	}
	found, err := compareTools(of, tools)
	if err != nil {
		return err
	}
	if o.output == "json" {
		err = printJSON(cmd.OutOrStdout(), found)
	} else {
		err = found.print(cmd.OutOrStdout())
	}
	if err == nil && len(found.Missing) > 0 {
		err = errPrinted
	}
	return err
}

// serverOf is where to ask.
func (to inventoryOptions) serverOf(a explain.Access) (s mcpclient.Server, err error) {
	s = mcpclient.Server{Address: to.address, Path: cmp.Or(to.path, "/mcp"), Header: http.Header{}}
	if of := a.Server; of != nil {
		s.Path = cmp.Or(to.path, of.Path, "/mcp")
		if s.Address == "" && len(of.Addresses) > 0 {
			s.Address = of.Addresses[0]
		}
		if of.TLS != nil {
			s.Hostname, s.CA = of.TLS.Hostname, of.TLS.CA
			if of.TLS.Certificate != "" {
				return s, fmt.Errorf("%s asks for a client certificate that only the proxies have (%s)", a.Backend,
					of.TLS.Certificate)
			}
		}
	}
	if s.Address == "" {
		return s, fmt.Errorf("%s has no endpoints; name its address with --address", a.Backend)
	}
	for _, h := range to.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return s, fmt.Errorf("-H %q: want 'name: value'", h)
		}
		s.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return s, nil
}

// compareTools finds for each tool the rules that name it, and for each rule what it names and the server has not.
func compareTools(a explain.Access, tools []mcpclient.Tool) (found toolInventory, err error) {
	found.Backend, found.Tools = a.Backend, []toolRules{}
	for _, t := range tools {
		found.Tools = append(found.Tools, toolRules{Tool: t})
	}
	seen := map[missingTool]bool{}
	for _, place := range a.Places {
		for _, named := range place.Tools {
			u := missingTool{named.Words, named.Rule}
			if seen[u] {
				continue
			}
			seen[u] = true
			re, err := regexp.Compile("^(?:" + named.Expression + ")$")
			if err != nil {
				return found, err
			}
			missing := true
			for i, t := range tools {
				if re.MatchString(t.Name) {
					missing = false
					if of := &found.Tools[i]; !slices.Contains(of.Rules, named.Rule) {
						of.Rules = append(of.Rules, named.Rule)
					}
				}
			}
			if missing {
				found.Missing = append(found.Missing, u)
			}
		}
	}
	return found, nil
}

func (i toolInventory) print(w io.Writer) error {
	fmt.Fprintf(w, "%s has %d tools\n", i.Backend, len(i.Tools))
	t := table{columns: []string{"TOOL", "NAMED BY", "DESCRIPTION"}}
	for _, tool := range i.Tools {
		t.addRow("", []string{
			dropUnprintable(tool.Name), cmp.Or(strings.Join(tool.Rules, ", "), "-"), cmp.Or(firstLine(tool.Description), "-"),
		})
	}
	if err := t.print(w); err != nil {
		return err
	}
	for _, m := range i.Missing {
		fmt.Fprintf(w, "the server has no tool %s, which %s names\n", m.Tool, m.Rule)
	}
	return nil
}

// firstLine is as much of a description as fits a table.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	s = dropUnprintable(s)
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}

// dropUnprintable is what a server said without what a terminal would obey.
func dropUnprintable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}

// noPlace says that nothing leads to a server.
func noPlace(o *explainOptions, backend string) error {
	return fmt.Errorf("no rule of a route sends requests to a server of MCP %s of namespace %s", backend,
		cmp.Or(o.namespace, schema.DefaultNamespace))
}
