package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/explain"
)

type explainOptions struct {
	question               explain.Question
	namespace, dir, output string
	serverOptions
	kubeOptions
	offline standalone.Options
}

func explainCommand(p Program) *cobra.Command {
	o := explainOptions{offline: standalone.Options{Dialects: p.Dialects, Extensions: p.Extensions, Pickers: true}}
	cmd := &cobra.Command{
		Use:   "explain [METHOD] URL | KIND/NAME",
		Short: "Show where a request or connection goes and why, or what an object became",
		Long: `For a request (URL): show how the proxies handle it with their current configuration. That is:

  - the Gateway, the listener and the rule that takes it (object, file and line);
  - what the rule does to it, which backends can answer, and with which share;
  - since when this rule is live, and who edited it last;
  - which other rules could have matched, and why they did not take it.

For a connection that no HTTP listener takes (tcp://HOST:PORT, tls://NAME or udp://HOST:PORT): show the same of the
route that shares it among backends.

For an object (KIND/NAME): show what it became in the proxies' configuration, which objects it refers to, its
findings, and when its last edit reached each step on the way to the proxies.

The running Cardea at --server is asked. With --dir, the files of a folder are read instead, and no Cardea has to
run. With --kube, the objects of the cluster that kubectl would ask are read, with your own permissions; its proxies
are not asked, so what they acknowledged is not shown.`,
		Example: `  cardea explain http://quickstart.localhost:8080/green

  # A request with a method, a header and a TLS server name
  cardea explain https://shop.example/cart -X POST -H 'x-canary: yes' --sni shop.example

  # Which model server would get it now
  cardea explain http://models.localhost:8080/v1/completions -d '{"model": "m", "prompt": "hi"}'

  # A connection of a TCPRoute, of a TLSRoute (the port is 443 if none is stated), of a UDPRoute
  cardea explain tcp://shop.example:5432
  cardea explain tls://db.shop.example
  cardea explain udp://shop.example:53
  cardea explain tcp://shop.example:5432 --client 10.0.0.7

  # For the files of a folder; no Cardea has to run
  cardea explain http://quickstart.localhost:8080/ --dir examples/quickstart

  # An object
  cardea explain httproute/quickstart -n quickstart

  # In the cluster that kubectl uses
  cardea explain http://shop.example/cart --kube`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && !isRequest(args) {
				return fmt.Errorf("name one URL, or one object as KIND/NAME: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if isRequest(args) {
				o.question.Method = args[0]
			}
			return runExplain(cmd, p, &o, args[len(args)-1])
		},
	}
	names := func(cmd *cobra.Command, n *kind.Kind) []string { return o.listNames(cmd, p, n) }
	cmd.ValidArgsFunction = completeExplain(p.Catalog, names)
	f := cmd.Flags()
	f.StringVarP(&o.question.Method, "request", "X", "", "method of the request (default GET, with --data POST)")
	f.StringVar(&o.question.Client, "client", "",
		"IP address from which a connection comes, where access depends on it")
	f.StringVarP(&o.question.Body, "data", "d", "",
		"body of the request, for the picker of an inference pool; @FILE reads a file")
	bindExplain(cmd, p, &o)
	cmd.AddCommand(explainMCPCommand(p, &explainOptions{offline: o.offline}))
	return cmd
}

// bindExplain defines the flags of all questions.
func bindExplain(cmd *cobra.Command, p Program, o *explainOptions) {
	f := cmd.Flags()
	f.StringArrayVarP(&o.question.Headers, "header", "H", nil,
		"header of the request, 'name: value'; may be given several times")
	f.StringVar(&o.question.SNI, "sni", "", "server name (SNI) of the TLS handshake (default: the URL's host)")
	f.StringVar(&o.question.Gateway, "gateway", "",
		"Gateway that gets the request (NAMESPACE/NAME), if several have its port")
	bindReading(cmd, p, o)
}

// bindReading defines the flags that say what is read, and how it is printed.
func bindReading(cmd *cobra.Command, p Program, o *explainOptions) {
	names := func(cmd *cobra.Command, n *kind.Kind) []string { return o.listNames(cmd, p, n) }
	f := cmd.Flags()
	f.StringVarP(&o.namespace, "namespace", "n", "",
		`namespace of the object (default: "default", or the namespace of the kubeconfig's context)`)
	f.StringVar(&o.dir, "dir", "", "read this folder (or file) instead of asking a running Cardea")
	bindServer(cmd, &o.serverOptions)
	bindKube(cmd, &o.kubeOptions, ", instead of asking a running Cardea")
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	bindFlags(cmd, &o.offline)
	completeFlagBy(cmd, "namespace", completeNamespace(p.Catalog, names))
	completeFlag(cmd, "output", "text", "json")
}

// isRequest reports whether the arguments are a method and a URL, as `cardea diff` prints requests.
func isRequest(args []string) bool {
	return len(args) == 2 && !strings.ContainsAny(args[0], "/:") && strings.Contains(args[1], "://")
}

// checkFlags says which flags can't be used as they are.
func (o *explainOptions) checkFlags() error {
	if err := checkOutput(o.output); err != nil {
		return err
	}
	if o.dir != "" && o.server != "" {
		return errors.New("--dir and --server can't be used together: --dir reads files, --server asks a running Cardea")
	}
	return cmp.Or(o.notWith("--server", o.server, asksServer), o.notWith("--dir", o.dir, "reads files"))
}

// textPrinter is an answer that can be printed as text.
type textPrinter interface {
	Print(w io.Writer, now time.Time) error
}

func runExplain(cmd *cobra.Command, p Program, o *explainOptions, what string) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	var story textPrinter
	var err error
	if kind, name, isObject := strings.Cut(what, "/"); isObject && !strings.Contains(what, "://") {
		story, err = explainObject(cmd, p, o, kind, name)
	} else if !strings.Contains(what, "://") {
		return fmt.Errorf("%q is neither a URL (such as http://shop.example/cart or tcp://shop.example:9000) "+
			"nor an object (KIND/NAME, such as httproute/web)", what)
	} else {
		o.question.URL = what
		if err := o.readBody(); err != nil {
			return err
		}
		story, err = explainRequest(cmd, p, o)
	}
	if err != nil {
		return err
	}
	if o.output == "json" {
		return printJSON(cmd.OutOrStdout(), story)
	}
	return story.Print(cmd.OutOrStdout(), time.Now())
}

// readBody reads the file that --data names.
func (o *explainOptions) readBody() error {
	q := &o.question
	if file, is := strings.CutPrefix(q.Body, "@"); is {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("--data: %w", err)
		}
		q.Body = string(text)
	}
	if q.Body != "" {
		q.Method = cmp.Or(q.Method, http.MethodPost)
	}
	return nil
}

func explainRequest(cmd *cobra.Command, p Program, o *explainOptions) (story explain.Story, err error) {
	if o.readsLocally() {
		e, err := o.openExplainer(cmd, p)
		if err != nil {
			return story, err
		}
		return e.ExplainRequest(o.question)
	}
	q := o.question
	values := url.Values{"url": {q.URL}, "header": q.Headers}
	agent := ""
	if q.Agent != nil {
		text, err := json.Marshal(q.Agent)
		if err != nil {
			return story, err
		}
		agent = string(text)
	}
	for name, value := range map[string]string{
		"method": q.Method, "sni": q.SNI, "gateway": q.Gateway, "client": q.Client, "agent": agent,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	path := "/explain?" + values.Encode()
	if q.Body == "" {
		return story, o.askServer(cmd.Context(), p, path, &story)
	}
	c, err := o.newClient(p.Catalog)
	if err != nil {
		return story, err
	}
	text, err := c.postJSON(cmd.Context(), path, []byte(q.Body))
	if err != nil {
		return story, err
	}
	return story, decodeAnswer(text, &story)
}

func explainObject(
	cmd *cobra.Command, p Program, o *explainOptions, word, name string,
) (story explain.Object, err error) {
	n, known := p.Catalog.FindByName(word)
	if !known {
		return story,
			fmt.Errorf("%q is neither a kind (`cardea get` lists the kinds) nor a URL: "+
				"a URL begins with http://, https://, tcp://, tls:// or udp://", word)
	}
	if name == "" {
		return story, noName(word)
	}
	var e admin.Explainer
	if o.readsLocally() {
		if e, err = o.openExplainer(cmd, p); err != nil {
			return story, err
		}
	}
	namespace := cmp.Or(o.namespace, schema.DefaultNamespace)
	if n.Cluster {
		namespace = ""
	}
	if e != nil {
		story, found := e.ExplainObject(model.Ref(n.Kind, namespace, name))
		if !found {
			return story, fmt.Errorf("%s has no %s %q in namespace %q%s", cmp.Or(o.dir, "the cluster"), n, name, namespace,
				admin.SuggestNamespace(e, n.Kind, name))
		}
		return story, nil
	}
	words := []string{"explain", p.Catalog.ShortestName(n)}
	if namespace != "" {
		words = append(words, namespace)
	}
	return story, o.askServer(cmd.Context(), p, joinPath(append(words, name)), &story)
}

// readsLocally tells whether objects are read here, and no running Cardea is asked.
func (o *explainOptions) readsLocally() bool { return o.dir != "" || o.ofKube() }

// openExplainer reads the folder or the cluster.
func (o *explainOptions) openExplainer(cmd *cobra.Command, p Program) (admin.Explainer, error) {
	if o.ofKube() {
		c, err := o.openCluster(cmd, p, o.offline.Budgets)
		if err != nil {
			return nil, err
		}
		o.namespace = cmp.Or(o.namespace, c.Namespace())
		warnUnread(cmd, c)
		return c, nil
	}
	if err := completeOffline(cmd, o.dir, &o.offline); err != nil {
		return nil, err
	}
	return p.Explainer(cmd.Context(), o.offline)
}

func (o *explainOptions) askServer(ctx context.Context, p Program, path string, story any) error {
	c, err := o.newClient(p.Catalog)
	if err != nil {
		return err
	}
	text, err := c.getJSON(ctx, path)
	if err != nil {
		return err
	}
	return decodeAnswer(text, story)
}
